"""Rules on front matter: type, required fields, folder, vocabulary. Refuses to guess a value: it says what is missing or contradicts."""

import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from datetime import date

from kb.lint.matter import Matter, line_of
from kb.lint.registry import Rule, W
from kb.lint.report import FEWEST
from kb.schema import (
    OUTCOME_FIELDS,
    PAGE_TYPES,
    TYPES,
    Finding,
    Verdict,
    canonical_verdict,
    field_verdict,
    label_kind,
    names_run,
    place_of,
    type_of,
    type_of_folder,
)

# Pages that may do without front matter.
_MAY_BE_BARE = ("index", "log", "program")


def missing_fields(matter: Matter) -> Iterator[Finding]:
    """Fields that the page type requires. `hypothesis` of an experiment may stand in its body and has a rule of its own."""
    for page in matter.pages.values():
        known, bare = TYPES.get(page.type), page.body_line == 1
        broken = {"front-matter", "empty"}.intersection(f.code for f in page.findings)
        if not known or not page.lines or broken or bare and known.name in _MAY_BE_BARE:
            continue
        missing = ", ".join(
            f
            for f in known.required
            if page.front.get(f) in (None, "") and (known.name, f) != ("experiment", "hypothesis")
        )
        if missing:
            yield Finding(
                page.path,
                1,
                "missing-field",
                "the page has no front matter"
                if bare
                else f"a page of type {known.name} must say {missing}",
                target=missing,
                hint=f"add a --- block with {missing}" if bare else "add to the front matter",
            )


def unknown_types(matter: Matter) -> Iterator[Finding]:
    for page in matter.pages.values():
        raw = page.field("type")
        if raw and type_of(raw) is None:
            yield Finding(
                page.path,
                line_of(page, "type"),
                "unknown-type",
                f"'{raw}' is no page type that kb knows; the page is kept and read as plain text",
                target=raw,
                hint=f"known: {', '.join(t.name for t in PAGE_TYPES)}",
            )


def type_against_folder(matter: Matter) -> Iterator[Finding]:
    """A page right below a folder that stands for one type, and says another. Where most pages of a folder say another, it stands for that."""
    typed = [(page, type_of(page.field("type"))) for page in matter.pages.values()]
    stated = Counter((page.folder, kind) for page, kind in typed if kind)
    sizes = Counter(page.folder for page, kind in typed if kind)
    for page, kind in typed:
        folder, alike = type_of_folder(posixpath.basename(page.folder)), stated[page.folder, kind]
        # Programs, notes and lists stand beside the experiments they are about.
        beside = folder == "experiment" and not names_run(page.stem)
        # A codebase's own folder holds pages of several types: `codebases/x/sources/y.md` may be of type codebase.
        inside = kind in map(type_of_folder, page.folder.split("/")[1:-1])
        is_habit = alike >= FEWEST and alike * 2 > sizes[page.folder]
        listing = {kind, folder} & {*_MAY_BE_BARE, "catalog"}
        if folder and kind and kind != folder and not (beside or inside or is_habit or listing):
            yield Finding(
                page.path,
                line_of(page, "type"),
                "type-folder",
                f"says type '{kind}', but stands in the folder of type '{folder}'",
                target=page.field("type"),
                hint=f"move it with kb mv, or write type: {folder}",
            )


def target_against_folder(matter: Matter) -> Iterator[Finding]:
    """An experiment whose `target:` (or, without one, `model:`) names another target than its folder does.

    Spellings differ from wiki to wiki (`llama3_8B.../jax` and `llama3-8b-jax`), so names are compared by their words: it is a contradiction
    if the name shares no word with its own folder, or shares more with the folder of another target.
    """
    folders = {home: _words(home) for home in sorted({_home(path) for path in matter.facts} - {""})}
    for path in matter.facts:
        page, home = matter.pages[path], _home(path)
        field = "target" if page.field("target") else "model"
        named, words = page.field(field), _words(page.field(field))
        if not words or not home or words == folders[home]:
            continue
        mine = len(words & folders[home])
        best = max(folders, key=lambda folder: len(words & folders[folder]))
        nearer = len(words & folders[best]) > mine
        if nearer or not mine:
            yield Finding(
                path,
                line_of(page, field),
                "target-folder",
                f"{field} '{named}' names what stands in '{best}', but the page stands in '{home}'"
                if nearer
                else f"{field} '{named}' has nothing of its folder '{home}'",
                target=named,
                hint=f"mend {field}: or move the page with kb mv",
            )


def _words(name: str) -> frozenset[str]:
    """Words of a slug, folder or model name."""
    return frozenset(re.findall(r"[^-_.\s/]+", name.lower()))


