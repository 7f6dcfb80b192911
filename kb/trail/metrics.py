"""Metrics of an experiment page: from front matter, result tables, or sentences.

Refuses a choice between configurations that the page does not make.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

from kb.page import Page
from kb.run.direction import direction_from, direction_of
from kb.run.quantity import to_float
from kb.run.record import Metric
from kb.text import numbers_in, one_line
from kb.trail.metric_names import renamed, run_label_of
from kb.trail.metric_sentences import sentence_metrics
from kb.trail.metric_tables import table_metrics
from kb.trail.outline import Passage


def metrics_of(
    page: Page, parts: Sequence[Sequence[Passage]], *, tokens: bool
) -> tuple[Metric, ...]:
    """Metrics that a page reports for its own run: those its front matter states, as they stand there, else those that `parts` of it
    show; `tokens` where it speaks of any. In text the first reading of a name counts, in tables that are surely of this run before all.
    """
    if declared := tuple(_front_metrics(page)):
        return declared
    run = run_label_of(page)
    sure: list[Metric] = []
    others = [*sentence_metrics(page.title, run)]
    for passage in chain.from_iterable(parts):
        if passage.rows:
            own, is_sure = table_metrics(passage.rows, run)
            (sure if is_sure else others).extend(own)
        elif passage.kind in ("paragraph", "heading"):
            others.extend(sentence_metrics(passage.text, run))
    by_name: dict[str, Metric] = {}
    for named in (renamed(m, tokens=tokens) for m in (*sure, *others)):
        by_name.setdefault(named.name, named)
    by_name.pop("", None)
    return tuple(by_name.values())


def _front_metrics(page: Page) -> Iterable[Metric]:
    stated = page.front.get("metrics")
    for name, value in stated.items() if isinstance(stated, dict) else ():
        fields = value if isinstance(value, dict) else {"value": value}
        number, unit = fields.get("value"), str(fields.get("unit") or "")
        if isinstance(number, str):
            first = next(numbers_in(number), None)
            starts = first is not None and not any(c.isalnum() for c in number[: first.start])
            number, unit = (first.value, unit or first.unit) if starts else (None, unit)
        if (measured := to_float(number)) is not None:
            n = fields.get("n")
            yield Metric(
                one_line(str(name)),
                measured,
                unit,
                direction_from(fields.get("direction")) or direction_of(f"{name} {unit}"),
                n if isinstance(n, int) else None,
                to_float(fields.get("stddev")),
            )
