"""Pages that no one wrote: home, one per target with its experiments and why they were refuted, one per page type, tags.

Refuses to judge: verdicts, metrics and reasons are the trail's and the cards' own; this room only lays them out.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kb.refuted import Card
from kb.schema import PAGE_TYPES, Verdict
from kb.site.html import block, escaped, heading
from kb.site.pages import Ref, badge, front
from kb.trail import Facts
from kb.trail.progress import Progress, Step
from kb.trail.standing import Standing

_ORDER = (
    Verdict.SUPPORTED,
    Verdict.REFUTED,
    Verdict.INCONCLUSIVE,
    Verdict.INVALID,
    Verdict.CRASH,
    Verdict.BASELINE,
    Verdict.OTHER,
)
_PLURALS = {
    "hypothesis": "Hypotheses",
    "analysis": "Analyses",
    "index": "Index pages",
    "page": "Other pages",
    "program": "Programs",
    "log": "Logs",
}
TYPE_ORDER = tuple(t.name for t in PAGE_TYPES)


def plural(type_name: str) -> str:
    """Name of a page type as a heading."""
    return _PLURALS.get(type_name) or f"{type_name.replace('-', ' ').replace('_', ' ').capitalize()}s"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a list: `kind` is text, number, date or facet (a text that can be chosen from a menu)."""

    title: str
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class Cell:
    """HTML of a cell and the plain value it sorts and filters by."""

    html: str
    value: str = ""


def table(columns: Sequence[Column], rows: Iterable[Sequence[Cell]], *, noun: str) -> str:
    """A list that the site's script makes sortable and filterable; without scripts it is a plain table."""
    heads = "".join(f'<th scope="col" data-kb-kind="{c.kind}">{escaped(c.title)}</th>' for c in columns)
    body = "\n".join("<tr>" + "".join(_cell(cell, c) for cell, c in zip(row, columns, strict=True)) + "</tr>" for row in rows)
    return block(
        f'<div class="kb-list" data-kb-noun="{escaped(noun)}" data-search-exclude>\n<table class="kb-table"><thead><tr>{heads}</tr></thead><tbody>\n{body}\n</tbody></table>\n</div>'
    )


def _cell(cell: Cell, column: Column) -> str:
    value = f' data-kb-value="{escaped(cell.value)}"' if column.kind != "text" else ""
    css = {"number": ' class="kb-number"', "text": ' class="kb-words"'}.get(column.kind, "")
    return f"<td{css}{value}>{cell.html}</td>"


def anchor(ref: Ref, *, css: str = "") -> str:
    """A link as HTML."""
    return f'<a{f" class={css}" if css else ""} href="{escaped(ref.url)}">{escaped(ref.title)}</a>'


def verdict_badge(verdict: Verdict | None) -> str:
    return badge(verdict or "none", verdict or "no verdict")


def tallies(experiments: Iterable[Facts]) -> str:
    """A bar of verdicts with their counts."""
    counted = Counter(e.verdict.canonical for e in experiments)
    total = sum(counted.values()) or 1
    shown = [v for v in (*_ORDER, None) if counted[v]]
    bar = "".join(f'<span class="kb-bar kb-{v or "none"}" style="width:{100 * counted[v] / total:.2f}%"></span>' for v in shown)
    legend = "".join(
        f'<span class="kb-count"><i class="kb-dot kb-{v or "none"}"></i>{counted[v]} {v or "no verdict"}</span>' for v in shown
    )
    return f'<div class="kb-tally" data-search-exclude><div class="kb-bars" role="img" aria-label="verdicts">{bar}</div><div class="kb-counts">{legend}</div></div>'


def number(value: float | None) -> str:
    """A measured value for reading: six figures, no trailing zeros."""
    return "" if value is None else f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"


