"""Rows of any results table: what each column is, by its header and by what its cells hold; then a row as a run.

The status column is recognised by its words, not only by its name, and a header whose status column holds no statuses is not believed.
"""

import re
from collections import Counter
from dataclasses import dataclass, replace

from kb.formats.columns import (
    CHECKS,
    HEADER_WORDS,
    REASON,
    SETTING,
    SETTINGS,
    STATUS,
    TEXT,
    Column,
    Role,
    decides,
    first_named,
    first_worded,
    key_of,
    longest,
    named_by,
    outcome_in,
    primary_of,
    quantity_of,
    rivals_of,
    role_of,
    share_of_statuses,
    status_columns,
    unit_of,
)
from kb.formats.objects import Json, objects_of
from kb.formats.reading import Ask, Line, Segment, measured, moment
from kb.run.direction import Direction, direction_of
from kb.run.quantity import bare, to_float, to_quantity
from kb.run.record import Check, Lever, Metric, Origin, Outcome, Run, is_status, outcome_of, status_words


@dataclass(frozen=True, slots=True)
class Layout:
    """What the columns of a table are. `text` is the index of the description, `reason` of the remark beside it; -1: none.

    `second` is a further status column (ran or crashed, beside kept or discarded); `mixed`: one column holds both kinds of word; `decided`: it tells
    kept from discarded.
    """

    columns: tuple[Column, ...]
    status: int = -1
    primary: int = -1
    text: int = -1
    reason: int = -1
    direction: Direction | None = None
    source: str = ""
    mixed: bool = False
    rivals: tuple[str, ...] = ()
    second: int = -1
    decided: bool = False

    @property
    def doubt(self) -> str:
        """What to tell where several columns could be the primary metric; empty where one alone can."""
        if len(self.rivals) < 2 or self.source == "asked" or not self.primary_name:
            return ""
        return f"judged by '{self.primary_name}'; {', '.join(n for n in self.rivals if n != self.primary_name)} could be meant as well, --metric names another"

    @property
    def primary_name(self) -> str:
        return self.columns[self.primary].name if self.primary >= 0 else ""

    @property
    def ranked(self) -> bool:
        """A leaderboard: it lists what was kept, by rank."""
        return self.status < 0 and any(c.role is Role.RANK for c in self.columns)

    @property
    def search(self) -> bool:
        """Trials of a search: settings in columns `params_…`, and a state that says how a trial ended but keeps none."""
        settings = any(c.role is Role.LEVER and c.name.startswith("params_") for c in self.columns)
        return settings and not self.ranked and not self.decided

    def segment(self, index: int, line: int, name: str = "") -> Segment:
        """The segment that the rows of this table make."""
        unit = self.columns[self.primary].unit if self.primary >= 0 else ""
        judged = (self.status >= 0 or self.ranked) and not self.search
        return Segment(index, line, name, self.primary_name, unit, self.direction, self.source, judged, self.search)


def looks_like_header(cells: list[str]) -> bool:
    """Whether a row names columns: distinct words, no number, no status word, at least one word that tables of runs use."""
    if len(cells) < 2 or any(c[:1].isdigit() for c in cells):
        return False
    keys = [key_of(c) for c in cells]
    named = [k for k in keys if k]
    if len(set(named)) < len(named) or len(named) < len(cells) - 1 or any(len(c) > 60 for c in cells):
        return False
    if any(to_quantity(c) for c in cells):
        return False
    said = [(c, k) for c, k in zip(cells, keys, strict=True) if not is_status(c)]
    known = sum(k in HEADER_WORDS or bool(direction_of(c)) or bool(SETTING.search(k)) for c, k in said)
    if len(said) < len(cells):
        # A column may be called `kept` or `error`; a row that says "keep" has no other word of a header.
        return known >= 2
    return known >= 1 and (known >= 2 or all(re.fullmatch(r"[\w .#/%()\-µ]+", bare(c)) for c in cells))


