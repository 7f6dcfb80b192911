"""Rows of any results table: what each column is, by its header and by what its cells hold; then a row as a run.

The status column is recognised by its words, not only by its name, and a header whose status column holds no statuses is not believed.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from kb.formats.reading import Ask, Line, Segment, measured, moment
from kb.run.direction import Direction, direction_of, is_resource, word_set, words_of
from kb.run.quantity import Quantity, bare, to_quantity
from kb.run.record import Check, Lever, Metric, Origin, Outcome, Run, is_status, outcome_of, status_words


class Role(StrEnum):
    """What a column is for."""

    ID = "id"
    RANK = "rank"
    CODE = "code"
    STATUS = "status"
    TEXT = "text"
    TIME = "time"
    DELTA = "delta"
    METRIC = "metric"
    LEVER = "lever"
    CHECK = "check"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name (`col3` where the table has no header), role, and the unit that its header states."""

    name: str
    role: Role
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """What the columns of a table are. `text` is the index of the description, `reason` of the remark beside it; -1: none.

    `second` is a further status column (ran or crashed, beside kept or discarded); `mixed`: one column holds both kinds of word.
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

    def segment(self, index: int, line: int, name: str = "") -> Segment:
        """The segment that the rows of this table make."""
        unit = self.columns[self.primary].unit if self.primary >= 0 else ""
        return Segment(index, line, name, self.primary_name, unit, self.direction, self.source, self.status >= 0 or self.ranked)


_ID = word_set(
    "# no nr num number id idx index n exp exp_id expid experiment_id exp_no run run_id run_no iteration iter trial trial_id round step attempt "
    "v version experiment"
)
_CODE = word_set("commit commit_hash sha git_sha hash rev revision git branch ref")
_STATUS = word_set("status verdict decision outcome state result disposition action kept keep keep_discard")
_TIME = word_set("date datetime timestamp time created created_at started finished when ts")
_TEXT = (
    "description",
    "desc",
    "change_description",
    "change",
    "changes",
    "experiment",
    "hypothesis",
    "idea",
    "what",
    "summary",
    "title",
    "name",
    "label",
    "notes",
    "note",
    "comment",
    "comments",
    "tag",
)
_REASON = (
    "key_finding",
    "finding",
    "findings",
    "notes",
    "note",
    "reason",
    "why",
    "lesson",
    "learned",
    "conclusion",
    "comment",
    "comments",
    "remark",
)
_CHECKS = word_set("correct correctness check checks tests test parity valid passed verified")
_DELTA = re.compile(r"(^|_)(delta|vs|improvement|improved|gain|change_pct|pct_change|diff_pct)(_|$)|Δ")
# Columns of figures that are never what a run is judged by: the state before it, and what it cost to try.
_BESIDE = re.compile(
    r"(^|_)(baseline|base|before|parent|prev|previous|old|cost|usd|price|budget|cumulative|wall|elapsed|std|stddev|stderr)(_|$)"
)
# Figures that explain a result rather than being it.
_DERIVED = re.compile(r"(^|_)(hits?|miss(es)?|mfu|hfu|util\w*|occupancy|speedup|efficiency|train|training)(_|$)")
_AIMED = re.compile(r"_(score|metric|objective|fitness|reward)$|(^|_)(measured|new|after|current|candidate)_value$")
_BOOLEAN = frozenset(["true", "false", "yes", "no", "ok", "pass", "passed", "fail", "failed"])
_AIM = ("score", "metric", "metric_after", "after", "objective", "fitness", "value", "combined_score")
_SETTING = re.compile(
    r"^(n|num|nr|kv|max|min|use|enable)_|(^|_)(batch|ubatch|bs|lr|seed|threads?|ctx|layers?|heads?|dim|depth|width|warps?|stages?|block|tile|unroll|"
    r"dtype|type|warmup|decay|beta\d?|dropout|momentum|epochs?|steps|iters|gpus?|workers?|flash|attn|model|params?|prompt|window|config|args|flags?|spec|"
    r"settings|hyperparameters|quant|offload|tokens|rate_limit|size)(_|$)"
)
_SETTINGS = word_set("config params settings args flags hyperparameters options")
_MARK_OF_HEADER = frozenset((*_ID, *_CODE, *_STATUS, *_TEXT, *_TIME)) - {"n", "v", "step", "what", "name", "number"}


def key_of(name: str) -> str:
    """A header cell as a word: `Key Finding` gives key_finding, `#` stays."""
    name = bare(name)
    return "#" if name in ("#", "№") else re.sub(r"[^a-z0-9µ%Δ]+", "_", name.lower().replace("#", "")).strip("_")


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
    known = sum(k in _MARK_OF_HEADER or bool(direction_of(c)) or bool(_SETTING.search(k)) for c, k in said)
    if len(said) < len(cells):
        # A column may be called `kept` or `error`; a row that says "keep" has no other word of a header.
        return known >= 2
    return known >= 1 and (known >= 2 or all(re.fullmatch(r"[\w .#/%()\-µ]+", bare(c)) for c in cells))


def layout_of(header: list[str] | None, rows: list[list[str]], *, ask: Ask) -> Layout:
    """What the columns of a table are, from its header (None: it has none) and a sample of rows as wide as the first."""
    width = len(rows[0]) if rows else len(header or ())
    names = [bare(h) or f"col{i + 1}" for i, h in enumerate(header)] if header else [f"col{i + 1}" for i in range(width)]
    cells = [[row[i] for row in rows] for i in range(width)]
    status, second = [*_status_columns(names, cells), -1, -1][:2]
    roles = [_role(names[i], cells[i], headed=header is not None) for i in range(width)]
    if status >= 0:
        roles[status] = Role.STATUS
    roles = [Role.NOTE if r is Role.STATUS and i != status else r for i, r in enumerate(roles)]
    text = _first(names, roles, _TEXT, (Role.TEXT, Role.NOTE))
    if text < 0:
        text = _longest(cells, roles) if not header else -1
    if text >= 0:
        roles[text] = Role.TEXT
    reason = _first(names, roles, _REASON, (Role.TEXT, Role.NOTE), but=text)
    primary = _primary(names, roles, cells, headed=header is not None, ask=ask)
    direction, source = (
        (ask.direction, "asked") if ask.direction else (direction_of(names[primary]) if primary >= 0 else None, "name")
    )
    columns = tuple(Column(n, r, _unit_of(n)) for n, r in zip(names, roles, strict=True))
    words = {status_words(c) for c in cells[status]} if status >= 0 else set()
    decided = any(outcome_of(w) in (Outcome.KEPT, Outcome.DISCARDED) for w in words)
    rivals = () if ask.metric else tuple(names[i] for i in _rivals(names, [i for i, r in enumerate(roles) if r is Role.METRIC]))
    mixed = decided and "pass" in words and status_words(names[status]) in _CHECKS
    return Layout(columns, status, primary, text, reason, direction, source if direction else "", mixed, rivals, second)


def fits_header(header: list[str], rows: list[list[str]]) -> bool:
    """Whether a header belongs to these rows: as many columns, and statuses (if it names them) where it says."""
    if not rows:
        return True
    if len(rows[0]) != len(header):
        return False
    named = [i for i, h in enumerate(header) if key_of(h) == "status"]
    elsewhere = [
        i for i in range(len(header)) if i not in named and _share([r[i] for r in rows]) >= 0.8 and _decides([r[i] for r in rows])
    ]
    if named:
        return _share([r[named[0]] for r in rows]) >= 0.3 or not elsewhere
    return not any(key_of(header[i]) not in (*_STATUS, *_CHECKS) and _SETTING.search(key_of(header[i])) for i in elsewhere)


def _share(cells: list[str]) -> float:
    said = [c for c in cells if c.strip(" -–—")]
    return sum(is_status(bare(c)) for c in said) / len(said) if said else 0.0


def _decides(cells: list[str]) -> bool:
    words = {outcome_of(bare(c)) for c in cells}
    return (
        bool(words & {Outcome.KEPT, Outcome.DISCARDED})
        or Outcome.CRASHED in words
        and any(status_words(c) == "ok" for c in cells)
    )


def _status_columns(names: list[str], cells: list[list[str]]) -> list[int]:
    """Columns that hold statuses, the one that tells kept from discarded first."""
    found: list[tuple[float, int]] = []
    for i, column in enumerate(cells):
        key, share = key_of(names[i]), _share(column)
        kept = {outcome_of(bare(c)) for c in column} & {Outcome.KEPT, Outcome.DISCARDED}
        if key in ("status", "verdict", "decision") and share > 0:
            found.append((3 + share + 2 * bool(kept), -i))
        elif share >= 0.6 and _decides(column):
            found.append((2 + share if key in _STATUS else 1 + share, -i))
        elif key in _STATUS and share >= 0.6:
            found.append((share, -i))
        elif key == "status" and not any(to_quantity(c) for c in column):
            # Without one known word it is believed only where no other column decides.
            found.append((0.5, -i))
    return [-i for _, i in sorted(found, reverse=True)]


def _role(name: str, cells: list[str], *, headed: bool) -> Role:
    key = key_of(name)
    said = [c for c in cells if c.strip(" -–—")]
    numeric = sum(to_quantity(c) is not None for c in said)
    mostly = bool(said) and 2 * numeric >= len(said)
    if key == "rank" or key == "place":
        return Role.RANK
    if key in _TIME and (not said or any(moment(c) for c in said)):
        return Role.TIME
    if key == "experiment" and not mostly:
        return Role.TEXT
    if key in _ID:
        return Role.ID
    if key in _CODE:
        return Role.CODE
    if key in _CHECKS and not mostly or direction_of(name) and said and all(c.lower() in _BOOLEAN for c in said):
        return Role.CHECK
    if _DELTA.search(key) or _DELTA.search(name):
        return Role.DELTA if direction_of(name) is None or not _is_speedup(name) else Role.METRIC
    if not headed:
        return _role_of_cells(said, mostly=mostly)
    if direction_of(name) or key in _AIM:
        return Role.METRIC
    if key in _TEXT or key in _REASON:
        return Role.TEXT
    if _SETTING.search(key) or key in _SETTINGS or re.fullmatch(r"[A-Z]{1,2}", bare(name)):
        return Role.LEVER
    return (
        Role.METRIC
        if mostly
        else Role.LEVER
        if said and all(c in ("True", "False", "true", "false", "on", "off") for c in said)
        else Role.NOTE
    )


def _is_speedup(name: str) -> bool:
    return "speedup" in words_of(name)


def _role_of_cells(said: list[str], *, mostly: bool) -> Role:
    """Role of a column without a name, by its cells alone."""
    if (
        said
        and sum(bool(re.fullmatch(r"[0-9a-f]{7,40}|HEAD", c)) for c in said) * 2 > len(said)
        and not all(c.isdigit() for c in said)
    ):
        return Role.CODE
    if mostly:
        counted = [int(c) for c in said if c.isdigit()]
        consecutive = len(counted) == len(said) > 2 and sum(b - a == 1 for a, b in pairwise(counted)) * 2 > len(said)
        return Role.ID if consecutive else Role.METRIC
    return Role.NOTE


def _first(names: list[str], roles: list[Role], wanted: tuple[str, ...], allowed: tuple[Role, ...], but: int = -1) -> int:
    keys = [key_of(n) for n in names]
    return next((keys.index(w) for w in wanted if w in keys and keys.index(w) != but and roles[keys.index(w)] in allowed), -1)


def _longest(cells: list[list[str]], roles: list[Role]) -> int:
    lengths = [(sum(map(len, column)), i) for i, column in enumerate(cells) if roles[i] in (Role.NOTE, Role.TEXT)]
    return max(lengths)[1] if lengths else -1


def _primary(names: list[str], roles: list[Role], cells: list[list[str]], *, headed: bool, ask: Ask) -> int:
    """The column that runs are judged by; -1 where that is not said (no header, or no numbers)."""
    if ask.metric:
        return next((i for i, n in enumerate(names) if ask.metric in (n, key_of(n))), -1)
    metrics = [i for i, r in enumerate(roles) if r is Role.METRIC]
    if not headed or not metrics:
        return -1
    aims = [i for i in metrics if key_of(names[i]) in _AIM]
    own = [i for i in metrics if not is_resource(names[i]) and not _BESIDE.search(key_of(names[i]))]
    known = _rivals(names, own)
    # `score` beside `latency`: the aim is what the loop called so; without one, the first quantity that names a side.
    plain = [i for i in own if any(to_quantity(c) for c in cells[i])]
    chosen = next(iter(aims or known or plain or metrics))
    held_out = re.sub(r"^train(ing)?_", "", key_of(names[chosen]))
    return next(
        (
            i
            for i in own
            if re.fullmatch(rf"(val|valid|validation|test|eval|dev)_{re.escape(held_out)}", key_of(names[i]))
            and key_of(names[chosen]) != held_out
        ),
        chosen,
    )


def _rivals(names: list[str], metrics: list[int]) -> list[int]:
    """Columns that could be what runs are judged by, those that only explain a result left out where others are."""
    known = [
        i
        for i in metrics
        if direction_of(names[i])
        and not is_resource(names[i])
        and not _BESIDE.search(key_of(names[i]))
        or _AIMED.search(key_of(names[i]))
    ]
    return [i for i in known if not _DERIVED.search(key_of(names[i]))] or known


def _unit_of(name: str) -> str:
    bracket = re.search(r"[(\[]([^)\]]{1,12})[)\]]\s*$", name)
    if bracket:
        return bracket[1].strip()
    rate = re.fullmatch(r"\s*(\w+/\w+)\s*", re.sub(r"^.*?([A-Za-z]+)_per_([A-Za-z]+)$", r"\1/\2", bare(name)))
    suffix = re.search(r"_(ms|us|µs|ns|s|sec|gb|mb|kb|gib|mib|percent|pct|tflops|gflops)$", name.lower())
    return rate[1] if rate else suffix[1] if suffix else ""


def run_of(cells: list[str], layout: Layout, *, line: Line, file: str, kind: str, segment: int) -> Run:
    """One row as a run; `cells` are as many as the layout has columns."""
    status = cells[layout.status].strip() if layout.status >= 0 else ""
    outcome = outcome_of(bare(status)) if status else Outcome.OTHER if layout.status >= 0 else None
    if (
        outcome is Outcome.OTHER
        and layout.second >= 0
        and outcome_of(bare(cells[layout.second])) in (Outcome.CRASHED, Outcome.CHECKS_FAILED)
    ):
        status = status or cells[layout.second].strip()
        outcome = outcome_of(bare(cells[layout.second]))
    if layout.mixed and status_words(status) == "pass":
        outcome = Outcome.KEPT
    if layout.ranked:
        outcome = Outcome.KEPT
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
                levers += _levers(column.name, cell)
            case Role.CHECK if cell:
                checks.append(Check(column.name, _checked(cell)))
            case Role.ID | Role.CODE | Role.TIME if not found[column.role]:
                found[column.role] = cell
            case Role.DELTA | Role.NOTE | Role.RANK | Role.TEXT | Role.ID | Role.CODE | Role.TIME if cell and i not in (
                layout.text,
                layout.reason,
            ):
                notes.append((column.name, cell))
    if outcome is None and any(c.outcome == "failed" for c in checks):
        outcome = Outcome.CHECKS_FAILED
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
    quantity: Quantity | None = to_quantity(cell)
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
    if key_of(name) not in _SETTINGS:
        return [Lever(name, cell)]
    if cell.startswith("{"):
        try:
            said = json.loads(cell)
        except ValueError:
            return [Lever(name, cell)]
        return [Lever(str(k), str(v)) for k, v in said.items()]
    parts = [p.strip() for p in re.split(r"[|;,]\s*", cell) if p.strip()]
    return [Lever(*p.split("=", 1)) if "=" in p else Lever(p) for p in parts]


def modal_width(rows: list[list[str]]) -> int:
    """How many cells most rows have, rows of one cell left out; 0 where no row has two."""
    widths = Counter(len(r) for r in rows if len(r) > 1)
    return max(widths, key=lambda w: (widths[w], w)) if widths else 0
