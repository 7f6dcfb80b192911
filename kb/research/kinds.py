"""What kind of change a fork holds, with the evidence. In this order: which files, which hunks and names, the declared subject, then words."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kb.research.diffs import FileChange, Group
from kb.research.symbols import code_of, identifiers, setting_of
from kb.research.techniques import Technique, techniques_in, techniques_of_name
from kb.research.upstream import Upstream

KINDS = ("performance", "quality", "port", "tooling", "docs", "log", "refactor", "other")
_SUBJECT = re.compile(
    r"(?i)^(perf|docs?|refactor|style|tests?|ci|build|chore|tools?|tooling|bench)(?:\([^)]*\))?!?:\s"
)
_DECLARED = {
    "perf": "performance",
    "doc": "docs",
    "docs": "docs",
    "refactor": "refactor",
    "style": "refactor",
}
# What people say of a change beside the names of techniques.
_WORDS = {
    "performance": r"faster|speed(?:s|up)?|vram|memory|throughput|latency|oom|overhead|optimi[sz]e\w*|efficien\w+|fragmentation|bandwidth|utili[sz]ation|stalls?",
    "quality": r"val_bpb|bpb|loss|perplexity|accuracy|improves?|convergence|hyperparameters?|tun(?:e|ed|ing)|halve|higher|lower|longer",
    "port": r"(?:gpu|cpu|mps|windows|macos|amd|rocm|silicon|platforms?|nvidia|hopper|\d{4}) support|support for|compatib\w+|backend|cross-platform|non-\w+ gpus?|consumer gpus?|port(?:ed|s)?",
    "tooling": r"add --\w+|dashboard|visuali[sz]\w+|track\w*|summary|skill|kill",
    "docs": r"readme|typos?|document\w*|docs?|guide|wording|link|notable forks?",
    "refactor": r"refactor\w*|clean ?up|simplif\w+|rename\w*|extract|restructure|modulari[sz]e|dead code|unused|type hints?|annotations?|docstrings?",
    "other": r"fix(?:es|ed)?|bugs?|security|vulnerab\w+|leak|crash\w*|guards?|handle[sd]?|prevent\w*|avoid\w*|ensure\w*|nan|robust\w*|wrong|missing|validate",
    "log": r"results?\.tsv|results log|experiment log|run log|session|report of",
}
_WORD_OF = {
    kind: re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE) for kind, pattern in _WORDS.items()
}
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
_SURVIVES = 0.35


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a kind was taken: how much it weighs, where it stands, and what stands there."""

    kind: str
    weight: float
    path: str
    line: int
    what: str


@dataclass(frozen=True, slots=True)
class Reading:
    """The kind of a change, the kinds it holds as well, whether it means to optimize the measured program, how strongly, and why."""

    kind: str
    also: tuple[str, ...]
    optimization: bool
    strength: float
    techniques: tuple[str, ...]
    evidence: tuple[Evidence, ...]


def reading_of(
    changes: Sequence[tuple[FileChange, tuple[Group, ...]]],
    messages: Sequence[str],
    upstream: Upstream,
) -> Reading:
    """The kind of the changes of one fork (each with its groups that upstream lacks) that came with these commit messages, the newest first."""
    core = _core_paths(changes, upstream)
    evidence = [
        *_files(changes, core),
        *(
            e
            for change, groups in changes
            if change.path in core
            for e in _hunks(change, groups, upstream)
        ),
    ]
    evidence += _moves(changes)
    weights: Counter[str] = Counter()
    for item in evidence:
        weights[item.kind] += item.weight
    structure = Counter(weights)
    words = list(_messages(messages))
    for item in words:
        if item.kind not in ("performance", "quality") or core:
            weights[item.kind] += item.weight
    evidence += words
    optimizing = structure["performance"] + structure["quality"]
    kind = _kind(weights, structure, core=core, replaced=_replaced(changes, core, upstream))
    also = tuple(
        k for k, w in weights.most_common() if k != kind and w >= 0.4 * weights[kind] and w >= 3
    )
    said = weights["performance"] + weights["quality"] - optimizing
    optimization = kind in ("performance", "quality") or kind == "port" and _holds_levers(evidence)
    named = _named(changes, core, messages, kind)
    strength = (optimizing + said) / max(1.0, sum(weights.values()))
    return Reading(
        kind,
        also,
        optimization,
        round(strength, 3),
        named,
        tuple(sorted(evidence, key=lambda e: -e.weight)[:12]),
    )


def _moves(changes: Sequence[tuple[FileChange, tuple[Group, ...]]]) -> Iterator[Evidence]:
    """Code that stands elsewhere than before, and source in which comments alone changed."""
    source = [c for c, _ in changes if c.role == "source" and c.groups]
    added = {code for c in source for line in c.added if len(code := code_of(line)) > 3}
    removed = {code for c in source for line in c.removed if len(code := code_of(line)) > 3}
    if len(added) >= 3 and len(added & removed) >= 0.6 * len(added):
        yield Evidence("refactor", 4.0, source[0].path, 1, f"{len(added & removed)} lines moved")
    if source and not any(code_of(line) for c in source for line in (*c.added, *c.removed)):
        yield Evidence("docs", 4.0, source[0].path, 1, "comments alone")