def layout_of(header: list[str] | None, rows: list[list[str]], *, ask: Ask) -> Layout:
    """What the columns of a table are, from its header (None: it has none) and a sample of rows as wide as the first."""
    width = len(rows[0]) if rows else len(header or ())
    names = [bare(h) or f"col{i + 1}" for i, h in enumerate(header)] if header else [f"col{i + 1}" for i in range(width)]
    cells = [[row[i] for row in rows] for i in range(width)]
    status, second = [*status_columns(names, cells), -1, -1][:2]
    roles = [role_of(names[i], cells[i], headed=header is not None) for i in range(width)]
    if status >= 0:
        roles[status] = Role.STATUS
    roles = [Role.NOTE if r is Role.STATUS and i != status else r for i, r in enumerate(roles)]
    text = first_named(names, roles, TEXT, (Role.TEXT, Role.NOTE))
    if text < 0 and not header:
        text = longest(cells, roles)
    elif text < 0 and status >= 0 and decides(cells[status]):
        text = first_worded(cells, roles)
    if text >= 0:
        roles[text] = Role.TEXT
    reason = first_named(names, roles, REASON, (Role.TEXT, Role.NOTE), but=text)
    primary = primary_of(names, roles, cells, headed=header is not None, ask=ask)
    said = named_by(names, cells, primary) if header and not ask.metric else ""
    if said:
        names[primary] = said
    direction, source = (
        (ask.direction, "asked") if ask.direction else (direction_of(names[primary]) if primary >= 0 else None, "name")
    )
    columns = tuple(Column(n, r, unit_of(n)) for n, r in zip(names, roles, strict=True))
    words = {status_words(c) for c in cells[status]} if status >= 0 else set()
    decided = any(outcome_of(w) in (Outcome.KEPT, Outcome.DISCARDED) for w in words)
    rivals = () if ask.metric else tuple(names[i] for i in rivals_of(names, [i for i, r in enumerate(roles) if r is Role.METRIC]))
    mixed = decided and "pass" in words and status_words(names[status]) in CHECKS
    return Layout(columns, status, primary, text, reason, direction, source if direction else "", mixed, rivals, second, decided)


def fits_header(header: list[str], rows: list[list[str]]) -> bool:
    """Whether a header belongs to these rows: as many columns, and statuses (if it names them) where it says."""
    if not rows:
        return True
    if len(rows[0]) != len(header):
        return False
    named = [i for i, h in enumerate(header) if key_of(h) == "status"]
    elsewhere = [
        i
        for i in range(len(header))
        if i not in named and share_of_statuses([r[i] for r in rows]) >= 0.8 and decides([r[i] for r in rows])
    ]
    if named:
        return share_of_statuses([r[named[0]] for r in rows]) >= 0.3 or not elsewhere
    return not any(key_of(header[i]) not in (*STATUS, *CHECKS) and SETTING.search(key_of(header[i])) for i in elsewhere)


def _decided(cells: list[str], layout: Layout) -> tuple[str, Outcome | None]:
    """Status of a row as written, and its outcome; a column that says it crashed goes before one that only says it was not kept."""
    status, outcome = "", Outcome.OTHER if layout.status >= 0 else None
    if layout.status >= 0 and cells[layout.status].strip():
        status, name = cells[layout.status].strip(), layout.columns[layout.status].name
        outcome = outcome_in(name, status)
        answered = outcome is not outcome_of(bare(status))
        status = f"{name}: {status}" if answered else status
        if layout.mixed and status_words(status) == "pass":
            outcome = Outcome.KEPT
    if layout.second >= 0 and outcome in (Outcome.OTHER, Outcome.DISCARDED):
        ran = outcome_in(layout.columns[layout.second].name, cells[layout.second])
        if ran in (Outcome.CRASHED, Outcome.CHECKS_FAILED):
            return (cells[layout.second].strip() if outcome is Outcome.DISCARDED else status or cells[layout.second].strip()), ran
    return status, Outcome.KEPT if layout.ranked else outcome


