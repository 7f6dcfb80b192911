"""Columns of any results table: what each is for, by its header and by what its cells hold. Refuses to look at which side values move to."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Literal

from kb import languages
from kb.formats.outline import CLAUSES
from kb.formats.reading import Ask, moment, quantity_of
from kb.run.direction import direction_from, direction_of, is_resource, word_set, words_of
from kb.run.quantity import bare, to_quantity
from kb.run.record import Outcome
from kb.run.status import SIGNS, is_status, outcome_of, status_words
from kb.schema import FIELD_NAMES

# What a column is for.
ColumnRole = Literal[
    "id", "rank", "label", "code", "status", "text", "reason", "time", "delta", "metric", "lever", "check", "note",
    "hypothesis", "mechanism", "signal", "next", "parent", "models", "tokens",
]  # fmt: skip

_RANK = word_set("rank place position pos")
_ID = word_set(
    "# no nr num number id idx index n exp exp_id expid experiment_id exp_no experiment_num run run_id "
    "run_no iteration iter trial trial_id trial_number round cycle step attempt v ver version experiment job_id"
)
_CODE = word_set(
    "commit commit_hash commit_sha commit_id git_commit experiment_commit sha git_sha hash rev revision "
    "git branch ref"
)
_TIME = word_set(
    "date datetime timestamp time created created_at started started_at finished when ts utc"
)
DAYS = word_set("date datetime timestamp utc")
STATUS = word_set("status verdict decision")
# Names under which statuses stand as often as other things: believed by their cells.
_STATUS_TOO = word_set("outcome state result disposition action kind kept keep keep_discard ok")
CHECKS = word_set(
    "correct correctness check checks tests test parity valid is_valid passed tests_passed "
    "checks_passed verified ok guard typecheck lint"
)
_PASSED = word_set(f"ok pass passed true yes y 1 ✓ ✅ {languages.ANSWERS['yes']}")
_FAILED = word_set(f"fail failed false no n 0 wrong ✗ ❌ {languages.ANSWERS['no']}")
TEXT = tuple(
    "description desc change_description change changes change_summary experiment hypothesis idea what "
    "what_changed mutation mutations modification modifications approach strategy summary title details "
    "experiment_name method name label notes note comment comments tag".split()
)
REASON = tuple(
    "key_finding finding findings failure_reason rollback_reason insight insights takeaway notes note "
    "reason why lesson lessons learned learnings conclusion observation observations analysis comment "
    "comments remark remarks error detail why_it_failed".split()
)
# `experiment_desc` and `run_notes` say whose words they are; what they are is said by the last word.
_WHOSE = word_set("experiment exp run trial iteration iter candidate short brief main key")
DELTAS = word_set("delta vs improvement improved gain gains speedup_vs diff δ")
# Figures that are never what a run is judged by: the state before it, and what it cost to try.
BESIDE = word_set(
    "baseline base ref reference before parent prev previous old cost usd price budget cumulative wall "
    "elapsed launch startup setup queue estimated expected std stddev stderr exit returncode priority"
)
_AIM = (
    "score metric metric_after after objective fitness value combined_score combined composite result "
    "metric_value primary_metric"
).split()
_FOREMOST = word_set("primary overall total final composite aggregate")
_HELD_OUT = word_set("val valid validation test eval dev")
# Columns that name the metric whose value another column holds.
NAMING = word_set("primary_metric metric_name metric metric_key")
# Words of a field that says which way is better.
_WAYS = word_set("direction mode goal better optimize optimise objective sense")
_SETS = word_set("n num nr kv max min use enable")
_SETTING = word_set(
    "batch ubatch bs lr seed thread threads ctx layer layers head heads dim depth width warp warps stage "
    "stages block tile unroll dtype type warmup decay beta beta1 beta2 dropout momentum epoch epochs "
    "steps iters gpu gpus worker workers flash attn model param params prompt window config args flag "
    "flags spec settings hyperparameters quant offload tokens rate_limit size priority"
)
SETTINGS = word_set(
    "config cfg params parameters settings args flags hyperparameters hyperparams hparams options levers "
    "env_overrides extra_env overrides exact_change"
)
DECIDED = frozenset({Outcome.KEPT, Outcome.DISCARDED})
# States of a process that came to its end.
_ENDED = word_set("ok finished completed complete succeeded")
_SWITCHES = word_set("true false on off")
# What stands where there is no value.
ABSENT = word_set("n/a na none null inf")


@lru_cache(4096)
def key_of(name: str) -> str:
    """A header cell as a word: `Key Finding` gives key_finding, `tags.decision` decision, `Besluit` verdict, `#` stays."""
    name = bare(name)
    name = name.removeprefix("metrics.").removeprefix("tags.")
    if name in ("#", "№"):
        return "#"
    key = re.sub(r"[^\w%Δ]+", "_", name.lower().replace("#", "")).strip("_")
    return FIELD_NAMES.get(key, key).replace(" ", "_")


def key_words(name: str) -> frozenset[str]:
    """The words of a header."""
    return frozenset(key_of(name).split("_"))


@dataclass(frozen=True, eq=False)
class LogColumn:
    """One column: its name and the cells of a sample of rows; `headed` where the log itself names it."""

    name: str
    cells: Sequence[str]
    headed: bool = True

    @property
    def key(self) -> str:
        return key_of(self.name)

    @cached_property
    def signed(self) -> bool:
        """Whether it tells verdicts by signs: `+` what was kept, `-` what was not."""
        return self.key in STATUS | _STATUS_TOO and {"+", "-"} <= {c.strip() for c in self.cells}

    @cached_property
    def filled(self) -> list[str]:
        """The cells that say anything."""
        blank = " " if self.signed else " -–—"
        return [bare(c) for c in self.cells if c.strip(blank)]

    @cached_property
    def numeric(self) -> bool:
        """Whether at least half of what it says are quantities."""
        return self.share(quantity_of) >= 0.5

    def measures(self, *, aside: bool) -> bool:
        """Whether it holds what runs came to; `aside`: nothing says when or as which run, so that a price or a size may be one of things."""
        known, most = bool(direction_of(self.name)), 3 * len(self.filled) >= len(self.cells)
        digits = known and not aside and all(any(map(str.isdigit, x)) for x in self.filled)
        thing = BESIDE & key_words(self.name) or is_resource(self.name)
        own = known and not thing or is_aim(self.key) and self.key != "value"
        figures = (self.numeric or digits) and not {*self.filled} <= {"0", "0.0"}
        return figures and (own or most and not aside)

    def share(self, test: Callable[[str], object]) -> float:
        """Which part of the cells that say anything pass a test."""
        return sum(bool(test(c)) for c in self.filled) / len(self.filled) if self.filled else 0.0

    @cached_property
    def status_share(self) -> float:
        """Which part of the cells that say anything are words of the status vocabulary."""
        asks, called = asks_for(self.name), self.key in STATUS
        # `kept opt-in; recovers half of it`: what follows explains.
        return self.share(
            lambda c: (
                is_status(CLAUSES.split(c, maxsplit=1)[0] if called else c)
                or self.signed
                or c == "loss"
                or asks
                and answer_of(c)
            )
        )

    @cached_property
    def ends(self) -> bool:
        """Whether its cells say how a process ended (`FINISHED`, `KILLED`), not what was decided."""
        words = {status_words(c) for c in self.filled}
        return bool(words & _ENDED) and not DECIDED & {*map(outcome_of, words - {"killed"})}

    @cached_property
    def outcomes(self) -> set[Outcome]:
        """What its cells tell; a process that was killed was not discarded."""
        outcomes = {outcome_in(self.name, c) for c in self.filled}
        return outcomes - {Outcome.DISCARDED} if self.ends else outcomes

    @property
    def decides(self) -> bool:
        """Whether its cells tell kept from discarded, or crashed from measured."""
        ran = any(status_words(c) in _ENDED for c in self.filled)
        return bool(self.outcomes & DECIDED) or ran and Outcome.CRASHED in self.outcomes


def status_weight(column: LogColumn) -> float:
    """How likely a column holds the statuses; 0 where it does not."""
    key, share = column.key, column.status_share
    if asks_for(column.name) and 2 * column.share(answer_of) > 1:
        # Where most rows answer it goes before a status that only says how a process ended.
        return 4.5 if 2 * len(column.filled) > len(column.cells) else 2.5
    if key in STATUS and share > 0:
        return 3 + share + 2 * bool(column.outcomes & DECIDED)
    if (
        column.headed
        and key not in _STATUS_TOO
        and not any(map(str.isalnum, "".join(column.filled)))
    ):
        return 0.0  # Marks alone may say what anything can do.
    # A few words said over and over, of which not all are known.
    few = len({*column.filled}) <= 8 and not any(quantity_of(w) for w in column.filled)
    if share >= (0.4 if few else 0.6) and column.decides:
        return share + (2 if key in _STATUS_TOO else 1)
    if key in _STATUS_TOO and share >= 0.6:
        return share
    # Without one known word it is believed only where no other column decides.
    return 0.5 if key in STATUS and not any(map(quantity_of, column.cells)) else 0.0


def outcome_in(name: str, cell: str) -> Outcome:
    """Outcome that a cell of a status column states: a status word, or yes and no below `kept`."""
    cell = bare(cell)
    key = key_of(name)
    if (answer := answer_of(cell)) and asks_for(name):
        return Outcome.KEPT if answer in _PASSED else Outcome.DISCARDED
    if key in STATUS | _STATUS_TOO and cell in SIGNS:
        return SIGNS[cell]
    return Outcome.DISCARDED if cell.lower() == "loss" else outcome_of(cell)


@lru_cache(4096)
def asks_for(name: str) -> bool:
    """Whether a header asks if a run was kept, so that yes and no answer it: `kept?`, `is_merged`, `是否保留`, `übernommen`."""
    words = key_words(bare(name).removeprefix("是否"))
    return "improved" in words or any(outcome_of(w) is Outcome.KEPT for w in words)


def answer_of(cell: str) -> str:
    """The yes or no that a cell begins with, as in `no: cache misses`; empty where it answers nothing."""
    plain = cell.lower().replace("，", " ").replace("（", " ")
    word = "".join(plain.split()[:1]).rstrip(":,;.。；：")
    return word if word in _PASSED | _FAILED else ""


def check_outcome(cell: str) -> str:
    """passed, failed, or the cell as written."""
    word = status_words(bare(cell).partition(" ")[0])
    return "passed" if word in _PASSED else "failed" if word in _FAILED else cell


def is_setting(name: str) -> bool:
    """Whether a name is one of what a change sets rather than measures."""
    key = key_of(name.partition(" (")[0])
    words = key.split("_")
    set_of = words[0] in _SETS and len(words) > 1
    letter = len(bare(name)) < 3 and bare(name).isalpha() and bare(name).isupper()
    return set_of or letter or bool(_SETTING.intersection(words)) or key in SETTINGS


def role_of(column: LogColumn) -> ColumnRole:
    """Role of a column by its name and its cells; by its cells alone where the table has no header."""
    key, filled, numeric = column.key, column.filled, column.numeric
    if key.startswith("params_"):
        return "lever"
    if marking := _marking_role(column):
        return marking
    answers = bool(filled) and all(c.lower() in _PASSED | _FAILED for c in filled)
    known = bool(direction_of(column.name))
    if key in CHECKS and (answers or not numeric) or answers and known and not numeric:
        return "check"
    if DELTAS & key_words(column.name) or "Δ" in column.name:
        return "metric" if known and "speedup" in words_of(column.name) else "delta"
    if not column.headed:
        return _role_of_cells(column)
    if _is_measured(column):
        return "metric"
    if is_setting(column.name) and not _grows(column):
        return "lever"
    if numeric:
        return _role_of_cells(column)
    switched = bool(filled) and all(c.lower() in _SWITCHES for c in filled)
    return "lever" if switched else "note"


def _grows(column: LogColumn) -> bool:
    """Whether it counts what came out: `max_verified`, another number on every row, is set by nobody."""
    named = _SETTING & key_words(column.name) or column.key in SETTINGS
    return not named and column.numeric and len({*column.filled}) == len(column.filled) > 2


def _is_measured(column: LogColumn) -> bool:
    """Whether it is named as what is measured, and holds a figure where it holds anything."""
    if direction_of(column.name) and column.key not in REASON:
        return not column.filled or any(map(quantity_of, column.filled))
    return is_aim(column.key) and (column.numeric or not column.filled)


def _grow_as_hours(column: LogColumn) -> bool:
    """Whether it holds hours of one day, which go up (09:40, 12:38); durations go up and down."""
    pairs = (c.partition(":")[::2] for c in column.filled)
    hours = [h.zfill(2) + m for h, m in pairs if len(h) < 3 and len(m) == 2 and (h + m).isdecimal()]
    return len(column.filled) == len({*hours}) > 2 and hours == sorted(hours)


def _marking_role(column: LogColumn) -> ColumnRole | None:
    """Role of a column that marks a run: its rank, time, number or code; None where it does not."""
    key, words = column.key, key_words(column.name)
    moments = [*map(moment, column.filled)]
    clock, day = (words & {"time", "at", "start", "end", "ts"}, key in _TIME or words & DAYS)
    if key in _RANK:
        return "rank"
    undated = key in _TIME and not moments or key in DAYS
    # `3 Feb` is a day, not three of anything.
    counted = column.numeric and (words & DAYS or key == "day") and not direction_of(column.name)
    daily = clock and _grow_as_hours(column)
    if any(moments) and (day or clock and all(moments)) or undated or counted or daily:
        return "time"
    if key in _ID and (key != "experiment" or column.numeric):
        return "id"
    return "code" if key in _CODE else None


def own_word(key: str) -> str:
    """`experiment_desc` without the word that says whose it is."""
    whose, _, rest = key.partition("_")
    return rest if whose in _WHOSE and rest in (*TEXT, *REASON) else key


def is_aim(key: str) -> bool:
    """Whether a column is named as what runs are judged by: `score`, `overall_score`."""
    first, _, last = key.partition("_")
    return key in _AIM or first in _FOREMOST | _HELD_OUT and last in _AIM


def _role_of_cells(column: LogColumn) -> ColumnRole:
    filled = column.filled
    digits = [c for c in filled if c.isascii() and c.isdigit()]
    hashes = [c for c in filled if re.fullmatch(r"[0-9a-f]{7,40}|HEAD", c)]
    if filled and len(hashes) * 2 > len(filled) and len(digits) < len(filled):
        return "code"
    if any(map(moment, filled)) and not column.numeric:
        return "time"
    if column.numeric:
        counted = [int(c) for c in digits if len(c) < 16]
        steps = sum(b - a == 1 for a, b in pairwise(counted))
        consecutive = len(counted) == len(filled) > 2 and steps * 2 > len(filled)
        return "id" if consecutive else "metric"
    return "note"


def is_held_out(name: str) -> bool:
    """Whether a figure was measured on data held out from training."""
    return key_of(name).partition("_")[0] in _HELD_OUT


def ask_in(fields: Mapping[str, str], names: Sequence[str] = ()) -> Ask:
    """What fields beside runs say of them: which way is better, and the figure that they name, most surely one of the `names` of the runs' own."""
    ways = [direction_from(v) for n, v in fields.items() if _WAYS & key_words(n)]
    named = [v for n, v in fields.items() if v in names and n not in names]
    named += [v for n in ("metric", "primary_metric", "metric_name") if (v := fields.get(n))]
    return Ask(next(filter(None, ways), None), next(iter(named), ""))


