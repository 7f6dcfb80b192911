"""Page types, verdicts, statuses, steps and their synonyms: the one table from which rules, skeletons and site order derive.

Refuses to read files: it knows words, not pages.
"""

import re
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How much a finding weighs: errors fail `kb lint`, warnings are shown, `off` is not even computed."""

    ERROR = "error"
    WARN = "warn"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong with one line of one page. `target` is the link, field or figure it is about, as written."""

    path: str
    line: int
    code: str
    message: str
    target: str = ""
    hint: str = ""
    fixable: bool = False


@dataclass(frozen=True, slots=True)
class PageType:
    """What a page of one type must say and where it lives.

    `folders` and `names` are the folder and `type:` spellings that mean this type (the first of each is the canonical one);
    `required` are front-matter fields; `statuses` the vocabulary of its `status:` (empty: none is asked);
    `sections` the H2 headings of a skeleton.
    """

    name: str
    folders: tuple[str, ...]
    names: tuple[str, ...]
    required: tuple[str, ...]
    statuses: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()


_COMMON = ("title", "type", "created", "updated")

PAGE_TYPES = (
    PageType(
        "target",
        ("targets", "models", "kernels"),
        ("target", "model", "kernel"),
        _COMMON,
        (),
        ("Goal", "Environment", "Variants", "What limits it"),
    ),
    PageType(
        "hypothesis",
        ("hypotheses",),
        ("hypothesis", "idea"),
        (*_COMMON, "status"),
        ("open", "in_progress", "supported", "refuted", "inconclusive", "retired"),
        ("Statement", "Rationale", "Measurement", "Risks"),
    ),
    PageType(
        "experiment",
        ("experiments", "kernel_experiments"),
        ("experiment", "kernel-experiment"),
        (*_COMMON, "hypothesis"),
        ("open", "in_progress", "running", "filed", "supported", "refuted", "inconclusive", "invalid", "crash", "baseline"),
        ("Hypothesis under test", "Setup", "Results", "Profile", "Verdict", "Next hypotheses", "Sources"),
    ),
    PageType(
        "concept",
        ("concepts",),
        ("concept",),
        ("title", "type", "updated"),
        (),
        ("What it is", "How to recognise it", "What it did here", "Limits"),
    ),
    PageType(
        "observation",
        ("observations",),
        ("observation",),
        _COMMON,
        (),
        ("What was observed", "How to see it", "Implications", "Seen in"),
    ),
    PageType("analysis", ("analyses",), ("analysis", "retrospective"), _COMMON, ()),
    PageType("codebase", ("codebases",), ("codebase", "overview"), ("title", "type", "updated"), ()),
    PageType("source", ("sources",), ("source", "source-page"), ("title", "type", "updated"), ()),
    PageType("catalog", (), ("catalog",), ("title", "type"), ()),
    PageType("index", (), ("index", "docs-index", "blueprint"), ("title", "type"), ()),
    PageType("log", (), ("log",), (), ()),
    PageType("program", (), ("program", "experiment-program"), ("title", "type"), ()),
)
TYPES = {t.name: t for t in PAGE_TYPES}
_TYPE_OF_NAME = {name: t.name for t in PAGE_TYPES for name in t.names}
_TYPE_OF_FOLDER = {folder: t.name for t in PAGE_TYPES for folder in t.folders}

# File names that say what a page is, whatever folder it stands in: they are never experiments.
_TYPE_OF_FILE = {
    "readme": "index",
    "index": "index",
    "log": "log",
    "observations": "log",
    "program": "program",
    "schema": "program",
}


def type_of(name: str | None) -> str | None:
    """Canonical page type of a `type:` value, or None if the vocabulary does not hold it."""
    return _TYPE_OF_NAME.get(name.strip().lower().replace("_", "-")) if name else None


def type_of_folder(folder: str) -> str | None:
    """Page type that a folder directly below `wiki/` stands for."""
    return _TYPE_OF_FOLDER.get(folder)


def type_of_file(stem: str) -> str | None:
    """Page type that a file name alone gives away (`README`, `log`, `program` ...)."""
    return _TYPE_OF_FILE.get(stem.lower())


def folders_of(type_name: str) -> tuple[str, ...]:
    """Folders below `wiki/` that hold pages of this type, the canonical one first."""
    return TYPES[type_name].folders


class Verdict(StrEnum):
    SUPPORTED = "supported"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    INVALID = "invalid"
    CRASH = "crash"
    BASELINE = "baseline"
    OTHER = "other"


FAILED = frozenset({Verdict.REFUTED, Verdict.INVALID, Verdict.CRASH})

# First match wins, so `refuted/tie` is refuted and `invalid (crashed)` is invalid.
_VERDICT_RULES = (
    (re.compile(r"invalid"), Verdict.INVALID),
    (re.compile(r"crash|^\W*failed"), Verdict.CRASH),
    (re.compile(r"refut|reject|falsif|discard"), Verdict.REFUTED),
    (re.compile(r"inconclus|potential|parked|neutral|parity|^\W*(?:flat|tie)"), Verdict.INCONCLUSIVE),
    (re.compile(r"support|accept|keep|confirm|certif|provisional"), Verdict.SUPPORTED),
    (re.compile(r"baseline"), Verdict.BASELINE),
)
_SAYS_NOTHING = re.compile(r"^\W*(?:open|pending|in[_ -]?progress|running|complete[d]?|filed|none|null)?\W*$")


def canonical_verdict(raw: str | None) -> Verdict | None:
    """Canonical verdict of one raw spelling; None where the spelling says nothing (open, pending, filed ...), OTHER where it is not known."""
    text = (raw or "").strip().lower()
    if _SAYS_NOTHING.match(text):
        return None
    for pattern, verdict in _VERDICT_RULES:
        if pattern.search(text):
            return verdict
    return Verdict.OTHER


def canonical_decision(raw: str | None) -> str | None:
    """`keep` or `revert` of a loop's own spelling of what it did with a change; None where it says neither."""
    text = (raw or "").strip().lower()
    if re.match(r"keep|kept|accept|merge|promot", text):
        return "keep"
    if re.match(r"revert|discard|reject|drop|kill|rolled", text):
        return "revert"
    return None


STEPS = ("hypothesis", "profile", "edit", "verify", "verdict", "retrospective", "resume")

# The four labels of a hypothesis, and the spellings under which pages carry them.
LABELS = {
    "hypothesis": ("hypothesis", "statement", "claim"),
    "mechanism": ("mechanism", "why it should work", "rationale"),
    "predicted_signal": ("predicted signal", "prediction", "expected", "expected signal", "predicted"),
    "falsification": (
        "falsification criterion",
        "falsification",
        "falsified if",
        "refuted if",
        "success criterion",
        "decision rule",
    ),
}
