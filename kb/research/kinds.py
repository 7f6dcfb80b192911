"""What kind of change a fork holds, with the evidence. In this order: which files, which hunks and
names, the declared subject, then words.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kb import regex
from kb.research.claims import changes_in
from kb.research.diffs import DEVICE, FileDiff
from kb.research.hunks import KindEvidence, are_renames, moved_metric, pulls_of
from kb.research.symbols import code_of, defined_in, identifiers, parts_of, setting_of
from kb.research.techniques import Technique, techniques_in, techniques_of_name
from kb.research.upstream import Upstream

KINDS = ("performance", "quality", "port", "tooling", "docs", "log", "refactor", "other")
# What a prefix of a subject declares of the program; of docs, tests and builds the files tell.
_SUBJECT = re.compile(r"(?i)^:?(perf|zap|refactor|style|recycle)(?:\([^)]*\))?!?:\s")
_DECLARED = {"perf": "performance", "zap": "performance"}
# What only the author can tell: that it is meant to be fast, to run elsewhere, to mend what was wrong.
_WORD_OF = {
    kind: regex(rf"(?i)\b(?:{words})\b")
    for kind, words in (
        ("performance", r"faster|speed\w*|memory|vram|latency|throughput|overhead|optimi[sz]\w+"),
        ("port", r"support for|gpus|compatib\w+|cross-platform|port(?:ed|s)?"),
        ("other", r"fix(?:es|ed)?|bugs?|security|leaks?|crash\w*|wrong"),
    )
}
_SURVIVES = 0.35
# Files and commits beside a change of the program accompany it.
_BESIDE = 0.3
# A measured gain says what a change is for, whatever else its words name.
_RESULT = 5.0


@dataclass(frozen=True, slots=True)
class KindReading:
    """The kind of a change, the kinds it holds as well, whether it means to optimize the measured
    program, how strongly, and why.
    """

    kind: str
    also: tuple[str, ...]
    optimization: bool
    strength: float
    techniques: tuple[str, ...]
    evidence: tuple[KindEvidence, ...]


def reading_of(
    changes: Sequence[FileDiff], messages: Sequence[str], upstream: Upstream
) -> KindReading:
    """The kind of the changes of one fork that came with these commit messages, the newest first."""
    core = _core_paths(changes, upstream)
    own = [c for c in changes if c.path in core]
    results = tuple(_results(messages)) if core else ()
    moved = max(results, key=lambda e: e.kind).kind if results else moved_metric(upstream)
    pulls = [e for c in own for e in pulls_of(c, upstream, moved)]
    evidence = [*_files(changes, core, upstream), *pulls, *_moves(changes)]
    structure = _weights(evidence)
    words = [e for e in _messages(messages) if core or e.kind not in ("performance", "quality")]
    words += results
    weights = structure + _weights(words)
    aimless = _aimless(own, messages, upstream)
    kind = aimless or _kind(weights, structure, own, upstream, moved=moved)
    also = (k for k, w in weights.most_common() if k != kind and w >= max(3, 0.4 * weights[kind]))
    optimization = kind in ("performance", "quality") or kind == "port" and _holds_levers(pulls)
    aimed = 0.0 if aimless else weights["performance"] + weights["quality"]
    strength = aimed / max(1.0, sum(weights.values()))
    strongest = sorted([*evidence, *words], key=lambda e: -e.weight)[:12]
    named = _named(own, messages, kind)
    return KindReading(kind, tuple(also), optimization, round(strength, 3), named, tuple(strongest))


def _aimless(own: Sequence[FileDiff], messages: Sequence[str], upstream: Upstream) -> str:
    """The kind of a change that aims at nothing that its diff names; empty for others."""
    if own and messages and all(m.startswith('Revert "') for m in messages):
        return "other"  # What the diff names is taken out, not put in.
    return "refactor" if are_renames(own, upstream) else ""


def _results(messages: Sequence[str]) -> Iterator[KindEvidence]:
    """What the authors measured to be better, what comes out or what it costs; where no measure is
    known to be, one whose better side is unknown.
    """
    lines = [line for message in messages for line in message.splitlines()]
    changes = [c for line in lines for c in changes_in(line) if c.before != c.after]
    better = [c for c in changes if c.is_better] or [c for c in changes if c.is_better is None]
    for is_result, change in {c.is_result: c for c in better}.items():
        kind = "quality" if is_result else "performance"
        what = f"{change.name}: {change.before:g} → {change.after:g}"
        yield KindEvidence(kind, _RESULT, "", 0, what[:100])


def _weights(evidence: Iterable[KindEvidence]) -> Counter[str]:
    weights: Counter[str] = Counter()
    for item in evidence:
        weights[item.kind] += item.weight
    return weights


def _moves(changes: Sequence[FileDiff]) -> Iterator[KindEvidence]:
    """Code that stands elsewhere than before, and source in which comments alone changed."""
    source = [c for c in changes if c.role == "source" and c.groups]
    if not source:
        return
    added, removed = _codes(c.added for c in source), _codes(c.removed for c in source)
    shrunk = {c.path for c in source if len(c.removed) > len(c.added)}
    taken = [
        c
        for c in source
        if c.state == "copied" and c.before in shrunk and 5 * len(c.added) < len(c.removed)
    ]
    moved, new = (sum(len(code) > 3 for code in lines) for lines in (added & removed, added))
    same_work = removed and _same_work(added, removed)
    for holds, kind, what in (
        (taken, "refactor", "a file taken out of another"),
        (moved >= 3 and moved >= 0.6 * new, "refactor", f"{moved} lines moved"),
        (not added | removed, "docs", "comments alone"),
        (same_work, "refactor", "the same names and numbers under other definitions"),
    ):
        if holds:
            yield KindEvidence(kind, 4.0, source[0].path, 1, what)


def _codes(files: Iterable[Iterable[str]]) -> set[str]:
    """What the lines of some files hold besides comments, each once."""
    return {code for lines in files for line in lines if (code := code_of(line))}


def _same_work(added: Iterable[str], removed: Iterable[str]) -> bool:
    """Whether new code differs from the old in its own definitions alone, or in values that stand where their name stood:
    nothing comes from outside, and nothing but these is gone.
    """
    bare, before = (
        [line for line in lines if not line.startswith(("import ", "from "))]
        for lines in (added, removed)
    )
    own = {part for line in bare if (name := defined_in(line)) for part in _parts(name)}
    between = {part for line in before if (name := setting_of(line)[0]) for part in _parts(name)}
    new, old = (Counter(_parts(" ".join(lines))) for lines in (bare, before))
    if own - old.keys():
        strange = new.keys() - old.keys() - own - _FRAME
        lost = old.keys() - new.keys() - _FRAME
        return not strange or 5 * len(strange) <= len(new) and 10 * len(lost) <= len(old)
    return new < old and (old - new).keys() <= between


def _parts(code: str) -> list[str]:
    return [part for word in re.findall(r"\w+", code) for part in parts_of(word) or [word]]


# Words that wrap code and do no work of their own.
_FRAME = frozenset(
    "def class return self main __name__ __main__ if static void inline const auto pass".split()
)


def _holds_levers(listed: Sequence[KindEvidence]) -> bool:
    """Whether a port holds tuning or memory work as well, apart from the lines that choose a
    device.
    """
    devices = {(e.path, e.line) for e in listed if e.kind == "port"}
    return (
        sum(
            e.weight
            for e in listed
            if e.path and e.kind in ("performance", "quality") and (e.path, e.line) not in devices
        )
        >= 8
    )


def _core_paths(changes: Sequence[FileDiff], upstream: Upstream) -> frozenset[str]:
    """The measured program as far as it changed: source that upstream has, and source that is new
    and that such source names.
    """
    source = [c for c in changes if c.role == "source"]
    builds = [c for c in changes if c.role == "build"]
    held = [c for c in source if c.state != "copied" and c.before in upstream.files and c.news]
    used = {name for c in (*held, *builds) for name in _names_in(c)}
    known = {c.path for c in (*held, *filter(_sets_compiler, builds))}
    fresh = (c for c in source if known and c.state == "added" and not _is_device(c.path))
    joined = (c.path for c in fresh if not used.isdisjoint(_names_of_file(c, upstream)))
    return frozenset({*known, *joined})


def _names_in(change: FileDiff) -> Iterator[str]:
    return (name for line in change.new_lines for name in identifiers(line))


def _names_of_file(change: FileDiff, upstream: Upstream) -> Iterator[str]:
    """By what a program may call for a file that is new: its stem, and what it alone defines."""
    yield change.path.rpartition("/")[2].partition(".")[0]
    names = filter(None, map(defined_in, change.added))
    yield from (name for name in names if not upstream.has_name(name))


def _is_device(path: str) -> bool:
    """Whether a file is named for another device or platform: `signal_windows.go`."""
    name = path.rpartition("/")[2]
    return any(t.name == "another device" for t in techniques_of_name(name))


def _sets_compiler(change: FileDiff) -> bool:
    """Whether a build file changes how the program is compiled, not what it is built from."""
    return any(t.name == "compilation" for t in techniques_in(_names_in(change)))


def _files(
    changes: Iterable[FileDiff], core: frozenset[str], upstream: Upstream
) -> Iterator[KindEvidence]:
    """What the files are, of which none is the measured program."""
    known = {path.rpartition(".")[2] for path in upstream.files}
    for change in changes:
        lines = sum(bool(line.strip()) for line in change.new_lines)
        kind = _kind_of_file(change, known)
        if change.path in core or not kind or not lines and change.role != "picture":
            continue
        weight = min(6.0, 1 + lines / 15)
        if core and kind != "port":
            weight *= _BESIDE
        yield KindEvidence(
            kind, weight, change.path, 1, f"{change.state} {change.role} file, {lines} lines"
        )


def _kind_of_file(change: FileDiff, known: set[str]) -> str:
    """What a file is by its role, then by its language and its name; `known` are the ends of upstream's files."""
    if change.role in ("docs", "picture", "log", "vendored"):
        return {"picture": "docs", "vendored": ""}.get(change.role, change.role)
    if change.path.rpartition(".")[2] in DEVICE - known or _is_device(change.path):
        return "port"
    return "tooling"


