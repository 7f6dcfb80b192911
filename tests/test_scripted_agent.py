"""A program that plays a harness through a whole loop, over the command line and again over MCP, and ends with the same pages."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kb.harness.templates import agent_texts, skill_texts, standing_text
from kb.slices.tokens import tokens_of
from kb.store.layout import Config

CHECKOUT = Path(__file__).resolve().parent.parent
WHO = {"GIT_AUTHOR_NAME": "l", "GIT_AUTHOR_EMAIL": "l@localhost", "GIT_COMMITTER_NAME": "l", "GIT_COMMITTER_EMAIL": "l@localhost"}
ENV = {**os.environ, **WHO, "PYTHONPATH": os.fspath(CHECKOUT), "GIT_AUTHOR_DATE": "2026-01-02T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-02T00:00:00Z"}
TARGET = """---
title: T
type: target
repository: ../repo
metric: ms
unit: ms
direction: lower
benchmark: sh bench.sh
build: sh make.sh
artifacts: [program]
repeats: 2
warmup: 0
protected: [bench.sh]
headroom: {headroom}
---
"""
# How the agent answers at each step: title, lever, the file that it changes, what it writes there, and the rule that must judge it.
STEPS = (
    ("Unroll by four", "unroll=4", "speed", "50\n", "supported"),
    ("Tile by 64", "tile=64", "speed", "80\n", "falsified"),
    ("Pack the rows", "pack=on", "notes", "nothing that is built\n", "no-op"),
    ("Measure less", "sample=1", "bench.sh", "echo METRIC ms=1\n", "protected-file"),
    ("Prefetch rows", "prefetch=on", "speed", "70\n", "falsified"),
)
Call = Callable[[str, dict[str, object]], tuple[int, str, dict]]


def proposal(title: str, lever: str) -> str:
    return f"---\ntarget: t\nlevers: [{lever}]\n---\n# {title}\nHypothesis: {title} saves a quarter of the time\nMechanism: fewer stalls by {lever}\nPredicted signal: ms down\nFalsification: gain < 1%\n"


@pytest.fixture
def places(make_base, tmp_path):
    def make(name: str) -> tuple[Path, Path]:
        home = tmp_path / name
        repo = home / "repo"
        repo.mkdir(parents=True)
        root = make_base({"wiki/targets/t.md": TARGET.format(headroom="some")}, f"{name}/base").root
        (repo / "speed").write_text("100\n")
        (repo / "bench.sh").write_text("read ms < program\necho METRIC ms=$ms\n")
        (repo / "make.sh").write_text("cp speed program\n")
        for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "base")):
            git(repo, *words)
        return root, repo

    return make


def git(repo: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", repo, *words], env=ENV, check=True, capture_output=True, text=True).stdout.strip()


def over_commands(root: Path) -> Call:
    def call(tool: str, values: dict[str, object]) -> tuple[int, str, dict]:
        values = dict(values)
        action = str(values.pop("action", ""))
        verb = {"stop": "stop-check", "trail": "status"}.get(action) if tool == "status" else f"{tool} {action}".strip()
        text = str(values.pop("proposal", ""))
        words = [*verb.split(), *([values.pop("step")] if "step" in values else []), *([values.pop("page")] if "page" in values else []), *(["-"] if text else [])]
        for name, value in values.items():
            for item in value if isinstance(value, list) else [value]:
                words += [f"--{name.replace('_', '-')}"] if item is True else [f"--{name.replace('_', '-')}", str(item)]
        words += [] if tool == "load" else ["--format", "json"]
        done = subprocess.run([sys.executable, "-m", "kb", *words], cwd=root, env=ENV, input=text, capture_output=True, text=True)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, done.stdout + done.stderr, json.loads(done.stdout) if done.stdout.startswith("{") else {}

    return call


def over_tools(call_tool) -> Call:
    import anyio.from_thread

    def call(tool: str, values: dict[str, object]) -> tuple[int, str, dict]:
        reply = anyio.from_thread.run(call_tool, tool, values)
        held = reply.structured_content or {}
        return held.get("code", 2), reply.content[0].text, held.get("result") or {}

    return call


def played(call: Call, root: Path, repo: Path) -> list[str]:
    """The loop as the skills tell it. Returns the words of what happened."""
    happened = []
    code, text, values = call("experiment", {"action": "try", "target": "t", "baseline": True})
    assert code == 0, text
    happened.append(values["rule"])
    for title, lever, file, content, rule in STEPS:
        code, text, _ = call("load", {"step": "hypothesis", "target": "t"})
        assert code == 0 and "## " in text, text
        code, text, checked = call("check", {"proposal": proposal(title, lever), "target": "t"})
        assert code == 0, text
        before = (repo / file).read_text() if (repo / file).exists() else ""
        assert before != content
        (repo / file).write_text(content)
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "-m", title)
        code, text, tried = call("experiment", {"action": "try", "proposal": proposal(title, lever), "target": "t", "because": f"{title}: seen"})
        assert tried.get('rule') == rule, (title, code, tried.get('reason'))
        happened.append(tried["rule"])
        if tried["decision"] != "keep":
            git(repo, "revert", "--no-edit", "HEAD")
        if title == "Tile by 64":
            code, text, _ = call("check", {"proposal": proposal("Tile the loop by 64", "tile=64"), "target": "t"})
            assert code == 3 and "tile" in text, text
            code, text, _ = call("experiment", {"action": "open", "proposal": proposal("Tile the loop by 64", "tile=64"), "target": "t"})
            assert code in (2, 3) and "repeats what was refuted" in text, text
            happened.append("gate")
    code, text, _ = call("status", {"action": "stop", "target": "t"})
    assert code == 3 and "retrospective" in text, text
    happened.append("stop refused")
    while "no plateau" in text:
        lost = len(list((root / "wiki/experiments/t").glob("*.md")))
        (repo / "speed").write_text(f"{60 + lost}\n")
        git(repo, "commit", "-qam", f"Knob {lost}")
        code, text, tried = call("experiment", {"action": "try", "proposal": proposal(f"Knob {lost}", f"knob{lost}=1"), "target": "t", "because": "slower", "differs": "another knob of the program"})
        assert tried["decision"] == "revert", text
        happened.append(tried["rule"])
        git(repo, "revert", "--no-edit", "HEAD")
        code, text, _ = call("status", {"action": "stop", "target": "t"})
    # What the other reasons ask for: no headroom stated with its evidence, the retrospective, nothing in flight.
    page = root / "wiki/targets/t.md"
    page.write_text(page.read_text().replace("headroom: some", "headroom: none, the last three levers lost"))
    for words in (("build",), ("retro", "--target", "t", "--write"), ("build",)):
        done = subprocess.run([sys.executable, "-m", "kb", *words], cwd=root, env=ENV, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    code, text, _ = call("status", {"action": "stop", "target": "t"})
    assert code == 0, text
    happened.append("stop allowed")
    return happened


TRIED = ["supported", "falsified", "gate", "no-op", "protected-file", "falsified"]
# Four more losses make the plateau without which no loop stops.
EXPECTED = ["baseline", *TRIED, "stop refused", *["falsified"] * 4, "stop allowed"]


def pages(root: Path) -> dict[str, str]:
    """What the loop filed, without what a clock, a machine or a commit says: path -> levers, verdict and rule."""
    found = {}
    for file in sorted((root / "wiki/experiments/t").glob("*.md")):
        text = file.read_text()
        kept = re.findall(r"^(?:title|levers|verdict|decision|status|parent): .*$|^Rule: .*$", text, re.MULTILINE)
        found[file.name] = "\n".join(re.sub(r"\b[0-9a-f]{7,40}\b", "COMMIT", line) for line in kept)
    return found


def test_a_whole_loop_is_the_same_over_commands_and_over_tools(places):
    root, repo = places("commands")
    assert played(over_commands(root), root, repo) == EXPECTED
    anyio, _ = pytest.importorskip("anyio"), pytest.importorskip("mcp")
    other, copy = places("tools")

    async def session() -> list[str]:
        from mcp import Client
        from mcp.client.stdio import StdioServerParameters, stdio_client

        async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=["-m", "kb", "mcp"], cwd=other, env=ENV))) as client:
            return await anyio.to_thread.run_sync(lambda: played(over_tools(client.call_tool), other, copy))

    assert anyio.run(session) == EXPECTED
    assert pages(root) == pages(other) and len(pages(root)) == 1 + len(STEPS) + 4


def test_one_hypothesis_step_reads_at_most_ten_thousand_tokens():
    """All that the agent is told to read, each at its largest: a full slice, and an answer of `check` of 1,500 characters in dear ones."""
    skill = skill_texts()["formulate-hypothesis"][1]
    listed = "\n".join(about for about, _ in (*skill_texts().values(), *agent_texts().values()))
    answer = tokens_of("a=1 " * 375)
    budget = Config().budget
    assert budget + answer + sum(map(tokens_of, (standing_text(), listed, skill))) <= 10_000
