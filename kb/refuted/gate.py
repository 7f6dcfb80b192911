"""`kb check`: what a proposal would repeat. Refuses to forbid: it names the card, says how alike the two are, and what differs.

The receipt is `kb1-OUTCOME-DIGEST`. The digest (16 hex digits of sha256) is over the proposal's text, its target, the moment
of the question, and path, kind and status
of every match: the same question to the same cards gives the same receipt, on any machine.
"""

import json
import math
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from kb.page import read
from kb.refuted.aim import Aim, Pull, abbreviates, aim_of, differences, strong
from kb.refuted.card import Card, from_row
from kb.store import digest_of
from kb.trail import Facts, Moment, experiment, moment, read_facts
from kb.trail.levers import OPPOSITE, is_common, key_of, number_of, way_of


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is to be tried, in words; `before` (a page) or `as_of` (a day) put the question into the past."""

    text: str
    id: str = ""
    target: str = ""
    before: str = ""
    as_of: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """One card that a proposal meets. kind: same-value, same-lever, similar.

    `acknowledged` is the proposal's own sentence on what differs.
    """

    path: str
    anchor: str
    kind: str
    lever: str
    value: str
    scope_diff: tuple[str, ...]
    verdict: str
    because: str
    delta: str
    date: str
    score: float
    target: str
    claim: str
    status: str
    by: str
    reopen_if: str
    acknowledged: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """Outcome clear, distinguish or repeat, with the matches that led to it, best first."""

    id: str
    outcome: str
    receipt: str
    matches: tuple[Match, ...]


# Rarity counts a little more than proportionally, and a long card is held back a little: both set by replaying a trail.
_ALPHA, _LENGTH = 1.25, 0.35
_PROPOSAL_CAP, _CARD_CAP = 1.2, 4.0
_TERMS_ASKED, _CANDIDATES, _MOST_MATCHES = 120, 30, 10
# Rows of the table of terms that one question may read: the rarest terms come first, so what is left out tells least.
_MOST_ROWS = 40_000
# A score is the share of the weights of proposal and card that they have in common. From which share on a card is shown, and is
# the same lever by its words alone.
_SHOWN, _SAME = 0.08, 0.45
# Runs of one loop share much by habit: a card counts by what it has in common beyond the cards behind it (their mean, places 6
# to 15).
_STANDS_OUT, _BEHIND = 0.14, slice(5, 15)
_LOCAL_FROM = 10
# A card of another target, of a sister target (same first folder), and one that a page tells without a run of its own behind it.
_OTHER_TARGET, _SISTER_TARGET, _TOLD = 0.75, 0.85, 0.4
# What the levers make of a score that the words give: the same lever, the same with another value, and the same moved the other
# way, which comes behind those; two sides that each set a lever, and not the same.
_SAME_VALUE, _SAME_LEVER, _AGAINST, _APART = 1.3, 1.15, 0.85, 0.6


@dataclass(frozen=True, slots=True)
class _Question:
    """A proposal as the tables are asked about it: `words` are keys of its words and of pairs of neighbours."""

    text: str
    target: str
    at: Moment | None
    aim: Aim
    words: frozenset[str]


class Gate:
    """Open tables to check proposals against; keeps what it read between proposals of a batch."""

    def __init__(self, db: sqlite3.Connection):
        self.db = db
        self.frequencies: dict[str, tuple[int, Mapping[str, int]]] = {}
        self.cards: dict[int, Card] = {}
        self.lengths: dict[int, float] = {}
        self.weights: dict[tuple[str, str], float] = {}

    def check(self, proposal: Proposal) -> Answer:
        """Answer to one proposal. Raises KbError where `before` names no page."""
        at = moment(self.db, before=proposal.before or None, as_of=proposal.as_of or None)
        own = experiment(self.db, proposal.before) if proposal.before else None
        target = proposal.target or (own.target if own else "")
        asked = _Question(proposal.text, target, at, _aim_of_proposal(proposal.text), _words(proposal.text))
        found = [self._match(asked, card, score) for score, card in self._ranked(asked)]
        best: dict[str, Match] = {}
        for match in sorted(found, key=lambda m: (-m.score, m.path)):
            best.setdefault(match.path, match)
        behind = sum(m.score for m in list(best.values())[_BEHIND]) / (_BEHIND.stop - _BEHIND.start)
        matches = tuple([m for m in best.values() if m.score >= _SHOWN][:_MOST_MATCHES])
        outcome = _outcome(matches, _STANDS_OUT + behind)
        state = json.dumps([proposal.text.strip(), target, at, [(m.path, m.kind, m.status) for m in matches]], ensure_ascii=False)
        return Answer(proposal.id, outcome, f"kb1-{outcome}-{digest_of(state)}", matches)

    def _frequency(self, target: str) -> tuple[int, Mapping[str, int]]:
        if target not in self.frequencies:
            row = self.db.execute("select aims, terms from card_frequency where target = ?", (target,)).fetchone()
            self.frequencies[target] = (row[0], json.loads(row[1])) if row else (0, {})
        return self.frequencies[target]

    def _rarity(self, term: str, target: str) -> float:
        """How much a term tells: rare in the wiki and, for a card of a target with enough runs, rare among that target's runs."""
        known = self.weights.get((term, target))
        if known is None:
            size, counts = self._frequency("")
            value = math.log((size + 1) / (counts.get(term, 0) + 0.5))
            own_size, own = self._frequency(target)
            if target and own_size >= _LOCAL_FROM:
                value = min(
                    value,
                    math.log((own_size + 2) / (own.get(term, 0) + 0.5))
                    / math.log((own_size + 2) / 1.5)
                    * math.log((size + 1) / 1.5),
                )
            known = self.weights[term, target] = max(0.0, value) ** _ALPHA
        return known

    def _asked_terms(self, aim: Aim) -> dict[str, float]:
        """Weights of the terms that are looked up: the most telling ones, as many as the tables can be read for."""
        weight_of: dict[str, float] = {}
        left = _MOST_ROWS
        for _, term in sorted(((min(w, _PROPOSAL_CAP) * self._rarity(t, ""), t) for t, w in aim.terms.items()), reverse=True):
            left -= self._frequency("")[1].get(term, 0)
            if left < 0 or len(weight_of) == _TERMS_ASKED:
                break
            weight_of[term] = min(aim.terms[term], _PROPOSAL_CAP)
        return weight_of

    def _ranked(self, asked: _Question) -> list[tuple[float, Card]]:
        """Cards that share most with a proposal, with the share of both their weights that they have in common."""
        aim, target = asked.aim, asked.target
        weight_of = self._asked_terms(aim)
        where, values = ("", []) if asked.at is None else (" and (date, serial, evidence) < (?, ?, ?)", list(asked.at))
        sums: dict[tuple[int, str], float] = {}
        query = f"""select t.term, t.card, t.weight, c.target from card_term t join card c on c.number = t.card
            where t.term in ({",".join("?" * len(weight_of))}){where}"""
        for term, number, weight, of in self.db.execute(query, [*weight_of, *values]):
            sums[number, of] = sums.get((number, of), 0.0) + weight_of[term] * min(weight, _CARD_CAP) * self._rarity(term, of)
        near = sorted(sums, key=lambda k: (-sums[k] * _kinship(target, k[1]), k[0]))[: 3 * _CANDIDATES]
        whole = self._length(aim, target)
        ranked = []
        for number, of in near:
            card = self._card(number)
            if number not in self.lengths:
                self.lengths[number] = self._length(card.aim, of)
            own = self.lengths[number]
            told = 1.0 if card.kind == "experiment" else _TOLD
            ranked.append((sums[number, of] / (whole ** (1 - _LENGTH) * own**_LENGTH or 1.0) * _kinship(target, of) * told, card))
        return sorted(ranked, key=lambda r: (-r[0], r[1].id))[:_CANDIDATES]

    def _length(self, aim: Aim, target: str) -> float:
        return sum(min(w, _PROPOSAL_CAP) * min(w, _CARD_CAP) * self._rarity(t, target) for t, w in aim.terms.items())

    def _card(self, number: int) -> Card:
        if number not in self.cards:
            self.cards[number] = from_row(*self.db.execute("select row, aim from card where number = ?", (number,)).fetchone())
        return self.cards[number]

    def _match(self, asked: _Question, card: Card, score: float) -> Match:
        card = self._as_of(card, asked.at)
        kind, lever, boost = self._kind(asked, card, score)
        diffs = _scope(asked, card, lever, self._rare(asked.aim, asked.target))
        return Match(
            path=card.evidence,
            anchor=card.anchor,
            kind=kind,
            lever=lever.name if lever else card.levers[0].name if card.levers else card.title,
            value=lever.value if lever else card.levers[0].value if card.levers else "",
            scope_diff=diffs,
            verdict=card.verdict,
            because=card.because,
            delta=card.delta,
            date=card.date,
            score=round(min(1.0, score * boost), 3),
            target=card.target,
            claim=card.claim,
            status=card.status,
            by=card.by,
            reopen_if=card.reopen_if,
            acknowledged=_acknowledged(asked, card, differs=bool(diffs)),
        )

    def _as_of(self, card: Card, at: Moment | None) -> Card:
        """A card as it stood at a moment: what reopened or superseded it later had not happened."""
        if at is None or not card.by:
            return card
        later = experiment(self.db, card.by)
        return card if later and later.order < at else replace(card, status="standing", by="")

    def _kind(self, asked: _Question, card: Card, score: float) -> tuple[str, Pull | None, float]:
        """same-value, same-lever or similar, the card's lever that made it so (the most telling one both are mostly about), and
        what that makes of the score.
        """
        mine = {p.key: p for p in self._telling(asked.aim, asked.target)}
        theirs = {p.key: p for p in self._telling(card.aim, card.target)}
        opposite = OPPOSITE.get(asked.aim.direction) == card.direction and card.direction != ""
        if not mine:
            # Nothing in the proposal is written like a lever: it may name the card's in plain words.
            named = [p for key, p in theirs.items() if len(key) > 3 and key in asked.words]
            mine = {p.key: _in_words(p, asked) for p in named}
        theirs = _qualified(theirs, mine)
        both = mine.keys() & theirs.keys()
        if not both:
            if score >= _SAME and not opposite and not (mine and theirs):
                return "same-lever", None, _SAME_LEVER
            # Where both name their levers, and name different ones, what they share is the way the loop writes.
            short = _abbreviated(mine, theirs)
            return "similar", short, _APART if not short and _sets(mine) and _sets(theirs) else 1.0
        key = min(both, key=lambda k: (-self._rarity("=" + k, card.target) * mine[k].weight * theirs[k].weight, k))
        if _part_of_a_bundle(mine, theirs, key):
            return "similar", theirs[key], 1.0
        kind, boost = _likeness(mine[key], theirs[key], asked.aim.direction, card.direction)
        return kind, theirs[key], boost

    def _telling(self, aim: Aim, target: str) -> tuple[Pull, ...]:
        return strong(self._rare(aim, target))

    def _rare(self, aim: Aim, target: str) -> tuple[Pull, ...]:
        """Pulls that fewer than a fifth of the target's aims name."""
        size, _ = self._frequency("")
        least = math.log(5) ** _ALPHA if size >= _LOCAL_FROM else 0.0
        return tuple(p for p in aim.pulls if self._rarity("=" + p.key, target) >= least)


