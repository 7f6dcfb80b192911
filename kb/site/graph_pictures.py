"""Pages and their links as drawings: the neighbourhood of a page, the whole wiki. Refuses scripts and
chance: the same wiki gives the same picture.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from kb.site.survey import Survey

_NEAR = 9
_MOST_STARS = 360
# Lines that start at one page: with all of them nothing could be seen.
_LINES_EACH = 3
# The golden angle in radians: points that turn by it fill a disc evenly.
_GOLDEN = 2.399963
_WIDE, _HIGH = 960, 620
_NOT_DRAWN = ("index", "log", "catalog")


@dataclass(frozen=True, slots=True)
class Star:
    """A page in a drawing of the graph."""

    path: str
    title: str
    type: str
    x: float
    y: float
    size: float = 4.0


@dataclass(frozen=True, slots=True)
class Sky:
    """Pages and the links between them, laid out; `names` are the labels of groups with their
    places.
    """

    stars: tuple[Star, ...]
    lines: tuple[tuple[float, float, float, float], ...]
    names: tuple[tuple[str, float, float], ...]
    wide: int
    high: int


def neighbourhood(survey: Survey, path: str) -> Sky | None:
    """A page with what cites it on the left and what it cites on the right, the most cited first."""
    pages, rank = survey.pages, survey.wiki.rank
    sides = [
        sorted(
            (p for p in near if p in survey.wiki.pages and p != path), key=lambda p: (-rank[p], p)
        )[:_NEAR]
        for near in (survey.wiki.backlinks.get(path, ()), survey.wiki.outlinks.get(path, ()))
    ]
    if not any(sides):
        return None
    high = 26 * max(3, *map(len, sides)) + 20
    stars = [Star(path, pages[path].title, pages[path].type, 360, high / 2, 7)]
    for side, x in zip(sides, (250, 470), strict=True):
        top = high / 2 - 13 * (len(side) - 1)
        stars += [
            Star(p, pages[p].title, pages[p].type, x, round(top + 26 * n, 1))
            for n, p in enumerate(side)
        ]
    lines = tuple((360.0, high / 2, s.x, s.y) for s in stars[1:])
    return Sky(tuple(stars), lines, (), 720, high)


def whole_sky(survey: Survey) -> Sky:
    """The most cited pages of the wiki, a disc for each page type, the largest in the middle and none
    over another.
    """
    pages, rank = survey.pages, survey.wiki.rank
    drawn = (p for p in survey.wiki.pages if pages[p].type not in _NOT_DRAWN)
    central = sorted(drawn, key=lambda p: (-rank[p], p))[:_MOST_STARS]
    groups: dict[str, list[str]] = defaultdict(list)
    for path in central:
        groups[pages[path].type].append(path)
    order = sorted(groups, key=lambda t: (-len(groups[t]), t))
    discs = _packed([9 * math.sqrt(len(groups[t])) + 22 for t in order])
    scale = (
        max([1.0, *(abs(x) + r for x, _, r in discs)]),
        max([1.0, *(abs(y) + r for _, y, r in discs)]),
    )
    zoom = min(_WIDE / 2 / scale[0], _HIGH / 2 / scale[1], 1.6)
    largest = rank[central[0]] if central else 1
    stars, names = [], []
    for name, (x, y, reach) in zip(order, discs, strict=True):
        names.append(
            (name, round(_WIDE / 2 + zoom * x), round(_HIGH / 2 + zoom * (y - reach) + 14))
        )
        for n, path in enumerate(groups[name]):
            far, turn = 8.6 * math.sqrt(n), n * _GOLDEN
            across = round(_WIDE / 2 + zoom * (x + far * math.cos(turn)), 1)
            down = round(_HIGH / 2 + zoom * (y + far * math.sin(turn)) + 6, 1)
            size = round(2.5 + 5 * math.sqrt(rank[path] / (largest or 1)), 1)
            stars.append(Star(path, pages[path].title, name, across, down, size))
    return Sky(tuple(stars), _lines(survey, stars), tuple(names), _WIDE, _HIGH)


def _packed(reaches: Iterable[float]) -> list[tuple[float, float, float]]:
    """Discs of these radii as (x, y, radius): each at the place nearest to the middle, along a
    spiral, where it touches none before it.
    """
    placed: list[tuple[float, float, float]] = []
    for reach in reaches:
        for step in range(4000):
            far, turn = 7 * math.sqrt(step), step * _GOLDEN
            x, y = 1.35 * far * math.cos(turn), 0.8 * far * math.sin(turn)
            if all(math.hypot(x - ox, y - oy) >= reach + other for ox, oy, other in placed):
                break
        placed.append((x, y, reach))
    return placed


def _lines(survey: Survey, stars: list[Star]) -> tuple[tuple[float, float, float, float], ...]:
    at = {star.path: star for star in stars}
    lines = []
    for star in stars:
        cited = [
            at[p] for p in survey.wiki.outlinks.get(star.path, ()) if p in at and p != star.path
        ]
        most = sorted(cited, key=lambda s: (-survey.wiki.rank[s.path], s.path))[:_LINES_EACH]
        lines += [(star.x, star.y, other.x, other.y) for other in most]
    return tuple(lines)
