"""The refuted card: one thing that was tried and failed, with its evidence and its scope."""

import json
from dataclasses import asdict, dataclass, replace

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
    return {"t": {t: round(w, 3) for t, w in aim.terms.items()}, "p": [(p.key, p.name, p.value, round(p.weight, 3)) for p in aim.pulls], "d": aim.direction,
            "o": [(v.name, v.value) for v in aim.point]}


def aim_from_json(said: dict) -> Aim:
    return Aim(said["t"], tuple(Pull(*p) for p in said["p"]), said["d"], tuple(Lever(*v) for v in said["o"]))


def to_row(card: Card) -> str:
    """A card as the compiled tables keep it; `by` and status are kept too, and are read against the moment of the question."""
    said = {k: v for k, v in asdict(replace(card, aim=Aim({}, (), "", ()))).items() if v not in ("", 0, (), None) and k != "aim"}
    said["levers"], said["point"] = [(v.name, v.value) for v in card.levers], [(v.name, v.value) for v in card.point]
    said["aim"] = aim_to_json(card.aim)
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def from_row(row: str) -> Card:
    """The card that `to_row` wrote down."""
    said = json.loads(row)
    empty = {"anchor": "", "target": "", "variant": "", "date": "", "number": 0, "title": "", "claim": "", "because": "", "delta": "", "verdict": "", "direction": "",
             "reopen_if": ""}
    said["levers"] = tuple(Lever(*v) for v in said["levers"])
    said["point"] = tuple(Lever(*v) for v in said["point"])
    said["aim"] = aim_from_json(said["aim"])
    for name in ("told_by", "experiments"):
        said[name] = tuple(said.get(name, ()))
    return Card(**{**empty, **said})
