"""`refuted/<target>.md` and `.json`: what failed on a target and why, newest first; `refuted/generic.*`: what holds for every
target.

Refuses to rank: the list is in trail order, and a card that a later run contradicts stays, marked as reopened.
"""

from collections.abc import Iterable
from urllib.parse import quote

from kb.indexes.render import bytes_of, cell, page_head
from kb.refuted import Card
from kb.store import Kept, digest_of, row_of, to_json
from kb.text import one_line

_GENERIC = "generic"


def refuted_files(cards: Iterable[Card], kept: Kept) -> dict[str, bytes]:
    """Every refuted list, by path below `indexes/`; of a target whose cards are the same as it was kept."""
    by_target: dict[str, list[Card]] = {}
    for card in cards:
        by_target.setdefault(card.target or _GENERIC, []).append(card)
    inputs = {target: digest_of(row_of(by_target[target])) for target in sorted(by_target)}
    lists = kept.each(
        "refuted lists",
        inputs,
        dict[str, bytes],
        lambda target: _files_of(target, by_target[target]),
    )
    return {name: data for files in lists.values() for name, data in files.items()}


def _files_of(target: str, cards: list[Card]) -> dict[str, bytes]:
    newest = sorted(cards, key=lambda c: (*c.order, c.id), reverse=True)
    name = "refuted/" + "/".join(part for part in target.split("/") if part not in ("", ".", ".."))
    own = {"target": "" if target == _GENERIC else target, "cards": [_twin(c) for c in newest]}
    return {
        f"{name}.md": bytes_of(_lines(target, newest, up="../" * (name.count("/") + 1))),
        f"{name}.json": to_json(own),
    }


def _lines(target: str, cards: list[Card], *, up: str) -> list[str]:
    about = (
        "Levers that failed whatever the target, and why."
        if target == _GENERIC
        else f"What was tried on {target} and failed, newest first."
    )
    lines = page_head(
        f"Refuted on {target}" if target != _GENERIC else "Refuted everywhere",
        f"{about} Run `kb check` on a proposal before trying one again; a card is a warning, and says what would reopen it.",
    )
    for title, runs in (("Experiments", True), ("Principles and other dead ends", False)):
        group = [_card(c, up) for c in cards if (c.kind == "experiment") is runs]
        if group:
            lines += [f"## {title}", "", *(line for own in group for line in own), ""]
    return lines


def _card(card: Card, up: str) -> list[str]:
    page = f"{up}{quote(card.evidence, safe='/~@!$&*+,;=:')}" + (
        f"#{card.anchor}" if card.anchor else ""
    )
    levers = ", ".join(
        f"`{one_line(v.name)}{'=' if v.value else ''}{one_line(v.value)}`".replace("|", "\\|")
        for v in card.levers[:4]
        if "`" not in v.name + v.value
    )
    marks = (
        ""
        if card.status == "standing"
        else f" **{card.status}** by [{cell(card.by.rsplit('/', 1)[-1].removesuffix('.md'), 90)}]({up}{quote(card.by)});"
    )
    lines = [
        f"- [{cell(card.title, 120)}]({page}) ({', '.join(x for x in (card.verdict, card.date, card.delta) if x)}):{marks} {cell(card.claim, 280)}"
    ]
    lines += [f"  - because: {cell(card.because, 420)}"] if card.because else []
    lines += (
        [f"  - levers: {levers}" + (f"; moved: {card.direction}" if card.direction else "")]
        if levers
        else []
    )
    return [*lines, f"  - reopen if {cell(card.reopen_if, 200)}"]


def _twin(card: Card) -> dict[str, object]:
    fields = {
        "kind": card.kind,
        "evidence": card.evidence,
        "anchor": card.anchor,
        "date": card.date,
        "variant": card.variant,
        "verdict": card.verdict,
        "title": card.title,
        "claim": card.claim,
        "because": card.because,
        "delta": card.delta,
        "levers": [{"name": v.name, "value": v.value} for v in card.levers],
        "direction": card.direction,
        "operating_point": {v.name: v.value for v in card.point},
        "status": card.status,
        "by": card.by,
        "reopen_if": card.reopen_if,
        "told_by": list(card.told_by),
        "experiments": list(card.experiments),
    }
    return {name: value for name, value in fields.items() if value not in ("", [], {})}
