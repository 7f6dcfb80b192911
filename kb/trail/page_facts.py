"""Reads the facts of one experiment page.

Refuses to judge: a raw spelling stays beside every canonical one.
"""

import re
from functools import lru_cache

from kb.graph.paths import target_of
from kb.page import Page, Section
from kb.page.seal import FIELD as SEAL
from kb.page.superseding import superseding
from kb.schema import Verdict, canonical_decision, canonical_verdict
from kb.trail.facts import Facts, Place, VerdictRead, to_row
from kb.trail.levers import levers_of
from kb.trail.page_account import account_of, point_of, settings_of
from kb.trail.prose import items, labels, prose
from kb.trail.verdicts import is_running, labelled_verdict, titled_verdict, verdict_of

# Headings under which a page says something. First match wins, so "Verdict + reasoning" is a verdict.
_PLACES = (
    ("verdict", re.compile(r"verdict|conclusion|outcome|decision\b(?! rule)|tl;?dr", re.IGNORECASE)),
    ("hypothesis", re.compile(r"hypothesis(?! proposal)|\bclaim\b|^statement|^goal|^question", re.IGNORECASE)),
    ("mechanism", re.compile(r"^(?:expected )?mechanism|why it should|rationale", re.IGNORECASE)),
    ("predicted_signal", re.compile(r"predict|^expected", re.IGNORECASE)),
    ("falsification", re.compile(r"falsif|refuted if|success criteri|decision rule", re.IGNORECASE)),
    ("next", re.compile(r"next|follow[- ]?ups?|open leads?|future", re.IGNORECASE)),
    (
        "results",
        re.compile(
            r"results?\b|^measure|^benchmarks?\b|^numbers|"
            r"^(?:performance|timings?|throughput|latency|evaluation|metrics|findings)\b(?! (?:plan|to|protocol|set-?up|method|goal))",
            re.IGNORECASE,
        ),
    ),
    (
        "setup",
        re.compile(r"^setup|^method|^config|^change|^how to (?:run|reproduce)|^what (?:was )?(?:changed|tried)", re.IGNORECASE),
    ),
    ("profile", re.compile(r"profil", re.IGNORECASE)),
    ("evidence", re.compile(r"\b(?:hlo|ptx|sass|asm|assembly|dump|evidence|artifacts?|audit|disassembly)\b", re.IGNORECASE)),
    ("because", re.compile(r"^(?:mechanism\W+)?why\b|root cause|what went wrong|reason|what we learned|lesson", re.IGNORECASE)),
)


# "Change (quoted): ..." at the head of a hypothesis only says what follows.
_LEADING_LABEL = re.compile(r"^(?:change|claim|idea|proposal)\s*(?:\([^)]*\))?:\s*", re.IGNORECASE)
# A longer title is text that lost its line ends.
_LONGEST_TITLE = 500


def facts_of(page: Page, text: str) -> bytes | None:
    """Facts of an experiment page as a row of the tables; None for any other page."""
    if page.type != "experiment":
        return None
    return to_row(read_facts(page, text))


