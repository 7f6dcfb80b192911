"""Records of any log (rows of a table, objects of a file, entries of a journal) as runs: what each field is, then a record as a run.

A status field is recognised by its words, not only by its name, and records that tell neither a
status nor a measurement are no runs.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from kb.formats.columns import (
    CHECKS,
    HEADER_WORDS,
    NAMING,
    REASON,
    SETTINGS,
    TEXT,
    Column,
    Role,
    check_outcome,
    is_setting,
    key_of,
    outcome_in,
    own_word,
    primary_of,
    rivals_of,
    role_of,
    status_weight,
    unit_of,
)
from kb.formats.measuring import measured, metrics_of, moment, quantity_of
from kb.formats.reading import Ask, Line, Remark, Segment
from kb.run.direction import Direction, direction_from, direction_of, word_set
from kb.run.quantity import bare, to_quantity
from kb.run.record import Check, Lever, Metric, Origin, Outcome, Run
from kb.run.status import NOT_BEGUN, is_status, outcome_of, status_words
from kb.store import json_of
from kb.text.units import unit_of as known_unit

UNTOLD = (
    "nothing says that its lines are runs: no status, and no value under a name; name the columns in a "
    "first line, or say a status with every run; an import files none of them"
)
_DECIDED = (Outcome.KEPT, Outcome.DISCARDED)
_STEPS = word_set("step epoch global_step")
_NO_CODE = word_set("none tbd head n/a -")
# What a row sums up rather than ran.
_TOTALS = word_set(
    "total totals sum summe gesamt average mean avg median overall 合计 总计 итого somme totale"
)


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a log: where it stands and what it says under each name. `status` is one that stands outside of it, as in the heading above."""

    line: Line
    cells: Mapping[str, str]
    status: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """What the fields of a table are, by name; an empty name: there is none. `aim` is the field that holds the metric `primary`."""

    roles: Mapping[str, Role]
    statuses: tuple[str, ...] = ()
    aim: str = ""
    primary: str = ""
    text: str = ""
    reason: str = ""
    unit: str = ""
    direction: Direction | None = None
    source: str = ""
    decided: bool = False
    tells: bool = True
    passes: bool = False
    headed: bool = True
    rivals: tuple[str, ...] = ()
    commas: frozenset[str] = frozenset()
    blank: str = " -–—"

    @property
    def ranked(self) -> bool:
        """A leaderboard: it lists what was kept, by rank."""
        return not self.statuses and Role.RANK in self.roles.values()

    @property
    def search(self) -> bool:
        """Trials of a search: settings, and a state that says how a trial ended but keeps none."""
        return (
            any(n.startswith("params_") for n in self.roles)
            and not self.ranked
            and not self.decided
        )

    def names(self, role: Role) -> list[str]:
        """Names of the fields of one role."""
        return [n for n, r in self.roles.items() if r is role]

    def segment(self, index: int, line: int, name: str = "") -> Segment:
        """The segment that the records of this table make."""
        judged = bool(self.statuses or self.ranked) and not self.search
        way = (self.direction, self.source)
        return Segment(index, line, name, self.primary, self.unit, *way, judged, self.search)

    @property
    def doubt(self) -> str:
        """What to tell where several fields could be the primary metric; empty where one alone can."""
        others = [n for n in self.rivals if n != self.primary]
        if not others or not self.primary:
            return ""
        return f"judged by '{self.primary}'; {', '.join(others[:8])} could be meant as well, --metric names another"


