"""Git as captured code is read: bundles and clones, bare, without hooks, filters or prompts.
Refuses to check anything out.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kb import KbError, readable, store

# What a function is in each language, for the first line of a hunk: without it a method is not told
# from its class.
_LANGUAGES = Path(__file__).with_name("languages.gitattributes")


@dataclass(frozen=True, slots=True)
class Repository:
    """A git directory that kb reads. `local` names the bundle or clone that it came from."""

    folder: Path
    local: str
    seconds: float = 600

    def run(self, *words: str, ok: tuple[int, ...] = (0,), limit: int = 256 << 20) -> str:
        """What git prints. Raises KbError where it fails, takes too long or prints more than
        `limit` bytes.
        """
        out = self._bytes(*words, ok=ok)
        if len(out) > limit:
            raise KbError(
                f"{self.local}: git {words[0]} prints {len(out) >> 20} MB, more than the limit of {limit >> 20} MB"
            )
        return out.decode("utf-8", "replace")

    def _bytes(self, *words: str, ok: tuple[int, ...] = (0,), stdin: str = "") -> bytes:
        settings = ("-c", f"core.attributesFile={_LANGUAGES}", "-c", "core.quotePath=false")
        at = (*settings, "-c", "protocol.file.allow=always", "--git-dir", str(self.folder))
        env = _environment(words[0])
        return store.git_output(
            self.local, *words, at=at, env=env, stdin=stdin, ok=ok, seconds=self.seconds
        )

    def lines(self, *words: str) -> list[str]:
        return self.run(*words).splitlines()

    def line(self, *words: str) -> str:
        """The first line of what git prints, empty where it has no answer."""
        return self.run(*words, ok=(0, 1, 128)).partition("\n")[0].strip()

    def resolved(self, name: str) -> str:
        """The full id of a commit by any name; empty where there is none."""
        return self.line("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")

    def commit(self, name: str) -> str:
        """The full id of a commit by any name. Raises KbError where there is none."""
        if name.startswith("-"):
            raise KbError(f"{name}: not a name of a commit")
        commit = self.resolved(name)
        if not commit:
            raise KbError(f"{self.local}: no commit '{name}'; `git branch -a` lists what there is")
        return commit

    def heads(self) -> dict[str, str]:
        """Branches, pull requests and remote branches: name -> commit."""
        form = "--format=%(refname) %(objectname) %(symref)"
        named = ("refs/heads", "refs/pull", "refs/remotes", "refs/forks")
        rows = (line.split(" ") for line in self.lines("for-each-ref", form, *named))
        return {
            re.sub(r"^refs/(?:heads/|forks/)?", "", name): commit
            for name, commit, *symbolic in rows
            if not any(symbolic)
        }

    def blobs(self, commit: str, *, most: int = 1 << 20) -> Iterator[tuple[str, str]]:
        """Paths and texts of a commit's files that are no larger than `most` bytes and no binaries."""
        rows = [
            row.split("\t", 1)
            for row in self.run("ls-tree", "-r", "-l", "-z", commit).split("\0")
            if "\t" in row
        ]
        wanted = [
            (head.split()[2], path)
            for head, path in rows
            if head.split()[1] == "blob" and int(head.split()[3]) <= most
        ]
        out = self._bytes("cat-file", "--batch", stdin="".join(f"{blob}\n" for blob, _ in wanted))
        at = 0
        for _, path in wanted:
            end = out.find(b"\n", at)
            head = out[at:end].split()
            if end < 0 or len(head) != 3 or not head[2].isdigit():
                raise KbError(f"{self.local}: git cannot read {path}: the repository is not whole")
            size = int(head[2])
            data, at = out[end + 1 : end + 1 + size], end + size + 2
            if b"\0" not in data:
                yield path, data.decode("utf-8", "replace")


def of_bundle(file: Path, scratch: Path) -> Repository:
    """A bundle unpacked, bare, below `scratch`, once for its content; its HEAD is
    `refs/upstream/HEAD`.
    """
    with readable(file), file.open("rb") as data:
        if not data.readline(32).startswith(b"# v"):
            raise KbError(f"{file}: no git bundle; `git bundle create FILE --all HEAD` makes one")
        digest = hashlib.file_digest(data, "sha256").hexdigest()[:16]
    folder = scratch / f"{digest}.git"
    repository = Repository(folder, file.name)
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        repository.run("init", "--quiet", "--bare", str(folder))
        options = ("--quiet", "--no-tags", "--no-recurse-submodules")
        repository.run("fetch", *options, str(file.resolve()), "+refs/*:refs/*")
        heads = repository.run("bundle", "list-heads", str(file.resolve())).split()
        if "HEAD" in heads:
            repository.run("update-ref", "refs/upstream/HEAD", heads[heads.index("HEAD") - 1])
        (folder / "complete").touch()
    return repository


def of_folder(path: Path) -> Repository:
    """A clone that is on this disk, worktree or bare. Raises KbError where there is none."""
    for folder in (path / ".git", path):
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
            return Repository(folder, path.name)
    if (path / ".git").is_file():
        named = Path(
            store.bytes_of(path / ".git", declared=True)
            .decode("utf-8", "replace")
            .partition("gitdir: ")[2]
            .strip()
        )
        if (named / "commondir").is_file():
            return Repository(named, path.name)
    raise KbError(f"{path}: no git repository; give the folder that holds .git, or `--bundle FILE`")


def _environment(word: str) -> dict[str, str]:
    """Surroundings of one git command: a bundle is fetched as a file, nothing else is fetched at all, and nobody's settings count."""
    return {
        "GIT_ALLOW_PROTOCOL": "file" if word == "fetch" else "none",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "LC_ALL": "C.UTF-8",
    }