def read_facts(page: Page, text: str) -> Facts:
    """Facts of an experiment page and its text (newlines `\\n`)."""
    # The patterns of figures take long to make, and most commands read facts from the tables.
    from kb.trail.measured import metrics_of

    lines = text.split("\n")
    places = places_of(page)
    said = labels(page, lines)
    first = {p.name: p for p in reversed(places)}

    def body(name: str) -> str:
        return "\n".join(lines[first[name].start : first[name].end - 1]) if name in first else ""

    hypothesis = (
        said.get("hypothesis") or _LEADING_LABEL.sub("", prose(body("hypothesis"))) or _front_sentence(page) or _lead(page, lines)
    )
    mechanism = said.get("mechanism") or prose(body("mechanism"))
    reasons = prose(body("verdict"), limit=900)
    verdict = verdict_of(page, titled_verdict(page) or reasons)
    if verdict.source in ("section", ""):
        # What a page says of itself at its head goes before what its Verdict section begins with.
        head = next((s.start - 1 for s in page.sections if s.level > 1), 0)
        said_first = labelled_verdict(page, lines, stop=head) if head else ""
        verdict = verdict_of(page, said_first) if said_first and verdict_of(page, said_first).canonical else verdict
    labelled = labelled_verdict(page, lines) if verdict.canonical in (None, Verdict.OTHER) else ""
    if labelled:
        verdict = verdict_of(page, labelled)
    # A verdict of several words is all that some pages say of why.
    because = page.field("because") or reasons or prose(body("because"), limit=900) or labelled or (verdict.raw if " " in verdict.raw else "")
    decision = canonical_decision(page.field("decision") or page.field("status")) or ""
    if later := superseding(text, seal=page.field(SEAL)):
        # What completed evidence said below the sealed text goes before what the page was filed with.
        verdict = VerdictRead(canonical_verdict(later[-1].verdict), later[-1].verdict, "note")
        because, decision = later[-1].because, ""
    title = page.title[:_LONGEST_TITLE]
    stated = (*page.words("levers"), *page.words("lever"))
    levers = levers_of(title, slug=page.field("hypothesis"), stated=stated, hypothesis=hypothesis, mechanism=mechanism)
    account = account_of(page, text)
    settings = settings_of(page, account, title, mechanism, prose(body("setup"), limit=1500), hypothesis)
    return Facts(
        path=page.path,
        target=target_of_page(page),
        variant=page.field("variant"),
        date=page.date,
        number=page.number,
        title=title,
        slug=page.field("hypothesis"),
        verdict=verdict,
        decision=decision,
        levers=levers,
        stated_levers=bool(stated),
        metrics=metrics_of(
            page,
            lines,
            results=[(p.start, p.end) for p in places if p.name == "results"],
            verdicts=[(p.start, p.end) for p in places if p.name == "verdict"],
        ),
        primary=page.field("primary"),
        parent=page.field("parent") or page.field("baseline"),
        hypothesis=hypothesis,
        mechanism=mechanism,
        predicted_signal=said.get("predicted_signal") or prose(body("predicted_signal")),
        falsification=said.get("falsification") or prose(body("falsification")),
        because=because,
        setup=prose(body("setup"), limit=1500),
        next_ideas=tuple(items(body("next"))),
        places=places,
        tags=page.words("tags"),
        running=is_running(page, verdict),
        first=page.field("receipt") == "baseline" and not page.field("parent"),
        created=page.field("created"),
        settings=settings,
        point=point_of(settings),
        cites=_runs_cited(page),
        commit=page.field("commit") or page.field("code") or page.field("revision"),
        account=account,
    )


def _runs_cited(page: Page) -> tuple[str, ...]:
    """Pages of a run's own folder that it links, in the order of first mention: what it compares itself with."""
    ends = (target_of(href, folder=page.folder) for href in page.cited if ".md" in href)
    return tuple(dict.fromkeys(e[0] for e in ends if e and e[0] != page.path and e[0].rpartition("/")[0] == page.folder))


def target_of_page(page: Page) -> str:
    """Target of an experiment: its front matter's, else its folder below `wiki/experiments/` (a trailing `experiments`
    dropped).
    """
    named = page.field("target")
    if named:
        return named
    folders = page.folder.split("/")[2 : None if page.name == page.stem else -1]
    if folders and folders[-1] == "experiments":
        folders = folders[:-1]
    return "/".join(folders)


def places_of(page: Page) -> tuple[Place, ...]:
    """Sections of a page that this room reads, in page order, each with what stands below its sub-headings."""
    found: list[Place] = []
    tops = page.sections
    for i, section in enumerate(tops):
        if section.level < 2:
            continue
        if name := _place_named(section.title):
            found.append(Place(name, section.anchor, section.start, _end(tops, i)))
    return tuple(found)


@lru_cache(4096)
def _place_named(heading: str) -> str | None:
    return next((name for name, pattern in _PLACES if pattern.search(heading)), None)


def _end(tops: tuple[Section, ...], i: int) -> int:
    return next((later.start for later in tops[i + 1 :] if later.level <= tops[i].level), tops[-1].end)


def _front_sentence(page: Page) -> str:
    """`hypothesis:` of the front matter where it is a sentence and no slug."""
    said = page.field("hypothesis")
    return said if " " in said.strip() else ""


def _lead(page: Page, lines: list[str]) -> str:
    """What stands before the first section: many pages open with what they tried."""
    for section in page.sections:
        if section.level <= 1:
            text = prose("\n".join(lines[section.start - (section.level == 0) : section.end - 1]))
            if len(text) > 40:
                return text
    return ""
