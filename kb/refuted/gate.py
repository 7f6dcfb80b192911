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
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product

from kb.refuted.card import Card, as_of
from kb.refuted.groups import (
    LeverGroup,
    by_value,
    differences,
    groups_of,
    likeness_of,
    short_for,
)
from kb.refuted.intent import REASON, TOPIC, Aim, aim_of_proposal, terms_in
from kb.refuted.moves import Move, Role, same_value
from kb.refuted.naming import ShortForms, name_of_run, short_forms
from kb.refuted.rarity import Counts, Rarity
from kb.run.record import Lever
from kb.store import digest_of, value_of
from kb.text import cut, in_digits, sentences_of
from kb.trail import Moment, experiment, moment, targets


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
# Two texts with so much in common are of one matter; less, by the rarest of their words, is chance.
_ALIKE, _SHOWN = 0.125, 0.05
# What stands for less than the whole counts half: another value or way, another target, a statement without a run behind it.
_HALF = 0.5


@dataclass(frozen=True, slots=True)
class _Question:
    """A proposal as the tables are asked about it: what it pulls, and the targets (`kin`) of which a card counts as one of its own."""

    text: str
    target: str
    at: Moment | None
    aim: Aim
    pulls: dict[str, Move]
    kin: tuple[str, ...]
    forms: ShortForms

    def kinship(self, target: str) -> float:
        """How much a card of a target counts."""
        return 1.0 if not self.target or target in self.kin else _HALF


@dataclass(frozen=True, slots=True)
class _Meeting:
    """A card that a proposal meets: how, by which lever, and how near. Whether it `decides` by its lever, and whether its words do
    (`speaks`): a failure elsewhere is met by its lever only.
    """

    card: Card
    kind: str
    lever: Move | None
    score: float
    decides: bool
    speaks: bool


# A card, the length of the vector of its words (as rare as they are on the target of the question), what it pulls, and its short forms.
_Candidate = tuple[Card, float, dict[str, Move], ShortForms]


class Gate:
    """Open tables to check proposals against; keeps what it read between proposals of a batch, and has what a gate `like` it read."""

    def __init__(self, db: sqlite3.Connection, *, like: "Gate | None" = None):
        self.db = db
        self.counts: dict[str, Counts] = like.counts if like else {}
        self.cards: dict[tuple[int, str], _Candidate] = like.cards if like else {}
        self.rarity = Rarity(self._counts, like.rarity.known if like else {})

    def check(self, proposal: Proposal) -> Answer:
        """Answer to one proposal. Raises KbError where `before` names no page."""
        at = moment(self.db, before=proposal.before or None, as_of=proposal.as_of or None)
        own = experiment(self.db, proposal.before) if proposal.before else None
        target = proposal.target or (own.target if own else "")
        aim, text = aim_of_proposal(proposal.text, proposal.levers), in_digits(proposal.text)
        # Where no other target has runs, what names none is about this one.
        kin = (target,) if {*targets(self.db)} - {target} else (target, "")
        question = _Question(
            text, target, at, aim, self.rarity.pulls(aim, target), kin, short_forms(text)
        )
        best: dict[str, _Meeting] = {}
        meetings = (self._meeting(question, *ranked) for ranked in self._ranked(question))
        for met in sorted(meetings, key=lambda m: (-m.score, m.card.evidence)):
            best.setdefault(met.card.evidence, met)
        shown = [m for m in best.values() if m.score >= _SHOWN or m.decides][:_MOST_MATCHES]
        groups = groups_of(self.db, question.pulls.values(), target=target, at=at)
        matches = tuple(_match(question, met) for met in shown)
        outcome = _outcome(shown, matches, groups)
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

    def _ranked(self, question: _Question) -> list[tuple[_Candidate, float]]:
        """Cards that share most words with a proposal, and all that pull one of its levers, with the cosine of the two."""
        rare = partial(self.rarity.of, target=question.target)
        weights = {term: weight * rare(term) for term, weight in question.aim.terms.items()}
        terms, left = [], _MOST_ROWS
        for term in sorted(weights, key=lambda t: (-rare(t), t)):
            left -= self.rarity.counts("")[1].get(term, 0)
            terms += [term] if left > 0 else []
        earlier = " and (date, serial, evidence) < (?, ?, ?)" if question.at else ""
        sums: dict[tuple[int, str], float] = defaultdict(float)
        most: dict[tuple[int, str], float] = defaultdict(float)
        claiming: set[tuple[int, str]] = set()
        pulling: set[tuple[int, str]] = set()
        query = f"""select t.term, t.card, t.weight, c.target from card_term t join card c on c.number = t.card
            where t.term in ({",".join("?" * len(terms))}){earlier}"""
        for term, number, weight, target in self.db.execute(query, [*terms, *(question.at or ())]):
            place = number, target
            worth = weights[term] * weight * rare(term) * question.kinship(target)
            sums[place] += worth
            most[place] = max(most[place], worth)
            if weight > REASON:
                claiming.add(place)
            if term[0] == "=" and term[1:] in question.pulls:
                pulling.add(place)
        # Of cards that share words of what was tried, and not only of why it failed.
        near = sorted(claiming, key=lambda place: (-sums[place], place))[:_CANDIDATES]
        length = math.hypot(*weights.values())
        ranked = []
        for place in sorted(
            {*near, *pulling}
        ):  # Of two that are as near, always the same one counts.
            candidate = self._card(place[0], question.target)
            card, size, _, forms = candidate
            # One word in common, alone, may be chance: none counts for more than half of what is shared.
            shared = sums[place] - max(0.0, most[place] - _HALF * sums[place])
            # Who writes a short form and who writes it out speak of one thing.
            names = question.forms.written & forms.spelt | question.forms.spelt & forms.written
            shared += TOPIC * sum(rare(name) ** 2 for name in names) * question.kinship(card.target)
            ranked.append((candidate, shared / (length * size or 1.0)))
        return ranked

    def _card(self, number: int, target: str) -> _Candidate:
        """A card beside a question on a target."""
        if (number, target) not in self.cards:
            query = "select row from card where number = ?"
            card = value_of(self.db.execute(query, (number,)).fetchone()[0], Card)
            # A statement is about what was tried: what it says of why adds nothing to its length.
            least = REASON * card.is_statement
            terms = ((t, w) for t, w in card.aim.terms.items() if w > least)
            words = (w * self.rarity.of(term, target) for term, w in terms)
            pulls = self.rarity.pulls(card.aim, card.target)
            forms = short_forms(f"{card.title}. {card.claim}", name_of_run(card.evidence))
            self.cards[number, target] = card, math.hypot(*words), pulls, forms
        return self.cards[number, target]

    def _meeting(self, question: _Question, candidate: _Candidate, cosine: float) -> _Meeting:
        card, _, pulls, _ = candidate
        later = experiment(self.db, card.by) if card.by and question.at is not None else None
        card = as_of(card, by_then=question.at is None or bool(later and later.order < question.at))
        alike = likeness_of(question.pulls, pulls)
        if not alike.lever and cosine >= _SHOWN:
            alike = by_value(question.pulls, pulls, question.aim.terms)
        kind, lever = alike.kind, alike.lever
        # What already differs in value or way was tried only where a run of this target tried it.
        own = (
            not card.is_statement
            and card.status != "tried"
            and question.kinship(card.target) == 1.0
        )
        decides = alike.decides and (own or kind == "same-value")
        whole = question.kinship(card.target) * decides
        score = max(cosine, (cosine + (whole if kind == "same-value" else whole * _HALF)) / 2)
        if question.aim.wording and question.aim.wording == card.aim.wording:
            kind, decides, score = "same-value", True, 1.0
        near = score >= _ALIKE or own and _words_of_name(card.evidence) <= question.aim.terms.keys()
        speaks = (
            near and question.kinship(card.target) == 1.0 and not _apart(question.aim, card.aim)
        )
        worth = round(min(1.0, score * (_HALF if card.is_statement else 1.0)), 3)
        return _Meeting(card, kind, lever, worth, decides, speaks)


