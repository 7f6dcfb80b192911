"""Rules on experiment pages: verdicts told one way, the four labels, profile and evidence, dates and numbers. Refuses to overrule a page."""

import re
from collections.abc import Iterator

from kb.lint.matter import Matter, line_of
from kb.lint.registry import E, Rule, W
from kb.page import Page, seal
from kb.schema import FAILED, LABELS, Finding, Verdict, canonical_verdict
from kb.text import cut
from kb.trail import Facts
from kb.trail.verdicts import verdict_sayings

_FIRST_CLAUSE = re.compile(
    r"[\W_]*+(?:verdict|result|outcome|status)?[\W_]*+((?:[A-Za-z][\w/-]*[ ]*){1,3})", re.IGNORECASE
)
_HYPOTHESIS = re.compile(
    rf"[\s>*_-]*+(?:{'|'.join(LABELS['hypothesis'])})\b[^:：]{{0,30}}[*_]*[:：]", re.IGNORECASE
)
_PLACE_NAMES = {
    "verdict": "verdict:",
    "outcome": "the outcome field",
    "status": "status:",
    "name": "the file name",
    "section": "the Verdict section",
}


def verdict_conflicts(matter: Matter) -> Iterator[Finding]:
    """The same page says two verdicts.

    Front-matter fields must agree exactly. File names and prose also say decisions ("rejected"), so they conflict only by
    camp: won, failed, undecided. Of prose only the first words count: "no crash, supported" is no crash.
    """
    for path, facts in matter.facts.items():
        page = matter.pages[path]
        verdicts = []
        for place, raw in verdict_sayings(page, facts.because if facts.place("verdict") else ""):
            opening = _FIRST_CLAUSE.match(raw) if place == "section" else None
            verdict = canonical_verdict(opening[1] if opening else raw)
            if verdict not in (None, Verdict.OTHER, Verdict.BASELINE):
                verdicts.append((place, raw, verdict))
        for place, raw, verdict in verdicts[1:]:
            first, other_raw, other = verdicts[0]
            camps = {"failed" if v in FAILED else v for v in (verdict, other)}
            if verdict is not other and (len(camps) > 1 or {first, place} == {"verdict", "status"}):
                where = facts.place("verdict") if place == "section" else None
                short = cut(raw, 60)
                yield Finding(
                    path,
                    where.start if where else line_of(page, place, first),
                    "verdict-conflict",
                    f"{_PLACE_NAMES[first]} says {other} ('{other_raw}'), {_PLACE_NAMES[place]} says {verdict} ('{short}')",
                    target=short,
                    hint=f"{other} counts; make both say the same, or say in a dated note why it changed",
                )
                break


def missing_verdicts(matter: Matter) -> Iterator[Finding]:
    for path, facts in matter.facts.items():
        unknown = facts.verdict.canonical is Verdict.OTHER and facts.verdict.source == "section"
        if (
            (facts.verdict.canonical is None or unknown)
            and not facts.running
            and not matter.pages[path].field("imported")
        ):
            yield Finding(
                path,
                line_of(matter.pages[path], "verdict", "status"),
                "missing-verdict",
                "an experiment that says no verdict and is not running",
                hint='write verdict: supported, refuted, inconclusive, invalid, crash or baseline; or status: running; what a word of yours means says kb.toml: [verdicts] "no-ship" = "refuted"; of pages in free words a model says it: kb ingest --task normalise PAGE',
            )


def missing_labels(matter: Matter) -> Iterator[Finding]:
    """Hypothesis, mechanism, predicted signal and falsification criterion.

    A baseline tests nothing and needs none; of an imported run, what its log did not say cannot be asked for.
    """
    labels = (
        ("missing-mechanism", "mechanism", "the mechanism by which it should work"),
        ("missing-prediction", "predicted_signal", "the signal that was predicted"),
        ("missing-falsification", "falsification", "the criterion that would falsify it"),
    )
    for path, facts in matter.facts.items():
        page = matter.pages[path]
        if facts.verdict.canonical is Verdict.BASELINE or facts.first or page.field("imported"):
            continue
        # The trail takes a page's opening words for its hypothesis where nothing is named so; here it must be named.
        if (
            not facts.place("hypothesis")
            and not page.field("hypothesis")
            and not any(_HYPOTHESIS.match(line) for line in matter.lines(path))
        ):
            yield Finding(
                path,
                1,
                "missing-hypothesis",
                "does not say the hypothesis that it tested",
                hint="write **Hypothesis**: … below a heading of that name",
            )
        for code, label, what in labels:
            if not getattr(facts, label) and not page.field(label):
                yield Finding(
                    path,
                    1,
                    code,
                    f"does not say {what}",
                    hint=f"write **{label.replace('_', ' ').capitalize()}**: … below the hypothesis heading",
                )


