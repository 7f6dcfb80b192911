"""What a maintainer adds most often takes one edit in one file: a copy of the package is edited, and everything that follows from it is there."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kb

HOME = Path(kb.__file__).parent
READER = '''"""A log of lines `Z|label|value|status`, made up for this test."""

from kb.formats.readers import tsv
from kb.formats.registry import LogFormat


def read(path, ask):
    rows = [line.split("|")[1:] for line in path.read_text().splitlines() if line.startswith("Z|")]
    copy = path.with_suffix(".tsv")
    copy.write_text("\\n".join("\\t".join(row) for row in [["commit", "val_loss", "status"], *rows]) + "\\n")
    yield from next(f for f in tsv.FORMATS if f.name.endswith("tsv")).read(copy, ask)


FORMATS = (LogFormat("zlog", lambda path, head: head[0].startswith("Z|"), read, order=5),)
'''
PROFILER = '''"""A profile of lines `zprof NAME MS`, made up for this test."""

from kb.profiles.registry import Format
from kb.profiles.table import Cost, Reading


def read(stream, label):
    words = [line.split() for line in stream]
    costs = tuple(Cost(name, float(ms), float(ms), 1) for _, name, ms in words)
    return Reading("zprof", "host", "ms", costs)


FORMATS = (Format("zprof", "a profile made up for a test", read, line=lambda line: line.startswith("zprof ")),)
'''
RULE = '''"""A rule made up for this test."""

from kb.lint.registry import Rule, W
from kb.schema import Finding


def shouting(matter):
    for page in matter.pages.values():
        if page.title.isupper():
            yield Finding(page.path, 1, "shouting", "the title shouts")


RULES = (Rule("shouting", W, "titles are read, not heard", check=shouting),)
'''
# What is edited: the file, what stands there, what is put in its place; a file that is not there is written.
EDITS = {
    "page type": ("schema/__init__.py", "PAGE_TYPES = (", 'PAGE_TYPES = (\n    PageType(name="playbook", plural="Playbooks", folders=("playbooks",), names=("playbook",), required=("title", "owner")),'),
    "verdict synonym": ("schema/verdicts.py", '"support accept keep', '"quorked support accept keep'),
    "log format": ("formats/readers/zlog.py", "", READER),
    "profiler format": ("profiles/readers/zprof.py", "", PROFILER),
    "lint rule": ("lint/rules/shouting.py", "", RULE),
    "column of the run table": ("site/runs.py", "COLUMNS = (", 'COLUMNS = (\n    RunColumn("Pages", "text", lambda r: r.facts.path, lambda r: "in " + r.facts.path),'),
    "noise threshold": ("run/noise.py", "SMALLEST_GAIN = 0.01", "SMALLEST_GAIN = 0.07"),
    "part of a slice": ("trail/state.py", "STATE_PARTS = (", 'STATE_PARTS = (\n    StatePart(name="oldest", heading="Oldest run", most=1, slice="oldest", why="first of all", share=1.0, lines=lambda o: [Line(f"began with {o.runs[0].title}", o.runs[0].path)]),'),
    "token estimate": ("slices/tokens.py", "math.ceil(sum(", "math.ceil(1000 * sum("),
}  # fmt: skip
RUN = """---
title: RUN {n}
type: experiment
target: t
created: 2026-01-0{n}
verdict: {verdict}
hypothesis: h
metric: ms
value: {value}
unit: ms
---
# RUN {n}

## Results

| metric | value |
|---|---|
| ms | {value} ms |

## Verdict

