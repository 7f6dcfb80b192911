"""`refuted/<target>.md` and `.json`: what failed on a target and why, newest first; `refuted/generic.*`: what holds for every
target.

Refuses to rank: the list is in trail order, and a card that a later run contradicts stays, marked as reopened.
"""

from collections.abc import Iterable

from kb import grouped
from kb.indexes.render import cell, file_of_target, href, index_file
from kb.refuted import Card
from kb.store import Kept, digest_of, row_of, to_json
from kb.text import one_line

_GENERIC = "generic"
_EVERYWHERE = "Levers that failed whatever the target, and why."
_WARNING = "Run `kb check` on a proposal before trying one again; a card is a warning, and says what would reopen it."


def refuted_files(cards: Iterable[Card], kept: Kept) -> dict[str, bytes]:
    """Every refuted list, by path below `indexes/`; of a target whose cards are the same as it was kept."""
    by_target = grouped((card.target or _GENERIC, card) for card in cards)
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
    name, own = file_of_target("refuted", target), target != _GENERIC
    up = "../" * (name.count("/") + 1)
    title = f"Refuted on {target}" if own else "Refuted everywhere"
    about = f"What was tried on {target} and failed, newest first." if own else _EVERYWHERE
    lines: list[str] = []
    for heading, runs in (("Experiments", True), ("Principles and other dead ends", False)):
        group = [c for c in newest if (c.kind == "experiment") is runs]
        entries = [line for card in group for line in _card(card, up)]
        lines += [f"## {heading}", "", *entries, ""] if group else []
    twin = {"target": target if own else "", "cards": [_twin(c) for c in newest]}
    return {
        f"{name}.md": index_file(title, f"{about} {_WARNING}", lines),
        f"{name}.json": to_json(twin),
    }


def _card(card: Card, up: str) -> list[str]:
    levers = ", ".join(
        f"`{one_line(v.text)}`".replace("|", "\\|") for v in card.levers[:4] if "`" not in v.text
    )
    mark = ""
    if card.status != "standing":
        by = cell(card.by.rpartition("/")[2].removesuffix(".md"), 90)
        mark = f" **{card.status}** by [{by}]({href(card.by, up=up)});"
    page = f"[{cell(card.title, 120)}]({href(card.evidence, card.anchor, up=up)})"
    about = ", ".join(filter(None, (card.verdict, card.date, card.delta)))
    moved = f"; moved: {card.direction}" if card.direction else ""
    behind = cell(card.claim.removeprefix(card.title).lstrip(" .:"), 280)
    return [
        f"- {page} ({about}){':' * bool(mark or behind)}{mark} {behind}".rstrip(),
        *([f"  - because: {cell(card.because, 420)}"] if card.because not in card.claim else ()),
        *([f"  - levers: {levers}{moved}"] if levers else ()),
        f"  - reopen if {cell(card.reopen_if, 200)}",
    ]


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
