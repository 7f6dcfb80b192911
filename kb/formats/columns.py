"""Columns of a results table: what each is for, by its header and by what its cells hold. Refuses to look at which side values move to.

The status column is recognised by its words, not only by its name.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from kb.formats.reading import Ask, moment
from kb.run.direction import direction_of, is_resource, word_set, words_of
from kb.run.quantity import Quantity, bare, to_quantity
from kb.run.record import Outcome, is_status, outcome_of, status_words


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


_ID = word_set(
    "# no nr num number id idx index n exp exp_id expid experiment_id exp_no run run_id run_no iteration iter trial trial_id round step attempt "
    "v version experiment"
)
_CODE = word_set(
    "commit commit_hash commit_sha commit_id git_commit experiment_commit sha git_sha hash rev revision git branch ref"
)
STATUS = word_set("status verdict decision outcome state result disposition action kept keep keep_discard")
_TIME = word_set("date datetime timestamp time created created_at started finished when ts")
_TIMED = re.compile(r"(^|_)(date|datetime|timestamp|utc)(_|$)")
TEXT = tuple(
    (
        "description desc change_description change changes experiment hypothesis idea what what_changed mutation mutations modification "
        "modifications approach strategy summary title details name label notes note comment comments tag"
    ).split()
)
# `experiment_desc` and `run_notes` say whose words they are; what they are is said by the last word.
_WHOSE = re.compile(
    r"^(experiment|exp|run|trial|iteration|iter|candidate|short|brief|main|key)_(?=(desc|description|summary|title|notes?|changes?|idea|hypothesis|comments?|observations?|insights?)$)"
)
REASON = tuple(
    (
        "key_finding finding findings failure_reason rollback_reason insight insights takeaway notes note reason why lesson lessons learned learnings "
        "conclusion observation observations analysis comment comments remark remarks"
    ).split()
)
CHECKS = word_set("correct correctness check checks tests test parity valid passed verified")
_DELTA = re.compile(r"(^|_)(delta|vs|improvement|improved|gain|change_pct|pct_change|diff_pct)(_|$)|Δ")
# Columns of figures that are never what a run is judged by: the state before it, and what it cost to try.
_BESIDE = re.compile(
    r"(^|_)(baseline|base|ref|reference|before|parent|prev|previous|old|cost|usd|price|budget|cumulative|wall|elapsed|launch|startup|setup|queue|estimated|expected|std|stddev|stderr)(_|$)"
)
# Figures that explain a result rather than being it.
_DERIVED = re.compile(r"(^|_)(hits?|miss(es)?|mfu|hfu|util\w*|occupancy|speedup|efficiency|train|training)(_|$)")
_AIMED = re.compile(r"_(score|metric|objective|fitness|reward)$|(^|_)(measured|new|after|current|candidate)_value$")
_BOOLEAN = frozenset(["true", "false", "yes", "no", "ok", "pass", "passed", "fail", "failed"])
# A column `kept` or `accepted` of yes and no.
_DECIDING = word_set("kept keep accepted accept adopted adopt merged promoted retained is_kept was_kept")
_YES_NO = {
    "true": True,
    "yes": True,
    "y": True,
    "1": True,
    "✓": True,
    "✅": True,
    "false": False,
    "no": False,
    "n": False,
    "0": False,
    "✗": False,
    "❌": False,
}
_AIM = ("score", "metric", "metric_after", "after", "objective", "fitness", "value", "combined_score", "combined", "composite")
# Columns that name the metric whose value another column holds.
NAMING = word_set("primary_metric metric_name metric metric_key")
_FOREMOST = re.compile(r"^(primary|overall|total|final|composite|aggregate)_(score|metric|objective|fitness|reward|value)$")
SETTING = re.compile(
    r"^(n|num|nr|kv|max|min|use|enable)_|(^|_)(batch|ubatch|bs|lr|seed|threads?|ctx|layers?|heads?|dim|depth|width|warps?|stages?|block|tile|unroll|"
    r"dtype|type|warmup|decay|beta\d?|dropout|momentum|epochs?|steps|iters|gpus?|workers?|flash|attn|model|params?|prompt|window|config|args|flags?|spec|"
    r"settings|hyperparameters|quant|offload|tokens|rate_limit|size)(_|$)"
)
SETTINGS = word_set("config params settings args flags hyperparameters options")
# A longer header is text that lost its line ends.
_LONGEST_NAME = 200
HEADER_WORDS = frozenset((*_ID, *_CODE, *STATUS, *TEXT, *_TIME)) - {"n", "v", "step", "what", "name", "number"}


def key_of(name: str) -> str:
    """A header cell as a word: `Key Finding` gives key_finding, `#` stays."""
    name = bare(name)
    return "#" if name in ("#", "№") else re.sub(r"[^a-z0-9µ%Δ]+", "_", name.lower().replace("#", "")).strip("_")


def outcome_in(name: str, cell: str) -> Outcome:
    """Outcome that a cell of a status column states: a status word, or yes and no below `kept`."""
    answer = _YES_NO.get(bare(cell).lower()) if key_of(name) in _DECIDING else None
    if answer is not None:
        return Outcome.KEPT if answer else Outcome.DISCARDED
    return outcome_of(bare(cell))


def share_of_statuses(cells: list[str]) -> float:
    """Which part of the cells that say anything are words of the status vocabulary."""
    said = [c for c in cells if c.strip(" -–—")]
    return sum(is_status(bare(c)) for c in said) / len(said) if said else 0.0


def decides(cells: list[str]) -> bool:
    """Whether cells tell kept from discarded, or crashed from measured."""
    words = {outcome_of(bare(c)) for c in cells}
    return (
        bool(words & {Outcome.KEPT, Outcome.DISCARDED})
        or Outcome.CRASHED in words
        and any(status_words(c) == "ok" for c in cells)
    )


def _is_yes_no(name: str, cells: list[str]) -> bool:
    said = [c for c in cells if c.strip(" -–—")]
    return key_of(name) in _DECIDING and bool(said) and all(bare(c).lower() in _YES_NO for c in said)


def _few_words(cells: list[str]) -> bool:
    """Whether cells without a header are a few words said over and over, as statuses are."""
    said = {bare(c) for c in cells if c.strip(" -–—")}
    return len(said) <= 8 and all(re.fullmatch(r"[A-Za-z][A-Za-z_ -]{1,24}", c) for c in said)


def status_columns(names: list[str], cells: list[list[str]]) -> list[int]:
    """Columns that hold statuses, the one that tells kept from discarded first."""
    found: list[tuple[float, int]] = []
    for i, column in enumerate(cells):
        key, share = key_of(names[i]), share_of_statuses(column)
        if _is_yes_no(names[i], column):
            found.append((4.5, -i))
            continue
        kept = {outcome_of(bare(c)) for c in column} & {Outcome.KEPT, Outcome.DISCARDED}
        if key in ("status", "verdict", "decision") and share > 0:
            found.append((3 + share + 2 * bool(kept), -i))
        elif (share >= 0.6 or share >= 0.4 and _few_words(column)) and decides(column):
            found.append((2 + share if key in STATUS else 1 + share, -i))
        elif key in STATUS and share >= 0.6:
            found.append((share, -i))
        elif key in ("status", "verdict", "decision") and not any(quantity_of(c) for c in column):
            # Without one known word it is believed only where no other column decides.
            found.append((0.5, -i))
    return [-i for _, i in sorted(found, reverse=True)]


# `45.2 ms (+3.1%)`, `-115 [-187, -44]`: the figure, then a remark or an interval. A remark that takes the figure back is none.
_OPENED = {")": "(", "]": "["}
_TAKEN_BACK = re.compile(
    r"estimat|approx|theor|extrapol|project|expected|target|goal|broken|invalid|wrong|garbage|bogus|~", re.IGNORECASE
)


def quantity_of(cell: str) -> Quantity | None:
    """The quantity of a cell, a remark in brackets after it left out; None where it states no plain number."""
    text = bare(cell)
    opened = _OPENED.get(text[-1:], "")
    figure, _, said = text[:-1].rpartition(opened) if opened else ("", "", "")
    if not figure or text[-1] in said or opened == "(" and _TAKEN_BACK.search(said):
        return to_quantity(text)
    return to_quantity(figure)


def role_of(name: str, cells: list[str], *, headed: bool) -> Role:
    """Role of a column by its name and by its cells; by its cells alone where the table has no header."""
    key = key_of(name)
    said = [c for c in cells if c.strip(" -–—")]
    numeric = sum(quantity_of(c) is not None for c in said)
    mostly = bool(said) and 2 * numeric >= len(said)
    if key == "rank" or key == "place":
        return Role.RANK
    if (key in _TIME and not said) or ((key in _TIME or _TIMED.search(key)) and any(moment(c) for c in said)):
        return Role.TIME
    if key == "experiment" and not mostly:
        return Role.TEXT
    if key in _ID:
        return Role.ID
    if key in _CODE:
        return Role.CODE
    if key in CHECKS and not mostly or direction_of(name) and said and all(c.lower() in _BOOLEAN for c in said):
        return Role.CHECK
    if _DELTA.search(key) or _DELTA.search(name):
        return Role.DELTA if direction_of(name) is None or not _is_speedup(name) else Role.METRIC
    if not headed:
        return _role_of_cells(said, mostly=mostly)
    if direction_of(name) or key in _AIM or not said and _FOREMOST.match(key):
        return Role.METRIC
    if {key, _WHOSE.sub("", key)} & {*TEXT, *REASON}:
        return Role.TEXT
    if SETTING.search(key) or key in SETTINGS or re.fullmatch(r"[A-Z]{1,2}", bare(name)):
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
        counted = [int(c) for c in said if c.isdecimal() and len(c) < 16]
        consecutive = len(counted) == len(said) > 2 and sum(b - a == 1 for a, b in pairwise(counted)) * 2 > len(said)
        return Role.ID if consecutive else Role.METRIC
    return Role.NOTE


def first_named(names: list[str], roles: list[Role], wanted: tuple[str, ...], allowed: tuple[Role, ...], but: int = -1) -> int:
    """The column, other than `but`, with the first of the names that one with an allowed role has; -1 where none has any."""
    keys = [_WHOSE.sub("", key_of(n)) for n in names]
    return next((keys.index(w) for w in wanted if w in keys and keys.index(w) != but and roles[keys.index(w)] in allowed), -1)


def first_worded(cells: list[list[str]], roles: list[Role]) -> int:
    """The first column that holds several words a cell, whatever it is called; -1 where none does."""
    for i, column in enumerate(cells):
        if roles[i] in (Role.NOTE, Role.TEXT, Role.LEVER) and 2 * sum(len(c.split()) > 1 for c in column) > len(column):
            return i
    return next((i for i, role in enumerate(roles) if role is Role.NOTE and share_of_statuses(cells[i]) < 0.5), -1)


def longest(cells: list[list[str]], roles: list[Role]) -> int:
    """The column of words that says most; -1 where none has any."""
    lengths = [(sum(map(len, column)), i) for i, column in enumerate(cells) if roles[i] in (Role.NOTE, Role.TEXT)]
    return max(lengths)[1] if lengths else -1


def primary_of(names: list[str], roles: list[Role], cells: list[list[str]], *, headed: bool, ask: Ask) -> int:
    """The column that runs are judged by; -1 where that is not said (no header, or no numbers)."""
    if ask.metric:
        return next((i for i, n in enumerate(names) if ask.metric in (n, key_of(n))), -1)
    metrics = [i for i, r in enumerate(roles) if r is Role.METRIC]
    if not headed or not metrics:
        return -1
    keys = {key_of(n) for n in names}
    after = [i for i in metrics if _before(names[i]) in keys]
    aims = after or [i for i in metrics if _FOREMOST.match(key_of(names[i]))] or [i for i in metrics if key_of(names[i]) in _AIM]
    own = [i for i in metrics if not is_resource(names[i]) and not _BESIDE.search(key_of(names[i]))]
    # A speedup explains a time, unless it is the first figure of all.
    known = own[:1] if own and _is_speedup(names[own[0]]) else rivals_of(names, own)
    # `score` beside `latency`: the aim is what the loop called so; without one, the first quantity that names a side.
    plain = [i for i in own if any(quantity_of(c) for c in cells[i])]
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


def _before(name: str) -> str | None:
    """The column that goes with `latency_after`: latency_before; None for any other name."""
    key = key_of(name)
    return re.sub("after", "before", key) if re.search(r"^after_|_after$", key) else None


def named_by(names: list[str], cells: list[list[str]], primary: int) -> str:
    """Name of the metric where one column names it on every row and another (`primary`) holds its value; empty where none does."""
    if primary < 0 or key_of(names[primary]) not in ("metric_value", "value", "primary_value"):
        return ""
    for name, column in zip(names, cells, strict=True):
        said = {c for c in column if c.strip(" -–—") and c.lower() not in ("n/a", "na", "none")}
        if key_of(name) in NAMING and len(said) == 1:
            return said.pop() if not any(quantity_of(c) for c in said) else ""
    return ""


def rivals_of(names: list[str], metrics: list[int]) -> list[int]:
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


def unit_of(name: str) -> str:
    """The unit that a header states: in brackets, as a rate, or as its last word; empty where it states none."""
    name = name[-_LONGEST_NAME:]
    bracket = re.search(r"[(\[]([^)\]]{1,12})[)\]]\s*$", name)
    if bracket:
        return bracket[1].strip()
    rate = re.fullmatch(r"\s*(\w+/\w+)\s*", re.sub(r"^.*?([A-Za-z]+)_per_([A-Za-z]+)$", r"\1/\2", bare(name)))
    suffix = re.search(r"_(ms|us|µs|ns|s|sec|gb|mb|kb|gib|mib|percent|pct|tflops|gflops)$", name.lower())
    return rate[1] if rate else suffix[1] if suffix else ""
