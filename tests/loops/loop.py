"""A loop as tests drive it: a knowledge base beside the git repository that it optimizes."""

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kb import store
from kb.cli import main

STATED = ("--bench", "--build", "--checks", "--profile", "--warmup", "--timeout")


@dataclass(frozen=True)
class Told:
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Loop:
    """A knowledge base beside the repository that it optimizes."""

    layout: store.Layout
    repository: Path
    capsys: pytest.CaptureFixture
    target: str = "sum"
    file: str = "kernel.c"

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=loop", "-c", "user.email=loop@localhost", "-c", "commit.gpgsign=false")
        return subprocess.run(["git", *who, "-C", self.repository, *words], check=True, capture_output=True, text=True).stdout.strip()

    def state(self, **stated: str) -> None:
        """Set fields of the target page."""
        page = self.layout.root / f"wiki/targets/{self.target}.md"
        text = page.read_text()
        for key, value in stated.items():
            text = re.sub(rf"(?m)^{key}: .*\n", "", text)
            text = text.replace("type: target\n", f"type: target\n{key}: {json.dumps(value)}\n", 1)
        page.write_text(text)

    def run(self, *words: str, ok: tuple[int, ...] = (0,)) -> Told:
        """`kb experiment WORDS`, in this process; of a run `--bench COMMAND` and its like stand on the target page for as long as it takes."""
        page = self.layout.root / f"wiki/targets/{self.target}.md"
        stated = {name.removeprefix("--"): value for name, value in zip(words, words[1:], strict=False) if name in STATED and words[0] == "run"}
        if stated:
            words = [w for before, w in zip(("", *words), words, strict=False) if before not in STATED and w not in STATED]
            text = page.read_text()
            self.state(**{"benchmark" if key == "bench" else key: value for key, value in stated.items()})
            try:
                return self.run(*words, ok=ok)
            finally:
                page.write_text(text)
        self.capsys.readouterr()
        code = main(["experiment", *map(str, words)])
        told = Told(*self.capsys.readouterr())
        assert code in ok, f"kb experiment {' '.join(map(str, words))} -> {code}\n{told.stdout}\n{told.stderr}"
        return told

    def commit(self, change: Callable[[str], str], *, file: str = "", start: str = "main") -> str:
        """A commit on top of `start` with one file changed."""
        self.git("checkout", "-q", "--detach", start)
        path = self.repository / (file or self.file)
        before = path.read_text() if path.exists() else ""
        assert change(before) != before
        path.write_text(change(before))
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "try it")
        return self.git("rev-parse", "HEAD")

    def open(self, lever: str, *more: str, parent: str = "main", falsification: str = "gain < 2%", ok: tuple[int, ...] = (0,)) -> str:
        said = ("--hypothesis", f"{lever} makes fewer misses", "--mechanism", "lines are used whole before they are evicted", "--predicted", "the pipe fills",
                "--falsification", falsification, "--parent", parent, "--target", self.target, "--title", f"Try {lever}", "--date", "2026-05-02")
        return self.run("open", "--lever", lever, *said, *more, ok=ok).stdout.strip()

    def closed(self, path: str, *more: str) -> dict:
        return json.loads(self.run("close", path, "--format", "json", "--date", "2026-05-02", *more).stdout)

    def page(self, path: str) -> str:
        return (self.layout.root / path).read_text()