def _kinship(mine: str, other: str) -> float:
    if not mine or not other or mine == other:
        return 1.0
    return _SISTER_TARGET if mine.split("/")[0] == other.split("/")[0] else _OTHER_TARGET


def _words(text: str) -> frozenset[str]:
    """Keys of all words of a text and of all pairs of neighbours."""
    words = [key_of(w) for w in re.findall(r"[\w.\-]+", text)]
    return frozenset((*words, *(a + b for a, b in pairwise(words))))


# A plain question has no parts to tell apart, and need not wait for the parsers to load.
_PLAIN = re.compile(r"[\w ,.;()/%+=]*")


def _aim_of_proposal(text: str) -> Aim:
    if _PLAIN.fullmatch(text):
        return aim_of(Facts("proposal.md", "", hypothesis=text.strip()[:4000]), outcome=False)
    facts = read_facts(read("proposal.md", text.encode("utf-8", "replace")), text)
    if not facts.hypothesis and not facts.mechanism:
        facts = replace(facts, hypothesis=text[:4000])
    return aim_of(replace(facts, title="" if facts.title == "proposal" else facts.title, because=""), outcome=False)


def _in_words(pull: Pull, asked: _Question) -> Pull:
    """A card's lever as a proposal names it in plain words: with its value only if that is said too."""
    value = pull.value if key_of(pull.value) in asked.words else ""
    return replace(pull, value=value, way=way_of(asked.text, pull.name))


