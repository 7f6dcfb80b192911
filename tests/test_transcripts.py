"""The command-line sessions in README.md and docs/ say what the commands really print. KB_GOLDENS=1 rewrites them."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md"))]
TOLD = [file for file in FILES if file.exists() and BLOCK.search(file.read_text(encoding="utf-8"))]
# Shown lines per command; what is longer ends in a line that says so.
MOST_LINES = 14


def printed(command: str, base: Path) -> list[str]:
    words = command.replace("kb ", f"{shlex.quote(sys.executable)} -m kb ", 1) if command.startswith("kb ") else command
    words = words.replace("| kb ", f"| {shlex.quote(sys.executable)} -m kb ")
    done = subprocess.run(["sh", "-c", words], cwd=base, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": os.fspath(CHECKOUT), "COLUMNS": "100"})
    assert "Traceback" not in done.stderr, done.stderr
    lines = [line.rstrip() for line in (done.stdout + done.stderr).rstrip("\n").split("\n")]
    return [*lines[:MOST_LINES], f"… {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES + 1 else lines


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    """A copy of the knowledge base that ships here."""
    home = tmp_path_factory.mktemp("shipped")
    for name in ("wiki", "sources"):
        shutil.copytree(CHECKOUT / name, home / name)
    for name in ("kb.toml",):
        shutil.copy(CHECKOUT / name, home / name)
    return home


@pytest.mark.parametrize("file", TOLD, ids=lambda f: f.name)
def test_sessions_print_what_the_page_shows(file, base):
    text = file.read_text(encoding="utf-8")

    def told(block: re.Match) -> str:
        made = []
        for line in block[1].split("\n"):
            if line.startswith("$ "):
                made.append("\n".join([line, *printed(line[2:], base)]).rstrip("\n"))
        return "```console\n" + "\n".join(made) + "\n```"

    wanted = BLOCK.sub(told, text)
    if os.environ.get("KB_GOLDENS"):
        file.write_text(wanted, encoding="utf-8")
    assert text == wanted, f"{file.name} is out of date; `just goldens` rewrites it"
