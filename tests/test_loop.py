"""The room `loop`: kb drives a whole loop with a scripted command as the agent, goes on with one that was cut off, and writes a job for SkyPilot."""

import os
import re
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from kb.page import read

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
import os, pathlib, sys
prompt = sys.stdin.read()
count = pathlib.Path(sys.argv[1])
die = count.with_name("die").read_text() if count.with_name("die").exists() else ""
if die == ("proposing" if prompt.startswith("Propose") else "changing"):
    pathlib.Path("half").write_text("begun") if die == "changing" else None
    os.kill(os.getppid(), 9)
    sys.exit()
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


def prepared(make_base, tmp_path, pages: dict[str, str] | None = None) -> tuple[Path, Path, list[str]]:
    """Root, repository, and the words that drive the loop with the scripted agent."""
    root = make_base({"wiki/targets/t.md": TARGET, **(pages or {})}).root
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "speed").write_text("100\n")
    (repo / "bench.sh").write_text("test ! -e $KB_REPOSITORY/../slow || sleep 60\nread ms < speed\necho METRIC ms=$ms\n")
    sh(repo, "git", "init", "-q", "-b", "main")
    sh(repo, "git", "add", "-A")
    sh(repo, "git", "commit", "-q", "-m", "base")
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT)
    return root, repo, [sys.executable, "-m", "kb", "loop", "t", "--agent", f"{sys.executable} {agent} {tmp_path / 'count'}"]


def test_a_whole_loop_is_driven_with_any_command_as_the_agent_and_goes_on_where_it_stopped(make_base, tmp_path):
    root, repo, words = prepared(make_base, tmp_path)
    log = root / ".kb/loops/t.log"
    first = sh(root, *words, "--anyway", "--runs", "2")
    assert first.returncode == 0, first.stderr
    assert [line.split()[0] for line in first.stdout.splitlines()[:2]] == ["baseline", "supported"] and "ended: 2 experiments" in first.stdout
    spent = int(re.search(r"about (\d+) tokens", first.stdout)[1])
    assert spent > 500 and sum(int(t) for t in re.findall(r", (\d+) tokens\]", log.read_text())) == spent
    # What was spent before stands in the log and is counted.
    assert f"ended: {spent} tokens" in sh(root, *words, "--anyway", "--runs", "9", "--tokens", str(spent)).stdout
    assert "ended: 0.0001 minutes" in sh(root, *words, "--anyway", "--runs", "9", "--minutes", "0.0001").stdout
    done = sh(root, *words, "--anyway", "--runs", "4")
    assert [line.split()[0] for line in done.stdout.splitlines()[:4]] == ["baseline", "supported", "refuted", "supported"], done.stdout + done.stderr
    assert "refused by the gate: Tile by 64" in done.stderr and "refused: Tile by 64: " in log.read_text()
    assert (repo / "speed").read_text() == "25\n"
    assert "Revert" in sh(repo, "git", "log", "--oneline").stdout and not sh(repo, "git", "status", "--porcelain").stdout
    assert [line.split("  ")[1].split()[0] for line in log.read_text().splitlines()] == [
        "begun:", "baseline", "proposed:", "changed:", "supported", "proposed:", "changed:", "refuted", "refused:", "proposed:", "changed:", "supported"]
    assert len(list((root / "wiki/experiments/t").glob("*.md"))) == 4
    assert "ended: 4 experiments" in sh(root, *words, "--anyway", "--runs", "4").stdout


READER = """
if prompt.startswith("# Read a proposal beside what failed"):
    import json, re
    page, proposal = re.search(r"wiki/experiments/t/\\S*tile\\S*", prompt), prompt.partition("## the proposal")[2]
    again = {"page": page and page[0], "relation": "same", "quote": "Tile by 64", "proposal_quote": "squares of eight lines", "because": "both cut the work into tiles"}
    print(json.dumps({"pages": [again] if page and "squares" in proposal.partition("## wiki")[0] else []}))
    sys.exit()
"""