def unit_of(name: str) -> str:
    """The unit that a header states: in brackets, as a rate, or as its last word; empty where it states none."""
    name = name[-200:]
    bracket = re.search(r"[(\[]([^)\]]{1,12})[)\]]\s*$", name)
    if bracket:
        return bracket[1].strip()
    above, _, below = key_of(name).rpartition("_per_")
    if above:
        return f"{above.rpartition('_')[2]}/{below}"
    if re.fullmatch(r"\s*\w+/(?:s|sec|min|h|hour)\s*", name):
        return name.strip()
    last = key_of(name).rpartition("_")[2]
    return last if last in _UNITS and last != key_of(name) else ""


_UNITS = word_set("ms us µs ns s sec gb mb kb gib mib percent pct tflops gflops")
HEADER_WORDS = (_ID | _CODE | _TIME | STATUS | _STATUS_TOO | {*TEXT}) - word_set(
    "n v step what name number"
)


def looks_like_header(cells: Sequence[str]) -> bool:
    """Whether a row names columns: distinct words, no number, no status word, and a word that tables of runs use."""
    keys = [key_of(c) for c in cells]
    named = [k for k in keys if k]
    few = len(cells) < 2 or len({*named}) < len(named) or len(named) < len(cells) - 1
    if few or any(c[:1].isdigit() or len(c) > 60 or to_quantity(c) for c in cells):
        return False
    plain = [c for c in cells if not is_status(c)]
    known = sum(key_of(c) in HEADER_WORDS or bool(direction_of(c)) or is_setting(c) for c in plain)
    # A column may be called `kept` or `error`; a row that says "keep" has no other word of a header.
    worded = plain == [*cells] and all(
        ch.isalnum() or ch in " .#/%()-_µ`*" for c in cells for ch in c
    )
    return known >= 2 or known == 1 and worded