def experiments_table(
    experiments: Sequence[Facts], refs: dict[str, Ref], *, metric_names: Sequence[str], with_target: bool = False
) -> str:
    """The experiments of a target, newest first, with the metrics named."""
    units = {m.name: m.unit for e in experiments for m in e.metrics if m.unit}
    variants = len({e.variant for e in experiments if e.variant}) > 1
    columns = [
        Column("Date", "date"),
        Column("No.", "number"),
        Column("Experiment"),
        *([Column("Target", "facet")] if with_target else []),
        *([Column("Variant", "facet")] if variants else []),
        Column("Verdict", "facet"),
        Column("Levers"),
        *(Column(f"{name} ({units[name]})" if units.get(name, name) != name else name, "number") for name in metric_names),
    ]
    rows = []
    for e in reversed(experiments):
        values = {m.name: m for m in reversed(e.metrics)}
        levers = " ".join(
            f"<code>{escaped(lever.name + ('=' + lever.value if lever.value else ''))}</code>" for lever in e.levers[:4]
        )
        decision = f" {badge('decision', e.decision)}" if e.decision else ""
        measured = [values.get(name) for name in metric_names]
        rows.append(
            [
                Cell(f'<span class="kb-date">{escaped(e.date)}</span>', f"{e.date}#{e.number:05d}"),
                Cell(str(e.number or ""), str(e.number or "")),
                Cell(anchor(refs[e.path])),
                *([Cell(escaped(e.target), e.target)] if with_target else []),
                *([Cell(escaped(e.variant), e.variant)] if variants else []),
                Cell(verdict_badge(e.verdict.canonical) + decision, e.verdict.canonical or "no verdict"),
                Cell(levers),
                *(
                    Cell(escaped(number(m.value) if m else ""), "" if m is None or m.value is None else f"{m.value!r}")
                    for m in measured
                ),
            ]
        )
    return table(columns, rows, noun="experiments")


def metrics_shown(experiments: Sequence[Facts], primary: str) -> list[str]:
    """The target's own primary metric and the ones that its experiments report most, three at most."""
    counted = Counter(name for e in experiments for name in {m.name for m in e.metrics})
    ranked = sorted(counted, key=lambda name: (name != primary, -counted[name], name))
    return [name for name in ranked if counted[name] >= 2 or len(experiments) < 4 or name == primary][:3]


@dataclass(frozen=True, slots=True)
class TargetHub:
    """What the page of one target shows. Refs are as seen from that page."""

    name: str
    experiments: tuple[Facts, ...]
    refs: dict[str, Ref]
    page: Ref | None
    primary: str
    notes: tuple[Ref, ...]
    hypotheses: tuple[tuple[Ref, str], ...]
    refuted: Ref | None
    standing: Standing | None


def target_page(hub: TargetHub) -> str:
    """The page of one target: verdicts at a glance, the experiments, and where to read on."""
    pieces = [front(f"{hub.name}: experiments", hidden=("toc",)), heading(1, hub.name, "target")]
    pieces.append(block(tallies(hub.experiments)) if hub.experiments else "")
    ways = [*([hub.page] if hub.page else []), *([hub.refuted] if hub.refuted else []), *hub.notes]
    pieces.append(f'<div class="kb-ways">{"".join(anchor(w, css="kb-way") for w in ways)}</div>' if ways else "")
    pieces += _standing(hub.standing, hub.refs) if hub.standing else []
    pieces.append(heading(2, f"Experiments ({len(hub.experiments)})", "experiments"))
    pieces.append(experiments_table(hub.experiments, hub.refs, metric_names=metrics_shown(hub.experiments, hub.primary)))
    if hub.hypotheses:
        pieces.append(heading(2, f"Hypotheses ({len(hub.hypotheses)})", "hypotheses"))
        rows = [
            [Cell(anchor(ref)), Cell(badge(status or "none", status or "no status"), status or "no status")]
            for ref, status in hub.hypotheses
        ]
        pieces.append(table([Column("Hypothesis"), Column("Status", "facet")], rows, noun="hypotheses"))
    return _joined(pieces)


