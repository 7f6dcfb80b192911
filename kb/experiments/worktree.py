"""The repository under optimization: commits, snapshots, clean worktrees, what a change touches. Refuses to move the user's branch, index or files."""

import contextlib
import fnmatch
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from kb import KbError, store

# Snapshots are kept from git's garbage collection under this name.
_KEEPING = "refs/kb"


def git(repository: Path, *words: str, env: Mapping[str, str] | None = None, ok: tuple[int, ...] = (0,)) -> str:
    """What a git command prints. Raises KbError with git's own words where it fails."""
    # A hook or a wrapper that set these for its own repository must not lead us there.
    clean = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith("GIT_") or k in ("GIT_SSH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH")
    }
    try:
        done = subprocess.run(
            ["git", "-c", "core.hooksPath=/dev/null", "-C", os.fspath(repository), *words],
            capture_output=True,
            env={**clean, **(env or {})},
            check=False,
        )
    except FileNotFoundError as error:
        raise KbError(
            "git is not installed; kb measures in clean git worktrees (results measured elsewhere: --record FILE)"
        ) from error
    if done.returncode not in ok:
        raise KbError(f"{repository}: git {words[0]}: {done.stderr.decode('utf-8', 'replace').strip()[-400:] or 'failed'}")
    return done.stdout.decode("utf-8", "replace")


def top_of(folder: Path) -> Path:
    """Top folder of the git repository that holds `folder`. Raises KbError if there is none."""
    try:
        return Path(git(folder, "rev-parse", "--show-toplevel").strip())
    except KbError as error:
        raise KbError(
            f"{folder} is in no git repository; kb measures commits in clean worktrees (`git init` and commit, or --record FILE)"
        ) from error


def commit_of(repository: Path, reference: str) -> str:
    """Full id of the commit that a reference names. Raises KbError if there is none."""
    found = git(
        repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}", ok=(0, 1, 128)
    ).strip()
    if not found:
        raise KbError(f"{repository}: no commit '{reference}'; name a branch, a tag or a commit of this repository")
    return found


def dirt_of(repository: Path, *, without: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Uncommitted paths of a repository as (changed, untracked), leaving out folders that are not its code."""
    changed, untracked = [], []
    entries = iter(git(repository, "status", "--porcelain=v1", "-z", "--untracked-files=all").split("\0"))
    for entry in entries:
        if not entry:
            continue
        if "R" in entry[:2] or "C" in entry[:2]:
            next(entries, None)
        if not _below(entry[3:], without):
            (untracked if entry[:2] == "??" else changed).append(entry[3:])
    return tuple(sorted(changed)), tuple(sorted(untracked))


def _below(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == f or path.startswith(f + "/") for f in folders)


def snapshot(repository: Path, *, name: str, without: tuple[str, ...], message: str) -> str:
    """Commit of the working tree as it stands, untracked files included, kept under refs/kb/NAME; branch, index and files stay as they are."""
    with tempfile.TemporaryDirectory(prefix="kb-index-") as beside:
        env = {
            "GIT_INDEX_FILE": os.path.join(beside, "index"),
            "GIT_AUTHOR_NAME": "kb",
            "GIT_AUTHOR_EMAIL": "kb@localhost",
            "GIT_COMMITTER_NAME": "kb",
            "GIT_COMMITTER_EMAIL": "kb@localhost",
        }
        git(repository, "read-tree", "HEAD", env=env)
        git(repository, "add", "--all", "--", ".", *(f":(exclude,top){folder}" for folder in without), env=env)
        tree = git(repository, "write-tree", env=env).strip()
        commit = git(repository, "commit-tree", tree, "-p", "HEAD", "-m", message, env=env).strip()
    git(repository, "update-ref", f"{_KEEPING}/{name}", commit)
    return commit


def changed_paths(repository: Path, parent: str, *, change: str, without: tuple[str, ...]) -> tuple[str, ...]:
    """Paths that differ between two commits, both names of a move; sorted."""
    listed = git(repository, "diff", "--name-only", "--no-renames", "-z", parent, change).split("\0")
    return tuple(sorted(p for p in listed if p and not _below(p, without)))


def builds_on(repository: Path, parent: str, *, change: str) -> bool:
    """Whether the parent is among the ancestors of the change."""
    return git(repository, "merge-base", parent, change, ok=(0, 1)).strip() == parent


def patch_of(repository: Path, parent: str, *, change: str) -> bytes:
    """The change as a patch."""
    return git(repository, "diff", "--no-color", "--no-ext-diff", "--no-textconv", parent, change).encode("utf-8")


def matches(path: str, patterns: tuple[str, ...]) -> bool:
    """Whether one of the patterns names a path: as it stands, as a folder above it, or as a glob in which `*` crosses `/`."""
    return any(path == p.rstrip("/") or path.startswith(p.rstrip("/") + "/") or fnmatch.fnmatchcase(path, p) for p in patterns)


def own_folders(layout: store.Layout, repository: Path) -> tuple[str, ...]:
    """Folders of the knowledge base inside the repository: its pages are no part of the code that is measured."""
    root = layout.root.resolve()
    if root != repository and repository not in root.parents:
        return ()
    inside = "" if root == repository else root.relative_to(repository).as_posix() + "/"
    return tuple(inside + name for name in ("wiki", "sources", "indexes", "site", ".kb"))


@contextlib.contextmanager
def checked_out(layout: store.Layout, repository: Path, commits: Mapping[str, str], *, name: str) -> Iterator[dict[str, Path]]:
    """A clean, detached worktree for each side, and a folder `out-SIDE` beside it, gone afterwards; what a killed run left is cleared first."""
    home = (layout.state / "worktrees" / name).resolve()
    folders = {side: home / side for side in commits}
    with store.lock(layout, "worktrees"):
        _clear(repository, home)
        home.mkdir(parents=True)
        for side, commit in commits.items():
            # Locked, for a prune must not take it for gone while it stands elsewhere for its turn.
            git(repository, "worktree", "add", "--detach", "--force", "--lock", os.fspath(folders[side]), commit)
    try:
        for side in commits:
            (home / f"out-{side}").mkdir()
        yield folders
    finally:
        with store.lock(layout, "worktrees"):
            _clear(repository, home)


@contextlib.contextmanager
def in_turn(folder: Path) -> Iterator[Path]:
    """The worktree in the one place where every side runs, so that no path in a build or in the environment tells the sides apart."""
    place = folder.parent / "work"
    os.rename(folder, place)
    try:
        yield place
    finally:
        os.rename(place, folder)


def _clear(repository: Path, home: Path) -> None:
    for line in git(repository, "worktree", "list", "--porcelain").splitlines():
        path = line.removeprefix("worktree ")
        if path != line and Path(path).parent == home:
            git(repository, "worktree", "unlock", path, ok=(0, 128))
    shutil.rmtree(home, ignore_errors=True)
    git(repository, "worktree", "prune")
