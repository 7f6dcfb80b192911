"""The profile step: how to read what a profiler shows. Never what to try: no page of runs, hypotheses or analyses, no sentence that advises."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

from kb import search, trail
from kb.search.prose import REFERENCES, sentences_of
from kb.slices.hardware import envelopes, machines_of
from kb.slices.open_slice import OpenSlice
from kb.slices.request import Request
from kb.slices.slice import PROFILE
from kb.slices.state import bring_proposal
from kb.text import cut
from kb.trail.buckets import differences
from kb.trail.facts import Note

# Pages that explain; runs, hypotheses and analyses judge and propose.
TYPES = ("concept", "source", "codebase")

_ADVISING_TITLE = re.compile(
    r"next|hypothes|recommend|direction|\blevers?\b|\bfix|remed|mitigat|optimi[sz]|what to (?:do|try)|how to (?:improve|reduce|avoid)|implication|action"
    r"|to-?do|follow-?up|proposal|idea|tuning|best practice|when to|verdict|what it did|result",
    re.IGNORECASE,
)
ADVICE = re.compile(
    r"\b(?:try|tries|trying|should|could|might help|consider|recommend\w*|suggest\w*|hypothes\w*|propos\w+|next (?:step|experiment|lever|candidate)|levers?|fix(?:es|ed)?"
    r"|mitigat\w+|instead|worth|switch(?:ing)? to|enabl(?:e|ing)|disabl(?:e|ing)|increas(?:e|ing)|decreas(?:e|ing)|rais(?:e|ing)|reduc(?:e|ing)|improv\w+|optimi[sz]\w*"
    r"|speed-?ups?|faster|wins?|gains?|candidates?|refuted|supported|experiments?)\b",
    re.IGNORECASE,
)
_READING = re.compile(
    r"read|profil|trace|counter|bucket|signature|recogni|metric|column|viewer|tool|roofline|dump|hlo|ptx|sass|assembly|event|stall|occupan|utili[sz]ation|what it is|measure"
    r"|see it|observe|breakdown|attribut|diagnos|symptom|units?\b",
    re.IGNORECASE,
)

# A sentence that begins so tells to change something.
_CHANGING = re.compile(
    r"^(?:[-*+]\s+|\d+[.)]\s+|>\s*)*(?:place|set|keep|avoid|prefer|prefetch|shard|pad|align|move|add|remove|replace|split|merge|fuse|cast|quanti[sz]e|tile|pin|change|swap"
    r"|drop|apply|overlap|offload|cache|batch|unroll|vectori[sz]e|prune|upgrade|downgrade|turn (?:on|off)|make|rewrite|use (?:a|an|the)? ?(?:smaller|larger|bigger)|do(?:n't| not))\b",
    re.IGNORECASE,
)
_TABLE = re.compile(r"(?:^[ \t]*\|[^\n]*(?:\n|$))+", re.MULTILINE)

_SHORTEST, _LONGEST, _ROWS = 100, 420, 14

# Of a section that advises in every other sentence the rest is no explanation either.
_LEAST_KEPT = 0.5


def fill_profile(into: OpenSlice, request: Request) -> str:
    """Fill the slice of one profile request."""
    question = into.question
    if request.buckets:
        _bring_buckets(into, request.buckets)
    bring_proposal(into, "mechanism", "predicted_signal")
    _bring_baseline(into)
    ceiling = into.tokens + request.budget // 4
    for chunk in envelopes(question, machines_of(question), most=3):
        if text := explained(chunk.text):
            into.words(
                "envelope", chunk.path, chunk.anchor, why="hardware", text=text, most=ceiling
            )
    for chunk in _readings(into):
        text = explained(chunk.text)
        if len(text) >= _SHORTEST and not into.says(text):
            into.words("pages", chunk.path, chunk.anchor, why="how to read it", text=text)
    return "reading"


def explained(text: str) -> str:
    """The sentences of a stretch that explain, without those that advise, cut to one item's length; empty where it mostly advises."""
    bare = _TABLE.sub(lambda t: "\n" if ADVICE.search(t[0].partition("\n")[0]) else t[0], text)
    sentences = sentences_of(bare)
    kept = [s for s in sentences if not ADVICE.search(s) and not _CHANGING.search(s)]
    return cut(" ".join(kept), _LONGEST) if len(kept) >= _LEAST_KEPT * len(sentences) else ""


def _readings(into: OpenSlice) -> list[search.Chunk]:
    """Sections that explain how to read what is asked, best first: by words, those about profiles and tools before others."""
    view, readings = into.view, []
    for hit in search.find(view.db, into.question.weights, limit=120, types=TYPES):
        chunk, (own, aside) = hit.chunk, _kind_of(hit.chunk.title)
        fits = (own or _kind_of(hit.page_title)[0]) and not aside and view.sees(chunk.path)
        if chunk_seen := view.masked(chunk) if fits else None:
            readings.append((hit.score * (1.5 if own else 1.0), chunk_seen))
    return [chunk for _, chunk in sorted(readings, key=lambda f: -f[0])]


# Every question meets the same titles.
@lru_cache(maxsize=1 << 13)
def _kind_of(title: str) -> tuple[bool, bool]:
    """Whether a title is of how something is read, and whether of something else: what to do, or what others wrote."""
    aside = _ADVISING_TITLE.search(title) or REFERENCES.search(title)
    return bool(_READING.search(title)), bool(aside)


def _bring_buckets(into: OpenSlice, table: str) -> None:
    """The table of the profile that was handed over, and how it differs from the one before it."""
    about, *rows = table.split("\n")
    _bring_rows(into, PROFILE, "", "this profile", [about, *rows[: _ROWS + 1]])
    before = _table_before(into)
    lines = differences([*map(Note, rows)], before.account.buckets) if before else ()
    if lines:
        place = before.place("profile")
        why = "from its table to this profile"
        _bring_rows(into, before.path, place.anchor if place else "", why, lines)


def _bring_rows(into: OpenSlice, path: str, anchor: str, why: str, rows: Sequence[str]) -> None:
    """As many rows as fit."""
    texts = ("\n".join(rows[:n]) for n in range(len(rows), 0, -1))
    any(into.words("state", path, anchor, why=why, text=text) for text in texts)


def _table_before(into: OpenSlice) -> trail.Facts | None:
    """The run to compare with: the parent of what is asked about, the frontier, else the newest run that shows a table."""
    question = into.question
    runs = {e.path: e for e in question.earlier}
    parents = [runs.get(e.parent) for e in (question.proposed, question.own) if e]
    ordered = filter(None, (*parents, question.frontier, *reversed(question.earlier)))
    return next((e for e in ordered if e.account.buckets), None)


def _bring_baseline(into: OpenSlice) -> None:
    """The bucket table of the frontier's profile, to compare with."""
    frontier = into.question.frontier
    place = frontier.place("profile") if frontier else None
    listed = islice(frontier.account.buckets if place else (), _ROWS)
    if rows := "\n".join(n.text for n in listed if not ADVICE.search(n.text)):
        into.words("state", frontier.path, place.anchor, why="baseline profile", text=rows)
