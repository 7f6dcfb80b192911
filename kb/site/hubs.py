"""Pages that no one wrote: home, targets, runs, why refuted, comparison, lists, tags, graph. Refuses to judge or to render: it gathers what
each shows, and the template of that name lays it out.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from kb.page import Page
from kb.refuted import Card
from kb.run.quantity import number_text
from kb.schema import Verdict
from kb.site.charts import Climb, climb_of, scale_of, spark, whole_sky
from kb.site.places import name_of
from kb.site.runs import VERDICT_ORDER, Change, Run, change_of, compared, csv_of, figure, runs_of, table_of
from kb.site.survey import Survey
from kb.trail.levers import key_of
from kb.trail.progress import Progress

_PLURALS = {
    "hypothesis": "Hypotheses",
    "analysis": "Analyses",
    "index": "Index pages",
    "page": "Other pages",
}
# Rows of the table of all runs; the older ones stand in the tables of their targets.
_MOST_RUNS = 200
# Fewer runs tell a loop nothing that its pages do not.
_FEWEST_RUNS = 5
# From here on a list of pages is folded by folder.
_LONG_LIST = 600


@dataclass(frozen=True, slots=True)
class Sheet:
    """A page to render: its place, its title, and a template with what it shows; `files` are other files that belong to it."""

    place: str
    title: str
    template: str
    shows: Mapping[str, object]
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Standpoint:
    """Where one variant of a target stands: its best value with unit, and the change against its baseline."""

    progress: Progress
    best: str
    baseline: str
    change: Change | None
    noise: str
    spark: str
    climb: Climb | None


@dataclass(frozen=True, slots=True)
class TargetView:
    """All that home and the pages of a target show of it."""

    name: str
    folder: str
    page: Page | None
    runs: tuple[Run, ...]
    standpoints: tuple[Standpoint, ...]
    alarms: tuple[tuple[str, str], ...]
    leads: tuple[tuple[str, str], ...]
    closed: tuple[str, ...]
    in_flight: tuple[str, ...]
    tally: tuple[tuple[str, int], ...]
    levers: tuple["LeverGroup", ...]
    notes: tuple[str, ...]
    hypotheses: tuple[Page, ...]


@dataclass(frozen=True, slots=True)
class LeverGroup:
    """The refuted cards of one lever, newest first, with the tally of every run that moved it."""

    name: str
    cards: tuple[Card, ...]
    tally: tuple[tuple[str, int], ...]
    targets: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def failed(self) -> int:
        return len(self.cards)


def plural(type_name: str) -> str:
    """Name of a page type as a heading."""
    return _PLURALS.get(type_name) or f"{type_name.replace('-', ' ').replace('_', ' ').capitalize()}s"


def type_place(survey: Survey, type_name: str) -> str:
    return "runs.html" if type_name == "experiment" and survey.experiments else f"by-type/{name_of(type_name)}.html"


def tally_of(verdicts: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Verdicts with their counts, in the order of the vocabulary."""
    counted = Counter(verdicts)
    return tuple((v, counted[v]) for v in (*VERDICT_ORDER, "no verdict") if counted[v])


def view_of(survey: Survey, name: str) -> TargetView:
    """What there is to show of a target."""
    runs = runs_by_target(survey, name)
    standing = survey.standings.get(name)
    moved = [p for p in standing.progress if p.frontier] if standing else []
    own = {r.facts.path for r in runs}
    folders = {p.rpartition("/")[0] for p in own} - {"wiki/experiments"}
    leads: dict[str, tuple[str, str]] = {}
    for lead in standing.leads if standing else ():
        leads.setdefault(" ".join(lead.text.split()).casefold(), (lead.path, lead.text))
    alarms = {a.code: (f"{p.variant}: {a.text}" if p.variant and len(moved) > 1 else a.text) for p in moved for a in p.alarms}
    return TargetView(
        name or "no target",
        survey.target_folders[name],
        survey.target_pages.get(name),
        runs,
        _standpoints(moved, runs),
        tuple(sorted(alarms.items())),
        tuple(leads.values()),
        tuple(f"{t.name}: refuted {t.failed} times, never supported" for t in standing.closed) if standing else (),
        standing.in_flight if standing else (),
        tally_of([r.verdict for r in runs]),
        levers_of(survey, [c for c in survey.cards if c.target == name]),
        tuple(p for p in sorted(survey.wiki.pages) if p.rpartition("/")[0] in folders and p not in own),
        tuple(p for p in survey.by_type.get("hypothesis", ()) if name and (p.field("target") == name or name in p.words("targets"))),
    )


