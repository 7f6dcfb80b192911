"""What the changed lines of a program pull: settings, techniques, devices, reports, guards. One
group of lines at a time; knows no files' roles.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kb.research.diffs import FileDiff, LineGroup
from kb.research.symbols import code_of, defined_in, identifiers, setting_of
from kb.research.techniques import techniques_in, techniques_of_name
from kb.research.upstream import Upstream

_REPORTING = re.compile(
    r"^(?:print|printf|fprintf|std::c(?:out|err)|println!|eprintln!|fmt\.\w*[pP]rint\w*|log\w*\.|logger|logging|console\.|parser\.|warnings?\.|f?[\"'])"
)
_BRANCH = re.compile(
    r"(?:\}?\s*else\s+)?(?:if|elif|#\s*if\w*|#\s*elif|match|case|switch|#\[cfg)\b|(?:try|except)\b"
)
_GUARD = re.compile(r"^(?:raise|assert|sys\.exit|exit|abort|panic!?|throw)\b")
_STRING = re.compile(r"([\"'])(?:\\.|(?!\1).)*\1")
_LOOP = re.compile(r"(?:for|while)\b")
# A name that is a value: no call, no module or object of one, no argument's name.
_VALUE = re.compile(r"\b(?!return\b)([A-Za-z_]\w*)\b(?!\s*(?:[.(]|=(?!=)))")
_TOKEN = re.compile(r"\w+|[^\w\s]")
# What the head of a function or a loop binds, without the types beside it.
_BOUND = re.compile(r"(?<!: )(?<!> )\b([A-Za-z_]\w*)\s*(?=[,)=:\[]|in\b)")
# What a compiler defines of its target (`_MSC_VER`, `__BYTE_ORDER__`); a guard of a header or of C++ is none.
_PREDEFINED = re.compile(r"(?<!\w)_(?!_cplusplus)[A-Z_]\w*(?<!_H)(?<!_H_)(?<!_H__)\b")


@dataclass(frozen=True, slots=True)
class KindEvidence:
    """Why a kind was taken: how much it weighs, where it stands, and what stands there."""

    kind: str
    weight: float
    path: str
    line: int
    what: str


def pulls_of(change: FileDiff, upstream: Upstream, moved: str) -> Iterator[KindEvidence]:
    """What the lines of one file of the measured program pull that upstream lacks; where no name tells it, they are meant to move `moved`."""
    for group in change.news:
        added = [line for line in map(code_of, group.added) if line]
        code = [line for line in added if not (_REPORTING.match(line) or _GUARD.match(line))]
        evidence = [
            *_devices(change, group, upstream),
            *_lines(change, group, added),
            *_techniques(change, group, code, upstream),
            *_loops(change, group, code),
        ]
        yield from evidence
        if code and not evidence:
            kind, what = moved, f"changes {group.within[:60] or 'the measured program'}"
            if not group.removed:
                kind, what = "other", f"adds to {group.within[:60] or 'the measured program'}"
            yield KindEvidence(kind, 0.75, change.path, group.line, what)


def moved_metric(upstream: Upstream) -> str:
    """What a change without any telling name is meant to move: what upstream measures."""
    return "performance" if upstream.measures_speed else "quality"


def _lines(change: FileDiff, group: LineGroup, added: Iterable[str]) -> Iterator[KindEvidence]:
    """Lines that only report, and lines that only refuse, with the conditions above them."""
    added = list(added)
    guards = {at for at, line in enumerate(added) if _GUARD.match(line)}
    guarded = [
        added[at]
        for at in sorted(guards | {at - 1 for at in guards if at and _BRANCH.match(added[at - 1])})
    ]
    reports = [line for line in added if _REPORTING.match(line)]
    for kind, met, most in (("tooling", reports, 2.0), ("other", guarded, 1.5)):
        if met:
            yield KindEvidence(
                kind, min(most, 0.5 * len(met)), change.path, group.line, met[0][:100]
            )


def _techniques(
    change: FileDiff, group: LineGroup, code: list[str], upstream: Upstream
) -> Iterator[KindEvidence]:
    """Techniques whose names came or went; of lines that were only taken out all count.

    Outside a program that trains, `depth`, `skip`, `search` or `queue` are its own matter.
    """
    if not code and any(map(code_of, group.added)):
        return
    kinds = ("performance", "quality", "tooling", "other") if upstream.trains else ("performance",)
    removed = " ".join(map(code_of, group.removed))
    for technique in techniques_in(_changed_names(" ".join(code), removed)):
        if technique.kind in kinds:
            weight = 1.5 if group.removed else 1.0
            yield KindEvidence(technique.kind, weight, change.path, group.line, technique.name)


def _loops(change: FileDiff, group: LineGroup, code: list[str]) -> Iterator[KindEvidence]:
    """A loop that became a call or an operation on the same values."""
    removed = [line for line in map(code_of, group.removed) if line]
    gone, left = ([line for line in lines if _LOOP.match(line)] for lines in (removed, code))
    values = set(_VALUE.findall(_STRING.sub(" ", " ".join(code))))
    if code and len(gone) > len(left) and values and values <= set(identifiers(" ".join(removed))):
        yield KindEvidence(
            "performance", 1.5, change.path, group.line, f"instead of {gone[0][:80]}"
        )


def _changed_names(added: str, removed: str) -> list[str]:
    """Identifiers that one side has and the other has not; what stands in strings names nothing."""
    new, old = (set(identifiers(_STRING.sub(" ", text))) for text in (added, removed))
    return sorted(new ^ old)


def are_renames(changes: Iterable[FileDiff], upstream: Upstream) -> bool:
    """Whether these changes give new names and nothing else: token for token the same code, each old name gone
    from its files, each new one bound by a changed line and unknown upstream.
    """
    names: dict[str, str] = {}
    bound: set[str] = set()
    for change in changes:
        removed, added = (list(map(code_of, lines)) for lines in (change.removed, change.added))
        old, new = (_TOKEN.findall("\n".join(lines)) for lines in (removed, added))
        if len(old) != len(new):
            return False
        pairs = {(a, b) for a, b in zip(old, new, strict=True) if a != b}
        whole = Counter(
            _TOKEN.findall(
                "\n".join(map(code_of, upstream.files.get(change.before, "").splitlines()))
            )
        )
        if any(names.setdefault(a, b) != b or whole[a] > old.count(a) for a, b in pairs):
            return False
        for line in added:
            bound |= {defined_in(line), setting_of(line)[0]}
            if defined_in(line) or line.startswith("for "):
                bound.update(_BOUND.findall(line))
    fresh = {b for b in names.values() if b in bound and not upstream.has_name(b)}
    return bool(names) and len(fresh) == len(names)


def _devices(change: FileDiff, group: LineGroup, upstream: Upstream) -> Iterator[KindEvidence]:
    """Devices and platforms that lines name: most where they branch by one, least where upstream
    names it as well.
    """
    before = {name for line in group.removed for name in identifiers(line)}
    counts: dict[str, int] = {}
    for line in map(code_of, group.added):
        branch = bool(_BRANCH.match(line)) or " else " in line
        target = _PREDEFINED.findall(line) if branch and line.startswith("#") else ()
        for name in {*identifiers(line)} - before:
            if any(t.kind == "port" for t in techniques_of_name(name)):
                weight = 1 + branch + (not upstream.has_name(name))
                counts[name] = max(counts.get(name, 0), weight)
            elif name in target and not techniques_of_name(name):
                counts[name] = 3
    if counts:
        weight = float(min(6, sum(sorted(counts.values())[-3:])))
        what = ", ".join(sorted(counts)[:5])
        yield KindEvidence("port", weight, change.path, group.line, what)
