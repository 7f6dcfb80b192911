"""Page types, verdicts, statuses, steps and their synonyms: the one table from which rules, skeletons and site order derive.

Refuses to read files: it knows words, not pages.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from kb import languages, regex
from kb.languages import english_of, spellings


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PageType:
    """What a page of one type must say, where it lives, and what other rooms make of it: one row, from which they derive.

    `folders` and `names` are the folder and `type:` spellings that mean this type (the first of each is the canonical one); `also` what
    other wikis call it (name -> folder): read, never written. `bare` are folders that hold this type only where the page says so.
    `required` are front-matter fields; `statuses` the vocabulary of its `status:` (empty: none is asked); `sections` the H2 headings of
    a skeleton. `dated`: its date may stand in its file name; `lists`: it lists others and has no matter of its own; `topic`: it may head
    a topic; `weight`: how much it counts in a ranking, 0 where it is never brought for its words.
    """

    name: str
    plural: str
    folders: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    names: tuple[str, ...]
    also: Mapping[str, str] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    dated: bool = False
    lists: bool = False
    topic: bool = False
    weight: float = 0.0


_COMMON = ("title", "type", "created", "updated")
_TITLED = ("title", "type", "updated")

PAGE_TYPES = (
    PageType(
        name="target",
        plural="Targets",
        folders=("targets", "models", "kernels"),
        bare=("models",),
        names=("target", "model", "kernel"),
        required=_COMMON,
        sections=("Goal", "Environment", "Variants", "What limits it"),
    ),
    PageType(
        name="hypothesis",
        plural="Hypotheses",
        folders=("hypotheses",),
        names=("hypothesis", "idea"),
        also={"proposal": "ideas"},
        required=(*_COMMON, "status"),
        statuses=("open", "in_progress", "supported", "refuted", "inconclusive", "retired"),
        sections=("Statement", "Rationale", "Measurement", "Risks"),
        topic=True,
        weight=0.6,
    ),
    PageType(
        name="experiment",
        plural="Experiments",
        folders=("experiments", "kernel_experiments"),
        names=("experiment", "kernel-experiment"),
        also={"trial": "trials", "run": "runs"},
        required=(*_COMMON, "hypothesis"),
        statuses=(
            "open",
            "in_progress",
            "running",
            "filed",
            "supported",
            "refuted",
            "inconclusive",
            "invalid",
            "crash",
            "baseline",
        ),
        sections=(
            "Hypothesis under test",
            "Setup",
            "Results",
            "Profile",
            "Verdict",
            "Next hypotheses",
            "Sources",
        ),
        dated=True,
        weight=1.0,
    ),
    PageType(
        name="concept",
        plural="Concepts",
        folders=("concepts",),
        names=("concept",),
        also={"technique": "techniques", "entity": "entities", "note": "notes"},
        required=_TITLED,
        sections=("What it is", "How to recognise it", "What it did here", "Limits"),
        topic=True,
        weight=0.7,
    ),
    PageType(
        name="observation",
        plural="Observations",
        folders=("observations",),
        names=("observation",),
        also={"finding": "findings", "lesson": "lessons"},
        required=_COMMON,
        sections=("What was observed", "How to see it", "Implications", "Seen in"),
        topic=True,
        weight=0.6,
    ),
    PageType(
        name="analysis",
        plural="Analyses",
        folders=("analyses",),
        names=("analysis", "retrospective"),
        also={
            "synthesis": "syntheses",
            "comparison": "comparisons",
            "summary": "summaries",
            "decision": "decisions",
            "adr": "adr",
        },
        required=_COMMON,
        dated=True,
        weight=0.5,
    ),
    PageType(
        name="codebase",
        plural="Codebases",
        folders=("codebases",),
        names=("codebase", "overview"),
        required=_TITLED,
        weight=0.5,
    ),
    PageType(
        name="source",
        plural="Sources",
        folders=("sources",),
        names=("source", "source-page"),
        also={"paper": "papers", "article": "articles"},
        required=_TITLED,
        weight=0.5,
    ),
    PageType(
        name="catalog",
        plural="Catalogs",
        names=("catalog",),
        required=("title", "type"),
        lists=True,
    ),
    PageType(
        name="index",
        plural="Index pages",
        names=("index", "docs-index", "blueprint"),
        also={"moc": "mocs"},
        required=("title", "type"),
        lists=True,
    ),
    PageType(name="log", plural="Logs", names=("log",), lists=True),
    PageType(
        name="program",
        plural="Programs",
        names=("program", "experiment-program"),
        required=("title", "type"),
    ),
)
TYPES = {t.name: t for t in PAGE_TYPES}
# What other wikis call pages of a type: counted in no tally, for "5 runs" may count what has no page.
ALSO = {t.name: t.also for t in PAGE_TYPES if t.also}
# Of these, what an owner keeps of what was done (name -> folder).
NOTES = {
    name: folder
    for type_name in ("concept", "observation", "analysis")
    for name, folder in ALSO[type_name].items()
    if name not in ("technique", "entity")
}
_TYPE_OF_NAME = {name: t.name for t in PAGE_TYPES for name in (*t.names, *t.also)}
_TYPE_OF_FOLDER = english_of(languages.FOLDERS) | {
    folder: t.name for t in PAGE_TYPES for folder in (*t.folders, *t.also.values())
}

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
    """Page type that a folder of the wiki stands for."""
    return _TYPE_OF_FOLDER.get(folder.lower())


def type_of_place(path: str) -> tuple[str | None, bool]:
    """(type of the first folder on a page's way that stands for one, whether that folder alone is enough to say so)."""
    return _type_of_way(path.rpartition("/")[0])


@lru_cache(maxsize=1 << 12)
def _type_of_way(folders: str) -> tuple[str | None, bool]:
    for folder in folders.split("/"):
        if known := type_of_folder(folder):
            return known, folder.lower() not in TYPES[known].bare
    return None, False


def type_of_file(stem: str) -> str | None:
    """Page type that a file name alone gives away (`README`, `log`, `program` ...)."""
    return _TYPE_OF_FILE.get(stem.lower())


# A run's page is named by its date or number; the number may stand behind a word for a run.
_RUN_NAME = regex(
    r"\d|(?:v|e|exp|experiment|run|trial|iter|iteration|attempt|round)[-_ ]?\d", re.IGNORECASE
)
# Files that tell what the folder that they stand in is.
_RECORDS = ("readme", "results", "report", "summary", "experiment", "index", "recipe")
# Front-matter fields that say when a page came to be, in the order in which they count; `_` and `-` are one.
CREATED_FIELDS = ("created", "date", "created-at", "started", "date-created", "published")


def names_run(stem: str) -> bool:
    """Whether a file below the folder of experiments has the name of an experiment: one that starts with a date or a number."""
    return bool(_RUN_NAME.match(stem))


def records_run(folder: str, stem: str, *, reports: bool) -> bool:
    """Whether a file is the record of the run that its folder is: findings by name, or the page of a folder that is named as a run is, or
    a page that reports one itself.
    """
    return stem.lower() == "findings" or stem.lower() in _RECORDS and (reports or names_run(folder))


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

# How a verdict is spelled: first row wins, so `refuted/tie` is refuted and `invalid (crashed)` is invalid. `stems` count wherever they stand,
# unless denied ("no crash", "not refuted"), `opening` only at the start, where all that is said is how it came out.
_SPELLINGS: tuple[tuple[Verdict, str, str], ...] = (
    (Verdict.INVALID, "invalid retract", ""),
    (Verdict.CRASH, "crash", "failed"),
    (Verdict.REFUTED, "refut reject falsif discard unsupported exhausted", "revert dead"),
    (Verdict.INCONCLUSIVE, "inconclus potential parked neutral parity unconfirmed", "flat tie park\\b"),
    (Verdict.SUPPORTED, "support accept keep confirm certif provisional", "banked"),
    (Verdict.BASELINE, "baseline", ""),
)
_DENIED = "".join(f"(?<!{word} )" for word in (*languages.DENIALS, "without")) + "(?<!non-)"


def _spelled(verdict: Verdict, stems: str, opening: str) -> re.Pattern[str]:
    listed = [*stems.split(), *spellings(languages.VERDICTS, verdict)]
    forms = [f"{_DENIED}(?:{'|'.join(listed)})"] + (
        [rf"^\W*(?:{'|'.join(opening.split())})"] if opening else []
    )
    return regex("|".join(forms))


_VERDICT_RULES = [
    (_spelled(verdict, stems, opening), verdict) for verdict, stems, opening in _SPELLINGS
]
# A denial of support refutes, one that may still come does not; `kept` is a word of its own only.
_DENIED_SUPPORT = "|".join(
    [
        "support",
        "confirm",
        "accept",
        "keep\\b",
        "kept\\b",
        "merge",
        "adopt",
        "ship",
        *spellings(languages.VERDICTS, "supported"),
    ]
)
_VERDICT_RULES[3:3] = [
    (regex(rf"\b(?:{'|'.join(languages.DENIALS)}) (?:{_DENIED_SUPPORT})"), Verdict.REFUTED)
]
_VERDICT_RULES[4:4] = [(regex(r"\bnot yet\b"), Verdict.INCONCLUSIVE)]
_VERDICT_RULES[-1:-1] = [(regex(r"\bkept\b"), Verdict.SUPPORTED)]
# Where a page is in its life says nothing of what came out of it; of these the first say that the run is still to end.
_RUNNING = (
    "running in_progress open pending active draft proposed planned queued todo new started wip"
)
_ENDED = "complete completed filed none null done finished closed final executed measured analysed analyzed reviewed archived published ready implemented n/a na tbd"
RUNNING = frozenset(_RUNNING.split())
_LIFE = "|".join(
    [
        *f"{_RUNNING} {_ENDED}".replace("_", "[_ -]?").split(),
        *(word.replace("-", " ") for word in languages.RUNNING),
    ]
)
_IN_LIFE = regex(rf"(?:{_LIFE})(?:\b|$)")
_SAYS_NOTHING = regex(rf"^\W*(?:(?:{_LIFE})\W*)?$")


# Few spellings stand on many pages.
@lru_cache(maxsize=4096)
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
OUTCOME_FIELDS = ("outcome", "conclusion", "disposition", "result", "call", "ruling", "judgement")
OUTCOME_LABELS = (
    *(
        "verdict",
        *spellings(languages.LABELS, "verdict"),
        *OUTCOME_FIELDS,
        *spellings(languages.LABELS, "result"),
    ),
    *("status", *spellings(languages.LABELS, "status"), "decision", "what happened", "fate"),
)

# What was done with a change, in words that a log's status and a page's outcome share.
ADOPTED = "adopted merged promoted shipped landed rolled_out in_production applied selected".split()
UNDONE = (
    "dropped killed scrapped binned thrown_away thrown_out switched_off turned_off taken_out removed "
    "backed_out rolled_back withdrawn not_worth no_use"
).split()


def _phrases(words: list[str]) -> str:
    return "|".join(words).replace("_", " ")


# Words that say how it came out only where they are all, or the first, that is said: in running text they speak of other things.
_OUTCOMES = (
    (
        regex(
            r"(?:fail(?:s|ure)?|error|oom|out of memory|time(?:d )?-?out|(?:build|compile|compilation) (?:error|fail\w*))\b"
        ),
        Verdict.CRASH,
    ),
    (
        regex(
            r"(?:regress\w*|negative|worse|slower|no[- ]go|abandon\w*|disproved|disproven|lost|loss(?=\W*$)|hurts?|nope|bad|busted|debunked|disproven|harmful|wrong|useless|pointless|broken|vetoed|"
            rf"turned down|not (?:better|faster|good)|{_phrases(UNDONE)})\b"
        ),
        Verdict.REFUTED,
    ),
    (
        regex(
            r"(?:no (?:significant |measurable |clear |real )?(?:change|effect|difference|gain|improvement|win|benefit)|mixed|noise|"
            r"(?:with)?in (?:the )?noise|unclear|no-?op|deferred|wash|undecided|shrug|meh|unsure|can(?:not|.t) (?:say|tell)|too (?:noisy|close)|on ice|shelved|postponed)\b"
        ),
        Verdict.INCONCLUSIVE,
    ),
    (
        regex(
            r"(?:success\w*|win|won(?!.t\b)|improve[ds]?|improvement|validated|positive|pass(?:ed|es)?|faster|go$|works|worked|good|great|better|keeper|holds|held|proven|confirmed|"
            rf"in use|live|stays?|adopt|merge|ship|{_phrases(ADOPTED)})\b"
        ),
        Verdict.SUPPORTED,
    ),
)
# A longer clause is a sentence, in which a verdict's word may be about anything.
_LONGEST_OUTCOME = 6
_MARKS = (("❌✗✘👎🔴🚫⛔", Verdict.REFUTED), ("✅✔✓👍🟢", Verdict.SUPPORTED), ("💥", Verdict.CRASH))
_CLAUSE = regex(r"[.;:,(\n—–]|\s-\s")


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
    if text.startswith(("keep", "kept", "accept", "merge", "promot")):
        return "keep"
    if text.startswith(("revert", "discard", "reject", "drop", "kill", "rolled")):
        return "revert"
    return None


STEPS = ("hypothesis", "profile", "edit", "verify", "verdict", "retrospective", "resume")

# The four labels of a hypothesis, and the spellings under which pages carry them.
_ENGLISH_LABELS = {
    "hypothesis": ("hypothesis", "statement", "claim"),
    "mechanism": ("mechanism", "why it should work", "rationale"),
    "predicted_signal": (
        "predicted signal",
        "prediction",
        "expected",
        "expected signal",
        "predicted",
    ),
    "falsification": (
        "falsification criterion",
        "falsification",
        "falsified if",
        "refuted if",
        "success criterion",
        "decision rule",
    ),
}
LABELS = {
    name: (*own, *spellings(languages.LABELS, name.replace("_", " ")))
    for name, own in _ENGLISH_LABELS.items()
}
LABELS["falsification"] += spellings(languages.LABELS, "falsification criterion")

# Fields of the front matter as other languages name them -> the name by which rooms ask for them.
FIELD_NAMES = english_of(languages.LABELS)
_LABEL_KINDS = dict.fromkeys(LABELS["hypothesis"], "hypothesis") | dict.fromkeys(
    (label for label in OUTCOME_LABELS if FIELD_NAMES.get(label, label) != "status"), "outcome"
)


def label_kind(label: str) -> str:
    """`hypothesis` or `outcome` for a label that says what a run claimed or how it came out; empty for any other."""
    return _LABEL_KINDS.get(label.partition(" (")[0].strip(" *_").lower(), "")


def heading_kind(title: str) -> str:
    """The kind of label with which a heading begins ("Hipótesis bajo test", "Results"); empty for any other."""
    first = title.strip(" *_#.0123456789").partition(" ")[0].rstrip(":：.,").lower()
    return label_kind(title) or label_kind(first) or label_kind(first.removesuffix("s"))
