"""The refuted card: one thing that was tried and failed, with its evidence and its scope."""

import json
from dataclasses import dataclass

from kb.refuted.aim import Aim, Pull
from kb.run.record import Lever


@dataclass(frozen=True, slots=True)
class Card:
    """One refuted pattern. `evidence` is the page that shows it; `told_by` are pages that repeat it.

    kind: experiment, hypothesis, bullet, row, principle. status: standing, reopened (`by` is a later supported run in its scope),
    superseded (`by` is a later failed run of the same lever and value). `order` is the evidence's place in the trail.
    """

    id: str
    kind: str
    evidence: str
    anchor: str
    target: str
    variant: str
    date: str
    number: int
    title: str
    claim: str
    because: str
    delta: str
    verdict: str
    levers: tuple[Lever, ...]
    direction: str
    point: tuple[Lever, ...]
    reopen_if: str
    aim: Aim
    status: str = "standing"
    by: str = ""
    told_by: tuple[str, ...] = ()
    experiments: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[str, int, str]:
        return self.date, self.number, self.evidence


def aim_to_json(aim: Aim) -> dict[str, object]:
    return {
        "t": {t: round(w, 3) for t, w in aim.terms.items()},
        "p": [(p.key, p.name, p.value, round(p.weight, 3), p.way) for p in aim.pulls],
        "d": aim.direction,
        "o": [(v.name, v.value) for v in aim.point],
    }


def aim_from_json(said: dict) -> Aim:
    return Aim(said["t"], tuple(Pull(*p) for p in said["p"]), said["d"], tuple(Lever(*v) for v in said["o"]))


_SCALARS = (
    "id",
    "kind",
    "evidence",
    "anchor",
    "target",
    "variant",
    "date",
    "number",
    "title",
    "claim",
    "because",
    "delta",
    "verdict",
    "direction",
    "reopen_if",
    "status",
    "by",
)


def to_row(card: Card) -> str:
    """A card as the compiled tables keep it, its aim apart.

    `by` and status are kept as of all pages and read against the moment of the question.
    """
    said: dict[str, object] = {name: value for name in _SCALARS if (value := getattr(card, name))}
    said["levers"], said["point"] = [(v.name, v.value) for v in card.levers], [(v.name, v.value) for v in card.point]
    said["told_by"], said["experiments"] = card.told_by, card.experiments
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def from_row(row: str, aim: str) -> Card:
    """The card that `to_row` wrote down, with its aim as JSON."""
    said = json.loads(row)
    texts = {name: said.get(name, 0 if name == "number" else "") for name in _SCALARS}
    return Card(
        **texts,
        levers=tuple(Lever(*v) for v in said["levers"]),
        point=tuple(Lever(*v) for v in said["point"]),
        told_by=tuple(said["told_by"]),
        experiments=tuple(said["experiments"]),
        aim=aim_from_json(json.loads(aim)),
    )