def run_of(cells: list[str], layout: Layout, *, line: Line, file: str, kind: str, segment: int) -> Run:
    """One row as a run; `cells` are as many as the layout has columns."""
    status, outcome = _decided(cells, layout)
    metrics: list[Metric] = []
    levers: list[Lever] = []
    checks: list[Check] = []
    notes: list[tuple[str, str]] = []
    found = {Role.ID: "", Role.CODE: "", Role.TIME: ""}
    stated = {"hypothesis": "", "mechanism": ""}
    for i, (column, raw) in enumerate(zip(layout.columns, cells, strict=True)):
        cell = bare(_unquoted(raw))
        if i != layout.text and key_of(column.name) in stated:
            stated[key_of(column.name)] = cell
            continue
        match column.role:
            case Role.METRIC:
                metrics.append(_metric(column, cell, layout=layout, outcome=outcome, primary=i == layout.primary))
            case Role.LEVER if cell:
                levers += _levers(column.name.removeprefix("params_"), cell)
            case Role.CHECK if cell.strip("-–— "):
                checks.append(Check(column.name, _checked(cell)))
            case Role.ID | Role.CODE | Role.TIME if not found[column.role]:
                found[column.role] = cell
            case Role.NOTE if cell.startswith("{") and key_of(column.name).endswith("metrics"):
                metrics += _metrics_in(cell, outcome)
            case Role.TEXT if i not in (layout.text, layout.reason) and key_of(column.name) in ("experiment", "name", "label"):
                found[Role.ID] = found[Role.ID] or cell
            case Role.DELTA | Role.NOTE | Role.RANK | Role.TEXT | Role.ID | Role.CODE | Role.TIME if cell and i not in (
                layout.text,
                layout.reason,
            ):
                notes.append((column.name, cell))
    if outcome is None and any(c.outcome == "failed" for c in checks):
        outcome = Outcome.CHECKS_FAILED
    if outcome is not Outcome.KEPT and any(m.name == layout.primary_name and m.value is None for m in metrics):
        # Nothing was measured, so a 0 beside it measures nothing either.
        metrics = [replace(m, value=None, raw=m.raw or f"{m.value:g}") if m.value == 0 else m for m in metrics]
    code = found[Role.CODE]
    return Run(
        Origin(file, line.number, line.digest),
        kind,
        label=found[Role.ID] or code,
        segment=segment,
        status=status,
        outcome=outcome,
        description=_unquoted(cells[layout.text]) if layout.text >= 0 else ", ".join(f"{x.name}={x.value}" for x in levers)[:300],
        primary=layout.primary_name,
        metrics=tuple(metrics),
        levers=tuple(levers),
        checks=tuple(checks),
        reason=_unquoted(cells[layout.reason]) if layout.reason >= 0 else "",
        hypothesis=stated["hypothesis"],
        mechanism=stated["mechanism"],
        code=code if code.lower() not in ("none", "tbd", "head", "n/a", "-") else "",
        created=moment(found[Role.TIME]),
        notes=tuple(notes),
    )


def _unquoted(cell: str) -> str:
    """A cell without the quotes that a CSV writer put around it: `"{""a"": 1}"`; any other quote is a plain character."""
    cell = cell.strip()
    inner = cell[1:-1]
    if len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inner.replace('""', ""):
        return inner.replace('""', '"')
    return cell


def is_divider(cells: list[str], layout: Layout) -> bool:
    """Whether a row only parts the table: dashes where the run's id stands, and no figure."""
    ids = [cells[i] for i, c in enumerate(layout.columns) if c.role in (Role.ID, Role.CODE)]
    figures = [cells[i] for i, c in enumerate(layout.columns) if c.role is Role.METRIC]
    return bool(ids) and all(re.fullmatch(r"[-=*_]{3,}", c) for c in ids[:1]) and not any(to_quantity(c) for c in figures)


def _metric(column: Column, cell: str, *, layout: Layout, outcome: Outcome | None, primary: bool) -> Metric:
    quantity = quantity_of(cell)
    direction = layout.direction if primary else direction_of(column.name)
    return measured(
        column.name,
        quantity.value if quantity else None,
        raw=cell,
        outcome=outcome,
        direction=direction,
        unit=quantity.unit if quantity and quantity.unit else column.unit,
        stddev=quantity.stddev if quantity else None,
        primary=primary,
    )


def _metrics_in(cell: str, outcome: Outcome | None) -> list[Metric]:
    """Figures of a cell that holds a JSON object of them."""
    return [
        measured(k, value, raw=str(raw), outcome=outcome, direction=direction_of(k))
        for k, raw in _object_in(cell).items()
        if (value := to_float(raw)) is not None
    ]


def _object_in(cell: str) -> Json:
    """The one JSON object that a cell holds; empty where it holds none."""
    match objects_of(cell):
        case [dict() as said]:
            return said
    return {}


def _checked(cell: str) -> str:
    words = status_words(cell)
    return (
        "passed"
        if words in ("ok", "pass", "passed", "true", "yes", "1")
        else "failed"
        if words in ("fail", "failed", "false", "no", "0", "wrong")
        else cell
    )


def _levers(name: str, cell: str) -> list[Lever]:
    """A setting column; a column of many settings (`seq=1024|batch=1`, or a JSON object) gives one lever each."""
    if key_of(name) not in SETTINGS:
        return [Lever(name, cell)]
    if cell.startswith("{"):
        return [Lever(k, str(v)) for k, v in _object_in(cell).items()] or [Lever(name, cell)]
    parts = [p.strip() for p in re.split(r"[|;,]\s*", cell) if p.strip()]
    return [Lever(*p.split("=", 1)) if "=" in p else Lever(p) for p in parts]


def modal_width(rows: list[list[str]]) -> int:
    """How many cells most rows have, rows of one cell left out; 0 where no row has two."""
    widths = Counter(len(r) for r in rows if len(r) > 1)
    return max(widths, key=lambda w: (widths[w], w)) if widths else 0
