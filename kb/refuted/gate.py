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
from dataclasses import dataclass, replace

from kb.refuted.card import Card, as_of
from kb.refuted.groups import LeverGroup, groups_of
from kb.refuted.intent import Aim, aim_of_proposal, terms_in
from kb.refuted.likeness import (
    by_number,
    differences,
    likeness_of,
    numbers_named,
    places_of,
    short_for,
    spoken,
)
from kb.refuted.moves import Move, clauses
from kb.refuted.rarity import Counts, Rarity
from kb.refuted.values import parts_of_name
from kb.run.record import Lever
from kb.store import digest_of, value_of
from kb.text import cut, in_digits, sentences_of
from kb.trail import Moment, experiment, moment
from kb.trail.levers import is_common, mentions_in, number_of


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


# What is shown at most: a reader takes in no more.
_MOST_MATCHES, _MOST_DIFFERENCES = 10, 6
# What is looked at: cards by the rarest words first, as many as are read in milliseconds.
_CANDIDATES, _MOST_ROWS = 40, 40_000
# Two texts are alike in words, where no lever tells, if they share so much more than cards further down share by habit of the loop.
_ALIKE, _SHOWN, _BEHIND = 0.12, 0.05, slice(5, 15)
# What stands for less than the whole counts half: another value or way, another target, a statement without a run behind it.
_HALF = 0.5


@dataclass(frozen=True, slots=True)
class _Question:
    """A proposal as the tables are asked about it: `places` are those of its words and pairs of neighbours, by key."""

    text: str
    target: str
    at: Moment | None
    aim: Aim
    places: dict[str, tuple[int, int]]
    sentences: tuple[str, ...]
    pulls: dict[str, Move]
    numbers: frozenset[float]


@dataclass(frozen=True, slots=True)
class _Meeting:
    """A match, whether it `decides` by its lever, and whether the two set levers and share none, so that words say nothing (`apart`)."""

    match: Match
    decides: bool
    apart: bool


class Gate:
    """Open tables to check proposals against; keeps what it read between proposals of a batch, and has what a gate `like` it read."""

    def __init__(self, db: sqlite3.Connection, *, like: "Gate | None" = None):
        self.db = db
        self.counts: dict[str, Counts] = like.counts if like else {}
        self.cards: dict[int, tuple[Card, float]] = like.cards if like else {}
        self.rarity = Rarity(self._counts, like.rarity.known if like else {})

    def check(self, proposal: Proposal) -> Answer:
        """Answer to one proposal. Raises KbError where `before` names no page."""
        at = moment(self.db, before=proposal.before or None, as_of=proposal.as_of or None)
        own = experiment(self.db, proposal.before) if proposal.before else None
        target = proposal.target or (own.target if own else "")
        aim, text = aim_of_proposal(proposal.text, proposal.levers), in_digits(proposal.text)
        # A number that has its own name in the text says nothing of another lever.
        named = {number_of(value) for m in mentions_in(text) for value in (m.value, m.before)}
        question = _Question(
            text,
            target,
            at,
            aim,
            places_of(text),
            tuple(sentences_of(text)),
            self.rarity.pulls(aim, target),
            numbers_named(" ".join(clauses(text))) - named,
        )
        best: dict[str, _Meeting] = {}
        meetings = [
            self._meeting(question, card, cosine) for cosine, card in self._ranked(question)
        ]
        for met in sorted(meetings, key=lambda m: (-m.match.score, m.match.path)):
            best.setdefault(met.match.path, met)
        behind = [m.match.score for m in list(best.values())[_BEHIND]]
        alike = _ALIKE + sum(behind) / (_BEHIND.stop - _BEHIND.start)
        shown = [m for m in best.values() if m.match.score >= _SHOWN or m.decides][:_MOST_MATCHES]
        groups = groups_of(self.db, question.pulls.values(), target=target, at=at)
        outcome = _outcome(shown, alike, groups)
        matches = tuple(m.match for m in shown)
        content = [
            proposal.text.strip(),
            *proposal.levers,
            target,
            [(m.path, m.kind, m.status) for m in matches],
        ]
        return Answer(
            proposal.id,
            outcome,
            f"kb1-{outcome}-{digest_of(json.dumps(content, ensure_ascii=False))}",
            matches,
            groups,
        )

    def _counts(self, target: str) -> Counts:
        if target not in self.counts:
            query = "select aims, terms from card_frequency where target = ?"
            row = self.db.execute(query, (target,)).fetchone()
            self.counts[target] = (row[0], json.loads(row[1])) if row else (0, {})
        return self.counts[target]

    def _ranked(self, question: _Question) -> list[tuple[float, Card]]:
        """Cards that share most words with a proposal, and all that pull one of its levers, with the cosine of the two."""
        weights = {
            term: weight * self.rarity.of(term) for term, weight in question.aim.terms.items()
        }
        terms, left = [], _MOST_ROWS
        for term in sorted(weights, key=lambda t: (-self.rarity.of(t), t)):
            left -= self.rarity.counts("")[1].get(term, 0)
            terms += [term] if left > 0 else []
        where, values = (
            ("", [])
            if question.at is None
            else (" and (date, serial, evidence) < (?, ?, ?)", list(question.at))
        )
        sums: dict[tuple[int, str], float] = {}
        pulling: set[tuple[int, str]] = set()
        query = f"""select t.term, t.card, t.weight, c.target from card_term t join card c on c.number = t.card
            where t.term in ({",".join("?" * len(terms))}){where}"""
        for term, number, weight, target in self.db.execute(query, [*terms, *values]):
            place = number, target
            sums[place] = sums.get(place, 0.0) + weights[term] * weight * self.rarity.of(
                term
            ) * _kinship(question.target, target)
            if term[0] == "=" and term[1:] in question.pulls:
                pulling.add(place)
        near = sorted(sums, key=lambda place: (-sums[place], place))[:_CANDIDATES]
        length = math.hypot(*weights.values())
        ranked = ((sums[place], *self._card(place[0])) for place in {*near, *pulling})
        return [(shared / (length * own or 1.0), card) for shared, card, own in ranked]

    def _card(self, number: int) -> tuple[Card, float]:
        """A card and the length of the vector of its words."""
        if number not in self.cards:
            query = "select row from card where number = ?"
            card = value_of(self.db.execute(query, (number,)).fetchone()[0], Card)
            words = (weight * self.rarity.of(term) for term, weight in card.aim.terms.items())
            self.cards[number] = card, math.hypot(*words)
        return self.cards[number]

    def _meeting(self, question: _Question, card: Card, cosine: float) -> _Meeting:
        later = experiment(self.db, card.by) if card.by and question.at is not None else None
        card = as_of(
            card, by_then=question.at is None or later is not None and later.order < question.at
        )
        theirs = self.rarity.pulls(card.aim, card.target)
        mine = _with_words(question, theirs)
        alike = likeness_of(mine, theirs)
        if not alike.lever and not _sets(mine) and _shares_words(question.aim, card):
            lever = by_number(theirs, question.numbers)
            alike = replace(alike, lever=lever, decides=lever is not None)
        kind, decides, lever = alike.kind, alike.decides, alike.lever
        whole = _kinship(question.target, card.target) * decides
        worth = whole if kind == "same-value" else whole * _HALF
        score = max(cosine, (cosine + worth) / 2)
        if question.aim.wording and question.aim.wording == card.aim.wording:
            kind, decides, score = "same-value", True, 1.0
        diffs = _scope(question, card, lever)
        shown = (
            Lever(lever.name, lever.value)
            if lever
            else card.levers[0]
            if card.levers
            else Lever(card.title)
        )
        match = Match(
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
            score=round(min(1.0, score * (_HALF if card.is_told else 1.0)), 3),
            target=card.target,
            claim=card.claim,
            status=card.status,
            by=card.by,
            reopen_if=card.reopen_if,
            acknowledged=_acknowledged(question, card, differs=bool(diffs)),
            source="statement" if card.is_told else "experiment",
        )
        return _Meeting(match, decides, _sets(mine) and _sets(theirs))


