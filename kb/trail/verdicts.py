"""The verdict of a page: the first of its places that says one, with the raw spelling. Refuses to judge figures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from kb import KbError
from kb.page import Page
from kb.schema import (
    FAILED,
    OUTCOME_FIELDS,
    OUTCOME_LABELS,
    RUNNING,
    Verdict,
    answered_verdict,
    canonical_verdict,
    decision_word,
    field_verdict,
    is_pending,
    marked_verdict,
    outcome_verdict,
    shouted_verdict,
    ticked,
)
from kb.text import sentences_of
from kb.text.reports import ReportKind, report_of
from kb.trail.facts import VerdictRead
from kb.trail.outline import Passage, Phrases
from kb.trail.reported import report_in

# Verdicts that stand at the end of a file's name.
_SUFFIXES = frozenset(
    "accepted rejected potential invalid refuted supported crash crashed failed discard discarded kept keep inconclusive parked baseline".split()
)
# What the first sentence of a verdict comes to where it holds no verdict's word.
REPORTED = {ReportKind.FAILED: Verdict.REFUTED, ReportKind.STAYED: Verdict.SUPPORTED}
_UNDECIDED = Phrases(
    "exploratory, pilot, not (?:a )?replicated, undecided, inconclusive, no conclusion, mixed results?, cannot (?:tell|say)",
    whole=True,
)
_DASHES = ("-", "–", "—")
# Fields of what a page is and is called.
_ABOUT = frozenset(
    ("title", "id", "target", "variant", "decision", "verdict", "status", *OUTCOME_FIELDS)
)
# Of a section the first few sentences say how it came out.
_LONGEST_SAYING, _TOLD = 300, 4


def is_running(page: Page, verdict: VerdictRead) -> bool:
    status = page.field("status").lower().replace("-", "_").replace(" ", "_")
    return verdict.canonical in (None, Verdict.OTHER) and status in RUNNING


def verdict_sayings(page: Page, *sections: str) -> tuple[tuple[str, str], ...]:
    """The places that may say a page's verdict, in the order in which they count, as (place, what it says).

    `sections` are what labels and the Verdict section say.
    """
    suffix = page.stem.replace("_", "-").rpartition("-")[2].lower()
    outcomes = (saying for name in OUTCOME_FIELDS if outcome_verdict(saying := page.field(name)))
    # One for each hypothesis (`verdicts: {"H-001": "supports"}`): what all of them say.
    each = page.front.get("verdicts")
    each = [str(v) for v in each.values()] if isinstance(each, dict) else []
    agreed = each[:1] if len({*map(field_verdict, each)}) == 1 else []
    return (
        ("verdict", page.field("verdict") or "".join(agreed)),
        ("outcome", next(outcomes, "")),
        ("status", page.field("status")),
        ("name", suffix if suffix in _SUFFIXES else ""),
        *(("section", section) for section in sections if section),
    )


def _words_of(page: Page) -> tuple[tuple[str, str], ...]:
    """What may say a verdict where no place of one does; a technique may be called so ("MERGE sort"), and a form holds what nobody has answered."""
    # A field by any name that holds nothing but a decision, or answers whether there was one.
    decided = (
        f"{name}: {value}" if answered_verdict(name, value) else value
        for name in page.front
        if (value := page.field(name)) and name not in _ABOUT
        if answered_verdict(name, value) or decision_word(value)
    )
    ending = _title_parts(page)[1:]
    return ("decision", next(decided, "")), (
        "name",
        _capital_word(page.title) or "".join(ending[-1:]),
    )


def verdict_of(page: Page, *sections: str) -> VerdictRead:
    """Verdict of a page by its places: the first that says one; a baseline by name is one unless it failed.

    A status outside the vocabulary may speak of the page and not of the run, so a place after it that says a verdict goes first.
    """
    read = VerdictRead()
    words = () if is_running(page, read) else _words_of(page)
    # What was done with a change tells how it came out where no place of a verdict does.
    done = "decision", page.field("decision")
    for source, raw in (*verdict_sayings(page, *sections), *words, done):
        if answer := _answered(raw):
            verdict = answer
        elif source == "section":
            verdict, raw = _of_section(raw)
        else:
            verdict = outcome_verdict(raw) if source == "name" else field_verdict(raw)
        if verdict is not None and (not read.source or verdict is not Verdict.OTHER):
            read = VerdictRead(verdict, raw, source)
        if read.source == "verdict" or read.canonical not in (None, Verdict.OTHER):
            break
    is_first = "baseline" in page.stem.lower().replace("_", "-").split("-")
    if is_first and read.canonical not in FAILED:
        source = f"{read.source}+name" if read.source else "name"
        return VerdictRead(Verdict.BASELINE, read.raw or "baseline", source)
    return read


def of_run(verdict: VerdictRead, page: Page, *, measured: bool) -> VerdictRead:
    """The verdict of a run; of one that gave figures "failed" says that its idea did, and not that nothing ran."""
    words = verdict.raw.lower().strip(" *_`❌✗").split(maxsplit=1)
    failed = verdict.canonical is Verdict.CRASH and words and words[0].strip(".:;,") == "failed"
    if failed and (measured or "measured" in page.labels):
        return replace(verdict, canonical=Verdict.REFUTED)
    return verdict


def _answered(saying: str) -> Verdict | None:
    """Verdict of a name and the yes or no behind it ("decision: NO. Too dear")."""
    name, _, answer = saying.partition(": ")
    return answered_verdict(name, answer)


def _capital_word(title: str) -> str:
    """The word in capitals that a number, brackets, a colon or a dash set apart at the beginning or end of a title, where it says a verdict
    ("0003 DISCARD depth 12 -> 14", "[REJECTED] zstd"); "MERGE sort" is about merging.
    """
    words = title.split()
    around = [*zip(["", *words], words, [*words[1:], ""], strict=False)]
    opening = [w for _, w, after in around[:1] if not w[-1].isalpha() or after in _DASHES]
    behind = [w for before, w, _ in around[1:2] if any(map(str.isdigit, before))]
    ending = [w for before, w, _ in around[-1:] if before.endswith((*_DASHES, ":")) or w[0] in "[("]
    bare = (w.strip("[]():") for w in (*opening, *behind, *ending))
    capitals = (w for w in bare if len(w) > 3 and w.isalpha() and w.isupper())
    return "" if title.isupper() else next(filter(outcome_verdict, capitals), "")


def _title_parts(page: Page) -> list[str]:
    return page.title.replace("(", ": ").replace(" — ", ": ").replace(" - ", ": ").split(": ")


def worded_verdict(
    page: Page, passages: Sequence[Passage], words: Mapping[str, str]
) -> VerdictRead | None:
    """Verdict of the first value that begins with a word of its owner's: of a field, a label or heading, or behind a mark in the title."""
    if unknown := [f"'{w}' = '{v}'" for w, v in words.items() if v not in list(Verdict)]:
        raise KbError(
            f"kb.toml: [verdicts] {unknown[0]}: no such verdict; known: {', '.join(Verdict)}"
        )
    fields = ((name, page.field(name)) for name in page.front)
    values = chain(
        fields,
        (("section", v) for _, v in _labelled(passages)),
        (("name", end) for end in _title_parts(page)[1:]),
    )
    for source, raw in values if words else ():
        value = raw.strip(" *_`").lower()
        for word, verdict in words.items():
            if value.startswith(word.lower()) and not value[len(word) :][:1].isalnum():
                return VerdictRead(Verdict(verdict), raw, source)
    return None


