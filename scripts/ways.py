"""Counts what two ways pass through: a page's bytes to an item of a slice, and a proposal to the receipt on its page.

Prints a row a command: files, functions and rooms of `kb/` that ran, without comprehensions and module bodies. Drawn in
docs/decisions/0060-two-ways.md.
"""

import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from kb.cli import main

HOME = Path(__file__).resolve().parent.parent
TARGET = """---
title: T
type: target
repository: ../repo
metric: ms
direction: lower
benchmark: sh bench.sh
repeats: 2
warmup: 0
protected: [bench.sh]
---
"""
PROPOSAL = """---
target: t
levers: [unroll=4]
parent: HEAD
---
# Unroll by four
Hypothesis: unrolling saves a quarter of the time
Mechanism: fewer branches
Predicted signal: ms down
Falsification: gain < 1%
"""


def passed(run: Callable[[], object]) -> set[tuple[str, str]]:
    """(file, function) of everything in `kb/` that ran."""
    ran: set[tuple[str, str]] = set()
    package = str(HOME / "kb") + "/"

    def watch(frame, event: str, value: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(package) and code.co_name[0] != "<":
            ran.add((code.co_filename.removeprefix(package), code.co_qualname))

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return ran


def row(*words: str) -> str:
    codes: list[int] = []
    ran = passed(lambda: codes.append(main(list(words))))
    if codes != [0]:
        raise SystemExit(f"kb {' '.join(words)} ended with {codes}")
    files = {file for file, _ in ran}
    rooms = sorted({file.partition("/")[0].removesuffix(".py") for file in files})
    return f"| kb {' '.join(words[:2])} | {len(files)} | {len(ran)} | {', '.join(rooms)} |"


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=kb", "-c", "user.email=kb@localhost")
    subprocess.run(["git", "-C", folder, *who, *words], check=True, capture_output=True)


def report() -> list[str]:
    import contextlib
    import io
    import os

    rows = ["| command | files | functions | rooms |", "|---|---:|---:|---|"]
    with tempfile.TemporaryDirectory() as scratch, contextlib.redirect_stdout(io.StringIO()):
        shipped, base, repo = (Path(scratch) / name for name in ("shipped", "base", "repo"))
        for name in ("wiki", "sources"):
            shutil.copytree(HOME / name, shipped / name)
        shutil.copy(HOME / "kb.toml", shipped)
        os.chdir(shipped)
        rows += [row("build"), row("load", "hypothesis", "--target", "words")]
        repo.mkdir()
        (repo / "speed").write_text("100\n")
        (repo / "bench.sh").write_text("read ms < speed\necho METRIC ms=$ms\n")
        git(repo, "init", "-q")
        git(repo, "add", "-A")
        git(repo, "commit", "-qm", "base")
        (base / "wiki/targets").mkdir(parents=True)
        (base / "wiki/targets/t.md").write_text(TARGET)
        (base / "p.md").write_text(PROPOSAL)
        os.chdir(base)
        main(["init", "--adopt"])
        main(["build"])
        rows.append(row("experiment", "open", "p.md"))
        page = next(Path("wiki/experiments/t").glob("*.md")).as_posix()
        (repo / "speed").write_text("50\n")
        git(repo, "commit", "-qam", "faster")
        rows.append(row("experiment", "run", page))
        rows.append(row("experiment", "close", page))
        os.chdir(HOME)
    return rows


if __name__ == "__main__":
    print("\n".join(report()))
