"""Rules on the wiki as a whole: what nobody links to or comes to, titles and names that clash, length, open contradictions."""

import posixpath
import re
from collections.abc import Iterator

from kb.graph import prefers_wikilinks
from kb.lint.matter import Matter, is_catalog, line_of
from kb.lint.registry import E, Rule, W
from kb.schema import Finding

_CALLOUT = re.compile(r"^[ ]{0,3}>[ ]*\[!(\w+)\]")
_CONTRADICTS = re.compile(r"contradict|conflicts? with|disagree", re.IGNORECASE)
# Settled is what says so outright: a line that opens with it, or "resolved 2026-06-02", "resolved by [v034]".
_RESOLVED = re.compile(
    r"^[\W_]*(?:\[!\w+\][\W_]*)?(?:resolved|settled)\b|\b(?:resolved|settled)\s+(?:(?:on|by|in|with)\s+)?[\[\d`]|\((?:resolved|settled)\b",
    re.IGNORECASE | re.MULTILINE,
)
# What decides stands at the head of a callout; a longer one is a page of its own.
_LONGEST = 4000
# What a markdown link must escape, and what ends the name in a wikilink.
_UNLINKABLE, _UNNAMED = re.compile(r"[\s#?%<>()\[\]]"), re.compile(r"[#^|\[\]]")


def index_pages(matter: Matter) -> list[str]:
    """The front page of the wiki: its `index.md`, or its README."""
    home = matter.layout.page("")
    front = [home.lower() + name for name in ("index.md", "readme.md", "home.md")]
    return [p for p in matter.pages if p.lower() in front]


def orphans(matter: Matter) -> Iterator[Finding]:
    for path in _unlinked(matter):
        yield Finding(
            path,
            1,
            "orphan",
            "no page links here",
            hint="link it from the pages that need it, or from an index",
        )


def _unlinked(matter: Matter) -> list[str]:
    linked = matter.graph.backlinks
    return [
        path
        for path, page in matter.pages.items()
        if path not in linked
        and not is_catalog(page)
        and page.type != "program"
        and page.folder != "wiki"
        # An imported run, and one that kb filed, stands on its target's compiled lists.
        and not (page.type == "experiment" and (page.field("imported") or page.field("sealed")))
    ]


def unreachable(matter: Matter) -> Iterator[Finding]:
    """Pages that some page links to, but that no chain of links from the index leads to. Rests where there is no index page."""
    starts = index_pages(matter)
    if not starts:
        return
    reachable = matter.graph.reachable(starts)
    alone = set(_unlinked(matter))
    for path, page in matter.pages.items():
        filed = page.type == "experiment" and (page.field("imported") or page.field("sealed"))
        if (
            path not in reachable
            and path not in alone
            and not filed
            and page.type not in ("catalog", "log", "program")
        ):
            yield Finding(
                path,
                1,
                "unreachable",
                f"no chain of links leads here from {starts[0]}",
                hint="link it from the index, or from a page that the index reaches",
            )


def duplicate_titles(matter: Matter) -> Iterator[Finding]:
    first = dict[tuple[str, str], str]()
    for path, page in matter.pages.items():
        if is_catalog(page) or not page.lines or page.title == page.stem:
            continue
        key = (page.type, " ".join(page.title.casefold().split()))
        if key in first:
            yield Finding(
                path,
                line_of(page, "title"),
                "duplicate-title",
                f"has the title of {first[key]}",
                target=page.title,
                hint="say in the title what sets it apart, or merge the pages",
            )
        first.setdefault(key, path)


def case_twins(matter: Matter) -> Iterator[Finding]:
    first = dict[str, str]()
    for path in matter.pages:
        twin = first.setdefault(path.casefold(), path)
        if twin != path:
            yield Finding(
                path,
                1,
                "case-twin",
                f"differs from {twin} by case only: one of them is lost on a disk that ignores case",
                target=posixpath.basename(path),
                hint="rename one with kb mv",
            )


def unlinkable_names(matter: Matter) -> Iterator[Finding]:
    breaking = _UNNAMED if prefers_wikilinks(matter.pages) else _UNLINKABLE
    for path, page in matter.pages.items():
        odd = breaking.search(page.path)
        if odd or not page.stem:
            what = f"holds {odd[0]!r}" if odd else "has nothing before .md"
            yield Finding(
                path,
                1,
                "unlinkable-name",
                f"the file name {what}, which a link must escape",
                target=posixpath.basename(path),
                hint="rename it with kb mv to letters, digits, - and _",
            )


def long_pages(matter: Matter) -> Iterator[Finding]:
    most = matter.layout.config.page_lines
    for path, page in matter.pages.items():
        if page.lines > most and page.type != "log":
            yield Finding(
                path,
                1,
                "long-page",
                f"{page.lines} lines, over {most}",
                hint="split it by its top headings, or raise [lint] page_lines",
            )


def contradictions(matter: Matter) -> Iterator[Finding]:
    """Callouts `> [!contradiction]`, or warnings that speak of one, whose text does not say that it is settled."""
    for path, page in matter.pages.items():
        for number in page.callouts:
            lines = matter.lines(path)
            # The page may have been written since it was looked at.
            opening = next(map(_CALLOUT.match, lines[number - 1 : number]), None)
            if not opening:
                continue
            end = number
            while (
                end < len(lines)
                and lines[end].lstrip().startswith(">")
                and not _CALLOUT.match(lines[end])
            ):
                end += 1
            text = "\n".join(part.lstrip(" >") for part in lines[number - 1 : end])[:_LONGEST]
            kind = opening[1].lower()
            open_ = (
                kind.startswith(("contradict", "conflict"))
                or kind in ("warning", "caution", "danger")
                and _CONTRADICTS.search(text)
            )
            if open_ and not _RESOLVED.search(text):
                yield Finding(
                    path,
                    number,
                    "open-contradiction",
                    f"an open contradiction: {' '.join(text.partition(']')[2].split())[:120]}",
                    target=kind,
                    hint="settle it with evidence, then write 'Resolved DATE: …' in the callout",
                )


RULES = (
    Rule(
        "orphan",
        W,
        "a page that nothing links to is found by search alone",
        "graph",
        orphans,
        habit="folder",
    ),
    Rule(
        "unreachable",
        W,
        "a page that no chain of links leads to is not browsed",
        "graph",
        unreachable,
        habit="folder",
    ),
    Rule(
        "duplicate-title",
        W,
        "two pages of one title are told apart by nobody",
        check=duplicate_titles,
    ),
    Rule(
        "case-twin",
        E,
        "two paths that differ by case only are one file on many disks",
        check=case_twins,
    ),
    Rule(
        "unlinkable-name",
        W,
        "a name with spaces, # or brackets breaks plain links to it",
        check=unlinkable_names,
        habit="folder",
    ),
    Rule(
        "long-page",
        W,
        "a page longer than [lint] page_lines is read by nobody whole",
        check=long_pages,
    ),
    Rule(
        "open-contradiction",
        W,
        "an open contradiction leaves an agent to pick a side",
        check=contradictions,
    ),
)
