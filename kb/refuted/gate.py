"""`kb check`: what a proposal would repeat. Refuses to forbid: it names the card, says how alike the two are, and what differs.

Levers decide: a card that pulls the same lever is met whatever words are used, and words count only where no lever tells. The
receipt is `kb1-OUTCOME-DIGEST`. The digest (16 hex digits of sha256) is over the proposal's text, its levers and target, and path, kind
and status of every match: the same question to the same cards gives the same receipt, on any machine, and put into the past it gives
the receipt of that day.
"""

import json
import math
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from kb.refuted.aim import Aim, aim_of_proposal
from kb.refuted.card import Card, as_of
from kb.refuted.groups import LeverGroup, groups_of
from kb.refuted.moves import (
    COMMON,
    ENOUGH,
    Move,
    Role,
    canonical,
    initials,
    is_qualified,
    likeness,
    parts_of_name,
    same_value,
    short_for,
    stays,
    telling,
)
from kb.run.record import Lever
from kb.store import digest_of, value_of
from kb.text import cut, sentences_of
from kb.trail import Moment, experiment, moment
from kb.trail.levers import is_common, key_of, number_of, switch_of, way_of


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is to be tried, in words, and the levers that it declares (`name=value`); `before` (a page) or `as_of` (a day) put
    the question into the past.
    """

    text: str
    id: str = ""
    target: str = ""
    before: str = ""
    as_of: str = ""
    levers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """One card that a proposal meets. kind: same-value, same-lever, similar. `source`: experiment, or statement where no run
    stands behind it. `acknowledged` is the proposal's own sentence on what differs.
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
    source: str = "experiment"


@dataclass(frozen=True, slots=True)
class Answer:
    """Outcome clear, distinguish or repeat, with the matches that led to it, best first, and what is known of each lever."""

    id: str
    outcome: str
    receipt: str
    matches: tuple[Match, ...]
    levers: tuple[LeverGroup, ...] = ()


# What is shown at most, and looked at: a reader takes in no more, and the rarest terms come first.
_MOST_MATCHES, _CANDIDATES, _TERMS_ASKED, _MOST_ROWS = 10, 40, 120, 40_000
# Two texts are alike in words, where no lever tells, if they share this much more than the cards further down (places 6 to 15) share by
# habit of the loop; below `_SHOWN` they have nothing in common worth reading.
_ALIKE, _SHOWN, _BEHIND = 0.12, 0.05, slice(5, 15)
# What the likeness of levers is worth, as a share: one lever moved the other way, or in part, is half of it.
_STRENGTH = {"same-value": 1.0, "same-lever": 0.75, "similar": 0.5}
# Two texts share a lever if it is so much of what they pull.
_MOSTLY = 0.8
# A card of another target speaks of another place; of the same family (same first folder) it is nearer.
_OTHER_TARGET, _SISTER_TARGET = 0.75, 0.85
# What a page tells without a run behind it counts half of a run.
_TOLD = 0.5


@dataclass(frozen=True, slots=True)
class _Question:
    """A proposal as the tables are asked about it: `words` are keys of its words and of pairs of neighbours."""

    text: str
    target: str
    at: Moment | None
    aim: Aim
    words: frozenset[str]
    sentences: tuple[str, ...]
    pulls: Mapping[str, Move]


