"""Slices: what one step of a loop needs to know, under a budget of tokens. Refuses models and clocks: the same inputs give the same slice."""

import sqlite3

from kb import KbError
from kb.slices.request import MODES, Request, request_from
from kb.slices.slice import Item, Omitted, Part, Slice
from kb.slices.tokens import tokens_of

__all__ = ["MODES", "Item", "Omitted", "Part", "Request", "Slice", "request_from", "slice_of", "tokens_of"]


def slice_of(db: sqlite3.Connection, request: Request) -> Slice:
    """The slice of one request. Raises KbError for a page or a target that is not there."""
    from kb.slices.hypothesis import hypothesis_slice

    if request.step != "hypothesis":
        raise KbError(f"the step '{request.step}' has no recipe yet")
    return hypothesis_slice(db, request)
