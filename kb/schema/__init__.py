"""Page types, labels and steps, and (in `verdicts`) how things came out: the tables from which rules, skeletons and site order derive.

Refuses to read files: it knows words, not pages.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from kb import languages, regex
from kb.languages import english_of, spellings
from kb.schema.verdicts import (  # noqa: F401  Its words are asked for here.
    ADOPTED,
    BROKEN,
    FAILED,
    OUTCOME_FIELDS,
    OUTCOME_LABELS,
    RUNNING,
    UNDONE,
    UNMEASURED,
    Verdict,
    answered_verdict,
    canonical_decision,
    canonical_verdict,
    decision_word,
    field_verdict,
    is_pending,
    marked_verdict,
    outcome_verdict,
    shouted_verdict,
    ticked,
)


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
        also={
            "exp": "exps",
            "trial": "trials",
            "run": "runs",
            "spike": "spikes",
            "ablation": "ablations",
            "study": "studies",
            "bench": "bench",
        },
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
    for place, folder in enumerate(folders.split("/")):
        if known := _type_on_way(place, folder):
            return known, folder.lower() not in TYPES[known].bare
    return None, False


def _type_on_way(place: int, folder: str) -> str | None:
    """Page type of a folder on a page's way. Notes that are a whole wiki (`notes/`) may hold anything."""
    return type_of_folder(folder) if place or folder.lower() != NOTES["note"] else None


def place_of(path: str) -> tuple[str, ...]:
    """A page's way within its wiki: from the first folder that stands for a type, else from the one below the wiki's, to its file."""
    parts = path.split("/")
    first = next((i for i, part in enumerate(parts[:-1]) if _type_on_way(i, part)), 1)
    return tuple(parts[min(first, len(parts) - 1) :])


def type_of_file(stem: str) -> str | None:
    """Page type that a file name alone gives away (`README`, `README.ko`, `log`, `program` ...)."""
    return _TYPE_OF_FILE.get(stem.lower().partition(".")[0])


# A run's page is named by its date or number; the number may stand behind a word for a run, one of two digits behind any (`nb-03`).
_RUN_NAME = regex(
    r"\d|(?:v|e|exp|experiment|run|trial|iter|iteration|attempt|round)[-_ ]?\d|[a-z]+[-_]\d\d+(?!\w)",
    re.IGNORECASE,
)
# Files that tell what the folder that they stand in is.
_RECORDS = ("readme", "results", "report", "summary", "experiment", "index", "recipe")
# Front-matter fields that say when a page came to be, in the order in which they count; `_` and `-` are one.
CREATED_FIELDS = ("created", "date", "created-at", "started", "date-created", "published")


_RUN_TITLE = regex(r"(?:exp|experiment|run|trial|iteration|attempt|round)[-_ #]?\d", re.IGNORECASE)


def names_run(stem: str) -> bool:
    """Whether a file below the folder of experiments has the name of an experiment: one that starts with a date or a number."""
    return bool(_RUN_NAME.match(stem))


def calls_run(title: str) -> bool:
    """Whether a heading calls what stands below it a run by a word and a number ("EXP-12 split k"); a number alone may be a chapter's."""
    return bool(_RUN_TITLE.match(title))


def records_run(folder: str, stem: str, *, reports: bool) -> bool:
    """Whether a file is the record of the run that its folder is: findings by name, or the page of a folder that is named as a run is, or
    a page that reports one itself.
    """
    return stem.lower() == "findings" or stem.lower() in _RECORDS and (reports or names_run(folder))


def folders_of(type_name: str) -> tuple[str, ...]:
    """Folders below `wiki/` that hold pages of this type, the canonical one first."""
    return TYPES[type_name].folders


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
    name = label.partition(" (")[0].partition("（")[0]
    return _LABEL_KINDS.get(name.strip(" *_").lower(), "")


_SHORT = {
    *"tl;dr,tldr,tl dr,summary,executive summary,in short,in brief,at a glance,bottom line".split(
        ","
    ),
    *spellings(languages.LABELS, "summary"),
}


def in_short(title: str) -> bool:
    """Whether a section of this heading says in short what its page says ("TL;DR", "1. Summary (2026-05)")."""
    return title.strip(" *_#.0123456789:：").partition(" (")[0].lower() in _SHORT


@lru_cache(maxsize=4096)
def heading_kind(title: str) -> str:
    """The kind of label with which a heading begins ("Hipótesis bajo test", "Results"); empty for any other."""
    first = title.strip(" *_#.0123456789").partition(" ")[0].rstrip(":：.,").lower()
    return label_kind(title) or label_kind(first) or label_kind(first.removesuffix("s"))
