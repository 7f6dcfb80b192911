"""The page of a target and what it says a loop must know. Refuses to guess: a page of no such name is not its page."""

import re

from kb.page import Page, from_row
from kb.slices.view import View

# What a loop must know of its target, as front-matter fields; in this order as far as they are there.
_FIELDS = (
    "metric",
    "tracked",
    "noise",
    "hardware",
    "hardwares",
    "variants",
    "benchmark",
    "checks",
    "profile",
    "repository",
    "base",
    "protected",
    "allowed",
)


def target_page(view: View, target: str) -> Page | None:
    """The page of the target: the one of that name, else the one all of whose name stands in the target's name."""
    wanted = set(re.findall(r"[a-z0-9]+", target.lower()))
    found = []
    for path, digest, row in view.db.execute(
        "select p.path, p.digest, p.row from standing s join page p on p.path = s.path where s.type = 'target'"
    ):
        if view.sees(path):
            page = from_row(path, digest, row)
            name = set(re.findall(r"[a-z0-9]+", page.stem.lower()))
            if target in (page.stem, page.field("target")) or name <= wanted:
                found.append((target in (page.stem, page.field("target")), len(name), path, page))
    return max(found, key=lambda f: f[:3])[3] if found else None


def fields_of(page: Page) -> str:
    """What a target page says a loop must know, in one line."""
    said = []
    for name in _FIELDS:
        value = page.front.get(name)
        if value:
            text = (
                ", ".join(f"{k} {v}" for k, v in value.items())
                if isinstance(value, dict)
                else ", ".join(map(str, value))
                if isinstance(value, list)
                else str(value)
            )
            said.append(f"{name}: {text}")
    return "; ".join(said)
