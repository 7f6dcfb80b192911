"""Findings as other programs read them: JSON, GitHub annotations, SARIF 2.1.0."""

import json
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from kb import __version__
from kb.lint.registry import all_rules
from kb.schema import Finding, Level
from kb.store import digest_of

Levels = Mapping[str, Level]


def json_text(findings: Iterable[Finding], levels: Levels) -> str:
    """A list of findings, one to a line: path, line, code, level, target, message, hint, fixable."""
    rows = [
        json.dumps(
            {
                "path": f.path,
                "line": f.line,
                "code": f.code,
                "level": levels[f.code],
                "target": f.target,
                "message": f.message,
                "hint": f.hint,
                "fixable": f.fixable,
            },
            ensure_ascii=False,
        )
        for f in findings
    ]
    return "[" + ",\n ".join(rows) + "]\n"


def github_text(findings: Iterable[Finding], levels: Levels) -> str:
    """Workflow commands, which GitHub shows as annotations of the lines."""

    def value(text: str) -> str:
        return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

    def field(text: str) -> str:
        return value(text).replace(":", "%3A").replace(",", "%2C")

    return "".join(
        f"::{'error' if levels[f.code] is Level.ERROR else 'warning'} file={field(f.path)},line={max(1, f.line)},title={f.code}::{value(_sentence(f))}\n"
        for f in findings
    )


def sarif_text(findings: Iterable[Finding], levels: Levels) -> str:
    """SARIF 2.1.0 (OASIS): one run, its rules, and a fingerprint of path, code and target that survives shifted lines."""
    listed = list(findings)
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
