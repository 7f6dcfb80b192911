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
# What other wikis call pages of a type, and in the plural their folder: read, never written, and counted in no tally, for "5 runs" may count
# what has no page.
ALSO = {
    "experiment": {"trial": "trials", "run": "runs"},
    "concept": {"technique": "techniques"},
    "observation": {"finding": "findings", "lesson": "lessons"},
    "analysis": {"synthesis": "syntheses", "comparison": "comparisons"},
    "source": {"paper": "papers", "article": "articles"},
}
_TYPE_OF_NAME = {name: t.name for t in PAGE_TYPES for name in (*t.names, *ALSO.get(t.name, ()))}
_TYPE_OF_FOLDER = {folder: t.name for t in PAGE_TYPES for folder in (*t.folders, *ALSO.get(t.name, {}).values())}

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
    return _TYPE_OF_FOLDER.get(folder.lower())


def type_of_file(stem: str) -> str | None:
    """Page type that a file name alone gives away (`README`, `log`, `program` ...)."""
    return _TYPE_OF_FILE.get(stem.lower())


# A run's page is named by its date or number; the number may stand behind a word for a run.
_RUN_NAME = re.compile(r"\d|(?:v|e|exp|experiment|run|trial|iter|iteration|attempt|round)[-_ ]?\d", re.IGNORECASE)
# Front-matter fields that say when a page came to be, in the order in which they count.
CREATED_FIELDS = ("created", "date", "created_at", "started")


def names_run(stem: str) -> bool:
    """Whether a file below the folder of experiments has the name of an experiment: one that starts with a date or a number."""
    return bool(_RUN_NAME.match(stem))


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

# First match wins, so `refuted/tie` is refuted and `invalid (crashed)` is invalid. What is denied is not said: "no crash", "not refuted".
_VERDICT_RULES = (
    (re.compile(r"(?<!not )invalid"), Verdict.INVALID),
    (re.compile(r"(?<!no )(?<!not )(?<!without )crash|^\W*failed"), Verdict.CRASH),
    (re.compile(r"(?<!not )(?:refut|reject|falsif|discard)|^\W*revert"), Verdict.REFUTED),
    (re.compile(r"\b(?:not|never) (?:support|confirm|accept|keep\b|kept\b)|unsupported"), Verdict.REFUTED),
    (re.compile(r"inconclus|potential|parked|neutral|parity|^\W*(?:flat|tie)|\bnot yet\b|unconfirmed"), Verdict.INCONCLUSIVE),
    (re.compile(r"support|accept|keep|\bkept\b|confirm|certif|provisional"), Verdict.SUPPORTED),
    (re.compile(r"baseline"), Verdict.BASELINE),
)
# Where a page is in its life says nothing of what came out of it.
_LIFE = (
    "open|pending|in[_ -]?progress|running|complete[d]?|filed|none|null|done|finished|closed|final|active|draft|proposed|planned|"
    "queued|todo|new|started|executed|measured|analy[sz]ed|reviewed|archived|published|wip|ready|implemented|n/?a|tbd"
)
# Of these, in a status field, the ones that say that the run is still to end.
RUNNING = frozenset(
    (
        "running",
        "in_progress",
        "open",
        "pending",
        "active",
        "draft",
        "proposed",
        "planned",
        "queued",
        "todo",
        "new",
        "started",
        "wip",
    )
)
_IN_LIFE = re.compile(rf"(?:{_LIFE})\b")
_SAYS_NOTHING = re.compile(rf"^\W*(?:(?:{_LIFE})\W*)?$")


def canonical_verdict(raw: str | None) -> Verdict | None:
    """Canonical verdict of one raw spelling; None where the spelling says nothing (open, pending, filed ...), OTHER where it is not known."""
    text = (raw or "").strip().lower()
    if _SAYS_NOTHING.match(text):
        return None
    for pattern, verdict in _VERDICT_RULES:
        if pattern.search(text):
            return verdict
    return Verdict.OTHER


# Fields of the front matter, and labels of the body, under which loops of other habits say how a run came out, in the order in which they count.
OUTCOME_FIELDS = ("outcome", "result", "conclusion", "disposition")
OUTCOME_LABELS = ("verdict", *OUTCOME_FIELDS, "status", "decision")

# Words that say how it came out only where they are all, or the first, that is said: in running text they speak of other things.
_OUTCOMES = (
    (
        re.compile(
            r"(?:fail(?:s|ure)?|error|oom|out of memory|time(?:d )?-?out|(?:build|compile|compilation) (?:error|fail\w*))\b"
        ),
        Verdict.CRASH,
    ),
    (
        re.compile(r"(?:regress\w*|negative|worse|slower|no[- ]go|abandon\w*|dropped|killed|disproved|disproven|loss|lost)\b"),
        Verdict.REFUTED,
    ),
    (
        re.compile(
            r"(?:no (?:significant |measurable |clear |real )?(?:change|effect|difference|gain|improvement|win|benefit)|mixed|noise|"
            r"(?:with)?in (?:the )?noise|unclear|no-?op|deferred|wash)\b"
        ),
        Verdict.INCONCLUSIVE,
    ),
    (
        re.compile(
            r"(?:success\w*|win|won|improve[ds]?|improvement|adopted|merged|promoted|shipped|validated|positive|pass(?:ed|es)?|faster|go$)\b"
        ),
        Verdict.SUPPORTED,
    ),
)
# A longer clause is a sentence, in which a verdict's word may be about anything.
_LONGEST_OUTCOME = 6
_MARKS = (("❌✗✘👎🔴🚫⛔", Verdict.REFUTED), ("✅✔✓👍🟢", Verdict.SUPPORTED), ("💥", Verdict.CRASH))
_CLAUSE = re.compile(r"[.;:,(\n—–]|\s-\s")


def outcome_verdict(raw: str) -> Verdict | None:
    """Verdict of what stands in a field or behind a label such as outcome, result or status: its first clause, else the mark before it.

    A clause of more than a few words, and one that says no verdict, is None.
    """
    text = raw.strip().lower()
    opening = _CLAUSE.split(re.sub(r"^\W+", "", text), maxsplit=1)[0].strip(" *_`")
    marked = next((v for marks, v in _MARKS if text and text[0] in marks), None)
    if not opening:
        return marked
    if len(opening.split()) > _LONGEST_OUTCOME:
        return None
    verdict = canonical_verdict(opening)
    if verdict is not Verdict.OTHER:
        return verdict
    worded = next((v for pattern, v in _OUTCOMES if pattern.match(opening)), None)
    return worded or (None if _IN_LIFE.match(opening) else marked)


def field_verdict(raw: str) -> Verdict | None:
    """Verdict of a `verdict:` or `status:` field: by the vocabulary, else by the words of an outcome; OTHER where neither knows it."""
    verdict = canonical_verdict(raw)
    return verdict if verdict not in (None, Verdict.OTHER) else outcome_verdict(raw) or verdict


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