def _qualified(pulls: Mapping[str, Pull], others: Mapping[str, Pull]) -> dict[str, Pull]:
    """Levers by the key of the other side's lever where one name is the other with its owner in front (`a.b.c`, `b.c`), or one
    word of it and both are set to one telling number (`VMEM=131072`, `scoped_vmem_limit_kib=131072`).
    """

    def key_beside(pull: Pull) -> str:
        ends = ((k, p, f".{p.name}", f".{pull.name}") for k, p in others.items() if pull.key not in others)
        return next((k for k, p, a, b in ends if a.endswith(b) or b.endswith(a) or _is_word_of(p, pull)), pull.key)

    return {p.key: p for p in (replace(p, key=key_beside(p)) for p in pulls.values())}


# Smaller numbers stand behind many settings at once.
_TELLING_NUMBER = 100
_NAME_WORD = re.compile(r"[A-Z]?[a-z]{3,}|[A-Z]{3,}(?![a-z])")


def _is_word_of(one: Pull, other: Pull) -> bool:
    short, long = sorted((one, other), key=lambda p: len(p.name))
    number = number_of(short.value)
    if number is None or number < _TELLING_NUMBER or number != number_of(long.value):
        return False
    return not is_common(short.key) and short.key in (w.lower() for w in _NAME_WORD.findall(long.name))