def looks_like_header(cells: Sequence[str]) -> bool:
    """Whether a row names columns: distinct words, no number, no status word, and a word that tables of runs use."""
    keys = [key_of(c) for c in cells]
    named = [k for k in keys if k]
    if len(cells) < 2 or any(c[:1].isdigit() or len(c) > 60 for c in cells):
        return False
    if len(set(named)) < len(named) or len(named) < len(cells) - 1 or any(map(to_quantity, cells)):
        return False
    plain = [c for c in cells if not is_status(c)]
    known = sum(key_of(c) in HEADER_WORDS or bool(direction_of(c)) or is_setting(c) for c in plain)
    if len(plain) < len(cells):
        # A column may be called `kept` or `error`; a row that says "keep" has no other word of a header.
        return known >= 2
    worded = all(ch.isalnum() or ch in " .#/%()-_µ`*" for c in cells for ch in c)
    return known >= 2 or known == 1 and worded


def layout_of(
    names: Sequence[str],
    records: Sequence[Mapping[str, str]],
    *,
    ask: Ask,
    stated: Ask | None = None,
    headed: bool = True,
    forced: Mapping[str, Role] | None = None,
    least: float = 0,
) -> Layout:
    """What the fields of a table are, from their names and a sample of records. `stated` is what the log's own configuration says; runs are judged by no field that fewer than `least` records fill."""
    columns = {n: Column(n, [r.get(n, "") for r in records], headed) for n in names}
    weights = {n: status_weight(c) for n, c in columns.items() if not forced or n not in forced}
    statuses = tuple(sorted((n for n, w in weights.items() if w), key=lambda n: -weights[n]))
    roles = {n: (forced or {}).get(n) or role_of(c) for n, c in columns.items()}
    if statuses:
        roles[statuses[0]] = Role.STATUS
    words = {status_words(c) for n in statuses[:1] for c in columns[n].filled}
    decided = any(outcome_in(n, c) in _DECIDED for n in statuses[:1] for c in columns[n].filled)
    text = _text_of(columns, roles, headed=headed, decided=decided)
    if text:
        roles[text] = Role.TEXT
    reason = _first_named(roles, REASON, but=text)
    metrics = [c for n, c in columns.items() if roles[n] is Role.METRIC]
    aim = ask.metric or (stated.metric if stated else "")
    named = next((n for n in names if aim and aim in (n, key_of(n))), "")
    chosen = (
        columns[named]
        if named
        else primary_of(metrics, least=least)
        if headed and not ask.metric
        else None
    )
    rivals = rivals_of(metrics)
    meant = _meant(rivals, stated.prose if stated else "") if chosen and not named else None
    chosen = meant or chosen
    unit = _unit(chosen)
    naming = _name_of(chosen, columns) if not aim else ""
    called = naming or (chosen.name if chosen else "")
    direction, source = ask.way(
        called, unit=unit, stated=(stated and stated.direction) or stated_way(called)
    )
    if chosen and not direction and stated and (direction := stated_way(stated.prose)):
        source = "config"
    outcomes = {outcome_in(n, c) for n in statuses for c in columns[n].filled}
    figures = any(
        c.numeric for n, c in columns.items() if headed and roles[n] in (Role.METRIC, Role.DELTA)
    )
    queued = bool(words & NOT_BEGUN) and not decided
    curve = _is_curve(columns, worded=bool(text or statuses))
    return Layout(
        roles,
        statuses,
        chosen.name if chosen else "",
        called,
        text,
        reason,
        unit,
        direction,
        source,
        decided,
        not curve and (figures or not queued and bool(outcomes - {Outcome.OTHER})),
        decided and "pass" in words and key_of(statuses[0]) in CHECKS,
        headed,
        () if aim or meant else tuple(c.name for c in rivals),
        frozenset(n for n, c in columns.items() if c.commas),
        " " if any(columns[n].signed for n in statuses[:1]) else " -–—",
    )


def _meant(columns: Sequence[Column], prose: str) -> Column | None:
    """The column that the text above a table names before any other; None where it names none."""
    places = {
        c: at
        for c in columns
        if len(bare(c.name)) > 1 and (at := prose.lower().find(bare(c.name).lower())) >= 0
    }
    return (
        min(places, key=lambda c: (places[c], -len(c.name)), default=None)
        if len(columns) > 1
        else None
    )


