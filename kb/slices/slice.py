"""A slice: items under a budget, what was left out, and why. Refuses to choose: recipes choose, this holds the budget."""

import json
import re
from dataclasses import dataclass

from kb.search.gist import SHORTEST
from kb.slices.tokens import tokens_of
from kb.store import digest_of
from kb.trail.handles import handle

PARTS = ("topics", "envelope", "blueprint", "state", "recent", "refuted", "transfers", "leads", "disputed", "retrospective", "pages", "untried")

# The head of a printed slice (what it is, how to open more) beside the target's name, and the line that says how much was left out.
_HEAD = 75
_MOST_OMITTED = 20


@dataclass(frozen=True, slots=True)
class Item:
    """One thing a slice brings: where it stands, why it is here, and its words. `quoted` marks captured material."""

    path: str
    anchor: str
    digest: str
    tokens: int
    why: str
    text: str
    quoted: bool = False

    def to_json(self) -> dict[str, object]:
        return {
            "path": self.path,
            "anchor": self.anchor,
            "digest": self.digest,
            "tokens": self.tokens,
            "why": self.why,
            "text": self.text,
            "quoted": self.quoted,
        }


@dataclass(frozen=True, slots=True)
class Omitted:
    """One thing left out: what opening it would cost, and why it is not here."""

    path: str
    anchor: str
    tokens: int
    why: str

    def to_json(self) -> dict[str, object]:
        return {"path": self.path, "anchor": self.anchor, "tokens": self.tokens, "why": self.why}


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    tokens: int
    items: tuple[Item, ...]

    def to_json(self) -> dict[str, object]:
        return {"name": self.name, "tokens": self.tokens, "items": [i.to_json() for i in self.items]}


@dataclass(frozen=True, slots=True)
class Slice:
    id: str
    step: str
    target: str
    mode: str
    budget: int
    tokens: int
    digest: str
    parts: tuple[Part, ...]
    omitted: tuple[Omitted, ...]

    def part(self, name: str) -> Part | None:
        return next((p for p in self.parts if p.name == name), None)

    def to_json(self) -> dict[str, object]:
        return {
            "id": self.id,
            "step": self.step,
            "target": self.target,
            "mode": self.mode,
            "budget": self.budget,
            "tokens": self.tokens,
            "digest": self.digest,
            "parts": [p.to_json() for p in self.parts],
            "omitted": [o.to_json() for o in self.omitted],
        }


def head_of(path: str, anchor: str, why: str) -> str:
    """The first line of an item: its page's handle and section, and why it is here; of what kb compiled its part alone."""
    name = path if path == "proposal" else "" if path.startswith("indexes/") else handle(path)
    place = f"{name}#{anchor}" if name and anchor else name or anchor or path.rsplit("/", 1)[-1].removesuffix(".md")
    return f"- {place}" if why == place else f"- {place} ({why})"


def lines_of(path: str, anchor: str, why: str, text: str, *, quoted: bool = False) -> list[str]:
    """An item as it is printed: every line of its text quoted, captured material in a fence that nothing in it can close."""
    head = head_of(path, anchor, why)
    if quoted:
        ticks = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
        return [head, f"  {ticks}quoted", *(f"  {line}" for line in text.split("\n")), f"  {ticks}"]
    return [head, *(f"  > {line}" for line in text.split("\n"))]


def cost_of(path: str, anchor: str, why: str, text: str, *, quoted: bool = False) -> int:
    """Tokens of an item as printed; never less than a quarter of its characters with those of its path, as JSON has it."""
    printed = "\n".join(lines_of(path, anchor, why, text, quoted=quoted)) + "\n"
    return max(tokens_of(printed), -(-(len(text) + len(path) + len(why) + 24) // 4))


def _runs(text: str) -> set[tuple[str, ...]]:
    words = text.lower().split()
    return {tuple(words[i : i + 5]) for i in range(len(words) - 4)}


class Filling:
    """A slice being filled; open until it is closed."""

    def __init__(self, budget: int, *, target: str = ""):
        self.budget = budget
        self.tokens = _HEAD + tokens_of(target)
        self.parts: dict[str, list[Item]] = {}
        self.omitted: list[Omitted] = []
        self.paths: set[str] = set()
        self.full: set[str] = set()
        self.runs: set[tuple[str, ...]] = set()

    @property
    def left(self) -> int:
        return self.budget - self.tokens

    def add(
        self,
        part: str,
        *,
        path: str,
        anchor: str,
        digest: str,
        why: str,
        text: str,
        quoted: bool = False,
        most: int | None = None,
    ) -> bool:
        """Put an item in if it fits the budget (and `most`, a ceiling for the whole slice so far); false if it does not."""
        tokens = cost_of(path, anchor, why, text, quoted=quoted)
        held = self.parts.get(part)
        if held and (held[-1].path, held[-1].anchor, held[-1].why) == (path, anchor, why):
            # A head that stands there already is not printed again.
            characters = len(text) + len(path) + len(why) + 24
            tokens = max(tokens - tokens_of(head_of(path, anchor, why) + "\n"), -(-characters // 4))
        head = 0 if held else tokens_of(f"## {part}\n\n") + 2
        if self.tokens + tokens + head > min(self.budget, most if most is not None else self.budget):
            return False
        self.parts.setdefault(part, []).append(Item(path, anchor, digest, tokens, why, text, quoted))
        self.tokens += tokens + head
        self.paths.add(path)
        if len(text) >= SHORTEST:
            self.full.add(path)
        self.runs |= _runs(text)
        return True

    def says(self, text: str) -> bool:
        """Whether most of a text stands in the slice already, by runs of five words."""
        runs = _runs(text)
        return len(runs) > 8 and len(runs & self.runs) > 0.6 * len(runs)

    def leave(self, *, path: str, anchor: str, tokens: int, why: str) -> None:
        """Note what is not here, once a page."""
        if len(self.omitted) < _MOST_OMITTED and path not in self.paths and all(o.path != path for o in self.omitted):
            self.omitted.append(Omitted(path, anchor, tokens, why))

    def closed(self, *, id: str, step: str, target: str, mode: str) -> Slice:
        """The slice, parts in their fixed order."""
        parts = tuple(
            Part(name, sum(i.tokens for i in self.parts[name]), tuple(self.parts[name])) for name in PARTS if name in self.parts
        )
        omitted = tuple(o for o in self.omitted if o.path not in self.paths)
        digest = digest_of(
            json.dumps([step, target, mode, self.budget, [p.to_json() for p in parts], [o.to_json() for o in omitted]])
        )
        return Slice(id, step, target, mode, self.budget, self.tokens, digest, parts, omitted)
