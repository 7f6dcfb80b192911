"""What the fields of a table are: roles of columns, the metric that runs are judged by, and which way it is better. Refuses to look at values for that."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from kb.formats.columns import (
    BESIDE,
    CHECKS,
    DECIDED,
    NAMING,
    REASON,
    TEXT,
    ColumnRole,
    LogColumn,
    is_aim,
    is_held_out,
    key_of,
    key_words,
    outcome_in,
    own_word,
    role_of,
    status_weight,
    unit_of,
)
from kb.formats.outline import RUNS, part_of
from kb.formats.reading import (
    SAMPLE,
    Ask,
    LogLine,
    Remark,
    quantity_of,
)
from kb.run.direction import Direction, direction_from, direction_of, is_resource, word_set
from kb.run.record import Outcome, Run
from kb.run.status import COMPARED, beside_denial, status_words
from kb.schema import label_kind

_STEPS = word_set("step epoch global_step")
# Figures that explain a result rather than being it.
_DERIVED = word_set(
    "hit hits miss misses mfu hfu util utilization utilisation occupancy speedup efficiency train training"
)
_RAN = word_set("runtime duration")
# What fields in words are by their names, where another says what was tried.
_ROLES: Mapping[str, ColumnRole] = {
    **dict.fromkeys(("experiment", "name", "label"), "label"),
    **{role: role for role in ("hypothesis", "mechanism", "next", "parent")},
}


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a log: where it stands and what it says under each name. `status` and `day` stand outside of it, as in the heading above.

    `file` is its own, where a log is many; `whole` is the run that an export of kb holds as it was.
    """

    line: LogLine
    cells: dict[str, str]
    status: str = ""
    day: str = ""
    file: str = ""
    whole: Run | None = None


@dataclass(frozen=True, slots=True)
class RecordTable:
    """Records under the names of their fields (without a header, those that the records have), whatever notation they stood in.

    `heading` stands above them, `stated` is what the log itself says of the metric, `headed` whether it names the fields, `roles` what the
    notation makes of some; runs are judged by no field that less than `least` of the records fill. Where a notation is certain of the
    `others` too, every record is a run and each table a segment; a `search` keeps none.
    """

    records: Iterable[Record | Remark]
    names: Sequence[str] = ()
    line: int = 1
    heading: str = ""
    stated: Ask = Ask()
    headed: bool = True
    roles: Mapping[str, ColumnRole] = field(default_factory=dict)
    least: float = 0.0
    others: ColumnRole | None = None
    search: bool = False
    layout: "RecordLayout | None" = None


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """What the fields of a table are, by name (an empty one: there is none); `doubt` where others could be the primary metric. `narrated`:
    what is called an experiment stands beside a sentence on what it came to.
    """

    roles: Mapping[str, ColumnRole]
    statuses: tuple[str, ...] = ()
    primary: str = ""
    unit: str = ""
    direction: Direction | None = None
    source: str = ""
    search: bool = False
    decided: bool = False
    tells: bool = True
    narrated: bool = False
    wins: Mapping[str, Outcome] = field(default_factory=dict)
    doubt: str = ""
    inferred: str = ""
    ends: frozenset[str] = frozenset()
    blank: str = " -–—"

    @property
    def ranked(self) -> bool:
        """A leaderboard: it lists what was kept, by rank."""
        return not self.statuses and "rank" in self.roles.values()

    def names(self, role: ColumnRole) -> list[str]:
        """Names of the fields of one role."""
        return [n for n, r in self.roles.items() if r is role]


