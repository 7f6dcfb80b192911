"""Findings as text that sums them up, and as other programs read them: JSON, GitHub annotations, SARIF 2.1.0."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from urllib.parse import quote

from kb import __version__, grouped
from kb.lint.registry import all_rules
from kb.lint.report import Habit, Report
from kb.schema import Finding, Level
from kb.store import digest_of
from kb.text import counted, cut, one_line

# Of each kind of finding the short answer names so many places, the pages with most of it first.
_WORST, _MOST_WORDS = 3, 6


def text(report: Report, *, limit: int | None) -> str:
    """The first `limit` findings one by one (0: all) and a line a kind; without a limit, kinds with what is habit and the worst places."""
    listed = () if limit is None else _lines(report, limit)
    return "\n".join([*listed, *_kinds(report, listed=limit is not None), _sum(report, limit)])


def _lines(report: Report, limit: int) -> Iterator[str]:
    shown = report.findings[:limit] if limit else report.findings
    for path, group in groupby(shown, key=lambda f: f.path):
        yield one_line(path)
        for f in group:
            yield f"  {f.line:>4}  {report.levels[f.code]:<5}  {f.code:<20}  {one_line(_sentence(f))}"
    if len(shown) < len(report.findings):
        yield f"… and {len(report.findings) - len(shown)} more: --limit 0 prints all of them"
    yield ""


def _kinds(report: Report, *, listed: bool) -> Iterator[str]:
    """A line a kind, errors first and form last: how many, then (where findings are not listed) what is habit and the worst places."""
    kinds = grouped((f.code, f) for f in report.findings)
    # What pages lack by habit is a matter of form, and comes behind what is broken or contradicts itself.
    ranked = sorted(
        kinds,
        key=lambda c: (report.levels[c], bool(all_rules()[c].habit), -len(kinds[c]), c),
    )
    # Kinds that the same pages lack are one line.
    lines = grouped((code if listed else _lacking(kinds[code]), code) for code in ranked)
    for code, *others in lines.values():
        own = [f for f in report.own if f.code == code]
        habits = [h for h in report.habits if h.code == code]
        if others:
            count = sum(len(kinds[c]) for c in (code, *others))
            name = ", ".join(_kind(kinds[c]) for c in (code, *others)) + ":"
            about = [*map(_scope, habits), *_worst([replace(f, target="") for f in own])]
        else:
            count, name = len(kinds[code]), f"{code:<20} "
            places = _words(own) if all_rules()[code].habit == "word" else _worst(own)
            about = [] if listed else [f"{_scope(h)}: {h.message}" for h in habits] + places
            about += _mending(kinds[code])
        yield f"{count:>6}  {report.levels[code]:<5}  {name} {'; '.join(about)}".rstrip()


def _mending(findings: list[Finding]) -> list[str]:
    """How many findings of a kind `--fix` mends, and how it is called."""
    mending, fixable = all_rules()[findings[0].code].mending, sum(f.fixable for f in findings)
    name = f" {findings[0].code}" if mending and mending.only_named else ""
    return [f"--fix{name} mends {fixable}"] if fixable else []


def _lacking(findings: list[Finding]) -> str | tuple[str, ...]:
    """The pages that lack what a kind of finding asks for; the kind itself where it asks for nothing, or kb can mend it."""
    code = findings[0].code
    lacks = all_rules()[code].habit == "type" and not any(f.fixable for f in findings)
    return tuple(sorted(f.path for f in findings)) if lacks else code


def _kind(findings: list[Finding]) -> str:
    """A kind of finding, with what it asks for where that is the same everywhere."""
    targets = {f.target for f in findings} - {""}
    return (
        f"{findings[0].code} [{one_line(targets.pop())}]" if len(targets) == 1 else findings[0].code
    )


def _scope(habit: Habit) -> str:
    scope = habit.scope if habit.scope.endswith("/") else f"type {habit.scope}"
    return f"{habit.count} of {habit.of} pages of {scope}"


def _words(findings: list[Finding]) -> list[str]:
    """The words that findings are about, each with its count, and what to do about the most frequent."""
    words = Counter(f.target for f in findings).most_common()
    named = ", ".join(f"'{cut(one_line(word), 30)}' {count}" for word, count in words[:_MOST_WORDS])
    more = f" and {len(words) - _MOST_WORDS} more" if len(words) > _MOST_WORDS else ""
    return [f"{named}{more}: {f.hint}" for f in findings if f.target == words[0][0]][:1]


def _worst(findings: list[Finding]) -> list[str]:
    """The pages that have most of one kind, each with its first place; and on how many others there are some."""
    pages = grouped((finding.path, finding) for finding in findings)
    ranked = sorted(pages.values(), key=lambda group: -len(group))
    places = []
    for first, *others in ranked[:_WORST]:
        about = f" [{cut(one_line(first.target), 60)}]" if first.target else ""
        more = f" and {len(others)} more there" if others else ""
        places.append(f"{one_line(first.path)}:{first.line}{about}{more}")
    rest = [f"… {len(ranked) - _WORST} more pages"] if len(ranked) > _WORST else []
    return [", ".join(places + rest)] if places else []


def _sum(report: Report, limit: int | None) -> str:
    if not report.findings:
        known = f" that is new; {report.known} are known in the baseline" if report.known else ""
        return f"nothing found{known}"
    pages = len({f.path for f in report.findings})
    known = f"; {report.known} more are known in the baseline" if report.known else ""
    more = "" if limit is not None else "; --all prints each, --code CODE one kind"
    warnings = len(report.findings) - report.errors
    return f"{counted(report.errors, 'errors')}, {counted(warnings, 'warnings')} in {counted(pages, 'pages')}{known}{more}"


def json_text(report: Report) -> str:
    """A list of findings, one to a line: path, line, code, level, target, message, hint, fixable."""
    rows = (
        {"path": f.path, "line": f.line, "code": f.code, "level": report.levels[f.code]}
        | {key: getattr(f, key) for key in ("target", "message", "hint", "fixable")}
        for f in report.findings
    )
    return "[" + ",\n ".join(json.dumps(row, ensure_ascii=False) for row in rows) + "]\n"


def github_text(report: Report) -> str:
    """Workflow commands, which GitHub shows as annotations of the lines."""

    def value(text: str) -> str:
        return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

    def field(text: str) -> str:
        return value(text).replace(":", "%3A").replace(",", "%2C")

    return "".join(
        f"::{'error' if report.levels[f.code] is Level.ERROR else 'warning'} file={field(f.path)},line={max(1, f.line)},title={f.code}::{value(_sentence(f))}\n"
        for f in report.findings
    )


def sarif_text(report: Report) -> str:
    """SARIF 2.1.0 (OASIS): one run, its rules, and a fingerprint of path, code and target that survives shifted lines."""
    listed, levels = report.findings, report.levels
    codes = sorted({f.code for f in listed})
    marks = {Level.ERROR: "error", Level.WARN: "warning", Level.OFF: "none"}
    listed_rules = [
        {
            "id": code,
            "shortDescription": {"text": all_rules()[code].reason},
            "defaultConfiguration": {"level": marks[levels[code]]},
        }
        for code in codes
    ]
    results = [
        {
            "ruleId": f.code,
            "ruleIndex": codes.index(f.code),
            "level": marks[levels[f.code]],
            "message": {"text": _sentence(f)},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": quote(f.path), "uriBaseId": "ROOT"},
                        "region": {"startLine": max(1, f.line)},
                    }
                }
            ],
            "partialFingerprints": {"kb/v1": digest_of(f"{f.path}\n{f.code}\n{f.target}")},
        }
        for f in listed
    ]
    run = {
        "tool": {"driver": {"name": "kb", "version": __version__, "rules": listed_rules}},
        "results": results,
    }
    return (
        json.dumps(
            {
                "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
                "version": "2.1.0",
                "runs": [run],
            },
            ensure_ascii=False,
            indent=1,
        )
        + "\n"
    )


def _sentence(finding: Finding) -> str:
    about = (
        f" [{finding.target}]" if finding.target and finding.target not in finding.message else ""
    )
    return f"{finding.message}{about}" + (f"; {finding.hint}" if finding.hint else "")


WRITERS = {"json": json_text, "github": github_text, "sarif": sarif_text}
