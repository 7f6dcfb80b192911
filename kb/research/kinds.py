"""What kind of change a fork holds, with the evidence. In this order: which files, which hunks and
names, the declared subject, then words.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kb.research.diffs import DEVICE, FileDiff
from kb.research.hunks import KindEvidence, moved_metric, pulls_of
from kb.research.symbols import code_of, defined_in, identifiers, setting_of
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
    "performance": r"faster|speed(?:s|up)?|vram|memory|throughput|latency|oom|overhead|buffers?|optimi[sz]e\w*|efficien\w+|fragmentation|bandwidth|utili[sz]ation|stalls?",
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
_SURVIVES = 0.35
# Lines of a log for each line of the program, beyond which the log is what was handed in.
_MOSTLY = 20


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
    pulls = [e for c in changes if c.path in core for e in pulls_of(c, upstream)]
    evidence = [*_files(changes, core, upstream), *pulls, *_moves(changes)]
    structure = _weights(evidence)
    words = [e for e in _messages(messages) if core or e.kind not in ("performance", "quality")]
    weights = structure + _weights(words)
    replaced = _replaced(changes, core, upstream)
    logged = sum(len(c.new_lines) for c in changes if c.role == "log")
    written = sum(len(c.new_lines) for c in changes if c.path in core)
    kind = _kind(
        weights,
        structure,
        core=core,
        replaced=replaced,
        mostly_log=logged > _MOSTLY * written,
        moved=moved_metric(upstream),
    )
    also = (k for k, w in weights.most_common() if k != kind and w >= max(3, 0.4 * weights[kind]))
    optimization = kind in ("performance", "quality") or kind == "port" and _holds_levers(pulls)
    strength = (weights["performance"] + weights["quality"]) / max(1.0, sum(weights.values()))
    strongest = sorted([*evidence, *words], key=lambda e: -e.weight)[:12]
    named = _named(changes, core, messages, kind)
    return KindReading(kind, tuple(also), optimization, round(strength, 3), named, tuple(strongest))


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
    added, removed = ({code for line in lines if (code := code_of(line))} for lines in (
        (line for c in source for line in c.added), (line for c in source for line in c.removed)
    ))  # fmt: skip
    shrunk = {c.path for c in source if len(c.removed) > len(c.added)}
    taken = [
        c
        for c in source
        if c.state == "copied" and c.before in shrunk and 5 * len(c.added) < len(c.removed)
    ]
    moved, new = (sum(len(code) > 3 for code in lines) for lines in (added & removed, added))
    for holds, kind, what in (
        (bool(taken), "refactor", "a file taken out of another"),
        (moved >= 3 and moved >= 0.6 * new, "refactor", f"{moved} lines moved"),
        (not added | removed, "docs", "comments alone"),
        (
            bool(removed) and _same_work(added, removed),
            "refactor",
            "the same names and numbers under other definitions",
        ),
    ):
        if holds:
            yield KindEvidence(kind, 4.0, source[0].path, 1, what)


# Types that a signature may state: what runs is the same with them and without.
_ANNOTATION = re.compile(r"\s*->\s*[^:]+|(?<=\w)\s*:\s*[A-Za-z][\w.\[\], |]*(?=[,)=])")


def _same_work(added: Iterable[str], removed: Iterable[str]) -> bool:
    """Whether new code differs from the old in its own definitions, in types or in names for what stands between alone: nothing comes
    from outside, and nothing but these is gone.
    """
    bare, before = (
        [_ANNOTATION.sub("", line) for line in lines if not line.startswith(("import ", "from "))]
        for lines in (added, removed)
    )
    own = {name for line in bare if (name := defined_in(line))}
    between = {name for line in before if (name := setting_of(line)[0])}
    new, old = (
        Counter(re.findall(r"[A-Za-z_]\w*|\d[\w.]*", " ".join(lines))) for lines in (bare, before)
    )
    if own - old.keys():
        return not new.keys() - old.keys() - own - _FRAME
    if new == old:
        return sorted(bare) == sorted(before)  # The same words in another order are other work.
    return not (new - old).keys() - between and not (old - new).keys() - between


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
    known = {
        c.path
        for c in changes
        if c.role == "source" and c.state != "copied" and c.before in upstream.files and c.news
    }
    lines = (line for c in changes if c.path in known or c.role == "build" for line in c.new_lines)
    named = {name for line in lines for name in identifiers(line)}
    stems = {
        c.path: c.path.rpartition("/")[2].partition(".")[0]
        for c in changes
        if c.role == "source" and c.state == "added"
    }
    known |= {c.path for c in changes if c.role == "build" and _sets_compiler(c)}
    return frozenset(known | {path for path, stem in stems.items() if stem in named and known})


def _sets_compiler(change: FileDiff) -> bool:
    """Whether a build file changes how the program is compiled, not what it is built from."""
    named = techniques_in(name for line in change.new_lines for name in identifiers(line))
    return any(technique.name == "compilation" for technique in named)


def _files(
    changes: Iterable[FileDiff], core: frozenset[str], upstream: Upstream
) -> Iterator[KindEvidence]:
    """What the files are, of which none is the measured program."""
    known = {path.rpartition(".")[2] for path in upstream.files}
    for change in changes:
        lines = sum(bool(line.strip()) for line in change.new_lines)
        kind = _kind_of_file(change, known, lines)
        if change.path in core or not kind or not lines and change.role != "picture":
            continue
        most = 1.5 if change.role == "build" else 6.0
        weight = {"log": 3.0, "picture": 0.5}.get(change.role, min(most, 1 + lines / 15))
        yield KindEvidence(
            kind, weight, change.path, 1, f"{change.state} {change.role} file, {lines} lines"
        )


def _kind_of_file(change: FileDiff, known: set[str], lines: int) -> str:
    """What a file is by its role, then by its language, its name and the names in it; `known` are the ends of upstream's files."""
    if change.role in ("docs", "picture", "log", "vendored"):
        return {"picture": "docs", "vendored": ""}.get(change.role, change.role)
    name = change.path.rpartition("/")[2]
    if name.rpartition(".")[2] in DEVICE - known or any(
        t.name == "another device" for t in techniques_of_name(name)
    ):
        return "port"
    if change.role != "source" or change.state == "copied":
        return "tooling"
    named = techniques_in(n for line in change.new_lines for n in identifiers(code_of(line)))
    ports = sum(n for t, n in named.items() if t.name == "another device")
    return "port" if ports >= max(6, lines / 20) else "tooling"