def _holds_levers(evidence: Iterable[Evidence]) -> bool:
    """Whether a port holds tuning or memory work as well, apart from the lines that choose a device."""
    listed = list(evidence)
    devices = {(e.path, e.line) for e in listed if e.kind == "port"}
    return (
        sum(
            e.weight
            for e in listed
            if e.path and e.kind in ("performance", "quality") and (e.path, e.line) not in devices
        )
        >= 8
    )


def _core_paths(
    changes: Sequence[tuple[FileChange, tuple[Group, ...]]], upstream: Upstream
) -> frozenset[str]:
    """The measured program as far as it changed: source that upstream has, and source that is new and that such source names."""
    known = {
        c.path
        for c, groups in changes
        if c.role == "source" and c.state != "copied" and c.before in upstream.files and groups
    }
    lines = [
        line
        for c, groups in changes
        if c.path in known or c.role == "build"
        for group in groups
        for line in group.added
    ]
    named = {name for line in lines for name in identifiers(line)}
    stems = {
        c.path: c.path.rpartition("/")[2].partition(".")[0]
        for c, _ in changes
        if c.role == "source" and c.state == "added"
    }
    return frozenset(known | {path for path, stem in stems.items() if stem in named and known})


def _files(
    changes: Iterable[tuple[FileChange, tuple[Group, ...]]], core: frozenset[str]
) -> Iterator[Evidence]:
    """What the files are, of which none is the measured program."""
    for change, groups in changes:
        lines = sum(bool(line.strip()) for group in groups for line in group.added)
        if change.path in core or not lines and change.role != "picture":
            continue
        devices = [
            t
            for t in techniques_of_name(change.path.rpartition("/")[2])
            if t.name == "another device"
        ]
        kind = {"docs": "docs", "picture": "docs", "log": "log", "vendored": ""}.get(
            change.role, "port" if devices else "tooling"
        )
        if change.role == "source" and not devices and change.state != "copied":
            named = techniques_in(
                n for g in groups for line in g.added for n in identifiers(code_of(line))
            )
            ports = sum(n for t, n in named.items() if t.name == "another device")
            kind = "port" if ports >= max(6, lines / 20) else kind
        weight = {"log": 3.0, "picture": 0.5}.get(change.role, min(6.0, 1 + lines / 15))
        if change.role == "build":
            weight = min(weight, 1.5)
        if kind:
            yield Evidence(
                kind, weight, change.path, 1, f"{change.state} {change.role} file, {lines} lines"
            )


def _hunks(change: FileChange, groups: Sequence[Group], upstream: Upstream) -> Iterator[Evidence]:
    """What the changed lines of the measured program pull."""
    total, news = sum(len(g.added) for g in change.groups), sum(len(g.added) for g in groups)
    if total >= 20 and news < 0.35 * total:
        yield Evidence(
            "refactor",
            4.0,
            change.path,
            1,
            f"{total - news} of {total} added lines stand upstream as well",
        )
    for group in groups:
        found = [*_tuned(change, group, upstream), *_devices(change, group, upstream)]
        removed = " ".join(map(code_of, group.removed))
        added = [code_of(line) for line in group.added]
        reports = [line for line in added if _REPORTING.match(line)]
        if reports:
            found.append(
                Evidence(
                    "tooling",
                    min(2.0, 0.5 * len(reports)),
                    change.path,
                    group.line,
                    reports[0][:100],
                )
            )
        if guards := [line for line in added if _GUARD.match(line)]:
            found.append(
                Evidence(
                    "other", min(1.5, 0.5 * len(guards)), change.path, group.line, guards[0][:100]
                )
            )
        settings = {e.what.partition(":")[0] for e in found if e.weight == _SETTING}
        code = [
            line
            for line in added
            if line
            and not _GUARD.match(line)
            and not _REPORTING.match(line)
            and setting_of(line)[0] not in settings
        ]
        renamed = bool(code) and _shape(" ".join(code)) == _shape(removed)
        changed = _changed_names(" ".join(code), removed, renamed=renamed)
        for technique, count in techniques_in(changed if code or not added else ()).items():
            if technique.kind != "port":
                weight = (1.5 if group.removed else 1.0) * min(count, 3) ** 0.5
                found.append(
                    Evidence(technique.kind, weight, change.path, group.line, technique.name)
                )
        if code and not found and group.removed:
            kind = (
                "refactor" if renamed else "performance" if upstream.measures_speed else "quality"
            )
            found.append(
                Evidence(
                    kind,
                    0.75,
                    change.path,
                    group.line,
                    f"changes {group.within[:60] or 'the measured program'}",
                )
            )
        yield from found


