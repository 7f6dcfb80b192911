"""Every rule shown failing by a case of tests/lint, every fix to the byte; what lint survives, sets aside and prints."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from kb import KbError, lint, store

CASES = sorted((Path(__file__).parent / "lint").glob("*.md"))
# These need bytes, links or permissions that a markdown case cannot show; they have tests of their own below.
ON_DISK = {"unreadable", "vanished", "symlink", "file-name", "binary", "too-large", "encoding"}
TODAY = "2026-06-01"
CONCEPT = "---\ntitle: {0}\ntype: concept\nupdated: 2026-01-01\n---\n\n"


def case_of(file: Path) -> tuple[dict[str, str], list[str]]:
    """Pages and expected findings (`path:line target`) of a case file."""
    text = file.read_text(encoding="utf-8")
    pages = {m[1]: m[2] + "\n" for m in re.finditer(r"^## (\S.*?)\n\n````markdown\n(.*?)\n````$", text, re.S | re.M)}
    return pages, re.findall(r"^- `(.+)`$", text.partition("\n## Finds\n")[2], re.M)


def matter_at(layout: store.Layout) -> lint.Matter:
    return lint.matter_of(layout, rows={}, today=TODAY)


def found(layout: store.Layout, code: str) -> list[str]:
    return [f"{f.path}:{f.line} {f.target}".strip() for f in lint.lint(matter_at(layout)).findings if f.code == code]


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_a_rule_finds_what_its_case_says_and_no_more(file, make_base):
    pages, wanted = case_of(file)
    assert wanted, "a case must show its rule failing"
    assert sorted(found(make_base(pages), file.stem)) == sorted(wanted)


def test_every_rule_has_a_case():
    assert {file.stem for file in CASES} | ON_DISK == set(lint.BY_CODE)
