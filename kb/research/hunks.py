"""What the changed lines of a program pull: settings, techniques, devices, reports, guards. One
group of lines at a time; knows no files' roles.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kb.research.diffs import FileDiff, LineGroup
from kb.research.symbols import code_of, identifiers, setting_of
from kb.research.techniques import techniques_in, techniques_of_name
from kb.research.upstream import Upstream

_REPORTING = re.compile(
    r"^(?:print|printf|fprintf|std::c(?:out|err)|println!|eprintln!|fmt\.\w*[pP]rint\w*|log\w*\.|logger|logging|console\.|parser\.|warnings?\.|f?[\"'])"
)
_BRANCH = re.compile(
    r"(?:\}?\s*else\s+)?(?:if|elif|#\s*if\w*|#\s*elif|match|case|switch|#\[cfg)\b|(?:try|except)\b"
)
_DOTTED = re.compile(r"([A-Za-z_]\w*)(?:\.|::)(?=([A-Za-z_]\w*))")
_GUARD = re.compile(r"^(?:raise|assert|sys\.exit|exit|abort|panic!?|throw)\b")
_STRING = re.compile(r"([\"'])(?:\\.|(?!\1).)*\1")
_LITERAL = re.compile(
    r"[\s\d.,+*/()\[\]eE_<\-x%A-Fa-f\"']*|[\"'][\w.+-]*[\"'].*|True|False|true|false|None"
)
_SETTING = 3.0


@dataclass(frozen=True, slots=True)
class KindEvidence:
    """Why a kind was taken: how much it weighs, where it stands, and what stands there."""

    kind: str
    weight: float
    path: str
    line: int
    what: str


def pulls_of(change: FileDiff, upstream: Upstream) -> Iterator[KindEvidence]:
    """What the lines of one file of the measured program pull that upstream lacks."""
    total, news = (sum(len(g.added) for g in groups) for groups in (change.groups, change.news))
    if total >= 20 and news < 0.35 * total:
        what = f"{total - news} of {total} added lines stand upstream as well"
        yield KindEvidence("refactor", 4.0, change.path, 1, what)
    for group in change.news:
        settings = list(_tuned(change, group, upstream))
        known = {e.what.partition(":")[0] for e in settings}
        added = [line for line in map(code_of, group.added) if line]
        code = [
            line
            for line in added
            if not (_REPORTING.match(line) or _GUARD.match(line) or setting_of(line)[0] in known)
        ]
        evidence = [
            *settings,
            *_devices(change, group, upstream),
            *_lines(change, group, added),
            *_techniques(change, group, code, whole=not added),
        ]
        yield from evidence
        if code and group.removed and not evidence:
            renamed = _shape(" ".join(code)) == _shape(" ".join(map(code_of, group.removed)))
            kind = "refactor" if renamed else moved_metric(upstream)
            what = f"changes {group.within[:60] or 'the measured program'}"
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
    change: FileDiff, group: LineGroup, code: list[str], *, whole: bool
) -> Iterator[KindEvidence]:
    """Techniques whose names came or went; of lines that were only taken out (`whole`) all count."""
    if not code and not whole:
        return
    removed = " ".join(map(code_of, group.removed))
    for technique, count in techniques_in(_changed_names(" ".join(code), removed)).items():
        if technique.kind != "port":
            weight = (1.5 if group.removed else 1.0) * min(count, 3) ** 0.5
            yield KindEvidence(technique.kind, weight, change.path, group.line, technique.name)


def _changed_names(added: str, removed: str) -> list[str]:
    """Identifiers that one side has and the other has not; of strings only such as are names of
    something (`PYTORCH_CUDA_ALLOC_CONF`).

    Where lines differ in names alone, names of one technique on both sides say nothing.
    """
    sides = []
    for text in (added, removed):
        quoted = {
            name
            for match in _STRING.finditer(text)
            for name in identifiers(match[0])
            if "_" in name and match[0].count(" ") < 2
        }
        bare = _STRING.sub(" ", text)
        sides.append({*identifiers(bare), *(f"{a}_{b}" for a, b in _DOTTED.findall(bare)), *quoted})
    new, old = sides[0] - sides[1], sides[1] - sides[0]
    renamed = bool(added) and _shape(added) == _shape(removed)
    if renamed and techniques_in(new).keys() == techniques_in(old).keys():
        return []
    return sorted(new | old)


def _shape(code: str) -> str:
    return re.sub(r"[A-Za-z_]\w*", "x", code)


def _devices(change: FileDiff, group: LineGroup, upstream: Upstream) -> Iterator[KindEvidence]:
    """Branches by device or platform, devices that upstream does not know, and names of its own
    device that were taken out.
    """
    before = {name for line in group.removed for name in identifiers(line)}
    counts: Counter[str] = Counter()
    for line in map(code_of, group.added):
        met = [
            name
            for name in identifiers(line)
            if name not in before and any(t.kind == "port" for t in techniques_of_name(name))
        ]
        branch = bool(_BRANCH.match(line)) or " else " in line
        for name in met:
            strange = not upstream.has_name(name) and any(
                t.name == "another device" for t in techniques_of_name(name)
            )
            counts[name] = max(
                counts[name], 3 if strange and branch else 2 if strange or branch else 1
            )
    if counts:
        yield KindEvidence(
            "port",
            float(min(6, sum(sorted(counts.values())[-3:]))),
            change.path,
            group.line,
            ", ".join(sorted(counts)[:5]),
        )


def _tuned(change: FileDiff, group: LineGroup, upstream: Upstream) -> Iterator[KindEvidence]:
    """Values that were changed in place: what a tuning loop does all day."""
    old = {name: value for name, value in map(setting_of, group.removed) if name}
    shapes = {_without_numbers(line): line for line in group.removed}
    for line in group.added:
        name, value = setting_of(line)
        before = old.get(name, "")
        if (
            name
            and before
            and before != value
            and (_LITERAL.fullmatch(value) or _without_numbers(before) == _without_numbers(value))
        ):
            what = f"{name}: {before[:40]} → {value[:40]}"
        elif (
            (same := shapes.get(_without_numbers(line)))
            and code_of(same) != code_of(line)
            and any(c.isdigit() for c in line)
        ):
            name, what = " ".join(identifiers(_STRING.sub(" ", code_of(line)))), code_of(line)[:100]
        else:
            continue
        techniques = techniques_in(name.split())
        kind = next(iter(techniques)).kind if techniques else moved_metric(upstream)
        yield KindEvidence(kind, _SETTING, change.path, group.line, what)


def _without_numbers(line: str) -> str:
    return re.sub(r"\d[\d_.]*(?:[eE][+-]?\d+)?", "0", code_of(line))
