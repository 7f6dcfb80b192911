"""Pages and their links as drawings: the neighbourhood of a page, the whole wiki. Refuses scripts and
chance: the same wiki gives the same picture.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from kb import grouped
from kb.site.survey import Survey

_NEAR = 9
_MOST_STARS = 360
# Lines that start at one page: with all of them nothing could be seen.
_LINES_EACH = 3
# The golden angle in radians: points that turn by it fill a disc evenly.
_GOLDEN = 2.399963
_WIDE, _HIGH = 960, 620
_NOT_DRAWN = ("index", "log", "catalog")


# Pages with their places and sizes, the lines between them, the labels of groups with their places, and the
# size of the whole, as the macro `sky` draws them.
Sky = Mapping[str, object]
_Star = tuple[str, float, float, float]


def neighbourhood(survey: Survey, path: str) -> Sky | None:
    """A page with what cites it on the left and what it cites on the right, the most cited first."""
    wiki = survey.wiki
    sides = [
        sorted(wiki.pages.keys() & set(near) - {path}, key=lambda p: (-wiki.rank[p], p))[:_NEAR]
        for near in (wiki.backlinks.get(path, ()), wiki.outlinks.get(path, ()))
    ]
    if not any(sides):
        return None
    high = 26 * max(3, *map(len, sides)) + 20
    stars = [(path, 360, high / 2, 7)]
    for side, x in zip(sides, (250, 470), strict=True):
        top = high / 2 - 13 * (len(side) - 1)
        stars += [(p, x, round(top + 26 * n, 1), 4.0) for n, p in enumerate(side)]
    lines = [(360.0, high / 2, x, y) for _, x, y, _ in stars[1:]]
    return {"stars": stars, "lines": lines, "names": [], "wide": 720, "high": high}


def whole_sky(survey: Survey) -> Sky:
    """The most cited pages of the wiki, a disc for each page type, the largest in the middle and none
    over another.
    """
    pages, rank = survey.pages, survey.wiki.rank
    drawn = (p for p in survey.wiki.pages if pages[p].type not in _NOT_DRAWN)
    central = sorted(drawn, key=lambda p: (-rank[p], p))[:_MOST_STARS]
    groups = grouped((pages[path].type, path) for path in central)
    order = sorted(groups, key=lambda t: (-len(groups[t]), t))
    discs = _packed([9 * math.sqrt(len(groups[t])) + 22 for t in order])
    wide = max([1.0, *(abs(x) + r for x, _, r in discs)])
    high = max([1.0, *(abs(y) + r for _, y, r in discs)])
    zoom = min(_WIDE / 2 / wide, _HIGH / 2 / high, 1.6)
    largest = rank[central[0]] if central else 1
    stars, names = [], []
    for name, (x, y, reach) in zip(order, discs, strict=True):
        left, top = _WIDE / 2 + zoom * x, _HIGH / 2 + zoom * y
        names.append((name, round(left), round(top - zoom * reach + 14)))
        for n, path in enumerate(groups[name]):
            far, turn = zoom * 8.6 * math.sqrt(n), n * _GOLDEN
            place = (
                round(left + far * math.cos(turn), 1),
                round(top + far * math.sin(turn) + 6, 1),
            )
            stars.append((path, *place, round(2.5 + 5 * math.sqrt(rank[path] / (largest or 1)), 1)))
    lines = _lines(survey, stars)
    return {"stars": stars, "lines": lines, "names": names, "wide": _WIDE, "high": _HIGH}


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


def _lines(survey: Survey, stars: Sequence[_Star]) -> list[tuple[float, float, float, float]]:
    at = {path: (x, y) for path, x, y, _ in stars}
    lines = []
    for path, place in at.items():
        cited = (p for p in survey.wiki.outlinks.get(path, ()) if p in at and p != path)
        most = sorted(cited, key=lambda p: (-survey.wiki.rank[p], p))[:_LINES_EACH]
        lines += [(*place, *at[other]) for other in most]
    return lines
