"""Agent packs: what an agent that optimizes for one kind of hardware needs, compiled from documents.

`pack_of` puts the parts together, `written` makes the seven files of them around what people changed; `reference` copies.
"""

from kb.packs.pack import FILES, Pack, applies, facts_of, pack_of, strategy_reasons, written
from kb.packs.parts import PackParts

__all__ = [
    "FILES",
    "Pack",
    "PackParts",
    "applies",
    "facts_of",
    "pack_of",
    "strategy_reasons",
    "written",
]
