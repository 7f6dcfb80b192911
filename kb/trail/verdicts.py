"""The verdict of a page: the first of its places that says one, with the raw spelling. Refuses to judge figures."""

import re

from kb.page import Page
from kb.schema import FAILED, OUTCOME_FIELDS, OUTCOME_LABELS, RUNNING, Verdict, canonical_verdict, field_verdict, outcome_verdict
from kb.trail.facts import VerdictRead
from kb.trail.prose import BOLD_LABEL, PLAIN_LABEL, prose


def is_running(page: Page, verdict: VerdictRead) -> bool:
    return (
        verdict.canonical in (None, Verdict.OTHER) and page.field("status").lower().replace("-", "_").replace(" ", "_") in RUNNING
    )


_NAME_SUFFIX = re.compile(
    r"[-_](accepted|rejected|potential|invalid|refuted|supported|crash(?:ed)?|failed|discarded?|kept|keep|inconclusive|"
    r"parked|baseline)$",
    re.IGNORECASE,
)
_NAMED_BASELINE = re.compile(r"(?:^|[-_])baseline(?:[-_]|$)", re.IGNORECASE)


def verdict_sayings(page: Page, section: str) -> tuple[tuple[str, str], ...]:
    """The places that may say a page's verdict, in the order in which they count, as (place, what it says).

    `section` is the Verdict section's prose.
    """
    suffix = _NAME_SUFFIX.search(page.stem)
    sentence = re.split(r"(?<=[.!?;])\s|\n", section.strip(), maxsplit=1)[0][:300]
    return (
        ("verdict", page.field("verdict")),
        ("outcome", next((said for name in OUTCOME_FIELDS if outcome_verdict(said := page.field(name))), "")),
        ("status", page.field("status")),
        ("name", suffix[1] if suffix else ""),
        ("section", sentence),
    )


def verdict_of(page: Page, section: str) -> VerdictRead:
    """Verdict of a page by DESIGN §6: the first place that says one; a baseline by name is one unless it failed.

    A status outside the vocabulary may speak of the page and not of the run, so a place after it that says a verdict goes first.
    """
    read = VerdictRead()
    for source, raw in verdict_sayings(page, section):
        verdict = canonical_verdict(raw) if source == "name" else field_verdict(raw)
        if verdict is not None and (not read.source or verdict is not Verdict.OTHER):
            read = VerdictRead(verdict, raw, source)
        if read.source == "verdict" or read.canonical not in (None, Verdict.OTHER):
            break
    if _NAMED_BASELINE.search(page.stem) and read.canonical not in FAILED:
        return VerdictRead(Verdict.BASELINE, read.raw or "baseline", f"{read.source}+name" if read.source else "name")
    return read


_SAYING_TITLE = re.compile(r"\b(?:verdict|outcome|result|conclusion)s?\s*(?::|\s[-—–]\s)\s*(\S.*)$", re.IGNORECASE)


def titled_verdict(page: Page) -> str:
    """What headings say of how the run came out ("Verdict: refuted"); empty where none says a verdict, or two say different ones."""
    return _agreed([title[1] for h in page.headings if h.level > 1 and (title := _SAYING_TITLE.search(h.text))])


def _agreed(sayings: list[str]) -> str:
    """The first of several sayings that says a verdict; empty if none does, or if they differ: then each may be about a part of the run."""
    told = [(verdict, said) for said in sayings if (verdict := outcome_verdict(said))]
    return told[0][1] if len({verdict for verdict, _ in told}) == 1 else ""


_LABEL_ROW = re.compile(r"^\s*\|([^|]{3,40})\|([^|]+)\|\s*$")


def labelled_verdict(page: Page, lines: list[str], *, stop: int = 0) -> str:
    """What stands behind a label of an outcome outside code ("**Outcome**: reverted", a row of two cells, a heading "Status" above it), by the first
    label that says one verdict; else behind "Verdict".
    """
    fenced = {line for a, b in page.fences for line in range(a, b)}
    headed = {h.line for h in page.headings}
    found: dict[str, list[str]] = {}
    for at in range(page.body_line, (stop or len(lines)) + 1):
        line = lines[at - 1].lstrip("> ")
        if at in headed:
            name, behind = line.strip("# "), ""
        else:
            label = None if at in fenced else BOLD_LABEL.match(line) or PLAIN_LABEL.match(line) or _LABEL_ROW.match(line)
            name, behind = label.groups() if label else ("", "")
        name = name.strip(" *_:").lower()
        name = "verdict" if name.endswith(" verdict") else name
        if name in OUTCOME_LABELS:
            said = behind if behind.strip() else next((below for below in lines[at : at + 3] if below.strip(" \t=-")), "")
            found.setdefault(name, []).append(prose(said))
    agreed = (_agreed(found.get(name, [])) for name in OUTCOME_LABELS)
    return next(filter(None, agreed), next(iter(found.get("verdict", ())), ""))
