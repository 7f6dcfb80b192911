"""The rows of a run's tables that are tries of their own: a sweep, an ablation, what was tried after a run was kept. Refuses tables whose rows are metrics."""

import re
from collections.abc import Sequence

from kb.run.direction import direction_of, is_resource
from kb.run.noise import gain_of
from kb.schema import FAILED, Verdict, canonical_verdict
from kb.text import cut, numbers_in
from kb.trail.facts import TableTry
from kb.trail.handles import numbers_named
from kb.trail.metric_names import is_measured
from kb.trail.outline import Phrases

# Columns that tell how a try came out, what it changed against a reference, and what was only hoped for.
_OUTCOME = Phrases(
    "result, verdict, outcome, status, decision, note, comment, remark, reason, headline"
)
_REMARK = Phrases("note, comment, remark, reason")
_CHANGE = Phrases("delta, change, vs\\b, gain, diff, δ")
_HOPED = Phrases("expect, predict, conf, effort, score, wanted, goal")
# Rows of these are the stretches and machines of one run.
_PARTS_OF_RUN = Phrases(
    "^stack, ^regime, ^lane, ^shape, ^worker, ^rank, ^host, ^node, ^step, ^iter, ^epoch, ^layer, ^issue, ^image, ^failure, ^symptom, "
    "^op\\b, ^bucket, ^categor"
)
_DID_NOT_RUN = Phrases(
    "oom\\b, out of memory, nan\\b, does(?: not|n.t) (?:fit|compile), compile error, exceed"
)
_REFERENCE = Phrases(
    "baseline, reference, default, current, control, none\\b, before, prior, stock"
)
_SIGNED = re.compile(r"([+\-−–])\s?~?(\d+(?:\.\d+)?)\s?%")
_BARE_CHANGE = re.compile(r"\W*?([+\-−–])\s?~?(\d+(?:[.,]\d+)?)\s?[\w%]{0,5}\W*")
_FAILED_HEADING = Phrases("refuted, rejected, failed, dead, did not, discarded, invalid")
# What gained less is noise where nothing else is said.
_NOISE = 0.002
_LONGEST, _LONGEST_SUBJECT = 260, 110


def attempts_in(rows: Sequence[Sequence[str]], above: Sequence[str]) -> list[TableTry]:
    """Tries that a table tells, a row each; none where its rows are something else."""
    header, body = rows[0], [r for r in rows[1:] if len(r) == len(rows[0])]
    measured = [c for c, head in enumerate(header) if c and is_measured(head)]
    outcomes = [c for c, head in enumerate(header) if c and _OUTCOME.search(head)]
    if not measured + outcomes or not are_tries(header, body):
        return []
    names = min(measured + outcomes)
    lost = any(map(_FAILED_HEADING.search, above[-1:]))
    gains = _gains(header, body, measured)
    texts = (_texts(header, row, names, outcomes) for row in body)
    wins = (_verdict(" ".join(row[names:]), [row[c] for c in outcomes]) for row in body)
    tries = [_try(*t, g, won=w, lost=lost) for t, g, w in zip(texts, gains, wins, strict=True)]
    tries = [t for t, row in zip(tries, body, strict=True) if t and not _is_yardstick(row, body)]
    return tries if len(tries) > 1 or lost else []


