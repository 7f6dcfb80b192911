"""Audits whether the mechanism fired: digests of what was built, patterns in what was left behind, predicted against measured cost buckets.

Refuses to call a gain the mechanism's doing without a line of evidence, and says where each line stands.
"""

import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import msgspec

from kb import KbError, profiles, store
from kb.experiments.attempt import SAMPLES, Attempt
from kb.experiments.plan import Side
from kb.experiments.stub import Stub
from kb.profiles import Profile
from kb.run.direction import words_of
from kb.run.interval import ERROR, gain_interval
from kb.run.quantity import number_text

# A share that moves less than this (of the whole, 0.01 is one percent point) has not moved.
_MOVED = 0.005
_SHOWN_LINE = 160
_PATCH = "change.patch"
_EVIDENCE_LINES = 3
_DIRECTIONS = {
    "down": "down halves halved fewer falls fall drops drop decreases decrease shrinks shrink less lower smaller disappears vanishes gone reduced ↓ -",
    "up": "up doubles doubled rises rise grows grow increases increase more higher larger ↑ +",
}
_WORDS = {word: direction for direction, words in _DIRECTIONS.items() for word in words.split()}


@dataclass(frozen=True, slots=True)
class Expectation:
    """What shows that the mechanism fired. Patterns are regular expressions; `moves` are (bucket, down | up, least relative move or 0)."""

    expect: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    moves: tuple[tuple[str, str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked for. `held`: True, False, or None where nothing could be seen. `text` says what and where.

    `telling`: it stands in what was built or run, and not in the parent's; a line of the patch shows only what was written.
    """

    held: bool | None
    text: str
    telling: bool = True


@dataclass(frozen=True, slots=True)
class Audit:
    """`firing` is empty where there was nothing to go by."""

    firing: str
    findings: tuple[Finding, ...]


def move_of(text: str) -> tuple[str, str, float]:
    """`copy down`, `matmul -10%`, `attention up 5 %` as (bucket, direction, least relative move). Raises KbError for anything else."""
    match = re.fullmatch(
        r"\s*(.+?)[\s=:]+(?:([a-z]+|[↓↑])\s*)?(?:by\s+)?(?:([+\-−]?)(\d+(?:\.\d+)?)\s*%)?\s*",
        text,
        re.IGNORECASE,
    )
    word = (match[2] or match[3] or "").lower().replace("−", "-") if match else ""
    if not match or word not in _WORDS:
        raise KbError(
            f"predicted move '{text}' must name a bucket and a direction, such as 'copy down' or 'matmul -10%'"
        )
    return match[1].strip().lower(), _WORDS[word], float(match[4]) / 100 if match[4] else 0.0


def pattern_of(text: str) -> re.Pattern[bytes]:
    """A regular expression over bytes. Raises KbError where it is none."""
    try:
        return re.compile(text.encode("utf-8"), re.MULTILINE)
    except re.error as error:
        raise KbError(
            f"pattern '{text}' is no regular expression: {error}; escape its special characters with a backslash"
        ) from error


def expectation_of(stub: Stub, attempt: Attempt, *, more: Expectation | None = None) -> Expectation:
    """What a page expects: its `expect`, `forbid` and `predict`, and metrics that its predicted signal says will move; `more` was asked beside."""
    more = more or Expectation()
    signal = moves_in(stub.facts.predicted_signal, attempt.metrics)
    return Expectation(
        (*stub.page.words("expect"), *more.expect),
        (*stub.page.words("forbid"), *more.forbid),
        tuple(dict.fromkeys((*map(move_of, stub.page.words("predict")), *signal, *more.moves))),
    )


def expectation_from(
    expect: Iterable[str], forbid: Iterable[str], predict: Iterable[str]
) -> Expectation:
    """An expectation as options say it. Raises KbError for a pattern or a move that is none."""
    expect, forbid = tuple(expect), tuple(forbid)
    for text in (*expect, *forbid):
        pattern_of(text)
    return Expectation(expect, forbid, tuple(map(move_of, predict)))


def moves_in(text: str, names: tuple[str, ...]) -> tuple[tuple[str, str, float], ...]:
    """Moves of known metrics that a text predicts: a clause that names one and says which way."""
    moves = []
    for clause in re.split(r"[.;,\n]|\band\b", text.lower()):
        words = re.findall(r"[^\W_]+|[↓↑]", clause)
        way = next((_WORDS[w] for w in words if w in _WORDS), "")
        moves += [(n.lower(), way, 0.0) for n in names if way and _is_named(n, words)]
    return tuple(dict.fromkeys(moves))


def _is_named(metric: str, words: list[str]) -> bool:
    """Whether a clause speaks of a metric: by all words of its name, or all but its unit (`time` for `time_ms`)."""
    named = words_of(metric)
    return all(w in words for w in (named[:-1] if len(named) > 1 and len(named[-1]) < 3 else named))


def audit(attempt: Attempt, expectation: Expectation) -> Audit:
    """What a finished attempt shows of its mechanism."""
    if attempt.measurement is None:
        raise KbError(
            f"{attempt.folder}: the attempt is not finished; `kb experiment run` goes on with it"
        )
    unchanged, built = _built(attempt)
    if unchanged:
        return Audit("no-op", (built,) if built else ())
    findings = [built] if built else []
    findings += [_searched(attempt, text, wanted=True) for text in expectation.expect]
    findings += [_searched(attempt, text, wanted=False) for text in expectation.forbid]
    findings += [_moved(attempt, move) for move in expectation.moves]
    asked = [f for f in findings if f is not built and f.held is not None]
    # That something else was built shows a change, not its mechanism: by itself it is half of the way.
    if not asked:
        firing = "partial" if built else ""
    elif not any(f.held for f in asked):
        firing = "none"
    else:
        firing = (
            "confirmed"
            if all(f.held for f in asked) and any(f.telling for f in asked)
            else "partial"
        )
    return Audit(firing, tuple(findings))


def is_asked(expectation: Expectation) -> bool:
    """Whether an audit has anything to look for."""
    return bool(expectation.expect or expectation.forbid or expectation.moves)


def _built(attempt: Attempt) -> tuple[bool, Finding | None]:
    """Whether what was built is the parent's although the change is not empty, with the evidence; no evidence where nothing was kept."""
    kept = attempt.measurement.kept if attempt.measurement else ()
    digests: dict[Side, dict[str, str]] = {
        side: {k.path: k.digest for k in kept if k.role == "artifact" and k.side == side}
        for side in ("parent", "change")
    }
    before, after = digests["parent"], digests["change"]
    if not before or not after or not (attempt.plan.changed or attempt.plan.elsewhere):
        return False, None
    if before == after and attempt.plan.set:
        return (
            False,
            None,
        )  # Variables act when it runs; the same build is no sign that they did not.
    if before == after:
        shown = ", ".join(f"{path} {digest}" for path, digest in sorted(after.items())[:3])
        return True, Finding(
            False,
            f"built files are the parent's byte for byte ({shown}), though {_changes(attempt)}",
        )
    path = next(p for p in sorted(before.keys() | after.keys()) if before.get(p) != after.get(p))
    return False, Finding(
        True,
        f"built file {path} differs: {before.get(path, 'absent')} in the parent, {after.get(path, 'absent')} in the change",
    )


def _changes(attempt: Attempt) -> str:
    count = len(attempt.plan.changed)
    return (
        f"{count} source file{'s differ' if count > 1 else ' differs'}"
        if count
        else "something was changed"
    )


def _searched(attempt: Attempt, text: str, *, wanted: bool) -> Finding:
    """Look for a pattern in what the change left: dumps and built files, outputs, then the patch."""
    pattern = pattern_of(text)
    hits = [
        f"{name}:{line}: {shown}"
        for name, data in _material(attempt, "change")
        for line, shown in _hits(pattern, data)
    ][:_EVIDENCE_LINES]
    before = any(pattern.search(data) for _, data in _material(attempt, "parent"))
    if wanted:
        if not hits:
            return Finding(False, f"expected `{text}` not found in any dump, output or patch")
        written = all(hit.startswith(_PATCH) for hit in hits)
        also = (
            "; the parent has it too"
            if before
            else "; written there, not seen to run"
            if written
            else ""
        )
        return Finding(
            True, f"expected `{text}` found at {'; '.join(hits)}{also}", not before and not written
        )
    if hits:
        also = "; the parent has it too: does it stand in what the change does not touch?"
        return Finding(
            False, f"forbidden `{text}` found at {'; '.join(hits)}{also if before else ''}"
        )
    return Finding(
        True, f"forbidden `{text}` is absent{', though the parent has it' if before else ''}"
    )


def _material(attempt: Attempt, side: Side) -> Iterator[tuple[str, bytes]]:
    for item in attempt.measurement.kept if attempt.measurement else ():
        place = attempt.copy_of(item) if item.side == side else None
        if place:
            yield item.copy, place.read_bytes()
    for number, sample in enumerate(attempt.samples, 1):
        if sample.side == side:
            yield sample.file or f"{SAMPLES}:{number}", attempt.output_of(sample)
    patch = attempt.folder / _PATCH
    if side == "change" and patch.is_file():
        # Only what the change adds is the change's; lines taken away are the parent's.
        lines = patch.read_bytes().split(b"\n")
        yield (
            _PATCH,
            b"\n".join(b"" if line.startswith((b"-", b"@@", b" ")) else line for line in lines),
        )


def _hits(pattern: re.Pattern[bytes], data: bytes) -> Iterator[tuple[int, str]]:
    for count, match in enumerate(pattern.finditer(data)):
        if count == _EVIDENCE_LINES:
            return
        start, end = data.rfind(b"\n", 0, match.start()) + 1, data.find(b"\n", match.end())
        shown = data[max(start, match.start() - 40) : end if end >= 0 else len(data)][
            :_SHOWN_LINE
        ].decode("utf-8", "replace")
        yield (
            data.count(b"\n", 0, match.start()) + 1,
            "`"
            + " ".join(
                "".join(c if c.isprintable() else " " for c in shown).replace("`", "'").split()
            )
            + "`",
        )


def profile_of(attempt: Attempt, side: Side) -> Profile | None:
    """Bucket table of a side: of a file named like a profile that was left in KB_OUT, else of what the profile command printed; None where neither reads."""
    kept = attempt.measurement.kept if attempt.measurement else ()
    files = [
        place
        for k in kept
        if k.role == "profile" and k.side == side and (place := attempt.copy_of(k))
    ]
    for file in files:
        if found := _read_profile(file):
            return found
    for sample in attempt.of("profile", side):
        if not sample.problem and sample.output_bytes:
            with tempfile.TemporaryDirectory(prefix="kb-profile-") as folder:
                beside = Path(folder) / (sample.file or "profile.txt")
                beside.write_bytes(attempt.output_of(sample))
                return _read_profile(beside)
    return None


def profile_files(attempt: Attempt, side: Side) -> tuple[str, ...]:
    """Names of what may hold a profile of a side: files named so, then what the profile command printed."""
    kept = attempt.measurement.kept if attempt.measurement else ()
    files = [k.copy or k.path for k in kept if k.role == "profile" and k.side == side]
    return (
        *files,
        *(
            s.file or "the profile command's output"
            for s in attempt.of("profile", side)
            if not s.problem and s.output_bytes
        ),
    )


def _read_profile(file: Path) -> Profile | None:
    try:
        return profiles.read(file)
    except KbError:
        return None  # A profile in words or pictures is evidence for a reader, and no table.


def _moved(attempt: Attempt, move: tuple[str, str, float]) -> Finding:
    name, direction, least = move
    said = f"predicted {name} {direction}{f' by {100 * least:g} %' if least else ''}"
    metric = next((m for m in attempt.metrics if m.lower() == name), "")
    if metric:
        return _metric_moved(attempt, metric, direction, least, said)
    before, after = profile_of(attempt, "parent"), profile_of(attempt, "change")
    if before is None or after is None:
        return Finding(
            None,
            f"{said}: there is no profile of {'the parent' if before is None else 'the change'} to see it in",
        )
    shares = [
        sum(b.share for b in p.buckets if b.name.lower() == name)
        or sum(op.share for op in p.ops if name in op.name.lower())
        for p in (before, after)
    ]
    # Shares of runs of unequal length do not compare; where both tell a total in the same unit, times do.
    scale = (
        after.total / before.total
        if before.unit == after.unit and before.total and before.steps == after.steps
        else 1.0
    )
    start, end = shares[0], shares[1] * scale
    if not start and not end:
        return Finding(None, f"{said}: neither profile has such a bucket or operation")
    relative = (end - start) / start if start else 1.0
    held = (
        (end - start > _MOVED and relative >= least)
        if direction == "up"
        else (start - end > _MOVED and -relative >= least)
    )
    return Finding(
        held, f"{said}: {100 * start:.1f} % of the parent's time became {100 * end:.1f} %"
    )


def _metric_moved(
    attempt: Attempt, metric: str, direction: str, least: float, said: str
) -> Finding:
    change, parent = attempt.values(metric, "change"), attempt.values(metric, "parent")
    found = gain_interval(change, parent, direction="higher", level=ERROR)
    if found is None:
        return Finding(None, f"{said}: it was not measured three times on both sides")
    held = found.low > least if direction == "up" else found.high < -least
    shown = (
        f"{number_text(median(parent), digits=5)} became {number_text(median(change), digits=5)}"
    )
    return Finding(held, f"{said}: {shown}, {100 * found.low:+.3g} to {100 * found.high:+.3g} %")


@dataclass(frozen=True, slots=True)
class _Filed:
    """An audit as it is kept beside its attempt."""

    audit: Audit
    expectation: Expectation


def file_audit(attempt: Attempt, found: Audit, expectation: Expectation) -> str:
    """Keep an audit beside the attempt and return its file's name; a later audit does not replace it, an equal one is not kept twice."""
    names = sorted(f.name for f in attempt.folder.glob("audit-*.json"))
    data = msgspec.json.format(msgspec.json.encode(_Filed(found, expectation)), indent=1) + b"\n"
    if names and (attempt.folder / names[-1]).read_bytes() == data:
        return names[-1]
    name = f"audit-{len(names) + 1:03d}.json"
    try:
        store.create(attempt.folder / name, data)
    except FileExistsError as error:
        raise KbError(f"{attempt.folder / name}: another kb filed this audit; ask again") from error
    return name


def last_audit(attempt: Attempt) -> tuple[Audit, Expectation] | None:
    """The newest audit of the attempt as it stands, and what it looked for; None where there is none, for one from before repeats
    were added is of another run.

    Raises KbError where what it says is not what the run shows, as far as the files that it was made from are here.
    """
    before = dict(attempt.measurement.files) if attempt.measurement else {}
    files = [f for f in sorted(attempt.folder.glob("audit-*.json")) if f.name not in before]
    if not files:
        return None
    try:
        filed = msgspec.json.decode(files[-1].read_bytes(), type=_Filed)
    except (msgspec.DecodeError, RecursionError) as error:
        raise KbError(f"{files[-1]}: not an audit: {error}; audit again") from error
    kept = attempt.measurement.kept if attempt.measurement else ()
    absent = any(k.large and attempt.copy_of(k) is None for k in kept)
    if not absent and audit(attempt, filed.expectation) != filed.audit:
        raise KbError(f"{files[-1]}: says something else than the run shows; audit again")
    return filed.audit, filed.expectation