def layout_of(table: RecordTable, records: Sequence[Record], *, ask: Ask) -> RecordLayout:
    """What the fields of a table are, from their names and what some of its records hold."""
    sample = [r.cells for r in records[:SAMPLE]]
    names = [n for n in table.names if not sample or any(n in cells for cells in sample)]
    columns = {n: LogColumn(n, [r.get(n, "") for r in sample], table.headed) for n in names}
    weights = {n: status_weight(c) for n, c in columns.items() if n not in table.roles}
    statuses = sorted((n for n, w in weights.items() if w), key=lambda n: -weights[n])
    narrated = _narrated(columns)
    statuses = [n for n in statuses if n not in narrated or columns[n].outcomes & DECIDED]
    if table.others:
        statuses = [n for n, role in table.roles.items() if role == "status" and n in columns]
    deciding = [columns[n] for n in statuses[:1]]
    words = {status_words(c) for column in deciding for c in column.filled}
    decided = any(x.outcomes & DECIDED for x in deciding)
    wins = {"pass": Outcome.KEPT} if decided and key_of(statuses[0]) in CHECKS else {}
    # A ledger of hypotheses confirms some and refutes others; what is supported may be any feature.
    ledger = "refuted" in words and bool(words & {"confirmed", "supported"})
    wins = COMPARED if (ledger or "improved" in words) and not decided else wins
    wins = beside_denial(words) | wins
    roles = {n: table.roles.get(n) or table.others or role_of(c) for n, c in columns.items()}
    roles |= {x.name: "status" for x in deciding}
    if not table.others:
        roles |= _worded(columns, roles, headed=table.headed, decided=decided)
    chosen, rivals = _aim_of(columns, roles, ask, table, least=table.least * len(sample))
    primary, stated = chosen.name if chosen else "", table.stated
    others = ", ".join([c.name for c in rivals if c is not chosen][:8])
    doubt = f"judged by '{primary}'; {others} could be meant as well, --metric names another"
    unit = stated.unit or _unit(chosen)
    way = stated.direction or stated_way(primary)
    if primary and not (ask.direction or way or direction_of(primary)):
        way = stated_way(stated.prose)
    direction, source = ask.way(primary, unit=unit, stated=replace(stated, direction=way))
    settings = any(n.startswith("params_") for n in roles)
    return RecordLayout(
        roles,
        tuple(statuses),
        primary,
        unit,
        direction,
        source,
        table.search or settings and "rank" not in roles.values() and not decided,
        decided or bool(wins),
        bool(table.others or ledger or narrated)
        or _tells(columns, roles, statuses, headed=table.headed)
        and not _contradict([columns[n] for n in statuses]),
        bool(narrated),
        wins,
        doubt if primary and others else "",
        ends=frozenset(n for n in statuses if columns[n].ends),
        blank=" " if any(x.signed for x in deciding) else " -–—",
    )


def _aim_of(
    columns: Mapping[str, LogColumn],
    roles: Mapping[str, ColumnRole],
    ask: Ask,
    table: RecordTable,
    *,
    least: float,
) -> tuple[LogColumn | None, list[LogColumn]]:
    """The field that runs are judged by: the one that is named, else by the text above, else by its role; and others that could be."""
    aim = ask.metric or table.stated.metric
    named = next((c for n, c in columns.items() if aim and aim in (n, key_of(n))), None)
    if named or ask.metric or not table.headed:
        return named, []
    metrics = [c for n, c in columns.items() if roles[n] == "metric"]
    common = [c for c in metrics if len(c.filled) >= least]
    chosen = primary_of(common)
    # Where no name speaks for it, any other figure may be meant.
    return chosen, rivals_of(common) or common * bool(chosen and not is_aim(chosen.key))


def rivals_of(metrics: Sequence[LogColumn]) -> list[LogColumn]:
    """Columns that could be what runs are judged by; those that only explain a result where no other is."""
    known = [
        c
        for c in metrics
        if direction_of(c.name) and not is_resource(c.name) and not BESIDE & key_words(c.name)
    ]
    # A tracker tells how long a training ran beside what it came to.
    beside = _DERIVED | (_RAN if any(is_held_out(c.name) for c in known) else frozenset())
    known = [c for c in known if c.numeric] or known
    return [c for c in known if not beside & key_words(c.name)] or known