def missing_evidence(matter: Matter) -> Iterator[Finding]:
    """A closed experiment without a profile, or without anything that shows that it ran."""
    for path, facts in matter.facts.items():
        page = matter.pages[path]
        if facts.running or page.field("imported"):
            continue
        if facts.verdict.canonical not in (Verdict.CRASH, Verdict.INVALID) and not _has_profile(
            page, facts
        ):
            yield Finding(
                path,
                1,
                "missing-profile",
                "no profile: neither a section, nor a field, nor a link",
                hint="add a Profile section; without one the verdict is capped at inconclusive",
            )
        if not _has_evidence(page, facts):
            yield Finding(
                path,
                1,
                "missing-evidence",
                "nothing that shows the run: no commit, artifact, dump, log, table of results or link to a file",
                hint="name the commit, or link the log or dump",
            )


def _has_profile(page: Page, facts: Facts) -> bool:
    return (
        bool(facts.place("profile"))
        or any("profil" in key for key in page.front if page.front[key])
        or any("profil" in link.href.lower() for link in page.links)
    )


def _has_evidence(page: Page, facts: Facts) -> bool:
    fields = "commit evidence artifacts artifact dump log record run".split()
    return (
        bool(facts.place("evidence") or facts.place("results") or facts.metrics)
        or any(page.front.get(key) not in (None, "", "pending", "none", []) for key in fields)
        or any(
            link.href[:1] != "#"
            and "://" not in link.href
            and not link.href.partition("#")[0].endswith(".md")
            for link in page.links
        )
    )


def changed_after_filing(matter: Matter) -> Iterator[Finding]:
    """Pages whose seal no longer fits their text."""
    for path, page in matter.pages.items():
        if page.field(seal.FIELD):
            yield from seal.findings(path, matter.data(path))
        elif page.field("measured") and page.field("verdict"):
            yield Finding(
                path,
                line_of(page, "verdict"),
                "filed-changed",
                "kb measured and filed this run, and its seal is gone",
                target=seal.FIELD,
                hint="restore the filed page; a correction is a note below it under `## Note YYYY-MM-DD`",
            )


def undated(matter: Matter) -> Iterator[Finding]:
    for path in matter.facts:
        page = matter.pages[path]
        if not page.date:
            yield Finding(
                path,
                line_of(page, "created"),
                "undated",
                "neither the file name nor created: says a date, so the page counts as older than all others",
                hint="add created: YYYY-MM-DD",
            )


def numbers_twice(matter: Matter) -> Iterator[Finding]:
    """One number given to two experiments of one target: a label that no longer tells them apart. Keys are paths, so nothing breaks."""
    first = dict[tuple[str, int, str], str]()
    for path, facts in sorted(matter.facts.items(), key=lambda item: item[1].order):
        page, number = matter.pages[path], facts.number
        # `v043` and `v043b` are two labels.
        letter = re.search(rf"0*{number}([a-z])(?=[-_.]|$)", page.stem, re.IGNORECASE)
        home = page.folder if page.field("target") else facts.target
        other = first.setdefault((home, number, letter[1].lower() if letter else ""), path)
        if number and other != path:
            yield Finding(
                path,
                1,
                "number-twice",
                f"the number {number} is also that of {other}",
                target=str(number),
                hint="kb mv gives it a number of its own and mends the links",
            )


RULES = (
    Rule(
        "verdict-conflict",
        E,
        "a page that says two verdicts is believed by halves",
        "trail",
        verdict_conflicts,
    ),
    Rule(
        "filed-changed",
        E,
        "a filed experiment that was changed is no evidence any more",
        "page",
        changed_after_filing,
    ),
    Rule(
        "missing-verdict",
        W,
        "an experiment without a verdict warns nobody and wins nothing",
        "trail",
        missing_verdicts,
        habit="type",
    ),
    Rule(
        "missing-hypothesis",
        W,
        "without its hypothesis a result teaches nothing",
        "trail",
        missing_labels,
        habit="type",
    ),
    Rule(
        "missing-mechanism",
        W,
        "without a mechanism nobody can check that it fired",
        "trail",
        missing_labels,
        habit="type",
    ),
    Rule(
        "missing-prediction",
        W,
        "without a predicted signal any result fits",
        "trail",
        missing_labels,
        habit="type",
    ),
    Rule(
        "missing-falsification",
        W,
        "without a falsification criterion nothing can be refuted",
        "trail",
        missing_labels,
        habit="type",
    ),
    Rule(
        "missing-profile",
        W,
        "without a profile the verdict is capped at inconclusive",
        "trail",
        missing_evidence,
        habit="type",
    ),
    Rule(
        "missing-evidence",
        W,
        "a result without commit, dump, log or figures cannot be checked",
        "trail",
        missing_evidence,
        habit="type",
    ),
    Rule(
        "undated",
        W,
        "without a date an experiment counts as older than all others",
        "trail",
        undated,
        habit="type",
    ),
    Rule(
        "number-twice",
        W,
        "a number given twice in one target no longer names one experiment",
        "trail",
        numbers_twice,
    ),
)
