"""The room `loop`: kb drives a whole loop with a scripted command as the agent."""

import os
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
ENV = {**os.environ, "PYTHONPATH": os.fspath(CHECKOUT), "GIT_AUTHOR_NAME": "l", "GIT_AUTHOR_EMAIL": "l@localhost", "GIT_COMMITTER_NAME": "l", "GIT_COMMITTER_EMAIL": "l@localhost"}
TARGET = """---
title: T
type: target
repository: ../repo
metric: ms
unit: ms
direction: lower
benchmark: sh bench.sh
repeats: 3
protected: [bench.sh]
---
"""
# Proposes to halve the time, then a repeat of what lost, which the gate refuses, then something else.
AGENT = """
import pathlib, sys
prompt = sys.stdin.read()
count = pathlib.Path(sys.argv[1])
if prompt.startswith("Propose"):
    n = int(count.read_text()) if count.exists() else 0
    count.write_text(str(n + 1))
    lever, title = [("unroll=4", "Unroll by four"), ("tile=64", "Tile by 64"), ("tile=64", "Tile by 64"), ("prefetch=on", "Prefetch rows")][n]
    print(f"---\\ntarget: t\\nlevers: [{lever}]\\n---\\n# {title}\\nHypothesis: {title} saves a quarter\\nMechanism: fewer stalls\\nPredicted signal: ms down\\nFalsification: gain < 1%")
else:
    ms = 120 if "tile=64" in prompt.partition("What is known")[0] else 50 if "unroll" in prompt.partition("What is known")[0] else 25
    pathlib.Path("speed").write_text(f"{ms}\\n")
"""


def sh(folder: Path, *words: str) -> subprocess.CompletedProcess:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env=ENV)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_a_whole_loop_is_driven_with_any_command_as_the_agent(make_base, tmp_path):
    root = make_base({"wiki/targets/t.md": TARGET}).root
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "speed").write_text("100\n")
    (repo / "bench.sh").write_text("read ms < speed\necho METRIC ms=$ms\n")
    sh(repo, "git", "init", "-q", "-b", "main")
    sh(repo, "git", "add", "-A")
    sh(repo, "git", "commit", "-q", "-m", "base")
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT)
    done = sh(root, sys.executable, "-m", "kb", "loop", "t", "--anyway", "--runs", "4", "--agent", f"{sys.executable} {agent} {tmp_path / 'count'}")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["baseline", "supported", "refuted", "supported"], done.stdout + done.stderr
    assert "refused by the gate: Tile by 64" in done.stderr
    assert (repo / "speed").read_text() == "25\n"
    assert "Revert" in sh(repo, "git", "log", "--oneline").stdout and not sh(repo, "git", "status", "--porcelain").stdout
    assert len((root / ".kb/loops/t.log").read_text().splitlines()) == 4
    assert len(list((root / "wiki/experiments/t").glob("*.md"))) == 4