def primary_of(common: Sequence[LogColumn]) -> LogColumn | None:
    """The column that runs are judged by, of those that enough rows fill; None where there are none."""
    keys = {c.key for c in common}
    after = [c for c in common if c.key.replace("after", "before") in keys - {c.key}]
    aims = after or [c for c in common if is_aim(c.key)]
    own = [c for c in common if not is_resource(c.name) and not BESIDE & key_words(c.name)]
    plain = [c for c in own if any(map(quantity_of, c.cells))]
    # What stands alike on every row was set, and so are values that come again.
    plain.sort(key=lambda c: (len({*c.filled}) == 1, not is_held_out(c.name), -len({*c.filled})))
    rivals = rivals_of(own)
    chosen = next(iter(aims or rivals or plain or common), None)
    return chosen and _by_name(chosen, rivals)


def _by_name(column: LogColumn, rivals: Sequence[LogColumn]) -> LogColumn:
    """What is called a result as it stands again under its own name."""
    figures = _figures(column)
    return next((c for c in rivals if any(figures) and _figures(c) == figures), column)


def _figures(column: LogColumn) -> list[float | None]:
    return [q and q.value for q in map(quantity_of, column.cells)]


def _tells(
    columns: Mapping[str, LogColumn],
    roles: Mapping[str, ColumnRole],
    statuses: Sequence[str],
    *,
    headed: bool,
) -> bool:
    """Whether anything says that records are runs: figures under a name, or statuses; and no steps of a training."""
    marked = _is_marked(columns, roles)
    figures = any(
        headed
        and roles[n] in ("metric", "delta")
        and c.measures(aside=len(c.cells) < 2 or not marked)
        for n, c in columns.items()
    )
    outcomes = {
        outcome_in(n, c)
        for n in statuses
        if not headed or columns[n].status_share >= 0.5
        for c in columns[n].filled
    }
    # Entries in prose: words on the result, and on what was done or learned.
    results = [c for c in columns.values() if part_of(c.name) == "result"]
    spoken = any(2 * sum(len(x.split()) > 2 for x in c.filled) > len(c.cells) for c in results)
    worded = "text" in roles.values()
    reported = figures or worded and spoken or bool(outcomes - {Outcome.OTHER})
    return reported and not _is_series(columns, roles, worded=worded or bool(statuses))


def _contradict(statuses: Sequence[LogColumn]) -> bool:
    """Whether two columns that decide say opposite things of a row as often as the same: what an option does, not what was decided."""
    cells = [[outcome_in(c.name, x) for x in c.cells] for c in statuses if c.outcomes >= DECIDED]
    pairs = [{*p} for one, other in combinations(cells, 2) for p in zip(one, other, strict=True)]
    decided = [p for p in pairs if p <= DECIDED]
    return 2 * sum(len(p) > 1 for p in decided) > len(decided)


def _is_marked(columns: Mapping[str, LogColumn], roles: Mapping[str, ColumnRole]) -> bool:
    """Whether records say which run they are, or what it changed."""
    return (
        bool({"time", "code", "rank", "check"} & {*roles.values()})
        or any(part_of(n) in ("change", "hypothesis") for n in roles)
        or any(
            roles[n] == "id" and c.share(lambda x: any(map(str.isdigit, x))) > 0.5
            for n, c in columns.items()
        )
    )


# More than the words of a status take; in Chinese or Japanese a sign is as good as two or three letters.
_STATUS_BYTES = 24


def _narrated(columns: Mapping[str, LogColumn]) -> set[str]:
    """Columns whose sentences say what came of what another one calls an experiment."""
    if not any(c.key in RUNS for c in columns.values()):
        return set()
    outcomes = (c for c in columns.values() if label_kind(c.key) == "outcome")
    longer = {c.name: sum(len(x.encode()) > _STATUS_BYTES for x in c.filled) for c in outcomes}
    return {n for n, count in longer.items() if 2 * count > len(columns[n].cells) > 1}


