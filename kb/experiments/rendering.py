"""What kb writes into an experiment's page: setup, results, profile, audit and verdict as markdown. Refuses to show a gain that was withheld."""

import json
import posixpath
from statistics import median

from kb import profiles
from kb.experiments.attempt import Attempt
from kb.experiments.auditing import Audit, profile_files, profile_of
from kb.experiments.opening import one_line
from kb.run.evidence import Evidence, Measured
from kb.run.measure import values_text, without_secrets
from kb.run.noise import outliers_of
from kb.run.quantity import number_text
from kb.run.rules import Ruling, figures, percent
from kb.schema import Verdict

# So many files are named on the page; the record names all.
_SHOWN_FILES = 8
_MARKS = {True: "seen", False: "not so", None: "cannot be seen"}


def setup_of(attempt: Attempt) -> str:
    """Where and how it was measured."""
    plan = attempt.plan
    if plan.elsewhere:
        sides = (
            f"{len(attempt.of('bench', side))} of the {side}"
            for side in ("change", "parent")
            if attempt.of("bench", side)
        )
        code = f"; commit {_code(plan.change[:12])}" if plan.change else ""
        said = f"Measured elsewhere, filed from its records: runs {' and '.join(sides) or 'none'}{code}."
        return "\n".join([said, *([""] if attempt.repeated else []), *_repeated(attempt)])
    host = dict(plan.host)
    against = f" by turns with the parent {_code(plan.parent[:12])}" if plan.parent else ""
    times = len(attempt.of("bench", "change"))
    warmed = f" after {plan.warmup} to warm up" if plan.warmup and times else ""
    added = f", repeats added {attempt.extended} times" if attempt.extended else ""
    lines = [
        f"Commit {_code(plan.change[:12])} measured {times} times{against}{warmed}, attempt {plan.number}{added}.",
        "",
    ]
    commands = (
        ("benchmark", plan.benchmark),
        ("build", plan.build),
        ("checks", plan.checks),
        ("profile", plan.profile),
    )
    lines += [f"- {name}: {_code(value)}" for name, value in commands if value]
    lines += [
        f"- set for the change alone: {_code(f'{k}={without_secrets(v)}')}" for k, v in plan.set
    ]
    lines += [
        f"- sandbox: {one_line(plan.walls)}",
        f"- host: {_code(', '.join(host[k] for k in ('host', 'cpu', 'system') if k in host))}",
        f"- files changed: {', '.join(map(_code, plan.changed[:8])) or 'none'}",
    ]
    return "\n".join([*lines, *_repeated(attempt)])


def _repeated(attempt: Attempt) -> list[str]:
    """That a metric was printed with several values in one run, for the last one counts and a reader must know of the others."""
    return [
        f"- {_code(name)} was printed {values_text(values)} in one run; the last counts"
        for name, values in attempt.repeated.items()
    ]


def results_of(evidence: Evidence, ruling: Ruling, attempt: Attempt) -> str:
    """The table of metrics with their intervals, and what a reader must know of the samples; for an invalid or crashed run only what happened."""
    if ruling.verdict in (Verdict.INVALID, Verdict.CRASH):
        return f"No figures are reported: {one_line(ruling.reason)}."
    rows = [
        _row(m)
        for m in sorted(evidence.measured, key=lambda m: (m.name != evidence.primary, m.name))
    ]
    checks = {
        "": "The target has no checks command.",
        "passed": "Checks passed.",
        "skipped": "Checks were skipped.",
    }
    head = "| Metric | Change | Parent | Gain | 95 % interval |\n|---|---|---|---|---|\n"
    table = head + "\n".join(rows) if rows else "Nothing was measured."
    return "\n\n".join(
        [table, *_about_samples(evidence, attempt), checks.get(evidence.checks, "")]
    ).rstrip()


def _row(m: Measured) -> str:
    gain = f"{100 * m.gain:+.2f} %" if m.gain is not None else "—"
    span = (
        "—"
        if not m.interval
        else "no spread"
        if m.interval.how == "equal"
        else f"{percent(m.interval.low)} to {percent(m.interval.high)}"
    )
    name = _code(m.name).replace("|", "\\|")
    return f"| {name} | {figures(m.change, m.unit)} | {figures(m.parent, m.unit) if m.parent else '—'} | {gain} | {span} |"


_METHODS = {
    "ranks": "shift of Hodges and Lehmann with the interval of the Mann-Whitney test",
    "student": "Welch's interval of the means, for there are too few samples for ranks",
    "trail": "twice the deviation of the runs before it, for there are no repeats",
}


