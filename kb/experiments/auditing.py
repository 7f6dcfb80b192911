"""Audits whether the mechanism fired: digests of what was built, patterns in what was left behind, predicted against measured cost buckets.

Refuses to call a gain the mechanism's doing without a line of evidence, and says where each line stands.
"""

import re
import shlex
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Literal

from kb import KbError, profiles, store
from kb.experiments.attempt import SAMPLES, Attempt
from kb.experiments.command import Walls, run_command, sandbox_problem
from kb.experiments.plan import Side
from kb.experiments.searching import PATIENCE_S, Texts, compiled, search
from kb.experiments.stub import Stub
from kb.experiments.worktree import differing
from kb.profiles import Profile
from kb.run.direction import spoken
from kb.run.interval import ERROR, gain_interval
from kb.run.reasons import percent
from kb.text import number_text, one_line

# Profilers round shares to whole percents, or to tenths: what moves by less than half of one has not moved.
_MOVED = 0.005
# Figures that are printed rounded agree to this.
_SAME = 1e-3
_PATCH = "change.patch"
_ELF = b"\x7fELF"
# That of more code is not read: what stands in no part of it would be said to be absent.
_MOST_CODE = 24 << 20
# Seconds after which no further program is disassembled, and for one: a target may keep hundreds.
_MOST_S, _ONE_S = 120.0, 60.0
_DIRECTIONS = {
    "down": "down halves halved fewer falls fall drops drop decreases decrease shrinks shrink less lower smaller disappears vanishes gone reduced ↓ -",
    "up": "up doubles doubled rises rise grows grow increases increase more higher larger ↑ +",
}
_WORDS = {word: direction for direction, words in _DIRECTIONS.items() for word in words.split()}
# After these such a word bounds a size or denies a move: "by a third or more", "no less than 5 %", "does not fall".
_TAMING = {"or", "no", "not", "by"}
Move = tuple[str, str, float]


@dataclass(frozen=True, slots=True)
class Expectation:
    """What shows that the mechanism fired. Patterns are regular expressions; `moves` are (bucket, down | up, least relative move or 0)."""

    expect: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    moves: tuple[Move, ...] = ()


@dataclass(frozen=True, slots=True)
class Sign:
    """One thing that was looked for. `held`: True, False, or None where nothing could be seen. `text` says what and where.

    `shows`: mechanism; gain, where it is the primary metric that moved; or nothing, where the parent has it too or only the patch does.
    """

    held: bool | None
    text: str
    shows: Literal["mechanism", "gain", ""] = "mechanism"


@dataclass(frozen=True, slots=True)
class Audit:
    """`firing` is empty where there was nothing to go by."""

    firing: str
    findings: tuple[Sign, ...]


def move_of(text: str) -> Move:
    """`copy down`, `matmul -10%`, `attention up 5 % or more` as (bucket, direction, least relative move). Raises KbError for anything else."""
    match = re.fullmatch(
        r"\s*(\S.*?)[\s=:]+(?:([a-z]+|[↓↑])\s*)?(?:by\s+)?(?:(?:at\s+least|more\s+than|no\s+less\s+than)\s+)?"
        r"(?:([+\-−]?)(\d+(?:\.\d+)?)\s*%(?:\s*or\s+(?:more|better))?)?\s*",
        text[:200],
        re.IGNORECASE,
    )
    word = (match[2] or match[3] or "").lower().replace("−", "-") if match else ""
    if not match or word not in _WORDS or match[1].lower().split()[-1] in _TAMING:
        raise KbError(
            f"predicted move '{text[:200]}' must name a bucket and a direction, such as 'copy down' or 'matmul -10%'"
        )
    return match[1].strip().lower(), _WORDS[word], float(match[4]) / 100 if match[4] else 0.0


def expectation_from(
    expect: Iterable[str] = (), forbid: Iterable[str] = (), predict: Iterable[str] = ()
) -> Expectation:
    """An expectation as options and pages say it. Raises KbError for a pattern or a move that is none."""
    expect, forbid = tuple(expect), tuple(forbid)
    for text in (*expect, *forbid):
        try:
            compiled(text)
        except ValueError as error:
            raise KbError(
                f"pattern '{text[:80]}' {error}; escape its special characters with a backslash"
            ) from error
    return Expectation(expect, forbid, tuple(map(move_of, predict)))


def expectation_of(stub: Stub, metrics: tuple[str, ...]) -> Expectation:
    """What a page expects: its `expect`, `forbid` and `predict`, and metrics that its predicted signal says will move."""
    page = stub.page
    stated = expectation_from(*(page.words(key) for key in ("expect", "forbid", "predict")))
    moves = (*stated.moves, *moves_in(stub.facts.predicted_signal, metrics))
    return replace(stated, moves=tuple(dict.fromkeys(moves)))