def stated_way(text: str) -> Direction | None:
    """Which way is better where a header says it (`loss ↓`) or a text does (`lower is better`), one way alone."""
    ways = {direction_from(m) for pair in _BETTER.findall(text) for m in pair if m} - {None}
    ways |= {way for mark, way in (("↓", "lower"), ("↑", "higher")) if mark in text[-2:]}
    return ways.pop() if len(ways) == 1 else None


_BETTER = re.compile(
    r"\b(lower|higher|smaller|bigger|larger|less|more)\s+(?:is|=|are)\s+better|\b(minimi[sz]|maximi[sz])(?:e|ed|ing)\b",
    re.I,
)


def _is_curve(columns: Mapping[str, Column], *, worded: bool) -> bool:
    """Whether the records are steps of a training, not experiments: a step, figures and no word, or a chart exported by W&B."""
    exported = any(n.endswith("__MIN") for n in columns)
    stepped = any(c.key in _STEPS and c.numeric for c in columns.values())
    return (
        exported
        or stepped
        and not worded
        and all(c.numeric or not c.filled for c in columns.values())
    )


def _text_of(
    columns: Mapping[str, Column], roles: Mapping[str, Role], *, headed: bool, decided: bool
) -> str:
    """The field that says what was tried."""
    named = _first_named(roles, TEXT)
    if named or headed and not decided:
        return named
    worded = [
        n for n, r in roles.items() if r in (Role.NOTE, Role.TEXT) or headed and r is Role.LEVER
    ]
    if not headed:
        return max(worded, key=lambda n: sum(map(len, columns[n].cells)), default="")
    several = [
        n
        for n in worded
        if 2 * sum(len(c.split()) > 1 for c in columns[n].cells) > len(columns[n].cells)
    ]
    plain = (n for n in worded if roles[n] is Role.NOTE and columns[n].status_share < 0.5)
    return next(iter(several), next(plain, ""))


def _first_named(roles: Mapping[str, Role], wanted: Sequence[str], *, but: str = "") -> str:
    """The field with the first of the names that a worded field has."""
    keys = {
        own_word(key_of(n)): n
        for n, r in reversed(roles.items())
        if r in (Role.TEXT, Role.NOTE) and n != but
    }
    return next((keys[w] for w in wanted if w in keys), "")


def _unit(column: Column | None) -> str:
    """The unit of a column: what its header states, else what most of its cells say."""
    if column is None:
        return ""
    units = Counter(q.unit for c in column.filled if (q := quantity_of(c)) and q.unit)
    return unit_of(column.name) or (units.most_common(1)[0][0] if units else "")


def _name_of(chosen: Column | None, columns: Mapping[str, Column]) -> str:
    """Name of the metric where one field names it on every row and `chosen` holds its value."""
    if chosen is None or chosen.key not in ("metric_value", "value", "primary_value"):
        return ""
    for column in columns.values():
        words = {c for c in column.filled if c.lower() not in ("n/a", "na", "none")}
        if column.key in NAMING and len(words) == 1:
            return words.pop() if not any(map(quantity_of, words)) else ""
    return ""


@dataclass(slots=True)
class _Draft:
    """What the fields of one record have said so far."""

    metrics: list[Metric] = field(default_factory=list)
    levers: list[Lever] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    marks: dict[Role, str] = field(default_factory=dict)