def _kinship(mine: str, other: str) -> float:
    return 1.0 if not mine or not other or mine == other else _HALF


def _shares_words(aim: Aim, card: Card) -> bool:
    """Whether an aim holds a word of a card's title or of its levers' names that is no common one."""
    names = " ".join((card.title, *(" ".join(parts_of_name(v.name)) for v in card.levers)))
    return any(term in aim.terms and not is_common(term) for term in terms_in(names))


def _sets(pulls: dict[str, Move]) -> bool:
    return any(m.is_setting and m.is_moved for m in pulls.values())


def _with_words(question: _Question, theirs: dict[str, Move]) -> dict[str, Move]:
    """What a proposal pulls, with levers of a card that it moves in plain words, or names so where it sets nothing itself."""
    sets = any(m.is_setting for m in question.pulls.values())
    named = {m.key for m in question.aim.moves}
    words = {
        k: spoken(m, question.text, question.places) for k, m in theirs.items() if k not in named
    }
    return {**question.pulls, **{k: m for k, m in words.items() if m and (m.is_moved or not sets)}}


def _scope(question: _Question, card: Card, lever: Move | None) -> tuple[str, ...]:
    """What differs between a proposal and a card: target, settings with other numbers, levers that the card did not pull."""
    diffs = differences(card.point, question.aim.point, leaving_out=lever.key if lever else "")
    if question.target and card.target and question.target != card.target:
        diffs.insert(0, f"target {card.target} → {question.target}")
    if lever:
        known = {lever.key, *(m.key for m in card.aim.moves)}
        added = (m for m in question.pulls.values() if m.key not in known and m.is_setting)
        diffs += [
            f"with {m.name.lstrip('-')}{'=' if m.value else ''}{m.value}"
            for m in added
            if not any(short_for(m.name, v.name) for v in card.point)
        ]
    return tuple(diffs[:_MOST_DIFFERENCES])


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


def _outcome(meetings: list[_Meeting], alike: float, groups: tuple[LeverGroup, ...]) -> str:
    """repeat: same lever and value with no stated difference; distinguish: same lever elsewhere, or a similar mechanism;
    clear: neither, or each met by what differs. A statement alone never makes a repeat, a tie of the same value asks for a difference.
    """
    near = []
    for met in meetings:
        match = met.match
        least = alike * (_HALF if match.source == "statement" else 1.0)
        if (
            not match.acknowledged
            and match.status != "reopened"
            and (met.decides or not met.apart and match.score >= least)
        ):
            near.append(met)
    if any(
        m.decides
        and m.match.kind == "same-value"
        and not m.match.scope_diff
        and m.match.source == "experiment"
        for m in near
    ):
        return "repeat"
    return "distinguish" if near or any(g.has_tie for g in groups) else "clear"
