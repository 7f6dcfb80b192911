"""Pages that no one wrote: home, targets, runs, why refuted, comparison, lists, tags, graph. Refuses to
judge: it gathers what each shows, and a template lays it out.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from kb.page import Page
from kb.refuted import Card
from kb.site.graph_pictures import whole_sky
from kb.site.runs import RunRow, compared, csv_of, table_of
from kb.site.survey import Survey, plural, type_place
from kb.site.targets import Standpoint, TargetView, levers_of
from kb.site.templating import RenderedSheet, sheet

# Rows of the table of all runs; the older ones stand in the tables of their targets.
_MOST_RUNS = 200
# Fewer runs tell a loop nothing that its pages do not.
_FEWEST_RUNS = 5
# From here on a list of pages is folded by folder.
_LONG_LIST = 600
_READ = ("concept", "observation", "hypothesis", "source", "analysis", "codebase")
# The place and title of the page that one belongs to.
_Back = tuple[str, str] | None


def asked_targets(survey: Survey) -> list[str]:
    """Targets with as many runs that a slice tells a loop more than their pages."""
    return [name for name, runs in survey.trails.items() if name and len(runs) >= _FEWEST_RUNS]


def sheets_of(
    survey: Survey, *, name: str, handed: Collection[str], replayed: str
) -> Iterator[RenderedSheet]:
    """Every page that no one wrote but what loops are handed. `replayed` is the table of `kb replay`,
    empty where none was kept; `handed` are the targets with a slice.
    """
    views = tuple(TargetView(survey, target) for target in survey.trails)
    yield _home(survey, name, views)
    for view in views:
        yield from _target(survey, view, handed)
    if survey.experiments:
        every = [run for view in views for run in view.runs]
        newest = sorted(every, key=lambda r: r.facts.order)[-_MOST_RUNS:]
        yield _run_sheet(survey, "runs.html", f"Runs ({len(every):,})", newest, every, back=None)
        shows = {"groups": _side_by_side(views)}
        yield sheet(survey, "compare.html", "Targets side by side", "compare.html", shows)
    if survey.cards:
        yield _refuted(survey, survey.cards, "refuted.html", "Why refuted", None)
    shows = {"sky": whole_sky(survey), "pages": len(survey.wiki.pages)}
    yield sheet(survey, "graph.html", "The whole wiki", "graph.html", shows)
    if replayed:
        title = "How well this wiki serves its loop"
        yield sheet(survey, "replay.html", title, "replay.html", {"rows": replayed})
    yield from _types(survey)
    yield from _tags(survey)


def _home(survey: Survey, name: str, views: Sequence[TargetView]) -> RenderedSheet:
    rank, pages = survey.wiki.rank, survey.wiki.pages
    read = [p for p in pages.values() if p.type in _READ]
    newest = sorted(
        views, key=lambda v: (v.runs[-1].facts.date if v.runs else "", len(v.runs)), reverse=True
    )
    shows = {
        "views": newest,
        "idle": survey.idle_targets,
        "types": [
            (plural(t), type_place(survey, t), len(some)) for t, some in survey.by_type.items()
        ],
        "central": sorted(read, key=lambda p: (-rank[p.path], p.path))[:18],
        "lead": [
            p for p in map(survey.layout.page, ("index.md", "log.md", "README.md")) if p in pages
        ],
        "indexes": survey.compiled,
    }
    return sheet(survey, "index.html", name, "home.html", shows)


def state_sheet(survey: Survey, target: str, handed: object) -> RenderedSheet:
    """What the loop on a target would be handed now: `handed` is its slice."""
    view = TargetView(survey, target)
    title = f"What the loop is handed: {view.name}"
    back = (f"{view.folder}/index.html", view.name)
    shows = {"view": view, "handed": handed, "state": _state(survey, view), "back": back}
    return sheet(survey, f"{view.folder}/state.html", title, "state.html", shows)


def _state(survey: Survey, view: TargetView) -> str:
    state = f"indexes/state/{view.name}.md"
    return state if state in survey.pages else ""


def _target(survey: Survey, view: TargetView, handed: Collection[str]) -> Iterator[RenderedSheet]:
    place = f"{view.folder}/index.html"
    has_slice = view.target in handed
    shows = {"view": view, "handed": has_slice, "state": _state(survey, view)}
    yield sheet(survey, place, view.name, "target.html", shows)
    back = (place, view.name)
    title = f"Runs of {view.name} ({len(view.runs)})"
    yield _run_sheet(survey, f"{view.folder}/runs.html", title, view.runs, view.runs, back=back)
    if view.cards:
        title = f"Why refuted: {view.name}"
        yield _refuted(survey, view.cards, f"{view.folder}/refuted.html", title, back)


def _run_sheet(
    survey: Survey,
    place: str,
    title: str,
    runs: Sequence[RunRow],
    every: Sequence[RunRow],
    *,
    back: _Back,
) -> RenderedSheet:
    ticked = {
        r.facts.path: {"title": r.facts.title, "verdict": r.verdict, **compared(r)} for r in runs
    }
    file = place.replace(".html", ".csv")
    shows = {
        "table": table_of(runs),
        "back": back,
        "csv": file.rsplit("/", 1)[-1],
        "left_out": len(every) - len(runs),
        "compared": ticked,
    }
    return sheet(
        survey, place, title, "runs.html", shows, {file: csv_of(every).encode("utf-8", "replace")}
    )


def _refuted(
    survey: Survey, cards: Sequence[Card], place: str, title: str, back: _Back
) -> RenderedSheet:
    groups = levers_of(survey, cards)
    shows = {
        "groups": groups,
        "silent": [c for c in cards if c.kind == "hypothesis" and not c.because],
        "count": len(cards),
        "targets": sorted({t for g in groups for t in g.targets}),
        "back": back,
    }
    return sheet(survey, place, title, "refuted.html", shows)


def _side_by_side(
    views: Sequence[TargetView],
) -> list[tuple[str, list[tuple[TargetView, Standpoint]]]]:
    """Every lane of every target by metric, the metric of most lanes first, the best change first."""
    groups: dict[str, list[tuple[TargetView, Standpoint]]] = defaultdict(list)
    for view in views:
        for point in view.points:
            groups[point.progress.metric or "no metric"].append((view, point))
    for rows in groups.values():
        rows.sort(key=lambda row: -abs(row[1].change.ratio if row[1].change else 0))
    return sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))


def _types(survey: Survey) -> Iterator[RenderedSheet]:
    for name, members in survey.by_type.items():
        place = type_place(survey, name)
        if place == "runs.html":
            continue
        cited = survey.wiki.backlinks
        rows = [
            (p, p.folder.removeprefix("wiki").strip("/"), len(cited.get(p.path, ())))
            for p in members
        ]
        by_folder: dict[str, list[Page]] = defaultdict(list)
        for p, folder, _ in rows if len(rows) > _LONG_LIST else ():
            by_folder[folder].append(p)
        shows = {
            "rows": [] if by_folder else rows,
            "by_folder": sorted(by_folder.items()),
            "dated": any(p.date for p in members),
            "status": name == "hypothesis" and any(p.field("status") for p in members),
            "folders": len({folder for _, folder, _ in rows}) > 1,
        }
        yield sheet(survey, place, f"{plural(name)} ({len(members):,})", "listing.html", shows)


def _tags(survey: Survey) -> Iterator[RenderedSheet]:
    if not survey.tags:
        return
    most = max(map(len, survey.tags.values()))
    sizes = [
        (tag, *survey.tag_places[tag], len(paths), min(4, 1 + 4 * len(paths) // (most + 1)))
        for tag, paths in survey.tags.items()
    ]
    shows = {"sizes": sizes, "tags": []}
    yield sheet(survey, "by-tag/index.html", f"Tags ({len(survey.tags):,})", "tags.html", shows)
    shared: dict[str, list[str]] = defaultdict(list)
    for tag, (place, _) in survey.tag_places.items():
        shared[place].append(tag)
    for place, tags in shared.items():
        rows = [(tag, survey.tag_places[tag][1], survey.tags[tag]) for tag in tags]
        yield sheet(survey, place, f"Tags: {place[7:-5]}", "tags.html", {"sizes": [], "tags": rows})