def _messages(messages: Sequence[str]) -> Iterator[KindEvidence]:
    """What the authors declare: the prefix of a subject, the techniques and the words in it."""
    for message in messages[:40]:
        subject = message.partition("\n")[0]
        share = 1.0 / min(len(messages), 40)
        if prefix := _SUBJECT.match(subject):
            kind = _DECLARED.get(prefix[1].lower(), "refactor")
            yield KindEvidence(kind, 6 * share, "", 0, subject[:100])
        for technique in techniques_in(identifiers(subject)):
            yield KindEvidence(technique.kind, 2 * share, "", 0, subject[:100])
        for kind, pattern in _WORD_OF.items():
            if matches := pattern.findall(subject):
                yield KindEvidence(kind, 2 * share * min(2, len(matches)), "", 0, subject[:100])


def _kind(
    weights: Counter[str],
    structure: Counter[str],
    own: Sequence[FileDiff],
    upstream: Upstream,
    *,
    moved: str,
) -> str:
    """The kind that weighs most; `own` are the changes of the measured program, without which none is of its speed, quality or form."""
    if _replaced(own, upstream):
        ported = structure["port"] > structure["quality"] + structure["tooling"]
        return "port" if ported else "other"
    inner = () if own else ("performance", "quality", "refactor")
    allowed = Counter({k: w for k, w in weights.items() if k not in inner})
    if not allowed:
        return "other"
    if not own and len(structure) == 1:
        return next(iter(structure))  # Files of one kind: no word makes them another.
    return max(allowed, key=lambda k: (allowed[k], k == moved, -KINDS.index(k)))


def _replaced(own: Sequence[FileDiff], upstream: Upstream) -> bool:
    """Whether most of what upstream measures was thrown away: another program under the same names."""
    before = (line for c in own for line in upstream.files.get(c.before, "").splitlines())
    whole = sum(bool(code_of(line)) for line in before)
    gone = sum(bool(code_of(line)) for c in own for line in c.removed)
    return whole > 60 and gone > (1 - _SURVIVES) * whole


def _named(own: Sequence[FileDiff], messages: Sequence[str], kind: str) -> tuple[str, ...]:
    """Techniques by how much of the code and the subjects names them; those of the change's kind
    first.
    """
    counts: Counter[Technique] = Counter()
    for group in (group for change in own for group in change.news):
        new, old = (
            set(identifiers(" ".join(map(code_of, lines))))
            for lines in (group.added, group.removed)
        )
        counts.update(techniques_in(new ^ old))
    for message in messages:
        counts.update({t: 2 for t in techniques_in(identifiers(message.partition("\n")[0]))})
    return tuple(
        t.name
        for t, _ in sorted(
            counts.items(), key=lambda item: (item[0].kind != kind, -item[1], item[0].name)
        )[:12]
    )
