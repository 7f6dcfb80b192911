"""Killed with -9 at a hundred random instants of open, run, close, import and build: nothing filed is lost, nothing half-written is read."""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import time
from pathlib import Path

import pytest

from kb import store
from kb.build import build
from kb.cli import main
from kb.experiments.stub import stub_at
from kb.page.seal import findings as seal_findings

KILLS = 100
TARGET = """---
title: Decoder
type: target
metric: {name: time_ms, unit: ms, direction: lower}
created: 2026-05-01
updated: 2026-05-01
---

# Decoder

<!-- kb:auto frontier -->
<!-- /kb:auto -->

<!-- kb:auto experiments -->
<!-- /kb:auto -->
"""


def forked(words: list[str], folder: Path) -> int:
    """`kb WORDS` in a child of its own group; returns its id."""
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        os.chdir(folder)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        with open(os.devnull, "w") as sink, contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
            os._exit(main(words))
    finally:
        os._exit(70)


def ended(child: int, *, within_s: float | None) -> int | None:
    """Exit code of a child, or None if it had to be killed after `within_s` seconds."""
    deadline = time.monotonic() + (60 if within_s is None else within_s)
    while time.monotonic() < deadline:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.0005)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert within_s is not None, "a command hung"
    return None


def opening(lever: str) -> list[str]:
    return ["experiment", "open", "--target", "decoder", "--lever", f"{lever}=on", "--title", f"Try {lever}", "--hypothesis", f"{lever} is faster", "--mechanism", f"{lever} skips work",
            "--predicted", "time falls", "--falsification", "gain < 2%", "--parent", "wiki/experiments/decoder/2026-05-01-v001-first.md", "--date", "2026-05-02"]


def assert_whole(layout: store.Layout, filed: dict[str, bytes], seen: dict[Path, bytes]) -> None:
    """Every page is what one writer wrote, and what was filed before is there as it was. `seen` spares what did not change."""
    for path, data in filed.items():
        assert (layout.root / path).read_bytes() == data, f"{path} was filed and changed"
    pages = sorted((layout.wiki / "experiments").rglob("*.md"))
    records = sorted((layout.sources / "runs").rglob("*.json"))
    for file in (*pages, *records):
        data = file.read_bytes()
        if seen.get(file) == data:
            continue
        seen[file] = data
        if file.suffix == ".json":
            json.loads(data)
            continue
        path = file.relative_to(layout.root).as_posix()
        stub = stub_at(layout, path)
        assert data.endswith(b"\n") and not stub.page.findings, path
        assert not seal_findings(path, data), path
        if stub.page.field("sealed"):
            assert stub.facts.verdict.canonical and b"kb:auto" not in data, path
            filed[path] = data
    numbers = [(f.parent.name, f.name[10:15]) for f in pages]
    assert len(numbers) == len(set(numbers)), "a number was given out twice"


def stub_of(layout: store.Layout, lever: str) -> str | None:
    found = sorted((layout.wiki / "experiments" / "decoder").glob(f"*-try-{lever}.md"))
    assert len(found) < 2
    return found[0].relative_to(layout.root).as_posix() if found else None


@pytest.fixture
def layout(make_base) -> store.Layout:
    first = '---\ntitle: First\ntype: experiment\ntarget: decoder\nverdict: baseline\nstatus: filed\nmetrics: {time_ms: {value: 100.0, unit: ms, stddev: 0.2, n: 5}}\n---\n\n# First\n'
    return make_base({"wiki/targets/decoder.md": TARGET, "wiki/experiments/decoder/2026-05-01-v001-first.md": first, "wiki/index.md": "# Index\n"})


def test_killed_a_hundred_times_nothing_filed_is_lost(layout, tmp_path):
    dice = random.Random(20260501)
    records = [tmp_path / f"run{i}.log" for i in range(3)]
    for i, file in enumerate(records):
        file.write_text(f"METRIC time_ms={90 + i / 10}\n")
    filed: dict[str, bytes] = {}
    seen: dict[Path, bytes] = {}
    lasts = {"open": 0.15, "run": 0.15, "close": 0.25, "import": 0.2, "build": 0.15}
    kills = dict.fromkeys(lasts, 0)
    serial = 0
    while sum(kills.values()) < KILLS or min(kills.values()) < 5:
        serial += 1
        lever = f"l{serial:03d}x"
        log = tmp_path / f"loop{serial}.jsonl"
        log.write_text('{"type":"config","metricName":"time_ms","bestDirection":"lower"}\n' + "".join(
            f'{{"run":{n},"commit":"c{serial}{n}","metric":{50 + n},"status":"{"keep" if n % 2 else "discard"}","description":"{lever} run {n}","timestamp":{1777000000 + n}}}\n' for n in range(1, 4)))
        for name in ("open", "run", "close", "import", "build"):
            for attempt in range(2):
                path = stub_of(layout, lever)
                words = {"open": opening(lever), "run": ["experiment", "run", str(path), *(w for f in records for w in ("--record", str(f)))],
                         "close": ["experiment", "close", str(path), "--date", "2026-05-02", "--expect", "METRIC time_ms=8"], "import": ["import", "pi", str(log), "--target", "imported"], "build": ["build"]}[name]
                started = time.monotonic()
                code = ended(forked(words, layout.root), within_s=dice.random() * lasts[name] * 1.1 if attempt == 0 else None)
                if code is None:
                    kills[name] += 1
                else:
                    # 3: the open that was killed had filed its stub; 2: the run or close that was killed had been done.
                    assert code in ((0,) if attempt == 0 else (0, 2, 3)), f"kb {' '.join(words)} -> {code}"
                    lasts[name] = 0.7 * lasts[name] + 0.3 * (time.monotonic() - started)
                assert_whole(layout, filed, seen)
                if code is not None:
                    break
    ours = sorted((layout.wiki / "experiments" / "decoder").glob("*-try-*.md"))
    assert len(ours) == serial and all(stub_at(layout, f.relative_to(layout.root).as_posix()).page.field("sealed") for f in ours)
    logged = (layout.wiki / "log.md").read_text()
    assert [logged.count(f"](experiments/decoder/{f.name})") for f in ours] == [1] * serial
    imported = sorted((layout.wiki / "experiments" / "imported").glob("*.md"))
    assert len(imported) == 3 * serial
    assert len(re.findall(r"^\| \d{4}", (layout.wiki / "targets" / "decoder.md").read_text(), re.MULTILINE)) == serial + 1
    build(layout)
    here = {f.relative_to(layout.indexes).as_posix(): f.read_bytes() for f in sorted(layout.indexes.rglob("*")) if f.is_file()}
    shutil.rmtree(layout.state)
    build(layout)
    assert here == {f.relative_to(layout.indexes).as_posix(): f.read_bytes() for f in sorted(layout.indexes.rglob("*")) if f.is_file()}