def run_of(record: Record, layout: Layout, *, file: str, kind: str, segment: int) -> Run:
    """One record as a run."""
    status, outcome = _decided(record, layout)
    draft, stated = _Draft(), {"hypothesis": "", "mechanism": "", "next": "", "parent": ""}
    for name, raw in record.cells.items():
        cell, key = bare(_unquoted(raw)), key_of(name)
        if name in (layout.text, layout.reason):
            continue
        if key in stated and layout.roles.get(name) is not Role.METRIC:
            stated[key] = cell
        elif name not in layout.statuses[:1]:
            _take(draft, name, cell, layout, outcome)
    if outcome is None and any(c.outcome == "failed" for c in draft.checks):
        outcome = Outcome.CHECKS_FAILED
    metrics = tuple(draft.metrics)
    if outcome is not Outcome.KEPT and any(
        m.name == layout.primary and m.value is None for m in metrics
    ):
        # Nothing was measured, so a 0 beside it measures nothing either.
        metrics = tuple(
            replace(m, value=None, raw=m.raw or "0") if m.value == 0 else m for m in metrics
        )
    code, label = draft.marks.get(Role.CODE, ""), draft.marks.get(Role.ID, "")
    text = _unquoted(record.cells.get(layout.text, ""))
    levers = ", ".join(f"{x.name}={x.value}" if x.value else x.name for x in draft.levers)[:300]
    return Run(
        Origin(file, record.line.number, record.line.digest),
        kind,
        label=label or code,
        segment=segment,
        status=status,
        outcome=outcome,
        description=text or (label if any(map(str.isalpha, label)) else "") or levers,
        primary=layout.primary,
        metrics=metrics,
        levers=tuple(draft.levers),
        checks=tuple(draft.checks),
        reason=_unquoted(record.cells.get(layout.reason, "")),
        hypothesis=stated["hypothesis"],
        mechanism=stated["mechanism"],
        next_step=stated["next"],
        parent=stated["parent"],
        code="" if code.lower() in _NO_CODE else code,
        created=moment(draft.marks.get(Role.TIME, "")),
        notes=tuple(draft.notes),
    )


def _take(draft: _Draft, name: str, cell: str, layout: Layout, outcome: Outcome | None) -> None:
    """Put one cell where its role says."""
    role = layout.roles.get(name, Role.NOTE)
    match role:
        case Role.METRIC:
            draft.metrics.append(_metric(name, cell, layout, outcome))
        case Role.LEVER if cell:
            draft.levers += _levers(name.removeprefix("params_"), cell)
        case Role.CHECK if cell.strip("-–— "):
            draft.checks.append(Check(name, check_outcome(cell)))
        case Role.ID | Role.CODE | Role.TIME if role not in draft.marks and cell:
            draft.marks[role] = cell
        case Role.NOTE if cell.startswith("{") and key_of(name).endswith("metrics"):
            draft.metrics += metrics_of(object_in(cell), Segment(0, 0), outcome=outcome)
        case Role.TEXT if Role.ID not in draft.marks and key_of(name) in (
            "experiment",
            "name",
            "label",
        ):
            draft.marks[Role.ID] = cell
        case _ if cell and (role is not Role.NOTE or cell.strip("-–— ")):
            draft.notes.append((name, cell))


def _metric(name: str, cell: str, layout: Layout, outcome: Outcome | None) -> Metric:
    quantity, primary = quantity_of(cell, commas=name in layout.commas), name == layout.aim
    value, unit = (quantity.value, quantity.unit) if quantity else (None, "")
    mine, whole = known_unit(unit), known_unit(layout.unit)
    if (
        primary
        and unit != layout.unit
        and value is not None
        and mine
        and whole
        and mine.dimension == whole.dimension
    ):
        value, unit = value * mine.factor / whole.factor, layout.unit
    return measured(
        layout.primary if primary else name,
        value,
        raw=cell,
        outcome=outcome,
        direction=layout.direction if primary else direction_of(name),
        unit=unit or (layout.unit if primary else unit_of(name)),
        stddev=quantity.stddev if quantity else None,
        primary=primary,
    )