def _standing(standing: Standing, refs: Mapping[str, Ref]) -> list[str]:
    """Frontier by variant, what the rules of the trail ask for, and what is left to try."""
    moved = [p for p in standing.progress if p.frontier]
    pieces = [heading(2, "Where it stands", "standing"), _frontiers(moved, refs)] if moved else []
    alarms = [f"{f'{p.variant}: ' if p.variant and len(moved) > 1 else ''}{a.text}" for p in standing.progress for a in p.alarms]
    closed = [f"{t.name}: refuted {t.failed} times, never supported" for t in standing.closed]
    leads = [anchor(Ref(refs[lead.path].url, clipped(lead.text, 160))) for lead in standing.leads if lead.path in refs][:_LEADS]
    lists = (
        ("What the trail asks for", [*map(escaped, alarms)]),
        ("Open leads", leads),
        ("Closed topics", [*map(escaped, closed)]),
    )
    for title, items in lists:
        if items:
            made = "".join(f"<li>{item}</li>" for item in items)
            opened = " open" if len(items) <= 6 else ""
            pieces.append(
                block(
                    f'<details class="kb-notes" data-search-exclude{opened}><summary>{title} <small>{len(items)}</small></summary><ul>{made}</ul></details>'
                )
            )
    return pieces


_LEADS = 40


def _frontiers(moved: Sequence[Progress], refs: Mapping[str, Ref]) -> str:
    columns = [
        Column("Variant"),
        Column("Runs", "number"),
        Column("Metric"),
        Column("Baseline", "number"),
        Column("Best supported", "number"),
        Column("Change", "number"),
        Column("Noise", "number"),
        Column("Plateau", "number"),
        Column("Steps"),
    ]
    rows = []
    for p in moved:
        change = (
            p.frontier.value / p.baseline.value - 1
            if p.baseline and p.baseline.value and p.baseline.path != p.frontier.path
            else None
        )
        rows.append(
            [
                Cell(escaped(p.variant or "(one variant)")),
                Cell(str(p.runs), str(p.runs)),
                Cell(escaped(p.metric) + (f" ({escaped(p.unit)})" if p.unit and p.unit != p.metric else "")),
                _step(p.baseline, refs),
                _step(p.frontier, refs),
                Cell("" if change is None else f"{change:+.1%}", "" if change is None else repr(change)),
                Cell("unknown" if p.band is None else f"±{p.band:.2%}", "" if p.band is None else repr(p.band)),
                Cell(f"{p.plateau} runs", str(p.plateau)),
                Cell(_curve([s.value for s in p.steps])),
            ]
        )
    return table(columns, rows, noun="variants")


def _step(step: Step | None, refs: Mapping[str, Ref]) -> Cell:
    if step is None:
        return Cell("")
    shown = number(step.value)
    return Cell(anchor(Ref(refs[step.path].url, shown)) if step.path in refs else escaped(shown), repr(step.value))


def _curve(values: Sequence[float]) -> str:
    """The values of the kept runs as a small drawing."""
    if len(values) < 3:
        return ""
    low, high = min(values), max(values)
    spread = (high - low) or 1
    points = " ".join(f"{4 + 112 * n / (len(values) - 1):.1f},{26 - 22 * (v - low) / spread:.1f}" for n, v in enumerate(values))
    label = f"{len(values)} steps from {number(values[0])} to {number(values[-1])}"
    return f'<svg class="kb-curve" viewBox="0 0 120 30" width="120" height="30" role="img" aria-label="{escaped(label)}"><polyline points="{points}"/></svg>'


def refuted_page(target: str, cards: Sequence[Card], refs: Mapping[str, Ref], *, hub: Ref | None) -> str:
    """Why the things that were tried on a target (or, with an empty name, anywhere) did not work, newest first."""
    title = f"Why refuted: {target}" if target else "Why refuted, whatever the target"
    back = f" All of its experiments are on {anchor(hub)}." if hub else ""
    lead = f"{len(cards)} things that were tried and did not hold, newest first.{back} A card is a warning, not a ban: each says what would reopen it."
    scoped, marked = len({c.variant for c in cards if c.variant}) > 1, any(c.status != "standing" for c in cards)
    columns = [
        Column("Date", "date"),
        Column("What was tried"),
        Column("Verdict", "facet"),
        *([Column("Status", "facet")] if marked else []),
        Column("Why it did not hold"),
        *([Column("Variant", "facet")] if scoped else []),
    ]
    rows = []
    for card in reversed(cards):
        verdict = card.verdict or card.kind
        by = f" {anchor(refs[card.by])}" if card.by in refs else ""
        rows.append(
            [
                Cell(f'<span class="kb-date">{escaped(card.date)}</span>', f"{card.date}#{card.number:05d}"),
                Cell(_tried(card, refs)),
                Cell(badge(verdict, verdict), verdict),
                *([Cell(badge(card.status, card.status) + by, card.status)] if marked else []),
                Cell(_why(card)),
                *([Cell(escaped(card.variant), card.variant)] if scoped else []),
            ]
        )
    return _joined(
        [
            front(title, searched=False, hidden=("toc",)),
            heading(1, title, "why-refuted"),
            f'<div class="kb-text" data-search-exclude><p>{lead}</p></div>',
            table(columns, rows, noun="refuted"),
        ]
    )


