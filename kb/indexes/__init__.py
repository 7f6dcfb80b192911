"""Scoped sub-wiki indexes, blueprint, profile index and catalog, compiled from links, tags, headings and the trail. No model, no clock."""

from typing import TYPE_CHECKING

from kb import exports

if TYPE_CHECKING:
    from kb.indexes.files import TABLES, compiled, save
    from kb.indexes.notes import notes_of
    from kb.indexes.refuted_lists import refuted_files

__all__ = ["TABLES", "compiled", "notes_of", "refuted_files", "save"]

# Loaded when it is first asked for: most edits change notes alone.
__getattr__ = exports(
    __name__,
    {
        "files": ("TABLES", "compiled", "save"),
        "notes": ("notes_of",),
        "refuted_lists": ("refuted_files",),
    },
)
