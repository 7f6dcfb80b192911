"""`kb check`: what a proposal would repeat. Refuses to forbid: it names the card, says how alike the two are, and what differs.

Levers decide: a card that pulls the same lever is met whatever words are used, and words count only where no lever tells. The
receipt is `kb1-OUTCOME-DIGEST`. The digest (16 hex digits of sha256) is over the proposal's text, its levers and target, and path, kind
and status of every match: the same question to the same cards gives the same receipt, on any machine, and put into the past it gives
the receipt of that day. Where somebody read the proposal beside the cards and that is on file, what he says goes before nearness.
"""

import json
import math
import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import product

from kb.refuted.answer import Answer, Match, Proposal
from kb.refuted.card import Card, as_of, cards, titles
from kb.refuted.groups import (
    LeverGroup,
    by_value,
    groups_of,
    likeness_of,
)
from kb.refuted.intent import REASON, TOPIC, Aim, aim_of_proposal, terms_in
from kb.refuted.moves import Move, Role, same_value
from kb.refuted.naming import ShortForms, name_of_run, short_forms
from kb.refuted.rarity import Counts, Rarity
from kb.refuted.scope import acknowledged, scope_diff
from kb.run.record import Lever
from kb.source import FiledReading, reading_of
from kb.store import Layout, digest_of, value_of
from kb.text import in_digits, words_of
from kb.trail import Moment, experiment, moment, targets

# What is shown at most: a reader takes in no more.
_MOST_MATCHES = 10
# What is looked at: cards by the rarest words first, as many as are read in milliseconds.
_CANDIDATES, _MOST_ROWS = 40, 40_000
# Two texts with so much in common are of one matter; less, by the rarest of their words, is chance.
_ALIKE, _SHOWN = 0.125, 0.05
_EARLIER = "(date, serial, evidence) < (?, ?, ?)"
# What stands for less than the whole counts half: another value or way, another target, a statement without a run behind it.
_HALF = 0.5
# Of what is as near in words, what pulls the same lever comes first: the lever itself is told beside, and need not be more.
_TENTH = 0.1


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
    filed: FiledReading | None

    def is_read(self, card: Card) -> bool:
        """Whether somebody read a card, as it is now, beside this proposal."""
        return self.filed is not None and card.matter in self.filed.cards

    def kinship(self, target: str) -> float:
        """How much a card of a target counts: of a sibling, which lies in the same folder, half of the way between its own and a stranger's."""
        if not self.target or target in self.kin:
            return 1.0
        folder = self.target.rpartition("/")[0]
        return 1.0 - _HALF * _HALF if folder and folder == target.rpartition("/")[0] else _HALF


@dataclass(frozen=True, slots=True)
class _Meeting:
    """A card that a proposal meets: how, by which lever, and how near. Whether it `decides` by its lever, and whether its words do
    (`speaks`): a failure elsewhere is met by its lever only. `is_same`: it is the same proposal, word for word or by its whole command.
    """

    card: Card
    kind: str
    lever: Move | None
    score: float
    decides: bool
    speaks: bool
    is_same: bool
    reader: str = ""


# A card, the length of the vector of its words (as rare as they are on the target of the question), what it pulls, and its short forms.
_Candidate = tuple[Card, float, dict[str, Move], ShortForms]


