"""Reads the facts of one experiment page.

Refuses to judge: a raw spelling stays beside every canonical one.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from kb.graph.paths import target_of
from kb.page import Page
from kb.page.seal import FIELD as SEAL
from kb.page.superseding import Superseding, superseding
from kb.run.reasons import compared_in, share_in
from kb.run.record import Metric
from kb.schema import (
    OUTCOME_LABELS,
    Verdict,
    canonical_decision,
    canonical_verdict,
    in_short,
    place_of,
    type_of_place,
)
from kb.trail.facts import Facts, Place, VerdictRead, to_row
from kb.trail.levers import levers_of, stated_levers
from kb.trail.metrics import metrics_of
from kb.trail.outline import Passage, Phrases, labels_of, passages_of, prose_of
from kb.trail.page_account import BESIDE, account_of, point_of, settings_of
from kb.trail.reported import failure_in
from kb.trail.verdicts import (
    decided_verdict,
    is_running,
    labelled_verdict,
    of_run,
    verdict_of,
    worded_verdict,
)

# Headings under which a page says something. First match wins, so "Verdict + reasoning" is a verdict.
_PLACES = {
    "falsification": Phrases("falsif, refuted if, success criteri, decision rule"),
    # What was expected to come out is no outcome, unless it is held against this.
    "predicted_signal": Phrases(
        "^(?:predict\\w*|expected|forecast|projected)\\b(?!.*\\b(?:vs|against|actual|measured))"
    ),
    "verdict": Phrases("verdict, conclusion, outcome, decision, tl;?dr"),
    "hypothesis": Phrases("hypothesis, claim, ^statement, ^goal, ^question"),
    "mechanism": Phrases("^(?:expected )?mechanism, why it should, rationale"),
    "next": Phrases("next, follow[- ]?up, open lead, future"),
    "results": Phrases(
        "result, ^(?:measure|benchmark|numbers|performance|timing|throughput|latency|evaluation|metrics|findings)"
        "(?!.*\\b(?:plan|protocol|set-?up|method|goal))"
    ),
    "setup": Phrases(
        "^set-?up, ^method, ^config, ^change, ^how to, ^what (?:was )?(?:changed|tried)"
    ),
    "profile": Phrases("profil"),
    "evidence": Phrases(
        "(?:hlo|ptx|sass|asm|assembly|dump|evidence|artifacts?|audit|disassembly)\\b"
    ),
    "because": Phrases("^why\\b, root cause, what went wrong, reason, what we learned, lesson"),
}
_Part = tuple[str, tuple[Passage, ...]]
# A longer title is text that lost its line ends; of a reason and a set-up the head is kept.
_LONGEST_TITLE, _REASON, _SETUP = 500, 900, 1500
# A shorter text before the first section is a line of links or of dates.
_SHORTEST_LEAD, _LONGEST_FIELD = 40, 4


def facts_of(page: Page, text: str, words: Mapping[str, str] = {}) -> bytes | None:
    """Facts of an experiment page as a row of the tables; None for any other page. `words` are an owner's own for verdicts."""
    return to_row(read_facts(page, text, words)) if page.type == "experiment" else None