class Gate:
    """Open tables to check proposals against; keeps what it read between proposals of a batch."""

    def __init__(self, db: sqlite3.Connection):
        self.db = db
        self.frequencies: dict[str, tuple[int, Mapping[str, int]]] = {}
        self.cards: dict[int, Card] = {}
        self.lengths: dict[int, float] = {}
        self.pulls: dict[str, Mapping[str, Move]] = {}
        self.weights: dict[tuple[str, str], float] = {}

    def check(self, proposal: Proposal) -> Answer:
        """Answer to one proposal. Raises KbError where `before` names no page."""
        at = moment(self.db, before=proposal.before or None, as_of=proposal.as_of or None)
        own = experiment(self.db, proposal.before) if proposal.before else None
        target = proposal.target or (own.target if own else "")
        aim = aim_of_proposal(proposal.text, proposal.levers)
        telling = {m.key: m for m in self._telling(aim, target)}
        question = _Question(
            proposal.text, target, at, aim, _words(proposal.text), tuple(sentences_of(proposal.text)), telling
        )
        best: dict[str, Match] = {}
        found = [self._match(question, card, score) for score, card in self._ranked(question)]
        for match in sorted((m for m, *_ in found), key=lambda m: (-m.score, m.path)):
            best.setdefault(match.path, match)
        behind = [m.score for m in list(best.values())[_BEHIND]]
        alike = _ALIKE + sum(behind) / (_BEHIND.stop - _BEHIND.start)
        levers = {m.path for m, is_lever, _ in found if is_lever}
        # Where both name their levers themselves and share none, likeness of words is the habit of whoever writes.
        apart = {m.path for m, _, is_apart in found if is_apart} - levers
        matches = tuple([m for m in best.values() if m.score >= _SHOWN or m.path in levers][:_MOST_MATCHES])
        groups = groups_of(self.db, telling.values(), target=target, at=at)
        outcome = _outcome([m for m in matches if m.path not in apart], levers, alike, groups)
        told = [proposal.text.strip(), *proposal.levers, target, [(m.path, m.kind, m.status) for m in matches]]
        return Answer(proposal.id, outcome, f"kb1-{outcome}-{digest_of(json.dumps(told, ensure_ascii=False))}", matches, groups)

    def _frequency(self, target: str) -> tuple[int, Mapping[str, int]]:
        if target not in self.frequencies:
            row = self.db.execute("select aims, terms from card_frequency where target = ?", (target,)).fetchone()
            self.frequencies[target] = (row[0], json.loads(row[1])) if row else (0, {})
        return self.frequencies[target]

    def _rarity(self, term: str, target: str) -> float:
        """How much a term tells: log of how rare it is among the runs of the card's target (from ten on), else in the wiki."""
        known = self.weights.get((term, target))
        if known is None:
            size, counts = self._frequency(target) if target else (0, {})
            if size < ENOUGH:
                size, counts = self._frequency("")
            known = self.weights[term, target] = max(0.0, math.log((size + 1) / (counts.get(term, 0) + 0.5)))
        return known

    def _ranked(self, question: _Question) -> list[tuple[float, Card]]:
        """Cards that share most words with a proposal, and all that pull one of its levers, with the cosine of the two."""
        aim, target = question.aim, question.target
        asked: dict[str, float] = {}
        left = _MOST_ROWS
        for _, term in sorted(((self._rarity(t, ""), t) for t in aim.terms), reverse=True)[:_TERMS_ASKED]:
            left -= self._frequency("")[1].get(term, 0)
            if left < 0:
                break
            asked[term] = aim.terms[term]
        where, values = ("", []) if question.at is None else (" and (date, serial, evidence) < (?, ?, ?)", list(question.at))
        sums: dict[tuple[int, str], float] = {}
        pulls: set[tuple[int, str]] = set()
        query = f"""select t.term, t.card, t.weight, c.target from card_term t join card c on c.number = t.card
            where t.term in ({",".join("?" * len(asked))}){where}"""
        levers = {"=" + key for key in question.pulls}
        for term, number, weight, of in self.db.execute(query, [*asked, *values]):
            sums[number, of] = sums.get((number, of), 0.0) + asked[term] * weight * self._rarity(term, of) ** 2
            if term in levers:
                pulls.add((number, of))
        near = sorted(sums, key=lambda k: (-sums[k] * _kinship(target, k[1]), k[0]))[: 3 * _CANDIDATES]
        ranked = []
        own: dict[str, float] = {}
        for number, of in {*near, *pulls}:
            card = self._card(number)
            if number not in self.lengths:
                self.lengths[number] = self._length(card.aim, of)
            if of not in own:
                own[of] = self._length(aim, of)
            lengths = own[of] * self.lengths[number]
            ranked.append((sums[number, of] / (lengths or 1.0) * _kinship(target, of), card))
        pulling = {n for n, _ in pulls}
        order = sorted(ranked, key=lambda r: (-r[0], r[1].id))
        return [*order[:_CANDIDATES], *(r for r in order[_CANDIDATES:] if r[1].id in {self._card(n).id for n in pulling})]

    def _length(self, aim: Aim, target: str) -> float:
        return math.sqrt(sum((w * self._rarity(t, target)) ** 2 for t, w in aim.terms.items()))

    def _card(self, number: int) -> Card:
        if number not in self.cards:
            self.cards[number] = value_of(self.db.execute("select row from card where number = ?", (number,)).fetchone()[0], Card)
        return self.cards[number]

    def _match(self, question: _Question, card: Card, cosine: float) -> tuple[Match, bool, bool]:
        """The match of a card, whether it is one of levers, and whether both declare their levers and share none."""
        later = experiment(self.db, card.by) if card.by and question.at is not None else None
        card = as_of(card, by_then=question.at is None or later is not None and later.order < question.at)
        kind, lever, share = self._likeness(question, card)
        is_lever = lever is not None and share >= _MOSTLY
        score = max(cosine, (cosine + _STRENGTH[kind] * share * _kinship(question.target, card.target)) / 2)
        if question.aim.said and question.aim.said == card.aim.said:
            kind, is_lever, score = "same-value", True, 1.0
        score *= _TOLD if card.is_told else 1.0
        diffs = self._scope(question, card, lever)
        shown = Lever(lever.name, lever.value) if lever else card.levers[0] if card.levers else Lever(card.title)
        return Match(
            path=card.evidence,
            anchor=card.anchor,
            kind=kind,
            lever=shown.name,
            value=shown.value,
            scope_diff=diffs,
            verdict=card.verdict,
            because=card.because,
            delta=card.delta,
            date=card.date,
            score=round(min(1.0, score), 3),
            target=card.target,
            claim=card.claim,
            status=card.status,
            by=card.by,
            reopen_if=card.reopen_if,
            acknowledged=_acknowledged(question, card, differs=bool(diffs)),
            source="statement" if card.is_told else "experiment",
        ), is_lever, lever is None and question.aim.declared and card.aim.declared

    def _likeness(self, question: _Question, card: Card) -> tuple[str, Move | None, float]:
        """same-value, same-lever or similar, the card's lever that makes it so, and how much of what both pull it is."""
        mine = dict(question.pulls)
        theirs = self._pulls(card)
        for key, move in theirs.items():
            if (
                key not in mine
                and not self._is_common(key, card.target)
                and (said := _in_words(move, question))
                and not any(m.is_setting for m in mine.values())
            ):
                mine[key] = said
        theirs = _keyed_as(theirs, mine)
        both = mine.keys() & theirs.keys()
        if not both:
            short = _short(mine, theirs)
            return "similar", short, 0.5 if short else 0.0
        key = max(
            both,
            key=lambda k: (mine[k].is_setting + theirs[k].is_setting, self._rarity("=" + k, card.target) * theirs[k].votes, k),
        )
        kind = likeness(mine[key], theirs[key])
        if kind != "similar" and _part_of_a_bundle(mine, theirs, key):
            kind = "similar"
        tells = any(m.is_setting or m.is_moved for m in (mine[key], theirs[key]))
        return kind, theirs[key], sum(_share(side, both) for side in (mine, theirs)) / 2 if tells else 0.0

    def _pulls(self, card: Card) -> Mapping[str, Move]:
        if card.id not in self.pulls:
            self.pulls[card.id] = {m.key: m for m in self._telling(card.aim, card.target)}
        return self.pulls[card.id]

    def _telling(self, aim: Aim, target: str) -> tuple[Move, ...]:
        """Levers that an aim pulls, but those that a fifth of the target's runs name."""
        return telling(aim.moves, is_common=lambda key: self._is_common(key, target))

    def _is_common(self, key: str, target: str) -> bool:
        return self._frequency("")[0] >= ENOUGH and self._rarity("=" + key, target) < COMMON

    def _scope(self, question: _Question, card: Card, lever: Move | None) -> tuple[str, ...]:
        """What differs between a proposal and a card: target, settings with other numbers, levers that the card did not pull."""
        diffs = differences(card.point, question.aim.point, leaving_out=lever.key if lever else "")
        if question.target and card.target and question.target != card.target:
            diffs.insert(0, f"target {card.target} → {question.target}")
        if lever:
            known = {lever.key, *(m.key for m in card.aim.moves)}
            added = [
                m
                for m in question.pulls.values()
                if m.key not in known and m.is_setting and m.votes >= 1 and not any(short_for(m.name, v.name) for v in card.point)
            ]
            diffs.extend(f"with {m.name.lstrip('-')}{'=' if m.value else ''}{m.value}" for m in added)
        return tuple(diffs[:6])


