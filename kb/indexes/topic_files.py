"""The hypothesis index, scopes and the profile index, from topics; and the catalog, which lists every page."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kb.graph import Graph
from kb.indexes.gains import paid
from kb.indexes.notes import Notes, cut
from kb.indexes.render import cell, href, index_file, link, rest, run_table, table
from kb.indexes.topics import Topic
from kb.schema import FAILED, PAGE_TYPES, Verdict
from kb.store import Kept, digest_of, row_of, to_json
from kb.text import counted
from kb.trail import Facts

_MOST_PAGES, _MOST_FIGURES, _MOST_EXPERIMENTS = 14, 10, 12


@dataclass(frozen=True, slots=True)
class Material:
    """What every index is compiled from: pages and links, what pages offer, runs in trail order and what the indexes say of each."""

    graph: Graph
    notes: Mapping[str, Notes]
    facts: Mapping[str, Facts]
    runs: Mapping[str, dict]
    kept: Kept

    def gist(self, path: str) -> str:
        return self.notes[path].gist if path in self.notes else ""


def best_of(rows: Iterable[dict]) -> dict | None:
    """The run that paid off most; None where none states a gain."""
    gained = (row for row in rows if paid(row) and (row["size"] or 0) > 0)
    return max(gained, key=lambda row: (row["size"], row["path"]), default=None)


def change_at(row: dict) -> str:
    """The change that a run reports, and where."""
    return f"{cell(row['change'], 60)}: {link(row)}" if row["change"] else link(row)


def topic_files(
    name: str, title: str, topics: list[dict], material: Material, *, lead: str
) -> dict[str, bytes]:
    """`<name>.md` and `<name>.json`: a table of topics, then each with its pages, figures and experiments."""
    lines = table(
        *("Topic", "#Pages", "#Tried", "#Supported", "#Kept", "#Failed", "Best reported"),
        rows=(
            (
                _named(row),
                *(len(row["pages"]), len(row["experiments"]), *row["counts"].values()),
                change_at(material.runs[row["best"]]) if row["best"] else "",
            )
            for row in topics
            if row["experiments"]
        ),
    )
    known = [_known(row, material) for row in topics if not row["experiments"]]
    lines += ["Known to this wiki, and what no run says it changes:", "", *known, ""] * bool(known)
    places = {f"{name}#{row['anchor']}": row for row in topics}
    inputs = {place: digest_of(row_of(row)) for place, row in places.items()}
    parts = material.kept.each(f"lines#{name}", inputs, list[str], lambda at: _lines(places[at]))
    lines += (line for own in parts.values() for line in own)
    twin = {"title": title, "topics": topics}
    return {f"{name}.md": index_file(title, lead, lines), f"{name}.json": to_json(twin)}


def _named(row: Mapping) -> str:
    return f"[{cell(row['name'], 80)}](#{row['anchor']})"


def _known(row: Mapping, material: Material) -> str:
    """A topic that no run pulls: an untried mechanism, or pages about how the loop is run. Which of them, the links cannot tell."""
    runs = sum(path in material.runs for path in material.graph.backlinks.get(row["hub"], ()))
    cited = f"; {runs} runs link it" if runs > 1 else "; 1 run links it" if runs else ""
    return f"- {_named(row)}: {counted(len(row['pages']), 'pages')}{cited}"


def topic_row(topic: Topic, material: Material) -> dict:
    """What the JSON twin says of a topic."""
    runs = [material.runs[p] for p in topic.experiments]
    best, pages = best_of(runs), material.graph.pages
    figures = [
        {"text": f.text, "path": p, "anchor": f.anchor, "line": f.line}
        for p in topic.pages
        if p in material.notes
        for f in material.notes[p].figures[:3]
    ]
    return {
        "name": topic.name,
        "anchor": topic.anchor,
        "hub": topic.hub,
        "tags": list(topic.tags),
        "counts": {
            "supported": sum(row["verdict"] == Verdict.SUPPORTED for row in runs),
            "kept": sum(row["kept"] for row in runs),
            "failed": sum(row["verdict"] in FAILED for row in runs),
        },
        "best": best["path"] if best else "",
        "pages": [
            {"path": p, "title": pages[p].title, "type": pages[p].type, "gist": material.gist(p)}
            for p in topic.pages
        ],
        "figures": figures[:_MOST_FIGURES],
        "experiments": runs,
    }


def _lines(row: Mapping) -> list[str]:
    """A topic by what its row says: the gist of its hub, pages, figures and experiments."""
    pages, titles = row["pages"], {p["path"]: p["title"] for p in row["pages"]}
    lines = [f"## {cut(row['name'], 200)}", ""]
    if row["hub"] and pages[0]["gist"]:
        lines += [cell(pages[0]["gist"], 400), ""]
    if pages:
        lines += ["**Pages**", ""]
        for p in pages[:_MOST_PAGES]:
            gist = f": {cell(p['gist'])}" if p["gist"] else ""
            lines.append(f"- {link(p)} ({p['type']}){gist}")
        lines += rest(len(pages) - _MOST_PAGES, "pages")
    if row["figures"]:
        lines += ["**Figures**", ""]
        for f in row["figures"]:
            title = cell(titles[f["path"]], 60)
            lines.append(f"- {cell(f['text'], 220)} ([{title}]({href(f['path'], f['anchor'])}))")
        lines.append("")
    if row["experiments"]:
        lines += ["**Experiments**, newest first", ""]
        lines += run_table(row["experiments"][:_MOST_EXPERIMENTS])
        lines += rest(len(row["experiments"]) - _MOST_EXPERIMENTS, "experiments")
    return lines


def readings_by_topic(topics: tuple[Topic, ...], material: Material) -> list[dict]:
    """Sections that say how things show in a profile, each under the first topic that has its page; none of a page that hopes for something."""
    graph = material.graph
    hoping = ("experiment", "hypothesis", "analysis")
    readings = {
        p: [
            {
                "path": p,
                "anchor": r.anchor,
                "title": graph.pages[p].title,
                "section": r.title,
                "text": r.text,
            }
            for r in notes.readings
        ]
        for p, notes in material.notes.items()
        if graph.pages[p].type not in hoping
    }
    other = ("Other pages", sorted(readings, key=lambda p: (-graph.rank[p], p)))
    rows = []
    for name, pages in (*((t.name, t.pages) for t in topics), other):
        if listed := [r for p in pages for r in readings.pop(p, ())]:
            rows.append({"name": name, "readings": listed})
    return rows


def profile_files(topics: list[dict]) -> dict[str, bytes]:
    """`profile.md` and `.json`: how to read profiles, by topic. Holds no hypothesis and no experiment: an analyst must not see what is hoped for."""
    lead = "How things show in a profile, by topic: what to look at, and where it is explained. No hypotheses here."
    title, lines = "Profile index", []
    for topic in topics:
        lines += [f"## {cut(topic['name'], 200)}", ""]
        lines += [
            f"- [{cell(f['title'], 60)} § {cell(f['section'], 60)}]({href(f['path'], f['anchor'])}): {cell(f['text'], 320)}"
            for f in topic["readings"][:_MOST_PAGES]
        ]
        lines += rest(len(topic["readings"]) - _MOST_PAGES, "sections")
    twin = {"title": title, "topics": topics}
    return {"profile.md": index_file(title, lead, lines), "profile.json": to_json(twin)}


def catalog_files(material: Material) -> dict[str, bytes]:
    """`catalog.md` and `.json`: every page by type; machine-made catalog pages are counted by folder."""
    by_type: dict[str, list[tuple[str, str, str, str]]] = {}
    for path, page in sorted(material.graph.pages.items()):
        gist = material.gist(path) if page.type not in ("catalog", "experiment") else ""
        by_type.setdefault(page.type, []).append((path, page.title, page.date, gist))
    known = [t.name for t in PAGE_TYPES]
    order = sorted(by_type, key=lambda t: (known.index(t) if t in known else len(known), t))
    inputs = {name: digest_of(row_of(by_type[name])) for name in order}
    parts = material.kept.each(
        "catalog", inputs, tuple[str, bytes], lambda name: _catalog_part(name, by_type[name])
    )
    types = ", ".join(f"{len(by_type[t])} {t}" for t in order)
    lead = f"{counted(sum(map(len, by_type.values())), 'pages')}: {types}."
    twin = b",\n".join(rows for _, (_, rows) in sorted(parts.items()))
    return {
        "catalog.md": index_file("Catalog", lead, (text for text, _ in parts.values())),
        "catalog.json": b"{\n" + twin + b"\n}\n",
    }


def _catalog_part(name: str, pages: list[tuple[str, str, str, str]]) -> tuple[str, bytes]:
    """Pages of one type as lines, and as the JSON twin has them between its braces."""
    lines = [f"## {name} ({len(pages)})", ""]
    if name == "catalog":
        folders = Counter(path.rpartition("/")[0] for path, *_ in pages)
        lines += [
            f"- `{folder}/`: {counted(count, 'pages')}" for folder, count in sorted(folders.items())
        ]
    else:
        lines += [
            f"- [{cell(title, 90)}]({href(path)}){f' ({date})' if date else ''}{f': {cell(gist, 140)}' if gist else ''}"
            for path, title, date, gist in pages
        ]
    rows = [{"path": path, "title": title, "date": date} for path, title, date, _ in pages]
    return "\n".join((*lines, "")), to_json({name: rows})[2:-3]