def _about_samples(evidence: Evidence, attempt: Attempt) -> list[str]:
    """How the interval came about, how often was looked, and which runs lie far from the others."""
    said, main = [], evidence.main
    if main and main.interval and main.interval.how in _METHODS:
        spent = evidence.look * (evidence.look + 1)
        level = f"look {evidence.look}, which spends 1/{spent} of an error of one in twenty"
        said.append(
            f"Gain of `{main.name}`: {_METHODS[main.interval.how]}; {level}. Least effect {percent(main.least)[1:]}."
        )
    for side in ("change", "parent"):
        values = attempt.values(evidence.primary, side)
        far = [f"run {i + 1} ({number_text(values[i], digits=5)})" for i in outliers_of(values)]
        if far:
            said.append(
                f"Outliers of the {side}: {', '.join(far[:6])}; the median of the others is {number_text(median(values), digits=5)}."
            )
    return said


def profile_text(attempt: Attempt, verdict: Verdict) -> str:
    """Bucket table of the change, without its heading, or where a profile lies that reads as none; nothing for a run whose
    figures are withheld.
    """
    if verdict in (Verdict.INVALID, Verdict.CRASH):
        return ""
    if found := profile_of(attempt, "change"):
        return profiles.to_markdown(found).split("\n", 1)[1].strip()
    kept = profile_files(attempt, "change")
    return (
        f"No table of costs could be read from the profile, which lies with the run record: {', '.join(map(_code, kept))}."
        if kept
        else ""
    )


def audit_text(found: Audit | None) -> str:
    if not found or not (found.findings or found.firing):
        return ""
    lines = (f"- {_MARKS[f.held]}: {one_line(f.text)}" for f in found.findings)
    return "\n".join([f"Firing: {found.firing or 'nothing to go by'}.", "", *lines]).rstrip()


def verdict_text(
    ruling: Ruling, *, overruled: Verdict | None, reason: str, because: str, reopen_if: str
) -> str:
    """The first sentence says the verdict; an overruled one says by which reason, and what the rules had said. Then what was learnt."""
    by_rule = f"{ruling.verdict.capitalize()}: {one_line(ruling.reason)}."
    lessons = [
        f"**{label}**: {text}"
        for label, text in (("Because", because), ("Reopen if", reopen_if))
        if text
    ]
    if overruled is None:
        more = f"About {ruling.more} more samples of each side would decide." if ruling.more else ""
        parts = [by_rule, *lessons, more, f"Rule: `{ruling.rule}`."]
    else:
        said = f"The rule `{ruling.rule}` had said: {by_rule[:1].lower()}{by_rule[1:]}"
        parts = [
            f"{overruled.capitalize()}, overruled by hand: {one_line(reason).rstrip('.')}.",
            *lessons,
            said,
        ]
    return "\n\n".join(p for p in parts if p)


def sources_text(path: str, attempt: Attempt, *, run: str) -> str:
    """Where the record lies, and what of it is not in the repository, by digest."""
    record = posixpath.relpath(
        f"{run}/{attempt.plan.number}/{attempt.last_word}", posixpath.dirname(path)
    )
    lines = [
        f"- Run record: [attempt {attempt.plan.number}]({record}), with every sample and digest beside it."
    ]
    done = attempt.measurement
    large = [k for k in (done.kept if done else ()) if k.large or not k.copy]
    for item in large[:_SHOWN_FILES]:
        place = (
            f"in {_code(attempt.plan.keep)}"
            if attempt.copy_of(item)
            else "no longer here"
            if item.copy
            else "not kept"
        )
        lines.append(
            f"- {item.role} of the {item.side}: {_code(item.path)}, {item.size} bytes, {item.digest or 'too large to digest'}, {place}"
        )
    lines += (
        [f"- and {len(large) - _SHOWN_FILES} more in the record"]
        if len(large) > _SHOWN_FILES
        else []
    )
    lines += [f"- left out: {one_line(text)}" for text in (done.left_out if done else ())]
    return "\n".join(lines)


def metrics_field(evidence: Evidence, ruling: Ruling) -> str:
    """Front-matter `metrics:` as YAML on one line; empty where figures are withheld."""
    if ruling.verdict in (Verdict.INVALID, Verdict.CRASH) or not evidence.measured:
        return ""
    stated = {}
    for m in sorted(evidence.measured, key=lambda m: (m.name != evidence.primary, m.name)):
        about = {
            "value": _rounded(m.change.mean),
            "unit": m.unit,
            "direction": m.direction,
            "n": m.change.n,
            "stddev": _rounded(m.change.stddev),
        }
        stated[m.name] = {k: v for k, v in about.items() if v not in (None, "")}
    return json.dumps(stated, ensure_ascii=False)


def gain_field(ruling: Ruling, evidence: Evidence) -> str:
    """The gain over the parent that was measured beside it, with its interval; empty where there is none or it is withheld."""
    found = evidence.main.interval if evidence.main else None
    if ruling.gain is None or not found or not evidence.has_parent:
        return ""
    ends = "" if found.how == "equal" else f" ({percent(found.low)} to {percent(found.high)})"
    return f"{percent(found.middle)}{ends}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.9g}")


def _code(text: str) -> str:
    """Text as a code span, whatever it holds."""
    return "`" + one_line(text).replace("`", "'") + "`"
