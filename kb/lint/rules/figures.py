"""The rule on figures: a number that a line attributes to a page must be one that the page says. Refuses to read meaning: it compares numbers."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from kb.lint.matter import Matter, is_catalog
from kb.lint.registry import Rule, W
from kb.page import Page
from kb.schema import Finding

_LINK = re.compile(r"!?\[[^\[\]]*\]\([^()]*\)")
_DESTINATION = re.compile(r"\]\(([^()\s]*)[^()]*\)")
_QUIET = re.compile(r"<[^<>]*>|`[^`]*`")
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
# A figure stands alone: not in a name (v034), a version (2.4.1), a date, a range's dash, a flag or a path.
_FIGURE = re.compile(
    r"(?<![\w.,/#:=])(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?![\w:/]|[.,-]\d|-\w)"
)
# Where a sentence turns from one thing to another: "+3.7 % over the best ([exp 25](…))" says nothing of exp 25.
_CLAUSE = re.compile(
    r"(?<=[.!?;])\s+(?=\S)|,\s+and\s+|(?<!\s)\s+(?:[—–]|over|than|vs\.?|versus|against|from)\s+"
)
# Columns that compare with another row hold figures that the row's own page need not say.
_COMPARES = re.compile(
    r"\bvs\b|Δ|delta|\bover\b|relative|gain|speed-?up|improve|change|lift|%$", re.IGNORECASE
)
# Fewer significant digits are too common to tell one measurement from another.
_DIGITS = 3
_ABOUT = 0.02
# 8.423 s and 8423 ms are one figure.
_SCALES = (1, 1e-3, 1e3)


def figure_mismatches(matter: Matter) -> Iterator[Finding]:
    """Figures attributed to the one experiment that a table row or a clause cites, in indexes, target pages and analyses.

    What kb itself computed is no attribution: neither its indexes below indexes/ nor managed blocks are looked at.
    """
    numbers = dict[str, list[float]]()
    for page in filter(_lists_figures, matter.pages.values()):
        for line, text, target in _attributions(matter, page):
            if target not in numbers:
                numbers[target] = sorted(
                    {_value(n) for row in matter.lines(target) for n in _NUMBER.findall(row)}
                )
            for figure, about in figures_of(text):
                if not is_said(figure, numbers[target], about=about):
                    what = f"attributes {figure} to {target}, which does not say it"
                    hint = "take the figure from that page, or cite the page that says it"
                    yield Finding(
                        page.path, line, "figure-mismatch", what, target=figure, hint=hint
                    )


def _attributions(matter: Matter, page: Page) -> Iterator[tuple[int, str, str]]:
    """(line, statement, experiment) of every statement outside managed blocks that cites one other experiment and nothing else."""
    links = [link for link in page.links if link.kind == "inline"]
    known = {link.href: matter.target(link.href, page) for link in links}
    own = {n for _, start, end in page.blocks for n in range(start, end)}
    lines = {link.line for link in page.links if known.get(link.href) in matter.facts}
    for line in sorted(lines - own):
        for text in _statements(matter, page.path, line):
            targets = {known[href] for href in _DESTINATION.findall(text) if known.get(href)}
            if len(targets) == 1 and page.path not in targets and targets <= matter.facts.keys():
                yield line, text, targets.pop()


def _lists_figures(page: Page) -> bool:
    catalog = is_catalog(page) and page.type not in ("log", "catalog")
    return catalog or page.type in ("target", "analysis") or page.folder == "wiki"


def _statements(matter: Matter, path: str, line: int) -> list[str]:
    """What a line says of one thing at a time: a table row without its comparing columns, else each clause."""
    for header, *rows in matter.tables(path):
        if row := next((row for row in rows if row.line == line), None):
            compares = [bool(_COMPARES.search(cell.plain)) for cell in header.cells]
            cells = [matter.document(path).source(cell) for cell in row.cells]
            kept = (
                c for n, c in enumerate(cells) if "](" in c or n >= len(compares) or not compares[n]
            )
            return [" | ".join(kept)]
    # Links are taken out while the line is cut: "[bf16, and compiled](…)" is one thing.
    text = matter.lines(path)[line - 1] if line <= len(matter.lines(path)) else ""
    links = iter(_LINK.findall(text))
    clauses = _CLAUSE.split(_LINK.sub("\x00", text.replace("\x00", "")))
    return [re.sub("\x00", lambda _: next(links, ""), clause) for clause in clauses]


def figures_of(text: str) -> list[tuple[str, bool]]:
    """Figures of a text that can be told apart, each with whether it is given as about so much."""
    plain = _QUIET.sub(" ", _DESTINATION.sub("] ", text))
    figures = {
        m[1]: plain[max(0, m.start() - 8) : m.start()].rstrip(" *_+−-").endswith(("~", "≈"))
        for m in _FIGURE.finditer(plain)
    }
    return [
        (figure, about)
        for figure, about in figures.items()
        if len(figure.replace(",", "").replace(".", "").strip("0")) >= _DIGITS
    ]


def is_said(figure: str, numbers: list[float], *, about: bool = False) -> bool:
    """Whether one of the sorted numbers is the figure, or rounds to it at the precision in which it is given."""
    value = _value(figure)
    near = 0.5 * 10 ** -len(figure.partition(".")[2]) * (1 + 1e-9)
    if about:
        near = max(near, _ABOUT * value)
    spans = ((scale * (value - near), scale * (value + near)) for scale in _SCALES)
    return any(bisect_left(numbers, low) < bisect_right(numbers, high) for low, high in spans)


def _value(number: str) -> float:
    return float(number.replace(",", ""))


RULES = (
    Rule(
        "figure-mismatch",
        W,
        "a figure attributed to a page that does not say it is hearsay",
        check=figure_mismatches,
    ),
)