def _standpoints(moved: Sequence[Progress], runs: Sequence[Run]) -> tuple[Standpoint, ...]:
    """Every variant by itself, the busiest first; variants of one metric share the axis of their charts."""
    by_variant = {p.variant: [r for r in runs if r.facts.variant == p.variant] for p in moved}
    scales: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for p in moved:
        if any(r.metric for r in by_variant[p.variant]):
            scales[p.metric].append(scale_of(p, by_variant[p.variant]))
    made = []
    for p in sorted(moved, key=lambda p: (-p.runs, p.variant)):
        best, base = p.frontier, p.baseline
        near = scales[p.metric]
        low, high = (min(s[0] for s in near), max(s[1] for s in near)) if near else (0.0, 1.0)
        # Lanes that differ by a power of ten on one axis would all be flat lines.
        narrow = [s[1] - s[0] for s in near]
        shared = (low, high) if len(near) > 1 and high - low < 8 * min(narrow) else None
        made.append(
            Standpoint(
                p,
                figure(p.metric, best.value, p.unit) if best else "",
                figure(p.metric, base.value, p.unit) if base else "",
                change_of(best.value, base.value, p.direction) if best and base and base.path != best.path else None,
                "" if p.band is None else f"±{p.band:.2%}",
                spark(p),
                climb_of(p, by_variant[p.variant], scale=shared),
            )
        )
    return tuple(made)


def levers_of(survey: Survey, cards: Sequence[Card]) -> tuple[LeverGroup, ...]:
    """Cards by lever, the most refuted first; a card of several levers stands under each, one of none under an empty name."""
    groups: dict[str, list[Card]] = defaultdict(list)
    names: dict[str, str] = {}
    for card in cards:
        if card.kind == "hypothesis" and not card.because:
            continue
        for name in [lever.name for lever in card.levers[:3]] or [""]:
            names.setdefault(key_of(name), name)
            groups[key_of(name)].append(card)
    made = []
    for key, members in groups.items():
        values = dict.fromkeys(v.value for c in members for v in c.levers if key_of(v.name) == key and v.value)
        newest = sorted(members, key=lambda c: c.order, reverse=True)
        tally = tally_of(survey.lever_verdicts.get(key, [])) if key else tally_of([c.verdict or "refuted" for c in members])
        made.append(LeverGroup(names[key], tuple(newest), tally, tuple(sorted({c.target for c in members if c.target})), tuple(values)))
    return tuple(sorted(made, key=lambda g: (not g.name, -len(g.cards), g.name)))


def sheets_of(survey: Survey, *, name: str, handed: Callable[[str], object | None], replayed: str) -> Iterator[Sheet]:
    """Every page that no one wrote. `replayed` is the table of `kb replay`, empty where none was kept; `handed` gives the slice that a loop on a target would be handed now."""
    views = tuple(view_of(survey, n) for n in survey.trails)
    yield _home(survey, name, views)
    for view, target in zip(views, survey.trails, strict=True):
        yield from _target(survey, view, handed(target) if target and len(view.runs) >= _FEWEST_RUNS else None)
    if survey.experiments:
        every = [run for view in views for run in view.runs]
        newest = sorted(every, key=lambda r: r.facts.order)[-_MOST_RUNS:]
        title = f"Runs ({len(every):,})"
        yield _run_sheet("runs.html", title, newest, every, back=None, left_out=len(every) - len(newest))
        yield Sheet("compare.html", "Targets side by side", "compare.html", {"groups": _side_by_side(views)})
    if survey.cards:
        yield _refuted(survey, survey.cards, "refuted.html", "Why refuted", None)
    yield Sheet("graph.html", "The whole wiki", "graph.html", {"sky": whole_sky(survey), "pages": len(survey.wiki.pages)})
    if replayed:
        yield Sheet("replay.html", "How well this wiki serves its loop", "replay.html", {"rows": replayed})
    yield from _types(survey)
    yield from _tags(survey)


def _home(survey: Survey, name: str, views: Sequence[TargetView]) -> Sheet:
    rank = survey.wiki.rank
    read = [p for p in survey.wiki.pages.values() if p.type in ("concept", "observation", "hypothesis", "source", "analysis", "codebase")]
    shows = {
        "views": sorted(views, key=lambda v: (v.runs[-1].facts.date if v.runs else "", len(v.runs)), reverse=True),
        "idle": survey.idle_targets,
        "types": [(plural(t), type_place(survey, t), len(members)) for t, members in survey.by_type.items()],
        "central": sorted(read, key=lambda p: (-rank[p.path], p.path))[:18],
        "lead": [p for p in ("wiki/index.md", "wiki/log.md", "wiki/README.md") if p in survey.wiki.pages],
        "indexes": survey.compiled,
    }
    return Sheet("index.html", name, "home.html", shows)


