"""Unified diffs as values: files with their role, hunks, and groups of lines that were replaced
together. Knows no git and no meaning.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

SOURCE = frozenset(
    "py pyx c h cc cpp cxx hpp cu cuh hip metal comp glsl wgsl cl m mm inc s asm rs go java kt swift zig mojo f90 js ts jl cs rb scala".split()
)
# Languages of one kind of device: the first file of one is a new backend.
DEVICE = frozenset("cu cuh hip metal comp cl wgsl glsl".split())
_ROLES = {
    "docs": "md rst txt adoc tex pdf html",
    "log": "tsv csv log jsonl out err ndjson",
    "picture": "png jpg jpeg gif svg webp ico mp4",
    "build": "toml yaml yml json ini cfg cmake mk gradle bazel bzl nix txtproj gitignore env lock",
    "tool": "sh bash ps1 bat ipynb service",
}
_ROLE_OF = {end: role for role, ends in _ROLES.items() for end in ends.split()} | dict.fromkeys(
    SOURCE, "source"
)
# Files that program an agent, not a reader: what they change is how work is done.
_AGENT_FILES = frozenset(
    [
        "agents.md",
        "claude.md",
        "gemini.md",
        "skill.md",
        "program.md",
        ".cursorrules",
        "copilot-instructions.md",
    ]
)
_BUILD_FILES = frozenset(
    [
        "makefile",
        "dockerfile",
        "cmakelists.txt",
        "justfile",
        "requirements.txt",
        "constraints.txt",
        "build",
    ]
)
# A folder's name that says what all below it is.
_FOLDERS = {
    "vendored": "vendor third_party thirdparty node_modules external 3rdparty dist",
    "test": "test tests testing spec specs testdata",
    "ci": ".github .circleci .ci",
    "docs": "docs doc documentation",
    "tool": "tools scripts script bench benchmark benchmarks examples example demo demos utils_dev .claude .cursor .agents skills prompts agents",
    "log": "logs results runs experiments_log",
}
_FOLDER_ROLE = {name: role for role, names in _FOLDERS.items() for name in names.split()}
_LOCKS = frozenset(
    [
        "uv.lock",
        "package-lock.json",
        "yarn.lock",
        "poetry.lock",
        "cargo.lock",
        "go.sum",
        "pnpm-lock.yaml",
    ]
)
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)")


@dataclass(frozen=True, slots=True)
class LineGroup:
    """Neighbouring lines that were taken out and put in together. `line` is the place at the head;
    `within` the function around it.
    """

    removed: tuple[str, ...]
    added: tuple[str, ...]
    line: int
    within: str


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file of a diff. `state` is added, deleted, renamed, copied or changed; `before` its path
    at the base; `news` are the groups of which upstream has nothing, all of them until that is
    known.
    """

    path: str
    before: str
    state: str
    role: str
    groups: tuple[LineGroup, ...]
    news: tuple[LineGroup, ...]

    @property
    def added(self) -> tuple[str, ...]:
        return tuple(line for group in self.groups for line in group.added)

    @property
    def new_lines(self) -> tuple[str, ...]:
        """Added lines of which upstream has nothing."""
        return tuple(line for group in self.news for line in group.added)

    @property
    def removed(self) -> tuple[str, ...]:
        return tuple(line for group in self.groups for line in group.removed)


def role_of(path: str) -> str:
    """What a file is for, by its path: source, test, docs, log, build, ci, tool, picture, vendored,
    or other.
    """
    plain = PurePosixPath(path.lower())
    if plain.name in _LOCKS:
        return "vendored"
    if plain.name in _AGENT_FILES:
        return "docs" if len(plain.parts) == 1 else "tool"
    folders = [_FOLDER_ROLE[part] for part in plain.parts[:-1] if part in _FOLDER_ROLE]
    if "vendored" in folders:
        return "vendored"
    if (
        re.fullmatch(r"(test|bench)_.*|.*[_.-](test|tests|spec|bench)\.\w+", plain.name)
        or "test" in folders
    ):
        return "test"
    end = plain.suffix.removeprefix(".") or plain.name.removeprefix(".")
    own = "build" if plain.name in _BUILD_FILES else _ROLE_OF.get(end, "other")
    if own in ("build", "docs") and re.match(
        r"results?\b|.*_results?\.|runs?\.|history\.|experiments?\.json", plain.name
    ):
        return "log"
    if own in ("picture", "log"):
        return own
    return folders[0] if folders else own


def changes_of(patch: str) -> tuple[FileDiff, ...]:
    """The files of a `git diff`; binary ones have no groups."""
    return tuple(_file(part) for part in re.split(r"^diff --git ", patch, flags=re.MULTILINE)[1:])


# What a head says became of its file; a copy or a move is one too.
_STATES = {
    "rename from": "renamed",
    "copy from": "copied",
    "deleted file": "deleted",
    "new file": "added",
}
_NAMED = ("--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to ")


def _file(part: str) -> FileDiff:
    head, _, body = part.partition("\n@@ ")
    first, *lines = head.split("\n")
    named = ((mark, line) for line in lines for mark in _NAMED if line.startswith(mark))
    names = {mark: line.removeprefix(mark).strip('"').rstrip("\t") for mark, line in named}
    half = first[: len(first) // 2].removeprefix("a/") if first.startswith("a/") else first
    old = names.get("--- ", half).removeprefix("a/")
    new = names.get("+++ ", half).removeprefix("b/")
    old, new = (new if old == "/dev/null" else old), (old if new == "/dev/null" else new)
    before = names.get("rename from ") or names.get("copy from ") or old
    path = names.get("rename to ") or names.get("copy to ") or new
    state = next((word for mark, word in _STATES.items() if f"\n{mark}" in head), "changed")
    return file_change(path, before, state, "@@ " + body if body else "")


def file_change(path: str, before: str, state: str, hunks: str) -> FileDiff:
    """One file by its paths, state and hunks, as a forge's API gives them."""
    groups = tuple(_groups(hunks))
    return FileDiff(path, before or path, state, role_of(path), groups, groups)


def _groups(body: str) -> Iterator[LineGroup]:
    removed: list[str] = []
    added: list[str] = []
    at, start, within = 0, 0, ""
    for line in [*body.split("\n"), " "]:
        mark = line[:1]
        if mark == "-":
            removed.append(line[1:].rstrip("\r"))
            continue
        if mark == "+":
            start = start if added else at
            added.append(line[1:].rstrip("\r"))
            at += 1
            continue
        if mark == "\\":
            continue
        if removed or added:
            yield LineGroup(tuple(removed), tuple(added), start if added else at, within)
            removed, added = [], []
        if mark == "@" and (hunk := _HUNK.match(line)):
            at, within = int(hunk[2]), hunk[3].strip()
        else:
            at += 1