def stated_way(text: str) -> Direction | None:
    """Which way is better where a header says it (`loss ↓`) or a text does (`lower is better`), one way alone."""
    ways = {direction_from(m) for pair in _BETTER.findall(text) for m in pair if m} - {None}
    ways |= {way for mark, way in (("↓", "lower"), ("↑", "higher")) if mark in text[-2:]}
    return ways.pop() if len(ways) == 1 else None


_BETTER = re.compile(
    r"\b(lower|higher|smaller|bigger|larger|less|more)\s+(?:is|=|are)\s+(?:better|good)|\b(minimi[sz]|maximi[sz])(?:e|ed|ing)\b",
    re.I,
)


def _is_series(
    columns: Mapping[str, LogColumn], roles: Mapping[str, ColumnRole], *, worded: bool
) -> bool:
    """Whether the records are data, not experiments: steps of a training (a step, figures and no word), a chart exported by W&B, samples of
    several metrics over the time of one run, or an index and figures of no side.
    """
    exported = any(n.endswith("__MIN") for n in columns)
    sampled = any(c.key in NAMING and len({*c.filled}) > 1 for c in columns.values())
    # A number of the step, or events that are called so.
    steps = {n for n, c in columns.items() if c.key in _STEPS and c.numeric or _STEPS & {*c.filled}}
    stepped = steps and all(c.numeric or not c.filled or n in steps for n, c in columns.items())
    judged = any(
        direction_of(n) or is_aim(c.key) or c.key.partition("_")[0] in RUNS
        for n, c in columns.items()
    )
    plain = {*roles.values()} <= {"id", "metric"} and not judged
    return bool(exported or plain or not worded and (sampled or stepped))


def _worded(
    columns: Mapping[str, LogColumn],
    roles: Mapping[str, ColumnRole],
    *,
    headed: bool,
    decided: bool,
) -> dict[str, ColumnRole]:
    """Roles of the fields in words: the one that says what was tried, the one that says why; others of them are notes, or a label."""
    text = _text_of(columns, roles, headed=headed, decided=decided)
    reason = _first_named(roles, REASON, but=text)
    worded = [n for n, r in roles.items() if r in ("text", "note")]
    further = {n: _ROLES.get(key_of(n), "note") for n in worded}
    return {**further, **({reason: "reason"} if reason else {}), **({text: "text"} if text else {})}


def _text_of(
    columns: Mapping[str, LogColumn],
    roles: Mapping[str, ColumnRole],
    *,
    headed: bool,
    decided: bool,
) -> str:
    """The field that says what was tried."""
    named = _first_named(roles, TEXT)
    if named or headed and not decided:
        return named
    worded = [n for n, r in roles.items() if r in ("note", "text") or headed and r == "lever"]
    several = [
        n
        for n in worded
        if 2 * sum(len(c.split()) > 1 for c in columns[n].cells) > len(columns[n].cells)
    ]
    plain = (n for n in worded if roles[n] == "note" and columns[n].status_share < 0.5)
    return next(iter(several), next(plain, ""))


def _first_named(roles: Mapping[str, ColumnRole], wanted: Sequence[str], *, but: str = "") -> str:
    """The field with the first of the names that a worded field has."""
    keys = {
        own_word(key_of(n)): n
        for n, r in reversed(roles.items())
        if r in ("text", "note") and n != but
    }
    return next((keys[w] for w in wanted if w in keys), "")


def _unit(column: LogColumn | None) -> str:
    """The unit of a column: what its header states, else what most of its cells say."""
    if column is None:
        return ""
    units = Counter(q.unit for c in column.filled if (q := quantity_of(c)) and q.unit)
    return unit_of(column.name) or (units.most_common(1)[0][0] if units else "")