def moves_in(text: str, names: tuple[str, ...]) -> tuple[Move, ...]:
    """Moves of known metrics that a text predicts: a clause that names one, by all words of its name or all but its unit, and says which way."""
    moves = []
    for clause in re.split(r"[.;,\n]|\band\b", text.lower()):
        words = re.findall(r"[^\W_]+|[↓↑]", clause)
        ways = ((name.lower(), _way(words, name)) for name in names)
        moves += [(name, way, 0.0) for name, way in ways if way]
    return tuple(dict.fromkeys(moves))


def _way(words: list[str], name: str) -> str:
    """Which way the word nearest to a metric's name says that it moves; `more than` only where no other word does."""
    whole, short = spoken(name)[0], spoken(name)[-1]
    own = [place for place, word in enumerate(words) if word in whole and {*short} <= {*words}]
    ways = [
        (word in ("more", "less") and after == "than", min(abs(place - o) for o in own), place)
        for place, (before, word, after) in enumerate(
            zip(["", *words], words, [*words[1:], ""], strict=False)
        )
        if own and word in _WORDS.keys() - {*whole} and before not in _TAMING
    ]
    return _WORDS[words[min(ways)[2]]] if ways else ""


def move_text(move: Move) -> str:
    """`time_ms down by 30 %`."""
    name, way, least = move
    return f"{name} {way}{f' by {100 * least:g} %' if least else ''}"


def audit(attempt: Attempt, expectation: Expectation, primary: str) -> Audit:
    """What a finished attempt shows of its mechanism; that `primary` moved, which was to be gained, says nothing of how."""
    built = _built(attempt)
    if built and not built.held:
        return Audit("no-op", (built,))
    patterns = [(p, True) for p in expectation.expect] + [(p, False) for p in expectation.forbid]
    until = time.monotonic() + _MOST_S
    left = {side: _left(attempt, side, until) for side in ("change", "parent") if patterns}
    answers = [_searched(attempt, left, p, primary, wanted=wanted) for p, wanted in patterns]
    for move in expectation.moves:
        shows = "gain" if _is_primary(attempt, move[0], primary) else "mechanism"
        answers.append(replace(_move_sign(attempt, *move), shows=shows))
    decided = [f for f in answers if f.held is not None]
    # That something else was built shows a change, not its mechanism: by itself it is half of the way.
    firing = _firing(decided) if decided else "partial" if built and not answers else ""
    return Audit(firing, (*([built] if built else []), *answers))


def _firing(decided: list[Sign]) -> str:
    if not all(f.held for f in decided):
        return "partial" if any(f.held for f in decided) else "none"
    shown = {f.shows for f in decided}
    return "confirmed" if "mechanism" in shown else "not tested" if "gain" in shown else "partial"


def _is_primary(attempt: Attempt, name: str, primary: str) -> bool:
    """Whether a metric is the primary one, be it under another name: in runs that differ, one times the other, or divided by it, does not."""
    if name == primary.lower():
        return True
    metric = next((m for m in attempt.metrics if m.lower() == name), "")
    sides = attempt.plan.sides
    one, other = ([v for s in sides for v in attempt.values(m, s)] for m in (primary, metric))
    if len(one) != len(other) or len({*one}) <= len(sides) or not all((*one, *other)):
        return False
    pairs = list(zip(one, other, strict=True))
    constant = ([a * b for a, b in pairs], [b / a for a, b in pairs])
    return any(max(c) - min(c) <= _SAME * abs(max(c)) for c in constant)


def _built(attempt: Attempt) -> Sign | None:
    """Whether something else was built than the parent's; None where nothing was kept, or nothing was changed that is built."""
    plan = attempt.plan
    before, after = (
        {k.path: k.digest for k in attempt.kept if k.role == "artifact" and k.side == side}
        for side in ("parent", "change")
    )
    if not before or not after or not plan.changed:
        return None
    changed = differing(before, after)
    if changed:
        one, other = (files.get(changed[0], "absent") for files in (before, after))
        text = f"built file {changed[0]} differs: {one} in the parent, {other} in the change"
        return Sign(True, text)
    if plan.set:
        return None  # Variables act when it runs; the same build is no sign that they did not.
    shown = ", ".join(f"{path} {digest}" for path, digest in sorted(after.items())[:3])
    sources = f"{len(plan.changed)} source file{'s' * (len(plan.changed) > 1)}"
    return Sign(False, f"built files are the parent's byte for byte ({shown}), unlike {sources}")