@lru_cache(maxsize=1 << 12)
def _words_of_name(path: str) -> frozenset[str]:
    """Words of the name that its author gave to the page of a run, two at least: whoever says them all means it."""
    words = frozenset(t for t in terms_in(name_of_run(path)) if len(t) > 2 and t[0] != "#")
    return words if len(words) > 1 else frozenset([path])


def _match(question: _Question, met: _Meeting) -> Match:
    card, shown = met.card, met.lever or next(iter(met.card.levers), Lever(met.card.title))
    diffs = _scope(question, card, met.lever)
    return Match(
        path=card.evidence,
        anchor=card.anchor,
        kind=met.kind,
        lever=shown.name,
        value=shown.value,
        scope_diff=diffs,
        verdict=card.verdict,
        because=card.because,
        delta=card.delta,
        date=card.date,
        score=met.score,
        target=card.target,
        claim=card.claim,
        status=card.status,
        by=card.by,
        reopen_if=card.reopen_if,
        acknowledged=_acknowledged(question, card, differs=bool(diffs)),
        source="statement" if card.is_statement else "experiment",
    )


def _apart(mine: Aim, theirs: Aim) -> bool:
    """Whether both declare what they pull, by other names and with other values: then the words around it say nothing."""
    sides = [[m for m in aim.moves if m.role is Role.DECLARED] for aim in (mine, theirs)]
    pairs = [*product(*sides)]
    return bool(pairs) and not any(p.key == q.key or same_value(p.value, q.value) for p, q in pairs)


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
    file = card.evidence.rsplit("/", 1)[-1]
    # A page called by one plain word, `queue.md`, is named by its file only: the word alone is that of the matter.
    name = file if file.removesuffix(".md").isalpha() else file.removesuffix(".md")
    if name not in question.text and not (card.number and str(card.number) in question.text):
        return ""
    pairs = re.findall(r"(?<![a-z])([a-z]+)[-_]?0*(\d+)", name)
    labels = [word for word, number in pairs if int(number) == card.number]
    names = re.escape(name)
    if labels and question.target == card.target:
        names += rf"|(?<![\w-])(?:{'|'.join(labels)}|run|exp)[a-z]*[ -]?0*{card.number}(?!\d)"
    for sentence in sentences_of(question.text):
        if re.search(names, sentence, re.IGNORECASE) and (differs or _DIFFERS.search(sentence)):
            return cut(sentence, 400)
    return ""


def _outcome(
    meetings: list[_Meeting], matches: tuple[Match, ...], groups: tuple[LeverGroup, ...]
) -> str:
    """repeat: same lever and value with no stated difference; distinguish: same lever elsewhere, or a similar mechanism;
    clear: neither, or each met by what differs. A statement, or a run of which nobody can tell how it came out, never makes a repeat
    alone; a tie of the same value asks for a difference.
    """
    near = [
        (met, match)
        for met, match in zip(meetings, matches, strict=True)
        if not match.acknowledged and match.status != "reopened" and (met.decides or met.speaks)
    ]
    if any(
        met.decides
        and match.kind == "same-value"
        and not match.scope_diff
        and match.source == "experiment"
        and match.status not in ("unread", "tried")
        for met, match in near
    ):
        return "repeat"
    return "distinguish" if near or any(g.has_tie for g in groups) else "clear"
