"""The verdict of a page: the first of its places that says one, with the raw spelling. Refuses to judge figures."""

from collections.abc import Iterable, Sequence

from kb.page import Page
from kb.schema import (
    FAILED,
    OUTCOME_FIELDS,
    OUTCOME_LABELS,
    RUNNING,
    Verdict,
    canonical_verdict,
    field_verdict,
    outcome_verdict,
)
from kb.text import sentences_of
from kb.text.reports import Report, report_of
from kb.trail.facts import VerdictRead
from kb.trail.outline import Passage

# Verdicts that stand at the end of a file's name.
_SUFFIXES = frozenset(
    "accepted rejected potential invalid refuted supported crash crashed failed discard discarded kept keep inconclusive parked baseline".split()
)
# What the first sentence of a verdict comes to where it holds no verdict's word.
_REPORTED = {Report.FAILED: Verdict.REFUTED, Report.STAYED: Verdict.SUPPORTED}
_TITLES = ("verdict", "outcome", "result", "results", "conclusion")
_LONGEST_SAYING = 300


def is_running(page: Page, verdict: VerdictRead) -> bool:
    status = page.field("status").lower().replace("-", "_").replace(" ", "_")
    return verdict.canonical in (None, Verdict.OTHER) and status in RUNNING


def verdict_sayings(page: Page, section: str) -> tuple[tuple[str, str], ...]:
    """The places that may say a page's verdict, in the order in which they count, as (place, what it says).

    `section` is the Verdict section's prose.
    """
    suffix = page.stem.replace("_", "-").rpartition("-")[2].lower()
    return (
        ("verdict", page.field("verdict")),
        (
            "outcome",
            next(
                (saying for name in OUTCOME_FIELDS if outcome_verdict(saying := page.field(name))),
                "",
            ),
        ),
        ("status", page.field("status")),
        ("name", suffix if suffix in _SUFFIXES else ""),
        ("section", next(iter(sentences_of(section)), "").partition("; ")[0][:_LONGEST_SAYING]),
    )


def verdict_of(page: Page, section: str) -> VerdictRead:
    """Verdict of a page: the first place that says one; a baseline by name is one unless it failed.

    A status outside the vocabulary may speak of the page and not of the run, so a place after it that says a verdict goes first.
    """
    read = VerdictRead()
    for source, raw in verdict_sayings(page, section):
        verdict = canonical_verdict(raw) if source == "name" else field_verdict(raw)
        if source == "section" and verdict in (None, Verdict.OTHER) and raw:
            verdict = _REPORTED.get(report_of(raw)[0], verdict)
        if verdict is not None and (not read.source or verdict is not Verdict.OTHER):
            read = VerdictRead(verdict, raw, source)
        if read.source == "verdict" or read.canonical not in (None, Verdict.OTHER):
            break
    if (
        "baseline" in page.stem.lower().replace("_", "-").split("-")
        and read.canonical not in FAILED
    ):
        return VerdictRead(
            Verdict.BASELINE,
            read.raw or "baseline",
            f"{read.source}+name" if read.source else "name",
        )
    return read


def titled_verdict(passages: Iterable[Passage]) -> str:
    """What headings say of how the run came out ("Verdict: refuted"); empty where none says a verdict, or two say different ones."""
    titles = (
        p.text.replace(" — ", ": ").replace(" - ", ": ").partition(":")
        for p in passages
        if p.kind == "heading" and p.above
    )
    return _agreed(
        [
            saying.strip()
            for name, _, saying in titles
            if name.lower().split()[-1:] and name.lower().split()[-1] in _TITLES
        ]
    )


def _agreed(sayings: Sequence[str]) -> str:
    """The first of several sayings that says a verdict; empty if none does, or if they differ: then each may be about a part of the run."""
    verdicts = [(verdict, saying) for saying in sayings if (verdict := outcome_verdict(saying))]
    return verdicts[0][1] if len({verdict for verdict, _ in verdicts}) == 1 else ""


def labelled_verdict(passages: Sequence[Passage]) -> str:
    """What stands behind a label of an outcome ("**Outcome**: reverted", a row of two cells, below a heading "Status"), by the first label
    that says one verdict; else behind "Verdict".
    """
    sayings: dict[str, list[str]] = {}
    for name, saying in _labelled(passages):
        name = "verdict" if name.endswith(" verdict") else name
        if name in OUTCOME_LABELS:
            sayings.setdefault(name, []).append(saying)
    agreed = (_agreed(sayings.get(name, ())) for name in OUTCOME_LABELS)
    return next(filter(None, agreed), next(iter(sayings.get("verdict", ())), ""))


def _labelled(passages: Sequence[Passage]) -> Iterable[tuple[str, str]]:
    """Labels, headings and rows of two cells in small letters, each with what stands behind or below it."""
    for place, passage in enumerate(passages):
        below = (
            passages[place + 1].text
            if place + 1 < len(passages) and passages[place + 1].kind == "paragraph"
            else ""
        )
        if passage.kind == "heading":
            yield passage.text.lower(), below
        elif passage.label:
            yield passage.label, passage.behind or below
        for row in passage.rows:
            if len(row.cells) == 2:
                yield row.cells[0].plain.strip(" :").lower(), row.cells[1].plain
