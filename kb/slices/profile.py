"""The profile step: how to read what a profiler shows. Never what to try: no page of runs, hypotheses or analyses, no sentence that advises."""

import re

from kb import search
from kb.search.gist import REFERENCES, sentences_of
from kb.slices.bringing import Bringing
from kb.slices.hardware import envelopes, machines_of
from kb.slices.proposal import bring_said
from kb.slices.request import Request

# Pages that explain; runs, hypotheses and analyses judge and propose.
TYPES = ("concept", "source", "codebase", "observation")

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

# Observations tell a story; only what says how the matter shows is about reading.
_SEEN = re.compile(r"how to see|recogni|signature|symptom|how to (?:spot|detect|find|read)", re.IGNORECASE)

# A sentence that begins so tells to change something.
_CHANGING = re.compile(
    r"^(?:[-*+]\s+|\d+[.)]\s+|>\s*)*(?:place|set|keep|avoid|prefer|prefetch|shard|pad|align|move|add|remove|replace|split|merge|fuse|cast|quanti[sz]e|tile|pin|change|swap"
    r"|drop|apply|overlap|offload|cache|batch|unroll|vectori[sz]e|prune|upgrade|downgrade|turn (?:on|off)|make|rewrite|use (?:a|an|the)? ?(?:smaller|larger|bigger)|do(?:n't| not))\b",
    re.IGNORECASE,
)
_TABLE = re.compile(r"(?:^[ \t]*\|[^\n]*(?:\n|$))+", re.MULTILINE)

_SHORTEST, _LONGEST = 100, 420

# Of a section that advises in every other sentence the rest is no explanation either.
_LEAST_KEPT = 0.5


def fill_profile(bring: Bringing, request: Request) -> str:
    """Fill the slice of one profile request."""
    bring_said(bring, request.proposal, "mechanism", "predicted_signal")
    _bring_baseline(bring)
    ceiling = bring.filling.tokens + request.budget // 4
    for chunk in envelopes(bring, machines_of(bring), most=3):
        text = told(chunk.text)
        if text:
            bring.words("envelope", chunk.path, chunk.anchor, why="hardware", text=text, most=ceiling)
    for chunk in readings(bring):
        text = told(chunk.text)
        if len(text) >= _SHORTEST and not bring.filling.says(text):
            bring.words("pages", chunk.path, chunk.anchor, why="how to read it", text=text)
    return "reading"


def told(text: str) -> str:
    """The sentences of a stretch that explain, without those that advise, cut to one item's length; empty where it mostly advises."""
    sentences = sentences_of(_TABLE.sub(lambda table: "\n" if ADVICE.search(table[0].partition("\n")[0]) else table[0], text))
    kept = [s for s in sentences if not ADVICE.search(s) and not _CHANGING.search(s)]
    if len(kept) < _LEAST_KEPT * len(sentences):
        return ""
    whole = " ".join(kept)
    return whole if len(whole) <= _LONGEST else whole[:_LONGEST].rsplit(" ", 1)[0] + " …"


def readings(bring: Bringing) -> list[search.Chunk]:
    """Sections that explain how to read what is asked, best first: by words, those about profiles and tools before others."""
    found = []
    for place, hit in enumerate(search.find(bring.view.db, bring.weights, limit=120, types=TYPES)):
        title = f"{hit.page_title} > {hit.chunk.title}"
        if not bring.view.sees(hit.chunk.path) or _ADVISING_TITLE.search(hit.chunk.title) or REFERENCES.search(hit.chunk.title):
            continue
        if _SEEN.search(hit.chunk.title) if hit.type == "observation" else _READING.search(title):
            known = bring.view.db.execute(
                "select 1 from reading where path = ? and anchor = ?", (hit.chunk.path, hit.chunk.anchor)
            ).fetchone()
            seen = bring.view.masked(hit.chunk)
            if seen:
                found.append(
                    (-hit.score * (1.6 if known else 1.0) * (1.5 if _READING.search(hit.chunk.title) else 1.0), place, seen)
                )
    return [chunk for _, _, chunk in sorted(found, key=lambda f: f[:2])]


def _bring_baseline(bring: Bringing) -> None:
    """The bucket table of the frontier's profile, figures only, to compare with."""
    best = bring.asked.state.frontiers[0].run if bring.runs and bring.asked.state.frontiers else None
    place = best.place("profile") if best else None
    if not place:
        return
    rows = [
        line.strip()
        for chunk in search.chunks_in(bring.view.db, best.path)
        if place.start <= chunk.line < place.end
        for line in chunk.text.split("\n")
        if line.lstrip().startswith("|") and not ADVICE.search(line)
    ]
    if rows:
        bring.words(
            "state",
            best.path,
            place.anchor,
            why="baseline profile",
            text=search.without_links("\n".join(rows))[:700].rsplit("\n", 1)[0],
        )