def _of_section(section: str) -> tuple[Verdict | None, str]:
    """Verdict of what a section or a label says, and the sentence that says it: by the words of a verdict with which it begins, else by
    what its first sentences report: what was done in the end counts before what worked.
    """
    whole = [s for s in sentences_of(section) if not s.startswith("[ ]")][:_TOLD] or [""]
    # What is confirmed stands behind it, and may be a failure.
    first = whole[0] if whole[0].lower().startswith("confirmed") else whole[0].partition("; ")[0]
    verdict = canonical_verdict(first[:_LONGEST_SAYING])
    # What is kept may be what was there before.
    if verdict in (None, Verdict.OTHER) or first.lower().startswith(("keep ", "kept ", "stay ")):
        verdict = outcome_verdict(first) or verdict
        if verdict in (None, Verdict.OTHER, Verdict.SUPPORTED):
            # Of several goes the last counts, wherever it stands.
            reports = [report_of(s, is_try=True) for s in _telling(section, is_end=False)]
            ends = reversed([kind for kind, last in reports if last])
            first_report = report_in(" ".join(whole), is_try=True)[0]
            verdict = REPORTED.get(next((k for k in ends if k in REPORTED), first_report), verdict)
    return verdict, first[:_LONGEST_SAYING]


def decided_verdict(
    page: Page,
    reasons: str,
    results: str,
    lead: Sequence[Passage],
    passages: Sequence[Passage],
) -> VerdictRead | None:
    """How a page whose places say no verdict came out, by the sentence that tells it: in its title, in the section of its outcome, behind an
    arrow at its head, at its head, in the last thing it says; else by the marks (✅, ❌) of its results where all say the same.
    """
    if any(name in OUTCOME_LABELS and is_pending(says) for name, says in _labelled(passages)):
        # What it reports is of something else.
        return None
    ends = next((p.text for p in passages[-1:] if p.kind == "paragraph" and not p.listed), "")
    for text in (page.title, reasons or results, *_openings(lead, passages), ends):
        if shout := shouted_verdict(text):
            return VerdictRead(shout, text.partition(":")[0][:_LONGEST_SAYING], "section")
        if read := _decision_in(text, is_title=text == page.title, is_end=text == ends):
            return read
    marks = {v: line for line in results.split("\n") if (v := marked_verdict(line))}
    return VerdictRead(*marks.popitem(), "section") if len(marks) == 1 else None