def _kinship(mine: str, other: str) -> float:
    if not mine or not other or mine == other:
        return 1.0
    return _SISTER_TARGET if mine.split("/")[0] == other.split("/")[0] else _OTHER_TARGET


def _words(text: str) -> frozenset[str]:
    """Keys of all words of a text and of all pairs of neighbours."""
    words = [key_of(w) for w in re.findall(r"[\w.\-]+", text)]
    return frozenset((*words, *(a + b for a, b in pairwise(words))))


def _share(moves: Mapping[str, Move], keys: set[str]) -> float:
    return sum(m.votes for k, m in moves.items() if k in keys) / (sum(m.votes for m in moves.values()) or 1.0)


def _in_words(move: Move, question: _Question) -> Move | None:
    """A card's lever as a proposal names it in plain words: with its value only if that is said too."""
    names = (move.key, switch_of(move.name)[0])
    if move.value and initials(move.name) + key_of(move.value) in question.words:
        return replace(move, before="", way="", role=Role.NAMED, votes=1.0)
    if len(move.key) < 4 or not question.words & {*names}:
        return None
    spoken = next((m for m in re.finditer(r"[A-Za-z][\w-]*(?:\s[\w-]+)?", question.text) if key_of(m[0]) in names), None)
    if spoken and stays(question.text, spoken.end()):
        return None
    behind = re.findall(r"[\w.%-]*\w", question.text[spoken.end() :][:40])[:4] if spoken else []
    value = next((move.value for word in behind if move.value and same_value(move.value, word)), "")
    spoken = spoken[0] if spoken else move.name
    return replace(move, name=spoken, value=value, before="", way=way_of(question.text, spoken), role=Role.NAMED, votes=1.0)