def _is_yardstick(row: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether a row beside rows that are named as runs has another name: what they are held against."""
    named = sum(bool(numbers_named(r[0])) for r in body)
    return 2 * named > len(body) and not numbers_named(row[0])


def _try(
    subject: str, text: str, gain: float | None, *, won: bool | None, lost: bool
) -> TableTry | None:
    """The try that a row tells by its gain or by its words; below a heading of failures, lost unless it says that it won."""
    if gain is None and won is None and not lost:
        return None
    if won is None and gain is not None and abs(gain) >= _NOISE:
        won = gain > 0
    if gain is not None and won is (gain > 0) and not _SIGNED.search(text):
        text += f" ({100 * gain:+.1f} %)"
    text = cut(f"{subject}: {text}", _LONGEST)
    return TableTry(cut(subject, _LONGEST_SUBJECT), text, gain, False if lost and not won else won)


def are_tries(header: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether the rows of a table are no stretches of one run, no metrics, and nothing hoped for."""
    apart = _PARTS_OF_RUN.search(header[0]) or any(map(_HOPED.search, header))
    return not (len(body) < 2 or apart or is_measured(header[0])) and (
        2 * sum(is_measured(r[0]) for r in body) < len(body)
    )


def _texts(
    header: Sequence[str], row: Sequence[str], names: int, outcomes: Sequence[int]
) -> tuple[str, str]:
    """What the filled cells of a row name, and what they say of it; with a column's head where the cell alone does not tell."""
    cells = [(i, c) for i, c in enumerate(row) if c.strip(" —-")]
    bare = {i for i, c in cells if 0 < i < names and any(map(str.isalpha, c))}.union(outcomes)
    texts = [(i, c if i in bare else f"{header[i]} {c}") for i, c in cells]
    subjects, words = ([t for i, t in texts if (i < names) is first] for first in (True, False))
    return "; ".join(subjects), "; ".join(words)


def _verdict(text: str, words: Sequence[str]) -> bool | None:
    """Whether a row says that its try was kept or failed; None where it says neither."""
    verdicts = {canonical_verdict(t.partition(";")[0].partition(".")[0]) for t in words}
    lost = _DID_NOT_RUN.search(text) or verdicts & {*FAILED, Verdict.INCONCLUSIVE}
    return False if lost else True if Verdict.SUPPORTED in verdicts else None


def _gains(
    header: Sequence[str], body: Sequence[Sequence[str]], measured: Sequence[int]
) -> list[float | None]:
    """What each row gained: as its column of changes says, else as its cells say, else against the row that the table compares with."""
    if any(stated := changes_in(header, body)):
        return stated
    plain = [c for c in range(1, len(header)) if not _REMARK.search(header[c])]
    stated = [_change(" ".join(row[c] for c in plain)) for row in body]
    if 3 * sum(g is not None for g in stated) >= len(body):
        return stated
    # What a try needed of memory is no gain.
    rated = [c for c in measured if not is_resource(header[c])]
    rated = [c for c in rated if direction_of(header[c]) == "higher"] or rated
    return _against_reference(header[rated[0]], body, rated[0]) if rated else stated


def changes_in(header: Sequence[str], body: Sequence[Sequence[str]]) -> list[float | None]:
    """What each row gained by the last column of signed changes ("Δ", "vs base", or shares or a metric's changes of both signs alone): in shares, or as the
    metric counts; of a metric that is better lower, by its name or by that of the column before, a fall is a gain. None of each where no
    column tells it.
    """
    for c in range(len(header) - 1, 0, -1):
        cells = [_change(row[c]) for row in body]
        known = [g for g in cells if g is not None]
        counts = is_measured(header[c]) or all(
            "%" in row[c] or row[c].strip("*`_ )")[-1:] in ("x", "×") for row in body
        )
        both = (
            counts and len(known) == len(body) and min(known, default=0) < 0 < max(known, default=0)
        )
        if (
            (both or _CHANGE.search(header[c]))
            and not _REMARK.search(header[c])
            and 3 * len(known) >= len(body)
        ):
            named = direction_of(_CHANGE.pattern.sub("", header[c].lower())) or direction_of(
                header[c - 1]
            )
            side = -1 if named == "lower" else 1
            return [g if g is None else side * g for g in cells]
    return [None] * len(body)


def _change(cell: str) -> float | None:
    """The signed change that a text states: a share of it in per cent, else a number that is all it says."""
    match = _SIGNED.search(cell) or _BARE_CHANGE.fullmatch(cell)
    if match is None:
        return None
    size = float(match[2].replace(",", ".")) / (100 if "%" in match[0] else 1)
    return size if match[1] == "+" else -size


def _against_reference(name: str, body: Sequence[Sequence[str]], column: int) -> list[float | None]:
    """Gains by one metric over the row that is called a reference, else over the first."""
    values = [next((n.value for n in numbers_in(r[column])), None) for r in body]
    at = next((i for i, r in enumerate(body) if _REFERENCE.search(" ".join(r))), 0)
    base, direction = values[at], direction_of(name)
    return [
        gain_of(v, base, direction=direction) if v is not None and base and i != at else None
        for i, v in enumerate(values)
    ]