def test_a_loop_may_have_its_agent_read_each_proposal_beside_what_failed(make_base, tmp_path):
    root, repo, words = prepared(make_base, tmp_path)
    agent, third = tmp_path / "agent.py", '("tile=64", "Tile by 64"), ("prefetch'
    text = AGENT.replace(third, '("squares", "Work through squares of eight lines"), ("prefetch')
    assert text != AGENT
    agent.write_text(text.replace("count = pathlib", f"{READER}\ncount = pathlib", 1))
    done = sh(root, *words, "--anyway", "--runs", "4", "--verify")
    assert [line.split()[0] for line in done.stdout.splitlines()[:4]] == ["baseline", "supported", "refuted", "supported"], done.stdout + done.stderr
    assert "refused by the gate: Work through squares" in done.stderr, done.stderr
    assert "both cut the work into tiles" in (root / ".kb/loops/t.log").read_text()


def killed(root: Path, words: list[str], ready) -> None:
    """The loop, killed as soon as it is where it shall be."""
    process = subprocess.Popen(words, cwd=root, env=ENV, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.wait()


def test_a_loop_that_is_killed_while_it_measures_goes_on_with_the_same_change(make_base, tmp_path):
    root, repo, words = prepared(make_base, tmp_path)
    assert sh(root, *words, "--anyway", "--runs", "1").returncode == 0
    (tmp_path / "slow").touch()
    log = root / ".kb/loops/t.log"
    killed(root, [*words, "--anyway", "--runs", "2"], lambda: list((root / "sources/runs/t").glob("*v002*/1/plan.json")) and "changed: " in log.read_text())
    (tmp_path / "slow").unlink()
    done = sh(root, *words, "--anyway", "--runs", "2")
    assert "which was changed and not measured" in done.stderr and "ended: 2 experiments" in done.stdout, done.stderr
    assert (tmp_path / "count").read_text() == "1" and (repo / "speed").read_text() == "50\n"
    assert len(list((root / "wiki/experiments/t").glob("*.md"))) == 2


@pytest.mark.parametrize("moment", ["proposing", "changing", "committed", "filed", "first"])
def test_a_loop_that_is_killed_at_any_moment_goes_on_where_it_was(make_base, tmp_path, moment):
    root, repo, words = prepared(make_base, tmp_path)
    words += ["--anyway", "--runs", "2"]
    log, die = root / ".kb/loops/t.log", tmp_path / ("slow" if moment == "first" else "die")
    die.write_text(moment)
    if moment == "first":
        killed(root, words, lambda: list((root / "sources/runs/t").glob("*v001*/1/plan.json")))
    else:
        assert sh(root, *words).returncode == (0 if moment in ("committed", "filed") else -9)
    die.unlink()
    lines = log.read_text().splitlines(keepends=True)
    if moment == "filed":
        # As it stands where the page was filed and the log not written any more.
        log.write_text("".join(lines[:-1]))
    if moment == "committed":
        # As it stands where the commit was made and the log not written any more.
        assert " changed: " in lines[-2]
        log.write_text("".join(lines[:-2]))
        for page in (root / "wiki/experiments/t").glob("*v002*"):
            page.unlink()
        shutil.rmtree(next((root / "sources/runs/t").glob("*v002*")))
    done = sh(root, *words)
    assert done.returncode == 0 and "ended: 2 experiments" in done.stdout, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[:2]] == ["baseline", "supported"]
    assert (repo / "speed").read_text() == "50\n" and not sh(repo, "git", "status", "--porcelain").stdout
    assert sh(repo, "git", "log", "--format=%s").stdout == "Unroll by four\nbase\n"
    # A proposal that had passed is not asked for again; what was begun for it is kept aside.
    assert (tmp_path / "count").read_text() == "1"
    assert bool(sh(repo, "git", "stash", "list").stdout) == (moment == "changing")
    assert len(list((root / "wiki/experiments/t").glob("*.md"))) == 2