def _messages(messages: Sequence[str]) -> Iterator[KindEvidence]:
    """What the authors declare: the prefix of a subject, the techniques and the words in it; a body
    counts little.
    """
    for message in messages[:40]:
        subject, _, body = message.partition("\n")
        share = 1.0 / min(len(messages), 40)
        if prefix := _SUBJECT.match(subject):
            kind = _DECLARED.get(prefix[1].lower(), "tooling")
            yield KindEvidence(kind, 6 * share, "", 0, subject[:100])
        for technique in techniques_in(identifiers(subject)):
            yield KindEvidence(technique.kind, 2 * share, "", 0, subject[:100])
        for kind, pattern in _WORD_OF.items():
            if matches := pattern.findall(subject):
                yield KindEvidence(kind, 2 * share * min(2, len(matches)), "", 0, subject[:100])
            if matches := pattern.findall(body):
                yield KindEvidence(
                    kind, 0.5 * share * min(3, len(matches)), "", 0, ", ".join(matches[:3])
                )


def _kind(
    weights: Counter[str],
    structure: Counter[str],
    *,
    core: frozenset[str],
    replaced: bool,
    mostly_log: bool,
    moved: str,
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
        allowed["log"] *= 2.0 if mostly_log else 0.3
    elif len(structure) == 1:
        return next(
            iter(structure)
        )  # All files are of one kind: no word of a message makes them another.
    else:
        allowed["other"] *= 0.5
    return max(allowed, key=lambda k: (allowed[k], k == moved, -KINDS.index(k)))


def _replaced(
    changes: Sequence[FileDiff],
    core: frozenset[str],
    upstream: Upstream,
) -> bool:
    """Whether most of what upstream measures was thrown away: another program under the same names."""
    whole = sum(
        bool(code_of(line))
        for c in changes
        if c.path in core
        for line in upstream.files.get(c.before, "").splitlines()
    )
    gone = sum(bool(code_of(line)) for c in changes if c.path in core for line in c.removed)
    return whole > 60 and gone > (1 - _SURVIVES) * whole


def _named(
    changes: Sequence[FileDiff],
    core: frozenset[str],
    messages: Sequence[str],
    kind: str,
) -> tuple[str, ...]:
    """Techniques by how much of the code and the subjects names them; those of the change's kind
    first.
    """
    counts: Counter[Technique] = Counter()
    for change in changes:
        if change.path in core:
            for group in change.news:
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
