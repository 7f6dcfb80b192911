"""Index files as markdown: heads, links, tables of runs, lists with what they leave out. Every text is a page's own, so numbers cannot differ."""

from collections.abc import Iterable, Mapping
from urllib.parse import quote

from kb.indexes.notes import cut

_MADE = "<!-- Compiled by `kb build` from wiki/; edits here are lost. -->"
_SAFE = str.maketrans({"\\": "\\\\", "|": "\\|", "[": "\\[", "]": "\\]", "<": "&lt;", "`": "'"})


def index_file(title: str, lead: str, lines: Iterable[str]) -> bytes:
    """A compiled index: its front matter, title and lead, and the lines below."""
    head = ["---", f"title: {title}", "type: index", "---", "", _MADE, "", f"# {title}", "", lead]
    return ("\n".join([*head, "", *lines]).rstrip("\n") + "\n").encode("utf-8")


def file_of_target(folder: str, target: str) -> str:
    """Path below `indexes/`, without its ending, of what one target has of its own in a folder."""
    return "/".join([folder, *(part for part in target.split("/") if part not in ("", ".", ".."))])


def cell(text: str, most: int = 160) -> str:
    """A text that is safe in a table cell and in a link label."""
    return cut(text, most).translate(_SAFE)


def link(row: Mapping) -> str:
    """A link to a page, whose path and title a row holds."""
    return f"[{cell(row['title'], 90)}]({href(row['path'])})"


def href(path: str, anchor: str = "", *, up: str = "../") -> str:
    # A run that a section of a page tells is the page with its anchor.
    path, _, part = path.replace(".md#", ".md\n").partition("\n")
    anchor = anchor or part
    return up + quote(path, safe="/~@!$&'*+,;=:") + (f"#{anchor}" if anchor else "")


def table(*columns: str, rows: Iterable[Iterable[object]]) -> list[str]:
    """A table with a line behind it; nothing where it has no rows. A column that begins with `#` holds numbers."""
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    head = "| " + " | ".join(name.removeprefix("#") for name in columns) + " |"
    rule = "|" + "".join("---:|" if name[0] == "#" else "---|" for name in columns)
    return [head, rule, *lines, ""] if lines else []


def run_table(rows: Iterable[Mapping]) -> list[str]:
    """A table of runs: page, target, verdict, reported change."""
    cells = (
        (
            link(e),
            cell(e["target"], 50),
            f"{e['verdict'] or 'open'}{', kept' if e['kept'] else ''}",
            cell(e["change"], 60),
        )
        for e in rows
    )
    return table("Experiment", "Target", "Verdict", "Change", rows=cells)


def rest(count: int, what: str) -> list[str]:
    """The end of a list that leaves so many out."""
    name = what if count > 1 else what.removesuffix("s")
    left = [f"- and {count} more {name} in the .json beside this file"] if count > 0 else []
    return [*left, ""]
