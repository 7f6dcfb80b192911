"""Passages of the pages that the next run stands on, section by section. Refuses what the slice says already."""

import json

from kb.slices.open_slice import OpenSlice

# Sections of a run in the order in which they help the next one.
_PLACES = ("verdict", "next", "mechanism")
# Runs whose pages and citations are looked at, newest first.
_LAST = 8
# A passage is about so long.
PASSAGE = 600


def bring_passages(into: OpenSlice) -> None:
    """Bring sections until the budget is full: of the frontier, of observations and analyses that the last runs cite, of the last runs."""
    best = into.question.frontier
    own = [best.path] if best else []
    pages = dict.fromkeys([*own, *_cited(into), *into.runs[: -_LAST - 1 : -1]])
    for place in _PLACES:
        for path in pages:
            facts = into.question.facts(path)
            # A ruling of kb's own is its gain and the interval, which the state tells.
            if place == "verdict" and facts and facts.gain is not None:
                continue
            into.section("refuted" if into.failed(path) else "pages", path, place, size=PASSAGE)


def _cited(into: OpenSlice) -> list[str]:
    """Observations, then analyses, that the last runs cite or that cite them, newest first."""
    return into.view.once("cited", into.target, lambda: _cited_now(into))


def _cited_now(into: OpenSlice) -> list[str]:
    rows = into.view.db.execute(
        "select n.cites, n.cited_by from json_each(?) j join neighbours n on n.path = j.value",
        (json.dumps(into.runs[-_LAST:]),),
    )
    paths = {p for both in rows for ends in both for p in json.loads(ends)}
    into.view.look_up(paths)
    pages = sorted((into.view.standing(p) for p in paths if into.view.sees(p)), key=lambda p: (p.date, p.path))  # fmt: skip
    kinds = ("observation", "analysis")
    return [p.path for kind in kinds for p in reversed(pages) if p.type == kind]