{verdict}: {value} ms
"""


@pytest.fixture(scope="module")
def edited(tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """A knowledge base, and the environment in which the edited copy runs on it."""
    home = tmp_path_factory.mktemp("edited")
    shutil.copytree(HOME, home / "kb", ignore=shutil.ignore_patterns("__pycache__"))
    for what, (name, old, new) in EDITS.items():
        file = home / "kb" / name
        text = file.read_text() if old else ""
        assert text.count(old) == 1 or not old, f"{what}: {name} no longer holds {old!r}"
        file.write_text(text.replace(old, new) if old else new)
    base = home / "base"
    for number, (verdict, value) in enumerate([("baseline", 100), ("quorked", 95)], 1):
        page = base / f"wiki/experiments/t/2026-01-0{number}-v00{number}-a.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(RUN.format(n=number, verdict=verdict, value=value))
    (base / "wiki/playbooks").mkdir()
    (base / "wiki/playbooks/p.md").write_text("---\ntitle: A playbook\n---\n# A playbook\n\nWhat to do when the pool runs dry.\n")
    (base / "run.zlog").write_text("Z|a1|3.0|keep\nZ|a2|2.5|keep\nZ|a3|2.9|discard\n")
    (base / "run.zprof").write_text("zprof matmul 70\nzprof copy 30\n")
    env = {**os.environ, "PYTHONPATH": os.fspath(home)}
    for words in (["init", "--adopt"], ["build"]):
        output(base, env, *words)
    return base, env


def output(base: Path, env: dict[str, str], *words: str) -> str:
    done = subprocess.run([sys.executable, "-m", "kb", *words], cwd=base, env=env, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def test_a_page_type_is_one_row(edited):
    findings = json.loads(output(*edited, "lint", "--format", "json"))
    assert any(f["code"] == "missing-field" and "owner" in f["message"] + f["target"] for f in findings if "playbooks" in f["path"])
    assert "A playbook" in output(*edited, "search", "pool", "--type", "playbook")


def test_a_verdict_synonym_is_one_word(edited):
    listed = json.loads(output(*edited, "experiment", "list", "--format", "json"))
    assert [e["verdict"]["canonical"] for e in listed] == ["baseline", "supported"]


def test_a_log_format_is_one_file(edited):
    assert "zlog" in output(*edited, "import", "--help")
    read = json.loads(output(*edited, "import", "auto", "run.zlog", "--target", "t", "--dry-run", "--format", "json"))
    assert (read[0]["runs"], read[0]["kept"]) == (3, 2)


def test_a_profiler_format_is_one_file(edited):
    assert "zprof" in output(*edited, "profile", "summarize", "--help")
    assert "matmul" in output(*edited, "profile", "summarize", "run.zprof")


def test_a_lint_rule_is_one_file(edited):
    assert output(*edited, "lint", "--code", "shouting", "--limit", "0").count("shouts") == 2
    assert "titles are read, not heard" in output(*edited, "lint", "--rules")


def test_a_column_of_the_run_table_is_one_row(edited):
    pytest.importorskip("markdown_it")
    pytest.importorskip("jinja2")
    base, env = edited
    (base / "kb.toml").write_text((base / "kb.toml").read_text() + '\n[site]\nshell = "plain"\n')
    output(base, env, "site", "build")
    assert any("in wiki/experiments/t/" in page.read_text() for page in (base / "site").rglob("*.html"))


def test_a_part_of_a_slice_is_one_row(edited):
    base, env = edited
    assert "## oldest\n- first of all\n> began with RUN 1\n" in output(base, env, "load", "hypothesis", "--target", "t", "--budget", "200000")
    assert "## Oldest run\n\n- began with RUN 1\n" in (base / "indexes/state/t.md").read_text()


def test_the_least_gain_is_one_figure(edited):
    # 5 % is a gain by the shipped figure, and none by the edited one.
    status = output(*edited, "status", "--target", "t")
    assert "1 run since the frontier moved by 7 %" in status and " 1 %" not in status


def test_the_token_estimate_is_one_figure(edited):
    head = output(*edited, "load", "hypothesis", "--target", "t", "--budget", "8000").partition("\n")[0]
    assert "8000 tokens" in head and len(output(*edited, "load", "hypothesis", "--target", "t", "--budget", "8000")) < 900
