"""What kind of change a fork holds, with the evidence. In this order: which files, which lines and
names, the declared subject, then words.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kb import regex
from kb.research.claims import changes_in
from kb.research.diffs import DEVICE, FileDiff, LineGroup
from kb.research.symbols import code_of, defined_in, identifiers, setting_of
from kb.research.techniques import techniques_in, techniques_of_name
from kb.research.upstream import Upstream

KINDS = ("performance", "quality", "port", "tooling", "docs", "log", "refactor", "other")
# What only the author can tell: that it is meant to be fast, to run elsewhere, to mend what was wrong.
_WORD_OF = {
    kind: regex(rf"(?i)\b(?:{words})\b")
    for kind, words in (
        (
            "performance",
            r"perf|faster|speed\w*|memory|vram|latency|throughput|overhead|optimi[sz]\w+",
        ),
        ("port", r"support for|gpus|compatib\w+|cross-platform|port(?:ed|s)?"),
        ("refactor", r"refactor\w*|style(?=\W*:)"),
        ("other", r"fix(?:es|ed)?|bugs?|security|leaks?|crash\w*|wrong"),
    )
}
_SURVIVES = 0.35
# Files and commits beside a change of the program accompany it.
_BESIDE = 0.3
# A measured gain says what a change is for, whatever else its words name.
_RESULT = 5.0
_REPORTING = re.compile(
    r"^(?:print|printf|fprintf|std::c(?:out|err)|println!|eprintln!|fmt\.\w*[pP]rint\w*|log\w*\.|logger|logging|console\.|parser\.|warnings?\.|f?[\"'])"
)
_BRANCH = re.compile(
    r"(?:\}?\s*else\s+)?(?:if|elif|#\s*if\w*|#\s*elif|match|case|switch|#\[cfg)\b|(?:try|except)\b"
)
_TOKEN = re.compile(r"\w+|[^\w\s]")
_STRING = re.compile(r"([\"'])(?:\\.|(?!\1).)*\1")
# What the head of a function or a loop binds, without the types beside it.
_BOUND = re.compile(r"(?<!: )(?<!> )\b([A-Za-z_]\w*)\s*(?=[,)=:\[]|in\b)")
# Words that wrap code and do no work of their own.
_FRAME = frozenset(
    "def class return self main __name__ __main__ if static void inline const auto pass".split()
)


@dataclass(frozen=True, slots=True)
class KindEvidence:
    """Why a kind was taken: how much it weighs, where it stands, and what stands there."""

    kind: str
    weight: float
    path: str
    line: int
    what: str


@dataclass(frozen=True, kw_only=True)
class KindReading:
    """The kind of a change, the kinds it holds as well, whether it means to optimize the measured
    program, how strongly, and why.
    """

    kind: str
    also: tuple[str, ...]
    optimization: bool
    techniques: tuple[str, ...]
    evidence: tuple[KindEvidence, ...]
    strength: float = 0.0


def reading_of(
    changes: Sequence[FileDiff], messages: Sequence[str], upstream: Upstream
) -> KindReading:
    """The kind of the changes of one fork that came with these commit messages, the newest first."""
    # The measured program as far as it changed: source that upstream has.
    own = [c for c in changes if c.role == "source" and c.before in upstream.files and c.news]
    evidence = [e for c in own for group in c.news for e in _pulls(c, group, upstream)]
    evidence += [*_files(changes, own, upstream), *_moves(changes)]
    words = [*_messages(messages), *_results(messages)]
    weights = _weights([*evidence, *words])
    aimless = _aimless(own, messages)
    kind = aimless or _kind(weights, {e.kind for e in evidence}, own, upstream)
    also = (k for k, w in weights.most_common() if k != kind and w >= max(3, 0.4 * weights[kind]))
    aimed = 0.0 if aimless else weights["performance"] + weights["quality"]
    return KindReading(
        kind=kind,
        also=tuple(also),
        optimization=kind in ("performance", "quality"),
        strength=round(aimed / max(1.0, weights.total()), 3),
        techniques=_named(own, messages, kind),
        evidence=tuple(sorted([*evidence, *words], key=lambda e: -e.weight)[:12]),
    )


def _weights(evidence: Iterable[KindEvidence]) -> Counter[str]:
    weights = Counter()
    for item in evidence:
        weights[item.kind] += item.weight
    return weights


def _pulls(change: FileDiff, group: LineGroup, upstream: Upstream) -> Iterator[KindEvidence]:
    """What a group of changed lines of the measured program pulls that upstream lacks; where no name
    tells it, it is meant to move what upstream measures.
    """
    added, removed = _codes(group.added), _codes(group.removed)
    code = [line for line in added if not _REPORTING.match(line)]
    pulls = []
    if devices := _devices(added, removed, upstream):
        weight = float(min(6, sum(sorted(devices.values())[-3:])))
        pulls.append(("port", weight, ", ".join(sorted(devices)[:5])))
    if len(code) < len(added):
        pulls.append(("tooling", min(2.0, 0.5 * (len(added) - len(code))), "lines that report"))
    if code or not added:
        new, old = (set(identifiers(_STRING.sub(" ", " ".join(x)))) for x in (code, removed))
        # Outside a program that trains, `depth`, `skip`, `search` or `queue` are its own matter.
        kinds = ("performance", "quality", "tooling", "other")[: 4 if upstream.trains else 1]
        weight = 1.5 if removed else 1.0
        named = techniques_in(sorted(new ^ old))
        pulls += [(t.kind, weight, t.name) for t in named if t.kind in kinds]
    if code and sum(map(_is_loop, code)) < sum(map(_is_loop, removed)):
        pulls.append(("performance", 1.5, "instead of a loop"))
    if code and not pulls:
        moved = "performance" if upstream.measures_speed else "quality"
        what = f"changes {group.within[:60] or 'the measured program'}"
        pulls.append((moved if removed else "other", 0.75, what))
    for kind, weight, what in pulls:
        yield KindEvidence(kind, weight, change.path, group.line, what)


def _is_loop(line: str) -> bool:
    return line.startswith(("for ", "for(", "while ", "while("))


def _codes(lines: Iterable[str]) -> list[str]:
    """What lines hold besides comments."""
    return [code for line in lines if (code := code_of(line))]


def _devices(added: Sequence[str], removed: Sequence[str], upstream: Upstream) -> dict[str, int]:
    """Devices and platforms that lines name: most where they branch by one, least where upstream
    names it as well.
    """
    before = set(identifiers(" ".join(removed)))
    devices = {}
    for line in added:
        branch = bool(_BRANCH.match(line)) or " else " in line
        for name in set(identifiers(line)) - before:
            if any(t.kind == "port" for t in techniques_of_name(name)):
                weight = 1 + branch + (not upstream.has_name(name))
                devices[name] = max(devices.get(name, 0), weight)
    return devices


def _aimless(own: Sequence[FileDiff], messages: Sequence[str]) -> str:
    """The kind of a change that aims at nothing that its diff names; empty for others."""
    if own and messages and all(m.startswith('Revert "') for m in messages):
        return "other"  # What the diff names is taken out, not put in.
    return "refactor" if _is_same_work(own) else ""


def _is_same_work(own: Iterable[FileDiff]) -> bool:
    """Whether new code differs from the old in names that it binds itself alone: nothing comes from
    outside, and hardly anything but such names is gone.
    """
    added, removed = (
        [c for line in side if not (c := code_of(line)).startswith(("import ", "from "))]
        for side in ([x for f in own for x in f.added], [x for f in own for x in f.removed])
    )
    bound, unbound = _bound(added), _bound(removed)
    new, old = (set(_TOKEN.findall(" ".join(side))) - _FRAME for side in (added, removed))
    fresh = bound - old - {""}
    return bool(fresh) and not new - old - fresh and 10 * len(old - new - unbound) <= len(old)


def _bound(lines: Iterable[str]) -> set[str]:
    """Names that lines define or set, with the arguments of functions and what loops run over."""
    names = {name for line in lines for name in (defined_in(line), setting_of(line)[0])}
    heads = (line for line in lines if defined_in(line) or line.startswith("for "))
    return names | {name for line in heads for name in _BOUND.findall(line)}


def _moves(changes: Sequence[FileDiff]) -> Iterator[KindEvidence]:
    """Code that stands elsewhere than before, and source in which comments alone changed."""
    source = [c for c in changes if c.role == "source" and c.groups]
    added, removed = (
        {code for lines in sides for code in _codes(lines)}
        for sides in ([c.added for c in source], [c.removed for c in source])
    )
    moved = sum(len(code) > 3 for code in added & removed)
    if moved >= 3 and moved >= 0.6 * sum(len(code) > 3 for code in added):
        yield KindEvidence("refactor", 4.0, source[0].path, 1, f"{moved} lines moved")
    if source and not added | removed:
        yield KindEvidence("docs", 4.0, source[0].path, 1, "comments alone")


def _files(
    changes: Iterable[FileDiff], own: Sequence[FileDiff], upstream: Upstream
) -> Iterator[KindEvidence]:
    """What the files are, of which none is the measured program; beside a change of that they only
    accompany it.
    """
    known = {path.rpartition(".")[2] for path in upstream.files}
    for change in changes:
        lines = sum(bool(line.strip()) for line in change.new_lines)
        kind = _kind_of_file(change, known)
        beside = own and change.role == "source" and kind != "port"
        if kind and not beside and (lines or change.role == "picture"):
            weight = min(6.0, 1 + lines / 15) * (_BESIDE if own and kind != "port" else 1)
            what = f"{change.state} {change.role} file, {lines} lines"
            yield KindEvidence(kind, weight, change.path, 1, what)


def _kind_of_file(change: FileDiff, known: set[str]) -> str:
    """What a file is by its role, then by its language and its name; `known` are the ends of upstream's files."""
    if change.role in ("docs", "picture", "log", "vendored"):
        return {"picture": "docs", "vendored": ""}.get(change.role, change.role)
    name = change.path.rpartition("/")[2]
    is_device = any(t.name == "another device" for t in techniques_of_name(name))
    return "port" if is_device or name.rpartition(".")[2] in DEVICE - known else "tooling"


