"""What differs between a proposal and a card that it meets: by target, settings and levers, and in the proposal's own words."""

import re
from collections.abc import Mapping
from typing import Protocol

from kb.refuted.card import Card
from kb.refuted.groups import differences, short_for
from kb.refuted.intent import Aim
from kb.refuted.moves import Move
from kb.text import cut, sentences_of

_MOST_DIFFERENCES = 6


class Asked(Protocol):
    """A proposal as the gate asks of it: its text, its target, what it wants and what it pulls."""

    text: str
    target: str
    aim: Aim
    pulls: Mapping[str, Move]


def scope_diff(question: Asked, card: Card, lever: Move | None) -> tuple[str, ...]:
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


def acknowledged(question: Asked, card: Card, *, differs: bool) -> str:
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
