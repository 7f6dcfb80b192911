"""What kb writes into an experiment's page: setup, results, profile, audit and verdict as markdown. Refuses to show a gain that was withheld."""

import json
import posixpath

from kb import profiles
from kb.experiments.attempt import Attempt
from kb.experiments.auditing import last_audit, profile_files, profile_of
from kb.experiments.opening import one_line
from kb.run.quantity import number_text
from kb.run.rules import Evidence, Measured, Ruling, figures
from kb.schema import Verdict

_MARKS = {True: "seen", False: "not so", None: "cannot be seen"}


def setup_of(attempt: Attempt) -> str:
    """Where and how it was measured."""
    plan = attempt.plan
    if plan.elsewhere:
        counts = " and ".join(
            f"{len(attempt.of('bench', side))} of the {side}" for side in ("change", "parent") if attempt.of("bench", side)
        )
        said = f"Measured elsewhere, filed from its records: runs {counts or 'none'}" + (
            f"; commit {_code(plan.change[:12])}." if plan.change else "."
        )
        return "\n".join([said, *([""] if attempt.repeated else []), *_repeated(attempt)])
    host = dict(plan.host)
    against = f" by turns with the parent {_code(plan.parent[:12])}" if plan.parent else ""
    times = len(attempt.of("bench", "change"))
    done = f"measured {times} times" if times >= plan.repeats else f"measured {times} of {plan.repeats} times"
    lines = [
        f"Commit {_code(plan.change[:12])} {done}{against}, attempt {plan.number}"
        + (f", repeats added {attempt.extended} times." if attempt.extended else "."),
        "",
        f"- benchmark: {_code(plan.benchmark)}",
    ]
    lines += [
        f"- {name}: {_code(value)}"
        for name, value in (("build", plan.build), ("checks", plan.checks), ("profile", plan.profile))
        if value
    ]
    lines += [f"- set for the change alone: {_code(f'{k}={v}')}" for k, v in plan.set]
    lines += [
        f"- host: {_code(', '.join(host[k] for k in ('host', 'cpu', 'system') if k in host))}",
        f"- files changed: {', '.join(map(_code, plan.changed[:8])) or 'none'}",
    ]
    return "\n".join([*lines, *_repeated(attempt)])


def _repeated(attempt: Attempt) -> list[str]:
    """That a metric was printed with several values in one run, for the last one counts and a reader must know of the others."""
    return [
        f"- {_code(name)} was printed {shown_values(values)} in one run; the last counts"
        for name, values in attempt.repeated.items()
    ]


def shown_values(values: tuple[float, ...]) -> str:
    """`as 100, then 1`."""
    return "as " + ", then ".join(number_text(v) for v in values)


def results_of(evidence: Evidence, ruling: Ruling) -> str:
    """The table of metrics; for an invalid or crashed run only what happened."""
    if ruling.verdict in (Verdict.INVALID, Verdict.CRASH):
        return f"No figures are reported: {one_line(ruling.reason)}."
    rows = [_row(m) for m in sorted(evidence.measured, key=lambda m: (m.name != evidence.primary, m.name))]
    checks = {"": "The target has no checks command.", "passed": "Checks passed.", "skipped": "Checks were skipped."}.get(
        evidence.checks, ""
    )
    table = "| Metric | Change | Parent | Gain |\n|---|---|---|---|\n" + "\n".join(rows) if rows else "Nothing was measured."
    return f"{table}\n\n{checks}".rstrip()


def _row(m: Measured) -> str:
    gain = f"{100 * m.gain:+.2f} %" if m.gain is not None else "—"
    name = _code(m.name).replace("|", "\\|")
    return f"| {name} | {figures(m.change, m.unit)} | {figures(m.parent, m.unit) if m.parent else '—'} | {gain} |"


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


def audit_text(attempt: Attempt) -> str:
    found = last_audit(attempt)
    if not found:
        return ""
    return "\n".join(
        [
            f"Firing: {found.firing or 'nothing to go by'}.",
            "",
            *(f"- {_MARKS[f.held]}: {one_line(f.text)}" for f in found.findings),
        ]
    ).rstrip()


def verdict_text(ruling: Ruling, *, overruled: Verdict | None, reason: str) -> str:
    """The first sentence says the verdict; an overruled one says by which reason, and what the rules had said."""
    by_rule = f"{ruling.verdict.capitalize()}: {one_line(ruling.reason)}."
    if overruled is None:
        return f"{by_rule}\n\nRule: `{ruling.rule}`."
    return f"{overruled.capitalize()}, overruled by hand: {one_line(reason).rstrip('.')}.\n\nThe rule `{ruling.rule}` had said: {by_rule[:1].lower()}{by_rule[1:]}"


def sources_text(path: str, attempt: Attempt, *, run: str) -> str:
    record = posixpath.relpath(f"{run}/{attempt.plan.number}/{attempt.last_word}", posixpath.dirname(path))
    return f"- Run record: [attempt {attempt.plan.number}]({record}), with every sample, output and digest beside it."


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


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.9g}")


def _code(text: str) -> str:
    """Text as a code span, whatever it holds."""
    return "`" + one_line(text).replace("`", "'") + "`"