def _abbreviated(mine: Mapping[str, Pull], theirs: Mapping[str, Pull]) -> Pull | None:
    """A card's lever that one of a proposal may be short for: too little for the same lever."""
    pairs = ((p, q) for p in mine.values() for q in theirs.values() if min(len(p.key), len(q.key)) > 1)
    return next((q for p, q in pairs if p.value and q.value and abbreviates(p.name, q.name)), None)


def _part_of_a_bundle(mine: Mapping[str, Pull], theirs: Mapping[str, Pull], key: str) -> bool:
    """Whether one side moves a lever alone and the other among several. Names of code that nothing is set on count only
    where the lever is one itself.
    """

    def moved(pulls: Mapping[str, Pull]) -> set[str]:
        return {k for k, p in pulls.items() if not _is_set(pulls[key]) or _is_set(p)}

    largest = max(len(moved(mine)), len(moved(theirs)))
    return largest > 2 and 2 * len(moved(mine) & moved(theirs)) < largest


def _sets(pulls: Mapping[str, Pull]) -> bool:
    """Whether what a side moves most is a lever that it sets, not a name that it mentions."""
    top = max(pulls.values(), key=lambda p: (p.weight, p.key), default=None)
    return top is not None and _is_set(top) and top.weight >= _SAID


def _is_set(pull: Pull) -> bool:
    return bool(pull.value) or pull.name.startswith("-")