def _messages(messages: Sequence[str]) -> Iterator[KindEvidence]:
    """What the words of the subjects declare."""
    share = 2.0 / max(1, min(len(messages), 40))
    for subject in (message.partition("\n")[0] for message in messages[:40]):
        for kind, pattern in _WORD_OF.items():
            if matches := pattern.findall(subject):
                yield KindEvidence(kind, share * min(2, len(matches)), "", 0, subject[:100])


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


def _kind(
    weights: Counter[str], structure: set[str], own: Sequence[FileDiff], upstream: Upstream
) -> str:
    """The kind that weighs most; without a change of the measured program (`own`) none is of its
    speed, quality or form.
    """
    if _replaced(own, upstream):
        return "other"
    if not own and len(structure) == 1:
        return min(structure)  # Files of one kind: no word makes them another.
    inner = () if own else ("performance", "quality", "refactor")
    kind = max((k for k in KINDS if k not in inner), key=lambda kind: weights[kind])
    return kind if weights[kind] else "other"


def _replaced(own: Sequence[FileDiff], upstream: Upstream) -> bool:
    """Whether most of what upstream measures was thrown away: another program under the same names."""
    whole = sum(len(_codes(upstream.files[c.before].splitlines())) for c in own)
    gone = sum(len(_codes(c.removed)) for c in own)
    return whole > 60 and gone > (1 - _SURVIVES) * whole


def _named(own: Sequence[FileDiff], messages: Sequence[str], kind: str) -> tuple[str, ...]:
    """Techniques by how much of the code and the subjects names them; those of the change's kind
    first.
    """
    counts = Counter()
    for group in (group for change in own for group in change.news):
        new, old = (set(identifiers(" ".join(_codes(x)))) for x in (group.added, group.removed))
        counts.update(techniques_in(new ^ old))
    for message in messages:
        counts.update(2 * list(techniques_in(identifiers(message.partition("\n")[0]))))
    ordered = sorted(counts, key=lambda t: (t.kind != kind, -counts[t], t.name))
    return tuple(t.name for t in ordered[:12])