def _changed_names(added: str, removed: str, *, renamed: bool) -> list[str]:
    """Identifiers that one side has and the other has not; of strings only such as are names of something (`PYTORCH_CUDA_ALLOC_CONF`).

    Where lines differ in names alone, names of one technique on both sides say nothing.
    """
    sides = []
    for text in (added, removed):
        quoted = {
            name
            for found in _STRING.finditer(text)
            for name in identifiers(found[0])
            if "_" in name and found[0].count(" ") < 2
        }
        bare = _STRING.sub(" ", text)
        sides.append({*identifiers(bare), *(f"{a}_{b}" for a, b in _DOTTED.findall(bare)), *quoted})
    new, old = sides[0] - sides[1], sides[1] - sides[0]
    if renamed and techniques_in(new).keys() == techniques_in(old).keys():
        return []
    return sorted(new | old)


def _shape(code: str) -> str:
    return re.sub(r"[A-Za-z_]\w*", "x", code)


def _devices(change: FileChange, group: Group, upstream: Upstream) -> Iterator[Evidence]:
    """Branches by device or platform, devices that upstream does not know, and names of its own device that were taken out."""
    before = {name for line in group.removed for name in identifiers(line)}
    seen: Counter[str] = Counter()
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
            seen[name] = max(seen[name], 3 if strange and branch else 2 if strange or branch else 1)
    if seen:
        yield Evidence(
            "port",
            float(min(6, sum(sorted(seen.values())[-3:]))),
            change.path,
            group.line,
            ", ".join(sorted(seen)[:5]),
        )


_SETTING = 3.0


def _tuned(change: FileChange, group: Group, upstream: Upstream) -> Iterator[Evidence]:
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
        kind = (
            next(iter(techniques)).kind
            if techniques
            else "performance"
            if upstream.measures_speed
            else "quality"
        )
        yield Evidence(kind, _SETTING, change.path, group.line, what)


def _without_numbers(line: str) -> str:
    return re.sub(r"\d[\d_.]*(?:[eE][+-]?\d+)?", "0", code_of(line))


def _messages(messages: Sequence[str]) -> Iterator[Evidence]:
    """What the authors declare: the prefix of a subject, the techniques and the words in it; a body counts little."""
    for message in messages[:40]:
        subject, _, body = message.partition("\n")
        share = 1.0 / min(len(messages), 40)
        if prefix := _SUBJECT.match(subject):
            kind = _DECLARED.get(prefix[1].lower(), "tooling")
            yield Evidence(kind, 6 * share, "", 0, subject[:100])
        for technique in techniques_in(identifiers(subject)):
            yield Evidence(technique.kind, 2 * share, "", 0, subject[:100])
        for kind, pattern in _WORD_OF.items():
            if found := pattern.findall(subject):
                yield Evidence(kind, 2 * share * min(2, len(found)), "", 0, subject[:100])
            if found := pattern.findall(body):
                yield Evidence(kind, 0.5 * share * min(3, len(found)), "", 0, ", ".join(found[:3]))


def _kind(
    weights: Counter[str], structure: Counter[str], *, core: frozenset[str], replaced: bool
) -> str:
    allowed = Counter(
        {
            k: w
            for k, w in weights.items()
            if core or k not in ("performance", "quality", "refactor")
        }
    )
    if replaced:
        return (
            "port" if structure["port"] > structure["quality"] + structure["tooling"] else "other"
        )
    if not allowed:
        return "other"
    if core:
        allowed["docs"] *= 0.3
        allowed["log"] *= 0.3
    else:
        allowed["other"] *= 0.5
    return max(allowed, key=lambda k: (allowed[k], -KINDS.index(k)))


def _replaced(
    changes: Sequence[tuple[FileChange, tuple[Group, ...]]],
    core: frozenset[str],
    upstream: Upstream,
) -> bool:
    """Whether most of what upstream measures was thrown away: another program under the same names."""
    whole = sum(
        bool(code_of(line))
        for c, _ in changes
        if c.path in core
        for line in upstream.files.get(c.before, "").splitlines()
    )
    gone = sum(bool(code_of(line)) for c, _ in changes if c.path in core for line in c.removed)
    return whole > 60 and gone > (1 - _SURVIVES) * whole


def _named(
    changes: Sequence[tuple[FileChange, tuple[Group, ...]]],
    core: frozenset[str],
    messages: Sequence[str],
    kind: str,
) -> tuple[str, ...]:
    """Techniques by how much of the code and the subjects names them; those of the change's kind first."""
    counts: Counter[Technique] = Counter()
    for change, groups in changes:
        if change.path in core:
            for group in groups:
                counts.update(
                    techniques_in(
                        set(identifiers(" ".join(map(code_of, group.added))))
                        ^ set(identifiers(" ".join(map(code_of, group.removed))))
                    )
                )
    for message in messages:
        counts.update({t: 2 for t in techniques_in(identifiers(message.partition("\n")[0]))})
    return tuple(
        t.name
        for t, _ in sorted(
            counts.items(), key=lambda item: (item[0].kind != kind, -item[1], item[0].name)
        )[:12]
    )