def _keyed_as(pulls: Mapping[str, Move], others: Mapping[str, Move]) -> dict[str, Move]:
    """Levers by the key of the other side's lever where one name is the other with its owner in front, or one word of it and both
    are set to one telling number (`VMEM=131072`, `scoped_vmem_limit_kib=131072`).
    """

    def key_beside(move: Move) -> str:
        if move.key in others:
            return move.key
        return next((k for k, m in others.items() if is_qualified(m.name, move.name) or _is_word_of(m, move)), move.key)

    return {m.key: m for m in (replace(m, key=key_beside(m)) for m in pulls.values())}


# Smaller numbers stand behind many settings at once.
_TELLING_NUMBER = 100
_NAME_WORD = re.compile(r"[A-Z]?[a-z]{3,}|[A-Z]{3,}(?![a-z])")


def _is_word_of(one: Move, other: Move) -> bool:
    short, long = sorted((one, other), key=lambda m: len(m.name))
    number = number_of(short.value)
    if number is None or number < _TELLING_NUMBER or number != number_of(long.value):
        return False
    return not is_common(short.key) and short.key in (w.lower() for w in _NAME_WORD.findall(long.name))


def _short(mine: Mapping[str, Move], theirs: Mapping[str, Move]) -> Move | None:
    """A card's lever that one of a proposal may be short for: too little for the same lever."""
    pairs = ((p, q) for p in mine.values() for q in theirs.values() if min(len(p.key), len(q.key)) > 1)
    return next((q for p, q in pairs if p.value and q.value and (short_for(p.name, q.name) or _shares_number(p, q))), None)