def _searched(
    attempt: Attempt, left: Mapping[Side, Texts], text: str, primary: str, *, wanted: bool
) -> Sign:
    """Look for a pattern in what the change left: dumps and built files, outputs, then the patch."""
    texts = ([*files, *_printed(attempt, side)] for side, files in left.items())
    result = search(text, *texts)
    if result is None:
        what = f"the search for `{one_line(text)}` did not end within {PATIENCE_S:g} s"
        return Sign(None, f"{what}; write it without repeats inside of repeats")
    places, before = result
    hits = "; ".join(
        f"{n}:{line}: `{one_line(shown).replace('`', chr(39))}`" for n, line, shown in places
    )
    blind = _blindness(attempt, left, places, before=before, wanted=wanted)
    if blind:
        how = f"found at {hits}" if places else "is in no output"
        return Sign(None, f"{'expected' if wanted else 'forbidden'} `{text}` {how}, and {blind}")
    also = "; the parent has it too" * before
    if places and not wanted:
        ask = also and f"{also}: does it stand in what the change does not touch?"
        return Sign(False, f"forbidden `{text}` found at {hits}{ask}")
    if not wanted:
        # What neither side shows is absent whatever the change does.
        also = ", though the parent has it" if before else ", and the parent has it not either"
        return Sign(True, f"forbidden `{text}` is absent{also}", "mechanism" if before else "")
    if not places:
        return Sign(False, f"expected `{text}` not found in any dump, disassembly, output or patch")
    if before or all(name == _PATCH for name, _, _ in places):
        also = also or "; written there, not seen to run"
        return Sign(True, f"expected `{text}` found at {hits}{also}", "")
    gain = _is_gain(attempt, [shown for _, _, shown in places], primary)
    return Sign(True, f"expected `{text}` found at {hits}", "gain" if gain else "mechanism")


def _is_gain(attempt: Attempt, lines: list[str], primary: str) -> bool:
    """Whether lines only print the primary metric."""
    printed = [line.removeprefix("METRIC ").partition("=") for line in lines]
    return all(sign and _is_primary(attempt, n.lower(), primary) for n, sign, _ in printed)


# What is behind the name of a program in that of its disassembly.
_CODE = " disassembled"
_UNREAD = (
    "nobody has read all that was built: where objdump is installed kb disassembles the `artifacts:` of the target page, those of up to some "
    "megabytes; else let `build:` write a dump, such as `objdump -d FILE > $KB_OUT/code.txt`, and measure --again"
)


def _blindness(
    attempt: Attempt,
    left: Mapping[Side, Texts],
    places: list[tuple[str, int, str]],
    *,
    before: bool,
    wanted: bool,
) -> str:
    """Why what would decide over a pattern, which stands at these `places`, could not be read; empty where it could."""
    change, parent = map(_is_unread, left.values())
    files = {name for name, _ in left["change"]}
    if not places:
        nothing = attempt.plan.build and not left["change"]
        unread = change or nothing if wanted else before and change and not parent
        return _absence(attempt, "change") or _UNREAD * bool(unread)
    if not wanted or before or not all(name in files for name, _, _ in places):
        return ""
    code = all(name.endswith(_CODE) for name, _, _ in places)
    return _absence(attempt, "parent") or _UNREAD * (parent and code)


def _absence(attempt: Attempt, side: Side) -> str:
    """Which of the large files that a side left, and git does not know, are no longer here; where they were, and what to do."""
    gone = [k for k in attempt.kept if k.side == side and k.copy and not attempt.copy_of(k)]
    home = "/".join((attempt.plan.keep, *attempt.large.parts[-3:]))
    files = ", ".join(f"`{home}/{k.copy}`" for k in gone[:3])
    return (
        f"of what the {side} left {files} is no longer here (digest on the page): bring it back from where it was measured, or measure anew "
        "(`run --again`, once it is filed a new experiment)"
        if gone
        else ""
    )


def _is_unread(files: Texts) -> bool:
    """Whether of what a side left a program was not disassembled, or nothing reads, and no dump stands beside it."""
    read = {name for name, data in files if b"\0" not in data}
    programs = {name + _CODE for name, data in files if data[:4] == _ELF}
    return bool(files) and not read - programs and not (read and programs <= read)