def _home(path: str) -> str:
    """Folder of an experiment below `wiki/experiments/`, a trailing `experiments` dropped."""
    return "/".join(place_of(path)[1:-1]).removesuffix("/experiments")


def unknown_verdicts(matter: Matter) -> Iterator[Finding]:
    """A verdict or status that the vocabulary does not hold, in a page's fields or in a column of verdicts that it does hold."""
    taught = [word.lower() for word in matter.layout.config.verdicts]
    for page in matter.pages.values():
        known = TYPES.get(page.type)
        judged = known and known.statuses
        stated = [(line_of(page, f), page.field(f)) for f in ("verdict", "status") if judged]
        if page.type == "experiment":
            # A result that is a sentence gives figures; one that is a word says how it came out.
            words = ((f, page.field(f)) for f in OUTCOME_FIELDS)
            stated += [(line_of(page, f), raw) for f, raw in words if raw.isalpha()]
        elif page.type in _TELLING:
            stated += _columns(matter, page.path)
        for line, raw in stated:
            plain = raw.lower().replace("-", "_").replace(" ", "_")
            own = judged and plain in known.statuses or raw.lower() in taught
            if raw and not own and field_verdict(raw) is Verdict.OTHER:
                yield Finding(
                    page.path,
                    line,
                    "unknown-verdict",
                    f"'{raw}' is no verdict or status that kb knows",
                    target=raw,
                    hint=f'say in kb.toml what it means: [verdicts] "{raw}" = "supported", "refuted" or another verdict',
                )


# Pages that tell of runs in tables.
_TELLING = ("page", "analysis", "observation", "log")


def _columns(matter: Matter, path: str) -> list[tuple[int, str]]:
    """(line, cell) of the columns of a page's tables that are headed as outcomes and hold verdicts, where a cell is a word."""
    cells = list[tuple[int, str]]()
    for header, *rows in matter.tables(path) if any("|--" in x for x in matter.lines(path)) else ():
        for c in (c for c, head in enumerate(header.cells) if label_kind(head.plain) == "outcome"):
            column = [(row.line, row.cells[c].plain) for row in rows if c < len(row.cells)]
            if any(field_verdict(text) not in (None, Verdict.OTHER) for _, text in column):
                cells += [(line, text) for line, text in column if text.isalpha()]
    return cells


def stale(matter: Matter) -> Iterator[Finding]:
    """Experiments opened and hypotheses left open, untouched for longer than `[lint] stale_days`."""
    days = matter.layout.config.stale_days
    for page in matter.pages.values():
        facts = matter.facts.get(page.path)
        waits = (
            facts.running
            if facts
            else page.type == "hypothesis"
            and canonical_verdict(page.field("status")) is None
            and page.field("status").lower() != "retired"
        )
        touched = (page.field("updated") or page.date)[:10] if waits else ""
        if waits and _age(touched, matter.today) > days:
            code, what = (
                ("stale-stub", "an experiment opened and never closed")
                if facts
                else ("stale-hypothesis", "a hypothesis open and untouched")
            )
            yield Finding(
                page.path,
                line_of(page, "status", "updated"),
                code,
                f"{what} since {touched}",
                target=page.field("status"),
                hint="close it with its verdict, or say that it was dropped"
                if facts
                else "test it, or retire it with a reason",
            )


def _age(day: str, today: str) -> int:
    """Days from one ISO date to another; 0 where either is none."""
    try:
        return (date.fromisoformat(today) - date.fromisoformat(day)).days
    except ValueError:
        return 0


RULES = (
    Rule(
        "missing-field",
        W,
        "what a page type requires feeds indexes, order and filters",
        "schema",
        missing_fields,
        habit="type",
    ),
    Rule(
        "unknown-type",
        W,
        "a page of unknown type is in no catalog and no slice share of its own",
        "schema",
        unknown_types,
        habit="word",
    ),
    Rule(
        "type-folder",
        W,
        "a page whose type contradicts its folder is looked for in the wrong place",
        "schema",
        type_against_folder,
    ),
    Rule(
        "target-folder",
        W,
        "an experiment whose target contradicts its folder counts for the wrong trail",
        "trail",
        target_against_folder,
    ),
    Rule(
        "unknown-verdict",
        W,
        "a verdict or status outside the vocabulary counts as none",
        "schema",
        unknown_verdicts,
        habit="word",
    ),
    Rule(
        "stale-stub",
        W,
        "an experiment opened and never closed blocks its lever for others",
        "trail",
        stale,
        habit="type",
    ),
    Rule(
        "stale-hypothesis",
        W,
        "an open hypothesis that nobody touches crowds out live ones",
        "trail",
        stale,
        habit="type",
    ),
)