def _likeness(mine: Pull, theirs: Pull, way: str, other_way: str) -> tuple[str, float]:
    """same-value, same-lever or similar, of one lever with two values and the ways in which it is moved (by the aims as a whole
    where the lever's own clause does not say), and what that makes of a score.
    """
    numbers = number_of(mine.value), number_of(theirs.value)
    way, other_way = mine.way or way, theirs.way or other_way
    switches = {_switched(mine, way), _switched(theirs, other_way)}
    if "off" in switches and len(switches) == 2:
        return "similar", _AGAINST  # Off against on, or against any value that it is set to.
    same = mine.value != "" and _bare(mine.value) == _bare(theirs.value) or None not in numbers and numbers[0] == numbers[1]
    if same or "" not in switches:
        return "same-value", _SAME_VALUE
    if OPPOSITE.get(way) == other_way != "":
        return "similar", _AGAINST
    # Of two numbers of one knob something must say that both lie on the same side of where it stood.
    known = None in numbers or way and way == other_way
    return ("same-lever", _SAME_LEVER) if known else ("similar", 1.0)


def _bare(value: str) -> str:
    return value.strip("'\"").lower()


def _switched(pull: Pull, way: str) -> str:
    return replace(pull, way=way).switch


# A pull of this weight stands in a clause of its own, not among what stays fixed.
_SAID = 1.0


def _scope(asked: _Question, card: Card, lever: Pull | None, rare: tuple[Pull, ...]) -> tuple[str, ...]:
    """What differs between a proposal and a card: target, settings with other numbers, levers that the card did not pull."""
    diffs = differences(card.point, asked.aim.point, leaving_out=frozenset([lever.key]) if lever else frozenset())
    if asked.target and card.target and asked.target != card.target:
        diffs.insert(0, f"target {card.target} → {asked.target}")
    if lever:
        known = {lever.key, *(p.key for p in card.aim.pulls)}
        added = [p for p in rare if p.key not in known and p.weight >= _SAID]
        diffs.extend(f"with {p.name.lstrip('-')}{'=' if p.value else ''}{p.value}" for p in added)
    return tuple(diffs[:6])


_DIFFERS = re.compile(
    r"\b(?:differ\w*|unlike|whereas|this time|instead|now that|since then|but (?:now|here|with|at)|in contrast|"
    r"changed since|no longer|because (?:now|the)|new(?:er)? (?:stack|version|build)|"
    r"not the same|other than|→|->|rather than|here (?:we|it|with))",
    re.IGNORECASE,
)


_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[A-Z*`\[])|\n{2,}|\n(?=[-*#])")


def _acknowledged(asked: _Question, card: Card, *, differs: bool) -> str:
    """The sentence that names a card's page, by path, file name or (on the same target) run label, where the proposal says what differs.

    It says so in that sentence, or by settings that differ from the card's. Empty if it does not name the page, or not what differs.
    """
    name = card.evidence.rsplit("/", 1)[-1].removesuffix(".md")
    label = re.search(r"(?<![a-z])(v|exp|run)[-_]?\d", name)
    names = re.escape(name)
    if label and card.number and asked.target == card.target:
        names += rf"|(?<![\w-]){label[1][0]}[a-z]*[ -]?0*{card.number}(?!\d)"
    for sentence in _SENTENCES.split(asked.text):
        if re.search(names, sentence, re.IGNORECASE) and (differs or _DIFFERS.search(sentence)):
            return re.sub(r"\s+", " ", sentence).strip()[:400]
    return ""


def _outcome(matches: tuple[Match, ...], least: float) -> str:
    """repeat: same lever and value with no stated difference; distinguish: same lever elsewhere, or a similar mechanism;
    clear: neither, or each met by what differs.
    """
    near = [m for m in matches if m.score >= least and not m.acknowledged and m.status != "reopened"]
    if any(m.kind == "same-value" and not m.scope_diff for m in near):
        return "repeat"
    return "distinguish" if near else "clear"