def _openings(lead: Sequence[Passage], passages: Sequence[Passage]) -> Sequence[str]:
    """What a page's head says, in the order in which it counts: "tried: …, saw: … => backed out": the arrow leads to what it came to."""
    # A status of few words that says no verdict is the page's.
    fields = {p for p in lead if p.label == "status" and len(p.behind.split()) < _TOLD}
    head = [p.text for p in lead if p.kind == "paragraph" and p not in fields]
    joined = " ".join(head)
    # Behind fields, and above sections, a later paragraph may tell of something beside it; else it goes on to what was tried next.
    apart = len(lead) < len(passages) or any(p.label for p in lead[:2])
    return joined.partition("=> ")[2], *(head if apart else [joined])


def _decision_in(text: str, *, is_title: bool, is_end: bool) -> VerdictRead | None:
    """What the first sentences of a text decide: what was done in the end before what stays open, and this before what went wrong."""
    sentences = _telling(text, is_end=is_end)
    is_try = not is_title or "why" in text.lower().split()
    reports = [(*report_of(s, is_try=is_try), s) for s in sentences]
    final = [(REPORTED[kind], s) for kind, last, s in reports if last and kind in REPORTED]
    # The last thing that a page says may leave open another run.
    undecided = [s for s in sentences if not is_end and _UNDECIDED.search(s)]
    failed = [(Verdict.REFUTED, s) for kind, _, s in reports if kind is ReportKind.FAILED]
    decisions = (*reversed(final), *((Verdict.INCONCLUSIVE, s) for s in undecided), *failed)
    return VerdictRead(*decisions[0], "section") if decisions else None


def _telling(text: str, *, is_end: bool) -> list[str]:
    """The sentences of a text, none of a form, and the word that ends the last thing a page says."""
    # A box that nobody ticked is a form.
    whole = [s for s in sentences_of(text) if not s.startswith("[ ]") and s.count(" | ") < 2]
    # What stands in brackets behind another sentence may be about another run.
    sentences = [s for n, s in enumerate(whole) if not (n and s.startswith("("))]
    # Who writes no capitals ends with a small letter: "… above the baseline. reverted."
    *_, last = text.rstrip(" .").rpartition(". ")
    return [*sentences, *([last] if is_end and last != text and last.isalpha() else [])]


def labelled_verdict(passages: Sequence[Passage]) -> str:
    """What stands behind a label of an outcome ("**Outcome**: reverted", a row of two cells, a heading "Verdict: refuted", below a heading
    "Status"), by the first label that says a verdict.
    """
    sayings: dict[str, list[str]] = {}
    for name, saying in _labelled(passages):
        name = "verdict" if name.endswith(" verdict") else name.partition(" (")[0]
        sayings.setdefault(name, []).append(ticked(saying))
    for name in OUTCOME_LABELS:
        short = [s for s in sayings.get(name, ()) if outcome_verdict(s)]
        # Where several differ each may be about a part of the run.
        if len({outcome_verdict(s) for s in short}) == 1:
            return short[0]
    answers = (
        f"{n}: {s}" for n, behind in sayings.items() for s in behind if answered_verdict(n, s)
    )
    if answer := next(answers, ""):
        return answer
    # What judges may be a sentence; a result that is one gives figures, and a status speaks of the page.
    spoken = (
        sayings[name][-1] for name in ("verdict", "conclusion", "decision") if name in sayings
    )
    sentences = (text for text in spoken if _of_section(text)[0] not in (None, Verdict.OTHER))
    return next(sentences, "")


def _labelled(passages: Sequence[Passage]) -> Iterable[tuple[str, str]]:
    """Labels, headings and rows of two cells in small letters, each with what stands behind or below it."""
    for passage, after in zip_longest(passages, passages[1:]):
        below = after.text if after and after.kind == "paragraph" else ""
        if passage.kind == "heading":
            title = passage.text.replace(" — ", ": ").replace(" - ", ": ").replace("：", ": ")
            name, _, behind = title.partition(":")
            yield name.lower(), behind.strip() or below
        elif passage.label:
            yield passage.label, passage.behind or below
        elif ": " in passage.text:
            # "520 MB/s after, 500 before. Result: kept."
            *before, last = sentences_of(passage.text)
            name, _, behind = last.partition(": ")
            if (
                before
                and name.lower() in OUTCOME_LABELS
                and not any(report_of(s)[1] for s in before)
            ):
                yield name.lower(), behind
        for row in passage.rows:
            if len(row.cells) == 2:
                yield row.cells[0].plain.strip(" :").lower(), row.cells[1].plain