def _tried(card: Card, refs: Mapping[str, Ref]) -> str:
    ref = refs.get(card.evidence)
    title = anchor(Ref(ref.url, clipped(card.title or ref.title, 140))) if ref else escaped(card.title)
    claim = f'<p class="kb-claim">{escaped(clipped(card.claim, 260))}</p>' if card.claim and card.claim != card.title else ""
    levers = " ".join(f"<code>{escaped(v.name + ('=' + v.value if v.value else ''))}</code>" for v in card.levers[:4])
    return f'<div class="kb-tried">{title}{claim}{f"<p>{levers}</p>" if levers else ""}</div>'


def _why(card: Card) -> str:
    because = f"<p>{escaped(clipped(card.because, 420))}</p>" if card.because else ""
    delta = f'<p class="kb-delta">{escaped(card.delta)}</p>' if card.delta else ""
    reopen = f'<p class="kb-delta">Reopen if {escaped(clipped(card.reopen_if, 200))}</p>' if card.reopen_if else ""
    return because + delta + reopen


def clipped(text: str, length: int) -> str:
    """Text cut at a word, with a mark where it goes on."""
    flat = " ".join(text.split())
    return flat if len(flat) <= length else flat[:length].rsplit(" ", 1)[0] + " …"


@dataclass(frozen=True, slots=True)
class Entry:
    """One page in a list of pages."""

    ref: Ref
    folder: str
    date: str
    citations: int
    note: str = ""


def listing_page(title: str, entries: Sequence[Entry], *, lead: str = "") -> str:
    """All pages of one type."""
    pieces = [
        front(title, searched=False, hidden=("toc",)),
        heading(1, f"{title} ({len(entries)})", "pages"),
        f'<div class="kb-text" data-search-exclude><p>{escaped(lead)}</p></div>' if lead else "",
    ]
    dated, noted, folders = any(e.date for e in entries), any(e.note for e in entries), len({e.folder for e in entries}) > 1
    columns = [
        Column("Page"),
        *([Column("Status", "facet")] if noted else []),
        *([Column("Folder", "facet")] if folders else []),
        *([Column("Date", "date")] if dated else []),
        Column("Cited by", "number"),
    ]
    rows = [
        [
            Cell(anchor(e.ref)),
            *([Cell(badge(e.note, e.note) if e.note else "", e.note)] if noted else []),
            *([Cell(f'<span class="kb-dim">{escaped(e.folder)}</span>', e.folder)] if folders else []),
            *([Cell(f'<span class="kb-date">{escaped(e.date)}</span>', e.date)] if dated else []),
            Cell(str(e.citations), str(e.citations)),
        ]
        for e in entries
    ]
    pieces.append(table(columns, rows, noun="pages"))
    return _joined(pieces)


def tags_index(tags: Sequence[tuple[Ref, int]]) -> str:
    """Every tag with the number of pages that carry it."""
    most = max((n for _, n in tags), default=1)
    cloud = " ".join(
        f'<a class="kb-tag kb-size-{min(4, 1 + (4 * n) // (most + 1))}" href="{escaped(ref.url)}">{escaped(ref.title)} <small>{n}</small></a>'
        for ref, n in tags
    )
    return _joined(
        [
            front("Tags", searched=False, hidden=("navigation", "toc")),
            heading(1, f"Tags ({len(tags)})", "tags"),
            block(f'<div class="kb-cloud" data-search-exclude>{cloud}</div>'),
        ]
    )