def _shares_number(one: Move, other: Move) -> bool:
    """Whether two names end in one common word (`SIZE`, `HASH_SIZE`) and both are set to one telling number."""
    number = number_of(one.value)
    alike = parts_of_name(one.name)[-1:] == parts_of_name(other.name)[-1:]
    return alike and number is not None and number >= _TELLING_NUMBER and number == number_of(other.value)


def _part_of_a_bundle(mine: Mapping[str, Move], theirs: Mapping[str, Move], key: str) -> bool:
    """Whether one side moves a lever alone and the other among several. Names of code that nothing is set on count only
    where the lever is one itself.
    """

    def moved(pulls: Mapping[str, Move]) -> set[str]:
        return {k for k, m in pulls.items() if not pulls[key].is_setting or m.is_setting}

    largest = max(len(moved(mine)), len(moved(theirs)))
    return largest > 2 and 2 * len(moved(mine) & moved(theirs)) < largest


def differences(card: tuple[Lever, ...], proposal: tuple[Lever, ...], *, leaving_out: str = "") -> list[str]:
    """Settings that both name with other numbers, as `batch_size 3 → 4`; the lever itself is not compared.

    A short name that may stand for several settings (`bs` for batch size and for block size) is compared with all of them.
    """
    found: list[str] = []
    theirs = [(canonical(switch_of(v.name)[0]), v) for v in card]
    for mine in proposal:
        key = canonical(switch_of(mine.name)[0])
        if key == leaving_out:
            continue
        meant = (
            [v for k, v in theirs if k == key]
            or [v for k, v in theirs if len(key) > 2 and len(k) > 2 and (k.startswith(key) or key.startswith(k))][:1]
            or [v for _, v in theirs if short_for(mine.name, v.name)]
        )
        if other := next((v for v in meant if number_of(v.value) != number_of(mine.value)), None):
            name = max(mine.name, other.name, key=len) if len(meant) == 1 else mine.name
            found.append(f"{name.lstrip('-')} {other.value} → {mine.value}")
    return found[:6]


_DIFFERS = re.compile(
    r"\b(?:differ\w*|unlike|whereas|this time|instead|now that|since then|but (?:now|here|with|at)|in contrast|"
    r"changed since|no longer|because (?:now|the)|new(?:er)? (?:stack|version|build)|"
    r"not the same|other than|→|->|rather than|here (?:we|it|with))",
    re.IGNORECASE,
)


def _acknowledged(question: _Question, card: Card, *, differs: bool) -> str:
    """The sentence that names a card's page, by path, file name or (on the same target) run label, where the proposal says what differs.

    It says so in that sentence, or by settings that differ from the card's. Empty if it does not name the page, or not what differs.
    """
    name = card.evidence.rsplit("/", 1)[-1].removesuffix(".md")
    if name not in question.text and not (card.number and str(card.number) in question.text):
        return ""
    label = re.search(r"(?<![a-z])(v|exp|run)[-_]?\d", name)
    names = re.escape(name)
    if label and card.number and question.target == card.target:
        names += rf"|(?<![\w-]){label[1][0]}[a-z]*[ -]?0*{card.number}(?!\d)"
    for sentence in question.sentences:
        if re.search(names, sentence, re.IGNORECASE) and (differs or _DIFFERS.search(sentence)):
            return cut(sentence, 400)
    return ""


def _outcome(matches: list[Match], levers: set[str], alike: float, groups: tuple[LeverGroup, ...]) -> str:
    """repeat: same lever and value with no stated difference; distinguish: same lever elsewhere, or a similar mechanism;
    clear: neither, or each met by what differs. A statement alone never makes a repeat, a tie of the same value asks for a difference.
    """
    near = [
        m
        for m in matches
        if not m.acknowledged
        and m.status != "reopened"
        and (m.path in levers or m.score >= alike * (_TOLD if m.source == "statement" else 1.0))
    ]
    if any(m.kind == "same-value" and m.path in levers and not m.scope_diff and m.source == "experiment" for m in near):
        return "repeat"
    return "distinguish" if near or any(g.has_tie for g in groups) else "clear"