class Gate:
    """Open tables to check proposals against, and the readings on file in a `layout`; keeps what it read between proposals of a batch,
    and has what a gate `like` it read.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        layout: Layout | None = None,
        *,
        like: "Gate | None" = None,
    ):
        self.db, self.layout = db, layout
        self.counts: dict[str, Counts] = like.counts if like else {}
        self.cards: dict[tuple[int, str], _Candidate] = like.cards if like else {}
        self.rarity = Rarity(self._counts, like.rarity.known if like else {})

    def check(self, proposal: Proposal) -> Answer:
        """Answer to one proposal. Raises KbError where `before` names no page."""
        question = self._question(proposal)
        best: dict[str, _Meeting] = {}
        for met in self._meetings(question):
            best.setdefault(met.card.evidence, met)
        shown = [m for m in best.values() if m.score >= _SHOWN or m.decides][:_MOST_MATCHES]
        groups = groups_of(self.db, question.pulls.values(), target=question.target, at=question.at)
        matches = tuple(_match(question, met) for met in shown)
        outcome = _outcome(shown, matches, groups)
        content = [
            proposal.text.strip(),
            *proposal.levers,
            question.target,
            [(m.path, m.kind, m.status) for m in matches],
        ]
        return Answer(
            proposal.id,
            outcome,
            f"kb1-{outcome}-{digest_of(json.dumps(content, ensure_ascii=False))}",
            matches,
            groups,
            len(question.filed.cards) if question.filed else 0,
            len(further := self._further(question, matches) if outcome == "clear" else []),
            tuple(further[:_MOST_MATCHES]),
        )

    def _further(self, question: _Question, matches: Iterable[Match]) -> list[str]:
        """Titles of the failures of the target that share too little with a proposal to be met, newest first; none where several targets
        have runs and it names none.
        """
        if not question.target and len(targets(self.db)) > 1:
            return []
        near = {match.path for match in matches}
        listed = titles(self.db, target=question.target or None, before=question.at)
        return [title for path, title in reversed(listed) if path not in near]

    def unread(self, proposal: Proposal) -> tuple[list[Card], list[Card]]:
        """Cards that nobody read beside a proposal: the nearest, best first, and all other failures of its target, oldest first."""
        question = self._question(proposal)
        near = [met.card for met in self._meetings(question)][:_MOST_MATCHES]
        known = {card.id for card in near}
        listed = cards(self.db, target=question.target or None, before=question.at)
        others = [c for c in listed if c.id not in known]
        near, others = ([c for c in part if not question.is_read(c)] for part in (near, others))
        return near, others

    def _question(self, proposal: Proposal) -> _Question:
        at = moment(self.db, before=proposal.before or None, as_of=proposal.as_of or None)
        own = experiment(self.db, proposal.before) if proposal.before else None
        target = proposal.target or (own.target if own else "")
        aim, text = aim_of_proposal(proposal.text, proposal.levers), in_digits(proposal.text)
        # Where no other target has runs, what names none is about this one.
        kin = (target,) if {*targets(self.db)} - {target} else (target, "")
        pulls, filed = self.rarity.pulls(aim, target), None
        if self.layout is not None:
            filed = reading_of(self.layout, wording_of(aim, proposal.text))
        return _Question(text, target, at, aim, pulls, kin, short_forms(text), filed)

    def _meetings(self, question: _Question) -> list[_Meeting]:
        """What a proposal meets, best first."""
        ranked = self._ranked(question)
        meetings = (_as_read(question, self._meeting(question, *near)) for near in ranked)
        return sorted(
            meetings,
            key=lambda m: (
                m.card.status == "tried" and not m.is_same,
                -m.score,
                m.card.status == "reopened",
                m.card.evidence,
            ),
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
        earlier = f" and {_EARLIER}" if question.at else ""
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
        near += self._near_by_reading(question, earlier)
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

    def _near_by_reading(self, question: _Question, earlier: str) -> list[tuple[int, str]]:
        """Cards of the pages that a reader calls near, whatever words they share."""
        readings = question.filed.cards.values() if question.filed else ()
        pages = sorted({reading.page for reading in readings if reading})
        query = f"select number, target from card where evidence in ({','.join('?' * len(pages))}){earlier}"
        return self.db.execute(query, [*pages, *(question.at or ())]).fetchall() if pages else []

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
        whole = question.kinship(card.target) * (1.0 if kind == "same-value" else _HALF)
        score = max(cosine, cosine + _TENTH * (whole * decides - cosine))
        if is_same := _is_same(question.aim, card.aim):
            kind, decides, score = "same-value", True, 1.0
        near = score >= _ALIKE or own and _words_of_name(card.evidence) <= question.aim.terms.keys()
        speaks = (
            near and question.kinship(card.target) == 1.0 and not _apart(question.aim, card.aim)
        )
        worth = round(min(1.0, score * (_HALF if card.is_statement else 1.0)), 3)
        return _Meeting(card, kind, lever, worth, decides, speaks, is_same)


def wording_of(aim: Aim, text: str) -> str:
    """What a reading of a proposal goes by: the digest of the words of its claim and of the levers that it declares."""
    declared = sorted(f"{m.key}={m.value}" for m in aim.moves if m.role is Role.DECLARED)
    return digest_of(" ".join([aim.wording or " ".join(words_of(text)), *declared]))


def _as_read(question: _Question, met: _Meeting) -> _Meeting:
    """A meeting as somebody read it, if he did; of the same words twice there is nothing to read. Where he finds nothing in common, and the proposal says that it changes what the card did, that is
    asked about all the same.
    """
    card = met.card
    if met.is_same or not question.is_read(card):
        return met
    reading = question.filed.cards[card.matter]
    if reading is None:
        mine = question.pulls.get(met.lever.key) if met.lever else None
        stands = met.decides and met.kind == "same-value" and mine is not None and mine.is_moved
        return replace(met, kind="similar", decides=stands, speaks=False)
    # Of several that one page tells it is the one whose words he quotes.
    meant = reading.quote in f"{card.title}\n{card.claim}\n{card.because}"
    is_same = reading.relation == "same"
    return replace(
        met,
        kind="same-value" if is_same else "similar",
        score=max(met.score, (1.0 if is_same else _HALF) * meant),
        decides=is_same,
        speaks=True,
        reader=reading.because,
    )


@lru_cache(maxsize=1 << 12)
def _words_of_name(path: str) -> frozenset[str]:
    """Words of the name that its author gave to the page of a run, two at least: whoever says them all means it."""
    words = frozenset(t for t in terms_in(name_of_run(path)) if len(t) > 2 and t[0] != "#")
    return words if len(words) > 1 else frozenset([path])


def _match(question: _Question, met: _Meeting) -> Match:
    card, shown = met.card, met.lever or next(iter(met.card.levers), Lever(met.card.title))
    diffs = scope_diff(question, card, met.lever)
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
        acknowledged=acknowledged(question, card, differs=bool(diffs)),
        source="statement" if card.is_statement else "experiment",
        reader=met.reader,
    )


def _is_same(mine: Aim, theirs: Aim) -> bool:
    """Whether two say the same of what is to be done, in the same words or as the same whole command."""
    if mine.wording and mine.wording == theirs.wording:
        return True
    commands = ({(m.key, m.value) for m in aim.command} for aim in (mine, theirs))
    return len(mine.command) > 1 and len({*map(frozenset, commands)}) == 1


def _apart(mine: Aim, theirs: Aim) -> bool:
    """Whether both declare what they pull, by other names and with other values: then the words around it say nothing."""
    sides = [[m for m in aim.moves if m.role is Role.DECLARED] for aim in (mine, theirs)]
    pairs = [*product(*sides)]
    return bool(pairs) and not any(p.key == q.key or same_value(p.value, q.value) for p, q in pairs)


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
        if not match.acknowledged and (met.decides or met.speaks)
    ]
    if any(
        met.decides
        and match.kind == "same-value"
        and not match.scope_diff
        and match.source == "experiment"
        and match.status not in ("unread", "tried")
        and (match.status != "reopened" or met.is_same)
        for met, match in near
    ):
        return "repeat"
    return "distinguish" if near or any(g.has_tie for g in groups) else "clear"