def _target(survey: Survey, view: TargetView, slice_now: object | None) -> Iterator[Sheet]:
    place = f"{view.folder}/index.html"
    cards = [c for c in survey.cards if c.target == ("" if view.name == "no target" else view.name)]
    state = f"indexes/state/{view.name}.md"
    shows = {"view": view, "cards": cards, "state": state if state in survey.pages else "", "handed": slice_now}
    yield Sheet(place, view.name, "target.html", shows)
    yield _run_sheet(f"{view.folder}/runs.html", f"Runs of {view.name} ({len(view.runs)})", view.runs, view.runs, back=(view.name, place))
    if cards:
        yield _refuted(survey, cards, f"{view.folder}/refuted.html", f"Why refuted: {view.name}", (view.name, place))
    if slice_now is not None:
        shows = {"handed": slice_now, "back": (view.name, place), "state": state if state in survey.pages else ""}
        yield Sheet(f"{view.folder}/state.html", f"What the loop is handed: {view.name}", "state.html", shows)


def _run_sheet(place: str, title: str, runs: Sequence[Run], every: Sequence[Run], *, back, left_out: int = 0) -> Sheet:
    file = place.rsplit("/", 1)[-1].replace(".html", ".csv")
    shows = {
        "table": table_of(runs),
        "back": back,
        "csv": file,
        "left_out": left_out,
        "compared": {r.facts.path: {"title": r.facts.title, "verdict": r.verdict, **compared(r)} for r in runs},
    }
    return Sheet(place, title, "runs.html", shows, {place.replace(".html", ".csv"): csv_of(every).encode("utf-8", "replace")})


def _refuted(survey: Survey, cards: Sequence[Card], place: str, title: str, back) -> Sheet:
    groups = levers_of(survey, cards)
    silent = [c for c in cards if c.kind == "hypothesis" and not c.because]
    targets = sorted({t for g in groups for t in g.targets})
    shows = {"groups": groups, "silent": silent, "count": len(cards), "targets": targets, "back": back}
    return Sheet(place, title, "refuted.html", shows)


def _side_by_side(views: Sequence[TargetView]) -> list[tuple[str, list[tuple[TargetView, Standpoint]]]]:
    """Every target and variant by metric, each metric's charts in one group, the best change first."""
    groups: dict[str, list[tuple[TargetView, Standpoint]]] = defaultdict(list)
    for view in views:
        for point in view.standpoints:
            groups[point.progress.metric or "no metric"].append((view, point))
    ranked = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return [(name, sorted(rows, key=lambda row: -abs(row[1].change.ratio if row[1].change else 0))) for name, rows in ranked]


def _types(survey: Survey) -> Iterator[Sheet]:
    for name, members in survey.by_type.items():
        place = type_place(survey, name)
        if place == "runs.html":
            continue
        rows = [(p, p.folder.removeprefix("wiki").strip("/"), len(survey.wiki.backlinks.get(p.path, ()))) for p in members]
        by_folder: dict[str, list[Page]] = defaultdict(list)
        for p, folder, _ in rows if len(rows) > _LONG_LIST else ():
            by_folder[folder].append(p)
        shows = {
            "rows": [] if by_folder else rows,
            "by_folder": sorted(by_folder.items()),
            "dated": any(p.date for p in members),
            "status": any(p.field("status") for p in members) and name == "hypothesis",
            "folders": len({folder for _, folder, _ in rows}) > 1,
        }
        yield Sheet(place, f"{plural(name)} ({len(members):,})", "listing.html", shows)


def _tags(survey: Survey) -> Iterator[Sheet]:
    if not survey.tags:
        return
    most = max(map(len, survey.tags.values()))
    sizes = [(tag, *survey.tag_places[tag], len(paths), min(4, 1 + 4 * len(paths) // (most + 1))) for tag, paths in survey.tags.items()]
    yield Sheet("by-tag/index.html", f"Tags ({len(survey.tags):,})", "tags.html", {"sizes": sizes, "tags": []})
    shared: dict[str, list[str]] = defaultdict(list)
    for tag, (place, _) in survey.tag_places.items():
        shared[place].append(tag)
    for place, tags in shared.items():
        shows = {"sizes": [], "tags": [(tag, survey.tag_places[tag][1], survey.tags[tag]) for tag in tags]}
        yield Sheet(place, f"Tags: {place[7:-5]}", "tags.html", shows)


def head_of(survey: Survey, path: str) -> Mapping[str, object] | None:
    """What the head of an experiment's page shows: its run, its card, and why it ended as it did."""
    e = survey.facts.get(path)
    if e is None:
        return None
    run = next(r for r in runs_by_target(survey, e.target) if r.facts.path == path)
    noise = f" ± {number_text(run.metric.stddev)}" if run.metric and run.metric.stddev is not None else ""
    return {"run": run, "card": survey.card_of.get(path), "noise": noise, "failed": e.verdict.canonical in (Verdict.REFUTED, Verdict.INVALID, Verdict.CRASH)}


@lru_cache(maxsize=256)
def runs_by_target(survey: Survey, target: str) -> tuple[Run, ...]:
    return runs_of(survey, target)