def read_facts(page: Page, text: str, words: Mapping[str, str] = {}) -> Facts:
    """Facts of an experiment page and its text (newlines `\\n`); `words` are an owner's own for verdicts."""
    passages = passages_of(text)
    facts = _front_facts(page)
    sections = [s for s in page.sections if s.level > 1]
    short = bool(sections) and in_short(sections[0].title)
    lead = _between(passages, 0, next((s.start for s in sections[short:]), page.lines + 1))
    parts = [(p.name, _between(passages, p.start, p.end)) for p in facts.places]
    own = dict(reversed(parts))
    labels = labels_of(passages)

    def stated(name: str) -> str:
        return labels.get(name) or prose_of(own.get(name, ()))

    hypothesis = stated("hypothesis") or (facts.slug if " " in facts.slug else "")
    opening = "" if hypothesis else _opening(lead)
    mechanism = stated("mechanism")
    reasons = prose_of(own.get("verdict", ()), most=_REASON)
    why = prose_of(own.get("because", ()), most=_REASON)
    setup = prose_of(own.get("setup", ()), most=_SETUP)
    # What a page says of itself at its head goes before any other label.
    labelled = labelled_verdict(lead) or labelled_verdict(passages)
    verdict = worded_verdict(page, passages, words) or verdict_of(page, labelled, reasons)
    if (
        verdict.canonical in (None, Verdict.OTHER)
        and verdict.source != "verdict"
        and not is_running(page, verdict)
    ):
        # A later section of results may tell of something else that was tried.
        results = prose_of(next(iter(_named(parts, "results", lead)), ()))
        verdict = decided_verdict(page, reasons, results, lead, passages) or verdict
    # How it came out, behind a label in more than a few words, goes before why; a verdict of several words is all that some pages say.
    ended = next((p.behind for p in passages if _tells_end(p)), "")
    stated_end = labelled if len(labelled.split()) > _LONGEST_FIELD else ended
    because = facts.because or reasons or f"{stated_end} {why}".strip() or labelled
    because = because or verdict.raw * (" " in verdict.raw)
    # Where nothing says why, what came out is all there is.
    because = because or prose_of(next(iter(_named(parts, "results", lead)), ()), most=_REASON)
    if later := superseding(text, seal=page.field(SEAL)):
        # What completed evidence said below the sealed text goes before what the page was filed with.
        # Notes that leave the verdict as it stood, with a lesson or newer figures, take away nothing else of it.
        word = later[-1].verdict
        stays = canonical_verdict(word) == verdict.canonical
        noted = (n.lesson[0] for n in reversed(later) if n.verdict == word)
        because = ". ".join(filter(None, (*noted, because * stays)))
        verdict = VerdictRead(canonical_verdict(word), word, "note")
        facts = replace(facts, decision=facts.decision * stays)
    account = account_of(page, passages)
    how = [p for p in own.get("setup", ()) if not BESIDE.search(p.text)]
    hypothesis = hypothesis or opening
    texts = (facts.title, mechanism, prose_of(how, most=_SETUP), hypothesis)
    settings = settings_of(page, account, *texts)
    # Of several goes the one that decides is the run's, and so are its figures.
    deciding = [(Passage("paragraph", verdict.raw * (verdict.source == "section"), 0),)]
    measured = [part for name in ("results", "", "verdict") for part in _named(parts, name, lead)]
    known = replace(
        facts,
        verdict=verdict,
        levers=facts.levers or levers_of(facts.title, facts.slug, hypothesis, mechanism),
        metrics=metrics_of(
            page,
            deciding + (measured if len(measured) > 1 else [passages]),
            tokens="tok" in text.lower(),
        ),
        hypothesis=hypothesis,
        mechanism=mechanism,
        predicted_signal=stated("predicted_signal"),
        falsification=stated("falsification"),
        because=because,
        setup=setup,
        running=is_running(page, verdict),
        settings=settings,
        point=point_of(settings),
        account=account,
        opens=bool(opening),
    )
    known = replace(known, verdict=of_run(verdict, page, measured=bool(known.metrics)))
    return _as_measured_since(known, later, filed=page.field("measured"))


def _as_measured_since(facts: Facts, later: Sequence[Superseding], *, filed: str) -> Facts:
    """Facts with the figures of evidence that is newer than what was `filed`, as the notes on it give them."""
    evidence = later[-1].evidence if later else "none"
    if evidence in ("none", filed):
        return facts
    readings = (compared_in(n.because) for n in reversed(later) if n.evidence == evidence)
    name, value, gain = next(filter(None, readings), ("", None, None))
    newest = (
        Metric(m.name, value, m.unit, m.direction) if m.name == name else m for m in facts.metrics
    )
    return replace(facts, gain=gain, metrics=tuple(newest))


