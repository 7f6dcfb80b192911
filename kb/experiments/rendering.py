"""What kb writes into an experiment's page: setup, results, profile, audit and verdict as markdown. Refuses to show a gain that was withheld."""

import posixpath
from statistics import median

from kb import profiles
from kb.experiments.attempt import Attempt
from kb.experiments.auditing import Audit, profile_of
from kb.run.evidence import Evidence
from kb.run.measure import without_secrets
from kb.run.noise import outliers_of
from kb.run.reasons import figures, percent
from kb.run.rules import Ruling
from kb.schema import Verdict
from kb.text import head_of, number_text, one_line

# So many files are named on the page; the record names all.
_SHOWN_FILES = 8
_MARKS = {True: "seen", False: "not so", None: "cannot be seen"}
_CHECKS = {
    "": "The target has no checks command.",
    "passed": "Checks passed.",
    "skipped": "Checks were skipped.",
}
_METHODS = {
    "ranks": "shift of Hodges and Lehmann with the interval of the Mann-Whitney test",
    "pairs": "shift of Hodges and Lehmann within turns, which drifted, with the interval of Wilcoxon's signed ranks",
    "student": "Welch's interval of the means, for there are too few samples for ranks",
    "coarse": "readings vary by less than their last place, by half of which each side may be off",
}
WITHHELD = (Verdict.INVALID, Verdict.CRASH)


def setup_of(attempt: Attempt) -> str:
    """Where and how it was measured."""
    plan = attempt.plan
    times = {side: len(attempt.of("bench", side)) for side in ("change", "parent")}
    if plan.elsewhere:
        sides = " and ".join(f"{count} of the {side}" for side, count in times.items() if count)
        code = f"; commit {_code(plan.change[:12])}" if plan.change else ""
        lines = [f"Measured elsewhere, filed from its records: runs {sides or 'none'}{code}."]
    else:
        against = f" by turns with the parent {_code(plan.parent[:12])}" if plan.parent else ""
        warmed = f" after {plan.warmup} to warm up" if plan.warmup and times["change"] else ""
        added = f", repeats added {len(attempt.added)} times" if attempt.added else ""
        commit = f"Commit {_code(plan.change[:12])} measured {times['change']} times"
        lines = [f"{commit}{against}{warmed}, attempt {plan.number}{added}.", ""]
        commands = {k: getattr(plan, k) for k in ("benchmark", "build", "checks", "profile")}
        lines += [f"- {name}: {_code(value)}" for name, value in commands.items() if value]
        shown = (f"{k}={without_secrets(v)}" for k, v in plan.set)
        lines += [f"- set for the change alone: {_code(text)}" for text in shown]
        lines += [
            f"- sandbox: {one_line(plan.walls)}",
            f"- device: {_code(device_of(attempt))}",
            f"- files changed: {', '.join(map(_code, plan.changed[:8])) or 'none'}",
        ]
    return "\n".join(lines)


def device_of(attempt: Attempt) -> str:
    """What it was measured on, in words that name no machine."""
    host = dict(attempt.plan.host)
    return ", ".join(host[k] for k in ("cpu", "system") if k in host)


def results_of(evidence: Evidence, ruling: Ruling, attempt: Attempt) -> str:
    """The table of metrics with their intervals, and what a reader must know of the samples; for an invalid or crashed run only what happened."""
    if ruling.verdict in WITHHELD:
        return f"No figures are reported: {one_line(ruling.reason)}."
    rows = []
    for m in evidence.listed:
        gain = percent(m.gain) if m.gain is not None else "—"
        ends = (percent(m.interval.low), percent(m.interval.high)) if m.interval else ("—",)
        span = "no spread" if m.interval and m.interval.how == "equal" else " to ".join(ends)
        parent = figures(m.parent, m.unit) if m.parent else "—"
        cells = (_code(m.name).replace("|", "\\|"), figures(m.change, m.unit), parent, gain, span)
        rows.append(f"| {' | '.join(cells)} |")
    head = "| Metric | Change | Parent | Gain | 95 % interval |\n|---|---|---|---|---|\n"
    parts = [head + "\n".join(rows) if rows else "Nothing was measured."]
    main = evidence.main
    if main and main.interval and main.interval.how in _METHODS:
        spent = evidence.look * (evidence.look + 1)
        level = f"look {evidence.look}, which spends 1/{spent} of an error of one in twenty"
        least = percent(main.least)[1:]
        parts.append(
            f"Gain of `{main.name}`: {_METHODS[main.interval.how]}; {level}. Least effect {least}."
        )
    for side in ("change", "parent"):
        values = attempt.values(evidence.primary, side)
        far = [f"run {i + 1} ({number_text(values[i], digits=5)})" for i in outliers_of(values)]
        if far:
            middle = number_text(median(values), digits=5)
            parts.append(
                f"Outliers of the {side}: {', '.join(far[:6])}; the median of the others is {middle}."
            )
    left_out = attempt.plan.checks and not evidence.checks
    checks = "The checks were not run." if left_out else _CHECKS.get(evidence.checks, "")
    return "\n\n".join([*parts, checks]).rstrip()