def test_a_loop_goes_on_while_the_stop_is_refused_and_ends_where_it_is_allowed(make_base, tmp_path):
    page = "---\ntitle: {0}\ntype: experiment\ntarget: t\nverdict: {1}\ncode: main\nlevers: [k{0}=1]\nmetrics: {{ms: {{value: {2}, unit: ms}}}}\n---\n\n# Knob {0}\n"
    pages = {f"wiki/experiments/t/2026-01-{n:02d}-v{n:03d}-knob.md": page.format(n, "refuted" if n > 1 else "baseline", 100 + n) for n in range(1, 12)}
    root, repo, words = prepared(make_base, tmp_path, pages)
    base = root / "wiki/experiments/t/2026-01-01-v001-knob.md"
    base.write_text(base.read_text().replace("code: main", f"code: {sh(repo, 'git', 'rev-parse', 'HEAD').stdout}".strip()))
    first = sh(root, *words, "--runs", "1")
    assert "ended: 1 experiment" in first.stdout, first.stdout + first.stderr
    target = root / "wiki/targets/t.md"
    target.write_text(target.read_text().replace("repeats: 3", "repeats: 3\nheadroom: none, the last ten levers lost"))
    for n in range(12, 21):
        (root / f"wiki/experiments/t/2027-01-{n:02d}-v{n:03d}-knob.md").write_text(page.format(n, "refuted", 100 + n))
    for verb in (("build",), ("retro", "--target", "t", "--write", "--date", "2027-02-01"), ("build",)):
        assert sh(root, sys.executable, "-m", "kb", *verb).returncode == 0
    assert sh(root, *words, "--runs", "3", "--afresh").stdout.startswith("ended: `kb stop-check` lets it stop")
    assert (tmp_path / "count").read_text() == "1"


def test_a_job_for_skypilot_is_written_checked_and_run_and_its_log_is_filed(make_base, tmp_path):
    root, repo, _ = prepared(make_base, tmp_path)
    (repo / "bench.sh").write_text("n=$(cat ../n 2>/dev/null || echo 0); echo $((n + 1)) > ../n\nread ms < speed\necho METRIC ms=$((ms + n))\n")
    loop = [sys.executable, "-m", "kb", "loop", "t", "--on", "sky"]
    done = sh(root, *loop)
    assert done.returncode == 0 and ("valid by skypilot" if find_spec("sky") else "not checked") in done.stdout and "sky launch" in done.stdout, done.stderr
    job = read("wiki/x.md", b"---\n" + (repo / "experiment.yaml").read_bytes() + b"---\n").front
    assert job["envs"]["BENCH_CMD"] == "sh bench.sh" and job["envs"]["REPEATS"] == "3"
    # The job as a machine of the service runs it: the working folder below its home.
    home = tmp_path / "machine"
    (home / "sky_workdir").mkdir(parents=True)
    for file in ("speed", "bench.sh"):
        (home / "sky_workdir" / file).write_bytes((repo / file).read_bytes())
    for status, envs in (("done", {}), ("crash", {"BENCH_CMD": "exit 3"}), ("checks_failed", {"CHECK_CMD": "exit 4"})):
        env = {**ENV, **job["envs"], "EXPERIMENT_ID": f"exp-{status}", "EXPERIMENT_DESC": f"try to {status}", **envs, "HOME": str(home)}
        ran = subprocess.run(["bash", "-c", job["run"]], env=env, capture_output=True, text=True)
        assert ran.returncode == 0 and f"EXPERIMENT_STATUS: {status}" in ran.stdout, ran.stderr
        (root / f"{status}.log").write_text(ran.stdout)
    text = (root / "done.log").read_text()
    assert "METRIC ms=101\nMETRIC ms_stddev=1\nMETRIC ms_n=3\n" in text and "CHECKS_STATUS: skipped" in text
    for name in ("done", "crash", "checks_failed"):
        filed = sh(root, *loop[:3], "import", "skypilot", str(root / f"{name}.log"), "--target", "t", "--metric", "ms")
        assert filed.returncode == 0, filed.stderr
    pages = [page.read_text() for page in sorted((root / "wiki/experiments/t").rglob("*.md"))]
    assert len(pages) == 3 and sum("101" in page for page in pages) == 1 and sum('verdict: "crash"' in page for page in pages) == 1
    (repo / "experiment.yaml").write_text("name: mine\nrun: echo hello\n")
    refused = sh(root, *loop)
    assert refused.returncode == 2 and "is not kb's" in refused.stderr
    assert (repo / "experiment.yaml").read_text().startswith("name: mine")