def _tells_end(passage: Passage) -> bool:
    """Whether a label of an outcome leads what says of a try that it failed."""
    is_end = passage.label in OUTCOME_LABELS and len(passage.behind.split()) > _LONGEST_FIELD
    return is_end and failure_in(passage.behind, is_try=True) is not None


def _opening(lead: tuple[Passage, ...]) -> str:
    """What stands before the first section, where that is a text; how the run came out, and a field of few words, is no hypothesis."""
    opening = prose_of(
        p
        for p in lead
        if not p.label
        or p.label not in OUTCOME_LABELS
        and not p.listed
        and len(p.behind.partition(". ")[0].split()) > _LONGEST_FIELD
    )
    return opening if len(opening) > _SHORTEST_LEAD else ""


def _front_facts(page: Page) -> Facts:
    """What front matter, name and links of a page say."""
    stated = (*page.words("levers"), *page.words("lever"))
    return Facts(
        path=page.path,
        target=target_of_page(page),
        variant=page.field("variant"),
        date=page.date,
        number=page.number,
        title=page.title[:_LONGEST_TITLE],
        slug=page.field("hypothesis"),
        decision=canonical_decision(page.field("decision") or page.field("status")) or "",
        levers=stated_levers(stated),
        stated_levers=bool(stated),
        rule=page.field("rule"),
        gain=share_in(page.field("gain")),
        primary=page.field("primary"),
        parent=page.field("parent") or page.field("baseline"),
        because=page.field("because"),
        places=places_of(page),
        tags=page.words("tags"),
        first=page.field("receipt") == "baseline" and not page.field("parent"),
        imported=bool(page.field("imported")),
        created=page.field("created"),
        cites=_runs_cited(page),
        commit=page.field("commit") or page.field("code") or page.field("revision"),
    )


def _named(parts: list[_Part], name: str, lead: tuple[Passage, ...]) -> list[tuple[Passage, ...]]:
    return [part for own, part in parts if own == name] if name else [lead]


def _between(passages: tuple[Passage, ...], start: int, stop: int) -> tuple[Passage, ...]:
    first = bisect_left(passages, start, key=lambda p: p.line)
    return passages[first : bisect_left(passages, stop, lo=first, key=lambda p: p.line)]


def _runs_cited(page: Page) -> tuple[str, ...]:
    """Pages of a run's own folder that it links, in the order of first mention: what it compares itself with."""
    ends = (target_of(href, folder=page.folder) for href in page.cited if ".md" in href)
    return tuple(
        dict.fromkeys(
            e[0] for e in ends if e and e[0] != page.path and e[0].rpartition("/")[0] == page.folder
        )
    )


def target_of_page(page: Page) -> str:
    """Target of an experiment: its front matter's, else its folder below the experiments' (a trailing `experiments` dropped); elsewhere
    a folder says what its pages are and not what is optimized.
    """
    folders = place_of(page.path)[1 : -1 if page.name == page.stem else -2]
    folders = folders if type_of_place(page.path)[0] else ()
    return page.field("target") or "/".join(
        folders[:-1] if folders[-1:] == ("experiments",) else folders
    )


def places_of(page: Page) -> tuple[Place, ...]:
    """Sections of a page that this room reads, in page order, each with what stands below its sub-headings."""
    places: list[Place] = []
    for i, section in enumerate(page.sections):
        if section.level > 1 and (name := place_named(section.title)):
            below = (
                later.start for later in page.sections[i + 1 :] if later.level <= section.level
            )
            places.append(
                Place(name, section.anchor, section.start, next(below, page.sections[-1].end))
            )
    return tuple(places)


@lru_cache(4096)
def place_named(heading: str) -> str | None:
    """What a section of a run's page speaks of by its heading, as `places_of` names it."""
    return next((name for name, pattern in _PLACES.items() if pattern.search(heading)), None)
