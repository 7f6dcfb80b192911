"""What a model adds to an agent pack, as types: the form of its reply."""

from typing import Literal

import msgspec


class Strategy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an agent may try: an action of at most 25 words, its quote, and when it applies (`cores > 1`; empty: always)."""

    text: str
    quote: str
    source: str = ""
    applies: str = ""
    translation: bool = False


class PackRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What makes code fail or be wrong where it is not kept to: general, planning or coding."""

    text: str
    quote: str
    category: Literal["general", "planning", "coding"] = "general"
    source: str = ""


class PointedEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Lines of a source (1-based, both included) that explain one name of the interface; code copies them."""

    name: str
    source: str
    start_line: int
    end_line: int


class PackParts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model adds to an agent pack: strategies and rules with their quotes, and where the reference stands."""

    strategies: tuple[Strategy, ...] = ()
    rules: tuple[PackRule, ...] = ()
    entries: tuple[PointedEntry, ...] = ()

    def of_source(self, name: str) -> "PackParts":
        """The same, of the one source that was shown where a strategy or a rule names none."""
        strategies, rules = (
            tuple(msgspec.structs.replace(part, source=part.source or name) for part in parts)
            for parts in (self.strategies, self.rules)
        )
        return msgspec.structs.replace(self, strategies=strategies, rules=rules)