def _left(attempt: Attempt, side: Side, until: float) -> Texts:
    """What a side built and left: the files as they are, and programs disassembled where that begins `until` then."""
    kept = [(k, at) for k in attempt.kept if k.side == side and (at := attempt.copy_of(k))]
    code = (
        (k.copy + _CODE, disassembled(place, k.digest))
        for k, place in kept
        if time.monotonic() < until
    )
    return [*((k.copy, store.bytes_of(place)) for k, place in kept), *(c for c in code if c[1])]


@lru_cache(4)
def disassembled(place: Path, digest: str) -> bytes:
    """The instructions of the program with this digest, read in a sandbox, for nobody knows what it holds; nothing of any other file, of
    one too long to be read whole, and where there is no sandbox or no objdump."""
    if store.bytes_of(place)[:4] != _ELF or sandbox_problem():
        return b""
    read = f"objdump -d --no-show-raw-insn ./{shlex.quote(place.name)}"
    command, walls = f"{read} || llvm-{read}", Walls()
    ended = run_command(
        command, folder=place.parent, timeout_s=_ONE_S, env={}, walls=walls, keep=_MOST_CODE
    )
    return b"" if ended.problem or len(ended.output) > _MOST_CODE else ended.output


def _printed(attempt: Attempt, side: Side) -> Texts:
    texts = []
    for number, sample in enumerate(attempt.samples, 1):
        if sample.side == side:
            texts.append((sample.file or f"{SAMPLES}:{number}", attempt.output_of(sample)))
    patch = attempt.folder / _PATCH
    if side == "change" and patch.is_file():
        # Only what the change adds is the change's; lines taken away are the parent's.
        lines = store.bytes_of(patch).split(b"\n")
        added = (b"" if line.startswith((b"-", b"@@", b" ")) else line for line in lines)
        texts.append((_PATCH, b"\n".join(added)))
    return texts


def profile_of(attempt: Attempt, side: Side) -> tuple[Profile | None, tuple[str, ...]]:
    """Bucket table of a side: of a file named like a profile that was left in KB_OUT, else of what the profile command printed; None
    where neither reads. Also the names of what may hold one."""
    files = [k for k in attempt.kept if k.role == "profile" and k.side == side]
    prints = [s for s in attempt.of("profile", side) if not s.problem and s.output]
    names = tuple(k.copy or k.path for k in files)
    names += tuple(s.file or "the profile command's output" for s in prints)
    with tempfile.TemporaryDirectory(prefix="kb-profile-") as folder:
        places = [place for place in map(attempt.copy_of, files) if place]
        for sample in prints[:1]:
            places.append(Path(folder) / (sample.file or "profile.txt"))
            places[-1].write_bytes(attempt.output_of(sample))
        for place in places:
            try:
                return profiles.read(place), names
            except KbError:
                continue  # A profile in words or pictures is evidence for a reader, and no table.
    return None, names


def _move_sign(attempt: Attempt, name: str, direction: str, least: float) -> Sign:
    """Whether a metric, else a bucket or an operation of the profiles, moved as was predicted."""
    predicted = f"predicted {move_text((name, direction, least))}"
    sign = 1 if direction == "up" else -1
    metric = next((m for m in attempt.metrics if m.lower() == name), "")
    if metric:
        change, parent = attempt.values(metric, "change"), attempt.values(metric, "parent")
        shift = gain_interval(change, parent, direction="higher", level=ERROR)
        if shift is None:
            return Sign(None, f"{predicted}: it was not measured three times on both sides")
        held = min(sign * shift.low, sign * shift.high) > least
        medians = [number_text(median(values), digits=5) for values in (parent, change)]
        shown = f"{' became '.join(medians)}, {percent(shift.low)} to {percent(shift.high)}"
        return Sign(held, f"{predicted}: {shown}")
    before, after = profile_of(attempt, "parent")[0], profile_of(attempt, "change")[0]
    if before is None or after is None:
        lacking = "the change" if before else "the parent"
        return Sign(None, f"{predicted}: there is no profile of {lacking} to see it in")
    start, end = _share(before, name), _share(after, name)
    # Shares of runs of unequal length do not compare; where both tell a total in the same unit, times do.
    if before.unit == after.unit and before.total and before.steps == after.steps:
        end *= after.total / before.total
    if not start and not end:
        return Sign(None, f"{predicted}: neither profile has such a bucket or operation")
    held = (
        sign * (end - start) > _MOVED and sign * ((end - start) / start if start else 1.0) >= least
    )
    return Sign(
        held, f"{predicted}: {100 * start:.1f} % of the parent's time became {100 * end:.1f} %"
    )


def _share(profile: Profile, name: str) -> float:
    buckets = sum(b.share for b in profile.buckets if b.name.lower() == name)
    return buckets or sum(op.share for op in profile.ops if name in op.name.lower())
