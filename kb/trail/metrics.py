"""Metrics of an experiment page: from front matter, its title, result tables, or sentences.

Refuses a choice between configurations that the page does not make.
"""

from collections.abc import Iterable, Sequence
from functools import cache

from kb.page import Page, plain_text
from kb.run.direction import direction_from, direction_of
from kb.run.quantity import to_float
from kb.run.record import Metric
from kb.text import Number, numbers_in, one_line
from kb.trail.metric_names import MetricReading, renamed, run_label_of
from kb.trail.metric_sentences import sentence_readings
from kb.trail.metric_tables import table_readings
from kb.trail.outline import Passage


def metrics_of(
    page: Page, parts: Sequence[Sequence[Passage]], *, tokens: bool
) -> tuple[Metric, ...]:
    """Metrics that a page reports for its own run: those its front matter states, as they stand there, else those that `parts` of it
    show; `tokens` where it speaks of any.

    In text the first reading of a name counts, in this order: table cells that are surely this run's, the title, the parts. Where a
    later reading has the same figure with more digits than a sentence, that is it.
    """
    if declared := tuple(_front_metrics(page)):
        return declared
    run = run_label_of(page)
    title = plain_text(page.title)

    @cache
    def figures(text: str) -> tuple[Number, ...]:
        return tuple(numbers_in(text))

    @cache
    def cited() -> frozenset[float]:
        texts = (title, *(p.text for part in parts for p in part if p.kind == "paragraph"))
        return frozenset(n.value for text in texts for n in figures(text) if n.end - n.start > 2)

    readings: list[MetricReading] = []
    for passage in (p for part in parts for p in part):
        if passage.rows:
            readings.extend(table_readings(passage.rows, run, cited))
        elif passage.kind in ("paragraph", "heading"):
            readings.extend(sentence_readings(passage.text, run, figures(passage.text)))
    by_name: dict[str, MetricReading] = {}
    for reading in (
        *(r for r in readings if r.sure),
        *sentence_readings(title, run, figures(title)),
        *readings,
    ):
        named = renamed(reading.metric, tokens=tokens)
        known = by_name.get(named.name)
        if named.name and (known is None or _finer(named, known)):
            by_name[named.name] = reading._replace(metric=named)
    return tuple(r.metric for r in by_name.values())


def _finer(metric: Metric, known: MetricReading) -> bool:
    """Whether a metric is what a title or a sentence rounds."""
    value, rounded = metric.value, known.metric.value
    return (
        bool(known.error)
        and value is not None
        and rounded is not None
        and abs(value - rounded) <= known.error * abs(rounded)
    )


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