def profile_text(attempt: Attempt, verdict: Verdict) -> str:
    """Bucket table of the change, without its heading, or where a profile lies that reads as none; nothing for a run whose figures are withheld."""
    if verdict in WITHHELD:
        return ""
    reading, names = profile_of(attempt, "change")
    if reading:
        return profiles.to_markdown(reading).split("\n", 1)[1].strip()
    shown = ", ".join(map(_code, names))
    return (
        names
        and f"No table of costs could be read from the profile, which lies with the run record: {shown}."
        or ""
    )


def audit_text(audit: Audit, withdrawn: tuple[str, ...] = ()) -> str:
    """What was looked for, with what it was told by; `withdrawn` is what was looked for until something else was stated."""
    if not (audit.findings or audit.firing):
        return ""
    lines = [f"- {_MARKS[f.held]}: {one_line(f.text)}" for f in audit.findings]
    lines += [f"- taken back {one_line(text)}" for text in withdrawn]
    return "\n".join([f"Firing: {audit.firing or 'nothing to go by'}.", "", *lines]).rstrip()


def verdict_text(
    ruling: Ruling,
    *,
    overruled: Verdict | None,
    reason: str,
    because: str,
    reopen_if: str,
    expected: str = "",
) -> str:
    """The first sentence says the verdict; an overruled one says by which reason, and what the rules had said. Then what was learnt."""
    by_rule = f"{ruling.verdict.capitalize()}: {one_line(ruling.reason)}."
    first, rest = by_rule, [f"Rule: `{ruling.rule}`."]
    if overruled is not None:
        first = f"{overruled.capitalize()}, overruled by hand: {one_line(reason).rstrip('.')}."
        rest = [f"The rule `{ruling.rule}` had said: {by_rule[:1].lower()}{by_rule[1:]}"]
    elif ruling.more:
        rest.insert(0, f"About {ruling.more} more samples of each side would decide.")
    lessons = {"Because": because, "Reopen if": reopen_if}
    shown = [f"**{label}**: {text}" for label, text in lessons.items() if text]
    shown += [f"Expected before it ran, and not what came out: {expected}"] if expected else []
    return "\n\n".join([first, *shown, *rest])


def sources_text(path: str, attempt: Attempt, *, run: str) -> str:
    """Where the record lies, and what of it is not in the repository, by digest."""
    number = attempt.plan.number
    record = posixpath.relpath(f"{run}/{number}/{attempt.last_word}", posixpath.dirname(path))
    lines = [f"- Run record: [attempt {number}]({record}), with every sample and digest beside it."]
    large = [k for k in attempt.kept if k.large or not k.copy]
    files = []
    for item in large:
        here = f"in {_code(attempt.plan.keep)}" if attempt.copy_of(item) else "no longer here"
        about = f"{item.size} bytes, {item.digest or 'too large to digest'}"
        place = here if item.copy else "not kept"
        files.append(f"- {item.role} of the {item.side}: {_code(item.path)}, {about}, {place}")
    lines += head_of(files, _SHOWN_FILES, "- and {} more in the record")
    left_out = attempt.measurement.left_out if attempt.measurement else ()
    return "\n".join([*lines, *(f"- left out: {one_line(text)}" for text in left_out)])


def metrics_field(evidence: Evidence, ruling: Ruling) -> dict[str, dict[str, object]]:
    """Front-matter `metrics:`; empty where figures are withheld."""
    stated = {}
    for m in evidence.listed if ruling.verdict not in WITHHELD else ():
        figure = {"value": m.change.middle, "unit": m.unit, "direction": m.direction}
        figure |= {"n": m.change.n, "stddev": m.change.stddev}
        kept = {k: v for k, v in figure.items() if v not in (None, "")}
        stated[m.name] = {
            k: float(f"{v:.9g}") if isinstance(v, float) else v for k, v in kept.items()
        }
    return stated


def gain_field(ruling: Ruling, evidence: Evidence) -> str:
    """The gain over the parent that was measured beside it, with its interval; empty where there is none or it is withheld."""
    reading = evidence.main.interval if evidence.main else None
    if ruling.gain is None or not reading or not evidence.has_parent:
        return ""
    ends = f" ({percent(reading.low)} to {percent(reading.high)})" if reading.how != "equal" else ""
    return f"{percent(reading.middle)}{ends}"


def _code(text: str) -> str:
    """Text as a code span, whatever it holds."""
    return "`" + one_line(text).replace("`", "'") + "`"
