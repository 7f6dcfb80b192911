"""Pages that no one wrote: home, targets, runs, why refuted, comparison, lists, tags, graph. Refuses to
judge: it gathers what each shows, and a template lays it out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from kb import grouped
from kb.refuted import Card
from kb.site.graph_pictures import whole_sky
from kb.site.runs import RunRow, compared, csv_of, runs_of, table_of
from kb.site.survey import Survey, plural, type_place
from kb.site.targets import TargetView, levers_of

# Rows of the table of all runs; the older ones stand in the tables of their targets.
_MOST_RUNS = 200
# Fewer runs tell a loop nothing that its pages do not.
_FEWEST_RUNS = 5
# From here on a list of pages is folded by folder.
_LONG_LIST = 600
_READ = ("concept", "observation", "hypothesis", "source", "analysis", "codebase")
_RUNS, _REFUTED = "runs.html", "refuted.html"
# A page that no one wrote: its place, title and template, and what gives that what it shows.
Overview = tuple[str, str, str, Callable[[], Mapping[str, object]]]


def asked_targets(survey: Survey) -> list[str]:
    """Targets with as many runs that a slice tells a loop more than their pages."""
    trails = survey.trails
    named = {name: runs for name, runs in trails.items() if name or len(trails) == 1}
    return [name for name, runs in named.items() if len(runs) >= _FEWEST_RUNS]


def overviews_of(
    survey: Survey, *, name: str, handed: Mapping[str, object], replayed: str
) -> Iterator[Overview]:
    """Every page that no one wrote. `replayed` is the table of `kb replay`, empty where none was kept;
    `handed` are targets with the slice of each.
    """
    views = [TargetView(survey, target) for target in survey.trails]
    yield "index.html", name, "home.html", partial(_home, survey, views)
    for view in views:
        yield from _target(survey, view, handed)
    if survey.experiments:
        title = f"Runs ({len(survey.experiments):,})"
        yield _RUNS, title, _RUNS, partial(_runs, lambda: newest_runs(survey), None, _MOST_RUNS)
        shows = partial(_side_by_side, views)
        yield "compare.html", "Targets side by side", "compare.html", shows
    if survey.cards:
        yield _REFUTED, "Why refuted", _REFUTED, partial(_refuted, survey, survey.cards, None)
    yield (
        *("graph.html", "The whole wiki", "graph.html"),
        lambda: {"sky": whole_sky(survey), "pages": len(survey.wiki.pages)},
    )
    if replayed:
        title = "How well this wiki serves its loop"
        yield "replay.html", title, "replay.html", lambda: {"rows": replayed}
    for type_name, members in survey.by_type.items():
        if (place := type_place(survey, type_name)) != _RUNS:
            title = f"{plural(type_name)} ({len(members):,})"
            yield place, title, "listing.html", partial(_listing, survey, type_name)
    yield from _tags(survey)


def tables_of(survey: Survey) -> Iterator[tuple[str, Callable[[], str]]]:
    """Every table of runs as CSV, by its place beside the page that shows it."""
    for target, folder in survey.target_folders.items():
        yield f"{folder}/runs.csv", lambda target=target: csv_of(runs_of(survey, target))
    if survey.experiments:
        yield "runs.csv", lambda: csv_of(newest_runs(survey))


def newest_runs(survey: Survey) -> list[RunRow]:
    """The runs of all targets, the newest last."""
    every = [run for target in survey.trails for run in runs_of(survey, target)]
    return sorted(every, key=lambda run: run.facts.order)


def _home(survey: Survey, views: Sequence[TargetView]) -> Mapping[str, object]:
    rank, pages = survey.wiki.rank, survey.wiki.pages
    read = [p for p in pages.values() if p.type in _READ]
    lead = map(survey.layout.page, ("index.md", "log.md", "README.md"))
    by_type = survey.by_type.items()
    return {
        "views": sorted(views, key=lambda v: (v.runs[-1].facts.date, len(v.runs)), reverse=True),
        "idle": survey.idle_targets,
        "types": [(plural(t), type_place(survey, t), len(some)) for t, some in by_type],
        "central": sorted(read, key=lambda p: (-rank[p.path], p.path))[:18],
        "lead": [p for p in lead if p in pages],
        "indexes": survey.compiled,
    }


def _target(survey: Survey, view: TargetView, handed: Mapping[str, object]) -> Iterator[Overview]:
    place, back = f"{view.folder}/index.html", (f"{view.folder}/index.html", view.name)
    state = f"indexes/state/{view.name}.md"
    shows = {"view": view, "handed": handed.get(view.target), "back": back}
    shows["state"] = state if state in survey.pages else ""
    yield place, view.name, "target.html", lambda: shows
    title = f"Runs of {view.name} ({len(survey.trails[view.target])})"
    yield f"{view.folder}/{_RUNS}", title, _RUNS, partial(_runs, lambda: view.runs, back)
    if view.cards:
        refuted = partial(_refuted, survey, view.cards, back)
        yield f"{view.folder}/{_REFUTED}", f"Why refuted: {view.name}", _REFUTED, refuted
    if view.target in handed:
        title = f"What the loop is handed: {view.name}"
        yield f"{view.folder}/state.html", title, "state.html", lambda: shows


def _runs(
    give: Callable[[], Sequence[RunRow]], back: tuple[str, str] | None, most: int = 0
) -> Mapping[str, object]:
    every = give()
    runs = every[-most:]
    about = {r.facts.path: {"title": r.facts.title, "verdict": r.verdict} for r in runs}
    return {
        "table": table_of(runs),
        "back": back,
        "csv": "runs.csv",
        "left_out": len(every) - len(runs),
        "compared": {r.facts.path: about[r.facts.path] | compared(r) for r in runs},
    }


def _refuted(
    survey: Survey, cards: Sequence[Card], back: tuple[str, str] | None
) -> Mapping[str, object]:
    groups = levers_of(survey, cards)
    return {
        "groups": groups,
        "silent": [c for c in cards if c.kind == "hypothesis" and not c.because],
        "count": len(cards),
        "targets": sorted({t for g in groups for t in g["targets"]}),
        "back": back,
    }


def _side_by_side(views: Sequence[TargetView]) -> Mapping[str, object]:
    """Every lane of every target by metric, the metric of most lanes first, the best change first."""
    lanes = ((view, point) for view in views for point in view.points)
    groups = grouped((lane[1].progress.metric or "no metric", lane) for lane in lanes)
    for rows in groups.values():
        rows.sort(key=lambda row: -abs(row[1].change.ratio if row[1].change else 0))
    return {"groups": sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))}


def _listing(survey: Survey, type_name: str) -> Mapping[str, object]:
    members, cited = survey.by_type[type_name], survey.wiki.backlinks
    folder_of = {p.path: p.folder.removeprefix("wiki").strip("/") for p in members}
    listed = members if len(members) > _LONG_LIST else ()
    by_folder = grouped((folder_of[p.path], p) for p in listed)
    rows = [(p, folder_of[p.path], len(cited.get(p.path, ()))) for p in members]
    return {
        "rows": [] if by_folder else rows,
        "by_folder": sorted(by_folder.items()),
        "dated": any(p.date for p in members),
        "status": type_name == "hypothesis" and any(p.field("status") for p in members),
        "folders": len(set(folder_of.values())) > 1,
    }


def _tags(survey: Survey) -> Iterator[Overview]:
    if not survey.tags:
        return
    most = max(map(len, survey.tags.values()))
    sizes = [
        (tag, *survey.tag_places[tag], len(paths), min(4, 1 + 4 * len(paths) // (most + 1)))
        for tag, paths in survey.tags.items()
    ]
    title, shows = f"Tags ({len(survey.tags):,})", {"sizes": sizes, "tags": []}
    yield "by-tag/index.html", title, "tags.html", lambda: shows
    places = survey.tag_places.items()
    shared = grouped((place, (tag, at, survey.tags[tag])) for tag, (place, at) in places)
    for place, rows in shared.items():
        yield (
            place,
            f"Tags: {place[7:-5]}",
            "tags.html",
            lambda rows=rows: {"sizes": [], "tags": rows},
        )