def tags_page(title: str, tags: Sequence[tuple[str, str, Sequence[Ref]]], *, back: Ref) -> str:
    """Pages under each of some tags, given as (tag, anchor, pages)."""
    pieces = [
        front(f"Tags: {title}", searched=False, hidden=("navigation",)),
        heading(1, f"Tags: {title}", "tags"),
        f'<div class="kb-text" data-search-exclude><p>{anchor(back)}</p></div>',
    ]
    for tag, place, refs in tags:
        pieces.append(heading(2, tag, place))
        items = "".join(f"<li>{anchor(r)} <small>{escaped(r.type)}</small></li>" for r in refs)
        pieces.append(block(f'<div class="kb-text" data-search-exclude><ul>{items}</ul></div>'))
    return _joined(pieces)


@dataclass(frozen=True, slots=True)
class Home:
    """What the home page shows. Refs are as seen from it."""

    name: str
    lead: tuple[Ref, ...]
    types: tuple[tuple[Ref, int], ...]
    targets: tuple[tuple[Ref, tuple[Facts, ...], Standing | None], ...]
    latest: tuple[Facts, ...]
    refs: dict[str, Ref]
    central: tuple[Ref, ...]
    indexes: tuple[Ref, ...]


def home_page(home: Home) -> str:
    """What the knowledge base holds, and the ways in."""
    pieces = [front(home.name, searched=False, hidden=("navigation", "toc")), heading(1, home.name, "home")]
    tiles = "".join(
        f'<a class="kb-tile" href="{escaped(ref.url)}"><b>{count:,}</b><span>{escaped(ref.title)}</span></a>'
        for ref, count in home.types
    )
    pieces.append(f'<div class="kb-tiles" data-search-exclude>{tiles}</div>')
    if home.lead:
        pieces.append(f'<div class="kb-ways">{"".join(anchor(r, css="kb-way") for r in home.lead)}</div>')
    if home.targets:
        pieces.append(heading(2, "Targets", "targets"))
        cards = "".join(_target_card(*entry) for entry in home.targets)
        pieces.append(block(f'<div class="kb-cards" data-search-exclude>{cards}</div>'))
    if home.latest:
        pieces.append(heading(2, "Latest experiments", "latest"))
        pieces.append(experiments_table(home.latest, home.refs, metric_names=(), with_target=True))
    for title, place, refs in (("Most cited pages", "most-cited", home.central), ("Compiled indexes", "indexes", home.indexes)):
        if refs:
            pieces.append(heading(2, title, place))
            items = "".join(f"<li>{anchor(r)}{f' <small>{escaped(r.type)}</small>' if r.type else ''}</li>" for r in refs)
            pieces.append(block(f'<div class="kb-columns" data-search-exclude><ul>{items}</ul></div>'))
    return _joined(pieces)


def _target_card(ref: Ref, experiments: tuple[Facts, ...], standing: Standing | None) -> str:
    last = experiments[-1].date if experiments else ""
    meta = f"{len(experiments)} experiments" + (f", last {last}" if last else "")
    best = max((p for p in standing.progress if p.frontier), key=lambda p: p.runs, default=None) if standing else None
    line = ""
    if best:
        start = f"{number(best.baseline.value)} → " if best.baseline and best.baseline.path != best.frontier.path else ""
        unit = f" {best.unit}" if best.unit and best.unit != best.metric else ""
        line = f'<p class="kb-best">{escaped(f"{best.metric} {start}{number(best.frontier.value)}{unit}")}</p>'
    bars = tallies(experiments) if experiments else ""
    return f'<div class="kb-card"><p>{anchor(ref)}<small>{escaped(meta)}</small></p>{line}{bars}</div>'


def _joined(pieces: Iterable[str]) -> str:
    return "\n\n".join(p for p in pieces if p) + "\n"


def target_box(experiments: Sequence[Facts], ways: Sequence[Ref]) -> str:
    """What a target's own page shows of its trail."""
    links = "".join(anchor(w, css="kb-way") for w in ways)
    return block(
        f'<div class="kb-box" data-search-exclude>{tallies(experiments) if experiments else ""}<div class="kb-ways">{links}</div></div>'
    )
