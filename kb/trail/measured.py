"""Metrics of an experiment page: from front matter, its title, result tables, or sentences.

Refuses a choice between configurations that the page does not make.
"""

import re
from collections.abc import Iterable
from functools import cache

from kb.page import Page, plain_text
from kb.run.direction import direction_from, direction_of
from kb.run.quantity import to_float
from kb.run.record import Metric
from kb.text import one_line
from kb.trail.cells import table
from kb.trail.figures import Reading, figure_at_start, renamed, run_of, value_of
from kb.trail.sentences import sentence, sentences

# Lines of a page, the last excluded.
Stretch = tuple[int, int]


def metrics_of(page: Page, lines: list[str], *, results: list[Stretch], verdicts: list[Stretch]) -> tuple[Metric, ...]:
    """Metrics that a page reports for its own run: those its front matter states, as they stand there, else those that its
    text shows.

    In text the first reading of a name counts, in this order: table cells that are surely this run's, the title, `results`
    (ranges of lines), what stands before the first section, `verdicts`; a page without either is read whole. Where a later
    reading has the same figure with more digits than a sentence, that is it.
    """
    stated = tuple(_front(page))
    if stated:
        return stated
    run = run_of(page)
    fenced = {line for a, b in page.fences for line in range(a, b)}
    first = next((s.start for s in page.sections if s.level > 1), len(lines) + 1)
    lead = _split(lines, (page.body_line, first), fenced)[1]
    whole = [] if results or verdicts else [(page.body_line, len(lines) + 1)]
    parts = [_split(lines, stretch, fenced) for stretch in (*results, *verdicts, *whole)]

    @cache
    def cited() -> frozenset[str]:
        return _figures(page.title, *lead, *(line for _, rest in parts for line in rest))

    shown: list[Reading] = []
    for i, (tables, rest) in enumerate(parts):
        if i == len(results) and not whole:
            shown.extend(sentences(lead, run))
        for rows in tables:
            shown.extend(table(rows, run, cited))
        shown.extend(sentences(rest, run))
    if len(parts) == len(results):
        shown.extend(sentences(lead, run))
    tokens = "tok" in "\n".join(lines).lower()
    found: dict[str, Reading] = {}
    for reading in (*(r for r in shown if r.sure), *sentence(plain_text(page.title), run), *shown):
        named = renamed(reading.metric, tokens=tokens)
        there = found.get(named.name)
        if named.name and (there is None or _finer(named, there)):
            found[named.name] = reading._replace(metric=named)
    return tuple(r.metric for r in found.values())


def _finer(metric: Metric, there: Reading) -> bool:
    """Whether a metric is what a title or a sentence rounds."""
    value, rounded = metric.value, there.metric.value
    return bool(there.error) and value is not None and rounded is not None and abs(value - rounded) <= there.error * abs(rounded)


def _front(page: Page) -> Iterable[Metric]:
    stated = page.front.get("metrics")
    for name, value in stated.items() if isinstance(stated, dict) else ():
        said = value if isinstance(value, dict) else {"value": value}
        number, unit = said.get("value"), str(said.get("unit") or "")
        if isinstance(number, str):
            m = figure_at_start(number)
            number, unit = (value_of(m), unit or m["unit"] or "") if m else (None, unit)
        n = said.get("n")
        if (value := to_float(number)) is not None:
            yield Metric(
                one_line(str(name)),
                value,
                unit,
                direction_from(said.get("direction")) or direction_of(f"{name} {unit}"),
                n if isinstance(n, int) else None,
                to_float(said.get("stddev")),
            )


def _split(lines: list[str], stretch: Stretch, fenced: set[int]) -> tuple[list[list[str]], list[str]]:
    """Pipe tables of a range of lines, and its other lines outside code."""
    tables: list[list[str]] = []
    rest: list[str] = []
    last = -2
    for number in range(stretch[0], min(stretch[1], len(lines) + 1)):
        line = lines[number - 1]
        if number in fenced:
            continue
        if line.lstrip().startswith("|"):
            if number != last + 1:
                tables.append([])
            tables[-1].append(line)
            last = number
        else:
            rest.append(line)
    return tables, rest


_CITED = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?")


def _figures(*lines: str) -> frozenset[str]:
    """Figures of some lines that are long enough to be known again."""
    return frozenset(f for line in lines for f in _CITED.findall(line) if sum(c.isdigit() for c in f) > 2)
