"""Index files as markdown and JSON from topics. Every line cites its page; every text is a page's own, so numbers cannot differ."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from kb.graph import Graph
from kb.indexes.gains import change_of, kept_only, paid
from kb.indexes.notes import Notes, cut
from kb.indexes.topics import Topic
from kb.page import Page, slug_of
from kb.schema import FAILED, PAGE_TYPES, Verdict
from kb.store import Kept, digest_of, row_of, to_json
from kb.trail import Facts, Trail

_MOST_PAGES, _MOST_FIGURES, _MOST_EXPERIMENTS = 14, 10, 12
_MADE = "<!-- Compiled by `kb build` from wiki/; edits here are lost. -->"


@dataclass(frozen=True, slots=True)
class Material:
    """What every index is compiled from."""

    graph: Graph
    trail: Trail
    notes: Mapping[str, Notes]
    facts: Mapping[str, Facts]
    kept: Kept
    # Rows of runs that were asked for: most stand under several topics.
    rows: dict[str, dict] = field(default_factory=dict)

    def gist(self, path: str) -> str:
        return self.notes[path].gist if path in self.notes else ""

    def row(self, e: Facts) -> dict:
        """What the indexes say of a run: path, title, target, date, verdict, whether its loop kept it, and the change it reports, with its size."""
        if e.path not in self.rows:
            change = change_of(e, self.facts.get(e.parent))
            self.rows[e.path] = {
                "path": e.path,
                "title": e.title,
                "target": e.target,
                "date": e.date,
                "verdict": e.verdict.canonical,
                "kept": kept_only(e),
                "change": change.text,
                "size": change.size,
            }
        return self.rows[e.path]

    def best(self, experiments: Iterable[Facts]) -> Facts | None:
        """The run that paid off most; None where none states a gain."""
        sizes = ((self.row(e)["size"], e.path) for e in experiments if paid(e))
        best = max((s for s in sizes if s[0] and s[0] > 0), default=None)
        return self.facts[best[1]] if best else None


_SAFE = str.maketrans({"\\": "\\\\", "|": "\\|", "[": "\\[", "]": "\\]", "<": "&lt;", "`": "'"})


def cell(text: str, most: int = 160) -> str:
    """A text that is safe in a table cell and in a link label."""
    return cut(text, most).translate(_SAFE)


def link(page: Page | Facts, anchor: str = "") -> str:
    return f"[{cell(page.title, 90)}]({href(page.path, anchor)})"


def href(path: str, anchor: str = "") -> str:
    return "../" + quote(path, safe="/~@!$&'*+,;=:") + (f"#{anchor}" if anchor else "")


def page_head(title: str, lead: str) -> list[str]:
    return [
        "---",
        f"title: {title}",
        "type: index",
        "---",
        "",
        _MADE,
        "",
        f"# {title}",
        "",
        lead,
        "",
    ]


def bytes_of(lines: Iterable[str]) -> bytes:
    return ("\n".join(lines).rstrip("\n") + "\n").encode("utf-8")


def topic_files(
    name: str,
    title: str,
    topics: tuple[Topic, ...],
    rows: list[dict],
    material: Material,
    *,
    lead: str,
) -> dict[str, bytes]:
    """`<name>.md` and `<name>.json`: a table of topics, then each with its pages, figures and experiments."""
    lines = page_head(title, lead)
    slugs = _slugs(["Topics", *(t.name for t in topics)])[1:]
    entries = list(zip(topics, slugs, rows, strict=True))
    lines += _table([t for t in entries if t[0].experiments], material)
    lines += _known([t for t in entries if not t[0].experiments], material)
    places = {f"{name}#{row['anchor']}": row for row in rows}
    inputs = {place: digest_of(row_of(row)) for place, row in places.items()}
    entries = material.kept.each(
        f"lines#{name}", inputs, list[str], lambda place: _topic_lines(places[place])
    )
    lines += (line for own in entries.values() for line in own)
    return {
        f"{name}.md": bytes_of(lines),
        f"{name}.json": to_json({"title": title, "topics": rows}),
    }


def _table(entries: list[tuple[Topic, str, dict]], material: Material) -> list[str]:
    lines = [
        "| Topic | Pages | Tried | Supported | Kept | Failed | Best reported |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for topic, slug, row in entries:
        n = row["counts"]
        best = material.facts.get(row["best"])
        gain = cell(material.row(best)["change"], 60) if best else ""
        message = f"{gain}: {link(best)}" if best else ""
        lines.append(
            f"| [{cell(topic.name, 80)}](#{slug}) | {len(topic.pages)} | {len(topic.experiments)} | {n['supported']} | {n['kept']} | {n['failed']} | {message} |"
        )
    return [*lines, ""] if entries else []


def _known(entries: list[tuple[Topic, str, dict]], material: Material) -> list[str]:
    """Topics that no run pulls: untried mechanisms, and pages about how the loop is run. Which of them, the links cannot tell."""
    if not entries:
        return []
    lines = ["Known to this wiki, and what no run says it changes:", ""]
    for topic, slug, _ in entries:
        runs = sum(path in material.facts for path in material.graph.backlinks.get(topic.hub, ()))
        cited = f"; {runs} runs link it" if runs > 1 else "; 1 run links it" if runs else ""
        lines.append(f"- [{cell(topic.name, 80)}](#{slug}): {len(topic.pages)} pages{cited}")
    return [*lines, ""]


def _slugs(names: list[str]) -> list[str]:
    counts: Counter[str] = Counter()
    slugs = []
    for name in names:
        slug = slug_of(cut(name, 200))
        slugs.append(slug if not counts[slug] else f"{slug}-{counts[slug]}")
        counts[slug] += 1
    return slugs


def topic_row(topic: Topic, material: Material) -> dict:
    """What the JSON twin says of a topic."""
    runs = [material.facts[p] for p in topic.experiments]
    best = material.best(runs)
    figures = [
        {"text": f.text, "path": p, "anchor": f.anchor, "line": f.line}
        for p in topic.pages
        if p in material.notes
        for f in material.notes[p].figures[:3]
    ]
    graph = material.graph
    return {
        "name": topic.name,
        "anchor": topic.anchor,
        "hub": topic.hub,
        "tags": list(topic.tags),
        "counts": {
            "supported": sum(e.verdict.canonical is Verdict.SUPPORTED for e in runs),
            "kept": sum(map(kept_only, runs)),
            "failed": sum(e.verdict.canonical in FAILED for e in runs),
        },
        "best": best.path if best else "",
        "pages": [
            {
                "path": p,
                "title": graph.pages[p].title,
                "type": graph.pages[p].type,
                "gist": material.gist(p),
            }
            for p in topic.pages
        ],
        "figures": figures[:_MOST_FIGURES],
        "experiments": [material.row(e) for e in runs],
    }


def _topic_lines(row: Mapping) -> list[str]:
    """A topic by what its row says: the gist of its hub, pages, figures and experiments."""
    pages, titles = row["pages"], {p["path"]: p["title"] for p in row["pages"]}
    lines = [f"## {cut(row['name'], 200)}", ""]
    if row["hub"] and pages[0]["gist"]:
        lines += [cell(pages[0]["gist"], 400), ""]
    if pages:
        lines += ["**Pages**", ""]
        for p in pages[:_MOST_PAGES]:
            gist = f": {cell(p['gist'])}" if p["gist"] else ""
            lines.append(f"- {_link(p)} ({p['type']}){gist}")
        lines += _rest(len(pages) - _MOST_PAGES, "pages")
    if row["figures"]:
        lines += ["**Figures**", ""]
        for f in row["figures"]:
            title = cell(titles[f["path"]], 60)
            lines.append(f"- {cell(f['text'], 220)} ([{title}]({href(f['path'], f['anchor'])}))")
        lines.append("")
    if row["experiments"]:
        lines += ["**Experiments**, newest first", ""]
        lines += experiment_rows(row["experiments"][:_MOST_EXPERIMENTS])
        lines += _rest(len(row["experiments"]) - _MOST_EXPERIMENTS, "experiments")
    return lines


def _link(row: Mapping) -> str:
    return f"[{cell(row['title'], 90)}]({href(row['path'])})"


def experiment_rows(rows: Iterable[Mapping]) -> list[str]:
    """A table of runs, as `Material.row` has them: page, target, verdict, reported change."""
    lines = [
        f"| {_link(e)} | {cell(e['target'], 50)} | {e['verdict'] or 'open'}{', kept' if e['kept'] else ''} | {cell(e['change'], 60)} |"
        for e in rows
    ]
    return ["| Experiment | Target | Verdict | Change |", "|---|---|---|---|", *lines, ""]


def _rest(count: int, what: str) -> list[str]:
    return (
        [
            f"- and {count} more {what if count > 1 else what.removesuffix('s')} in the .json beside this file",
            "",
        ]
        if count > 0
        else [""]
    )


def readings_by_topic(topics: tuple[Topic, ...], material: Material) -> list[dict]:
    """Sections that say how things show in a profile, each under the first topic that has its page; none of a page that hopes for something."""
    graph = material.graph
    hoping = ("experiment", "hypothesis", "analysis")
    readings = {
        p: n.readings
        for p, n in material.notes.items()
        if n.readings and graph.pages[p].type not in hoping
    }
    other = ("Other pages", tuple(sorted(readings, key=lambda p: (-graph.rank[p], p))))
    listed: set[str] = set()
    rows = []
    for name, pages in (*((t.name, t.pages) for t in topics), other):
        fresh = [p for p in pages if p in readings and p not in listed]
        listed.update(fresh)
        listings = [
            {
                "path": p,
                "anchor": r.anchor,
                "title": graph.pages[p].title,
                "section": r.title,
                "text": r.text,
            }
            for p in fresh
            for r in readings[p]
        ]
        rows += [{"name": name, "readings": listings}] if listings else []
    return rows


def profile_files(topics: list[dict]) -> dict[str, bytes]:
    """`profile.md` and `.json`: how to read profiles, by topic. Holds no hypothesis and no experiment: an analyst must not see what is hoped for."""
    lead = "How things show in a profile, by topic: what to look at, and where it is explained. No hypotheses here."
    lines = page_head("Profile index", lead)
    for topic in topics:
        lines += [f"## {cut(topic['name'], 200)}", ""]
        lines += [
            f"- [{cell(f['title'], 60)} § {cell(f['section'], 60)}]({href(f['path'], f['anchor'])}): {cell(f['text'], 320)}"
            for f in topic["readings"][:_MOST_PAGES]
        ]
        lines += _rest(len(topic["readings"]) - _MOST_PAGES, "sections")
    return {
        "profile.md": bytes_of(lines),
        "profile.json": to_json({"title": "Profile index", "topics": topics}),
    }


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
    counted = ", ".join(f"{len(by_type[t])} {t}" for t in order)
    lines = page_head("Catalog", f"{sum(map(len, by_type.values()))} pages: {counted}.")
    twin = b",\n".join(rows for _, (_, rows) in sorted(parts.items()))
    return {
        "catalog.md": bytes_of([*lines, *(text for text, _ in parts.values())]),
        "catalog.json": b"{\n" + twin + b"\n}\n",
    }


def _catalog_part(name: str, pages: list[tuple[str, str, str, str]]) -> tuple[str, bytes]:
    """Pages of one type as lines, and as the JSON twin has them between its braces."""
    lines = [f"## {name} ({len(pages)})", ""]
    if name == "catalog":
        folders = Counter(path.rpartition("/")[0] for path, *_ in pages)
        lines += [f"- `{folder}/`: {count} pages" for folder, count in sorted(folders.items())]
    else:
        lines += [
            f"- [{cell(title, 90)}]({href(path)}){f' ({date})' if date else ''}{f': {cell(gist, 140)}' if gist else ''}"
            for path, title, date, gist in pages
        ]
    rows = [{"path": path, "title": title, "date": date} for path, title, date, _ in pages]
    return "\n".join((*lines, "")), to_json({name: rows})[2:-3]