def _decided(record: Record, layout: Layout) -> tuple[str, Outcome | None]:
    """Status of a record as written, and its outcome; a field that says it crashed goes before one that only says it was not kept."""
    cells = {
        n: record.cells[n].strip()
        for n in layout.statuses
        if record.cells.get(n, "").strip(layout.blank) and record.cells[n].strip()
    }
    if not cells:
        if layout.ranked:
            return "", Outcome.KEPT
        if record.status:
            return record.status, outcome_of(record.status)
        empty = next((record.cells[n].strip() for n in layout.statuses if record.cells.get(n)), "")
        return empty, Outcome.OTHER if layout.statuses else None
    name, status = next(iter(cells.items()))
    outcome = outcome_in(name, status)
    if outcome in (Outcome.OTHER, Outcome.DISCARDED):
        failed = (Outcome.CRASHED, Outcome.CHECKS_FAILED)
        other = next((c for n, c in cells.items() if n != name and outcome_in(n, c) in failed), "")
        if other:
            return other if outcome is Outcome.DISCARDED else status, outcome_of(bare(other))
    if layout.passes and status_words(status) == "pass":
        outcome = Outcome.KEPT
    answered = outcome is not outcome_of(bare(status)) and not layout.passes
    return f"{name}: {status}" if answered else status, outcome


def _unquoted(cell: str) -> str:
    """A cell without the quotes that a CSV writer put around it: `"{""a"": 1}"`; any other quote is a plain character."""
    cell = cell.strip()
    inner = cell[1:-1]
    if len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inner.replace('""', ""):
        return inner.replace('""', '"')
    return cell


def object_in(cell: str) -> dict[str, object]:
    """The JSON object that a cell holds; empty where it holds none."""
    try:
        value = json_of(cell)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _levers(name: str, cell: str) -> list[Lever]:
    """A setting; a field of many settings (`seq=1024|batch=1`, or a JSON object) gives one lever each."""
    if key_of(name) not in SETTINGS:
        return [Lever(name, cell)]
    if cell.startswith("{"):
        return [Lever(k, str(v)) for k, v in object_in(cell).items()] or [Lever(name, cell)]
    parts = [p.strip() for p in cell.replace(";", "|").replace(",", "|").split("|")]
    return [Lever(*p.split("=", 1)) if "=" in p else Lever(p) for p in parts if p]


def runs_of(
    records: Iterable[Record | Remark], layout: Layout, segment: Segment, *, file: str, kind: str
) -> Iterator[Segment | Run | Remark]:
    """A segment, what is doubtful about it, and its runs; none where nothing tells that the records are runs."""
    yield segment
    if layout.doubt:
        yield Remark(layout.doubt, segment.line)
    if not layout.tells:
        yield Remark(UNTOLD, segment.line)
        return
    for record in records:
        if isinstance(record, Remark):
            yield record
            continue
        if _sums_up(record, layout):
            yield Remark("a row that sums up the others; skipped", record.line.number)
            continue
        run = run_of(record, layout, file=file, kind=kind, segment=segment.index)
        if run.primary and run.value is None:
            told = f"no measurement under '{run.primary}' (a sentinel or no plain number); left out of best"
            yield Remark(told, record.line.number)
        yield run


def _sums_up(record: Record, layout: Layout) -> bool:
    """Whether a row is a total: nothing numbers it, and it is called one."""
    marks = [
        record.cells.get(n, "")
        for role in (Role.ID, Role.CODE, Role.TIME)
        for n in layout.names(role)
    ]
    called = next((c for c in record.cells.values() if c.strip(" *_")), "")
    named = _TOTALS.intersection(status_words(called).split("_")[:1])
    return bool(named) and not any(m.strip(" -–—") and m != called for m in marks)


def directive(text: str) -> tuple[str, str]:
    """What a comment line states: `# metric_direction: higher_is_better` gives direction, higher; empty where it states nothing."""
    name, _, value = text.lstrip("#/ ").partition(":")
    key = key_of(name) if len(name) < 40 else ""
    if key in ("direction", "metric_direction", "best_direction", "optimize") and direction_from(
        value.strip()
    ):
        return "direction", value.strip()
    named = key in ("metric", "primary_metric", "metric_name") and len(value.split()) == 1
    return ("metric", value.strip()) if named else ("", "")
