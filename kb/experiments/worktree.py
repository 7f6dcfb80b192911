"""The repository under optimization: commits, snapshots, clean trees, what a change touches. Refuses to move the user's branch, index or files."""

import contextlib
import fnmatch
import itertools
import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from kb import KbError, store
from kb.experiments.targets import OWN

# Measured commits are kept from git's garbage collection under this name.
_KEEPING = "refs/kb"
_READ = 4 << 30


def git(
    repository: Path,
    *words: str,
    env: Mapping[str, str] | None = None,
    ok: tuple[int, ...] = (0,),
    stdin: str = "",
) -> str:
    """What a git command prints. Raises KbError with git's own words where it fails."""
    place = os.fspath(repository)
    output = store.git_output(place, *words, at=("-C", place), env=env, ok=ok, stdin=stdin)
    return output.decode("utf-8", "replace")


def top_of(folder: Path) -> Path:
    """Top folder of the git repository that holds `folder`. Raises KbError if there is none."""
    try:
        return Path(git(folder, "rev-parse", "--show-toplevel").strip())
    except KbError as error:
        raise KbError(
            f"{folder} is in no git repository; kb measures commits in clean trees (`git init` and commit, or --record FILE)"
        ) from error


def commit_of(repository: Path, reference: str) -> str:
    """Full id of the commit that a reference names. Raises KbError if there is none."""
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}")
    listing = git(repository, *words, ok=(0, 1, 128)).strip()
    if not listing:
        raise KbError(
            f"{repository}: no commit '{reference}'; name a branch, a tag or a commit of this repository"
        )
    return listing


def keep_commits(repository: Path, *commits: str) -> None:
    """Pin commits under refs/kb/, so that no garbage collection takes what was measured."""
    git(
        repository,
        "update-ref",
        "--stdin",
        stdin="".join(f"update {_KEEPING}/{c} {c}\n" for c in sorted({*commits} - {""})),
    )


def branch_with(root: Path, path: str) -> str:
    """A branch or commit that holds a page which is not here, for a repository may stand on another branch; empty if none does."""
    try:
        top = top_of(root)
        inside = root.resolve().relative_to(top).as_posix()
        place = f":(top,glob){'' if inside == '.' else inside + '/'}{path}"
        words = ("log", "--all", "-1", "--diff-filter=A", "--format=%H", "--", place)
        commit = git(top, *words).strip()
        if not commit:
            return ""
        words = ("branch", "--all", "--contains", commit, "--format=%(refname:short)")
        return git(top, *words).split("\n")[0] or commit[:12]
    except (KbError, ValueError):
        return ""


def dirt_of(
    repository: Path, *, without: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Uncommitted paths of a repository as (changed, untracked), leaving out folders that are not its code."""
    words = ("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all")
    entries = [e for e in git(repository, *words, "--ignore-submodules=dirty").split("\0") if e]
    known = [e for e in entries if not _below(e[3:], without)]
    changed, untracked = ([e[3:] for e in known if (e[:2] == "??") == new] for new in (False, True))
    return tuple(sorted(changed)), tuple(sorted(untracked))


def _below(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == f or path.startswith(f + "/") for f in folders)


def tree_of(repository: Path, *, without: tuple[str, ...], untracked: bool = True) -> str:
    """Git's tree of the working tree as it stands, with untracked files or without; branch, index and files stay as they are."""
    kind = "--all" if untracked else "--update"
    # To ask whether a repository inside this one is dirty, git would run what the settings of that one name.
    listed = git(repository, "ls-files", "--stage", "-z", ":(top)").split("\0")
    inner = (entry.partition("\t")[2] for entry in listed if entry.startswith("160000 "))
    places = _code((*without, *inner))
    with tempfile.TemporaryDirectory(prefix="kb-index-") as beside:
        env = {"GIT_INDEX_FILE": os.path.join(beside, "index")}
        git(repository, "read-tree", "HEAD", env=env)
        git(repository, "add", kind, "--", *places, env=env)
        return git(repository, "write-tree", env=env).strip()


def snapshot(
    repository: Path, *, without: tuple[str, ...], message: str, untracked: bool = True
) -> str:
    """Commit of the working tree as it stands."""
    env = {f"GIT_{role}_NAME": "kb" for role in ("AUTHOR", "COMMITTER")}
    env |= {f"GIT_{role}_EMAIL": "kb@localhost" for role in ("AUTHOR", "COMMITTER")}
    tree = tree_of(repository, without=without, untracked=untracked)
    commit = git(repository, "commit-tree", tree, "-p", "HEAD", "-m", message, env=env).strip()
    keep_commits(repository, commit)
    return commit


def changed_paths(
    repository: Path, parent: str, *, change: str, without: tuple[str, ...]
) -> tuple[str, ...]:
    """Paths that differ between two commits, both names of a move; sorted."""
    listed = git(repository, "diff", "--name-only", "--no-renames", "-z", parent, change).split(
        "\0"
    )
    return tuple(sorted(p for p in listed if p and not _below(p, without)))


def same_code(
    repository: Path, change: str, commits: Iterable[str], *, without: tuple[str, ...]
) -> set[str]:
    """Those of the commits that hold the code of a change (a commit or a tree); what git does not know holds nothing."""
    names = [change, *commits]
    lines = "".join(f"{name}^{{tree}}\n" for name in names)
    trees = git(repository, "cat-file", "--batch-check=%(objectname)", stdin=lines).splitlines()
    heads = {n: f"{trees[0]} {t}" for n, t in zip(names, trees, strict=True) if " " not in t}
    words = ("diff-tree", "--stdin", "-r", "--name-only", "--", *_code(without))
    listed = git(repository, *words, stdin="".join(f"{head}\n" for head in heads.values()))
    # A pair of trees, then the paths that differ: where none does, the next pair follows.
    lines, pairs = [*listed.splitlines(), ""], {*heads.values()}
    same = {a for a, b in itertools.pairwise(lines) if a in pairs and (b in pairs or not b)}
    return {name for name in names[1:] if heads.get(name) in same}


def stands_on(
    repository: Path, parent: str, *, change: str, tip: str, without: tuple[str, ...]
) -> bool:
    """Whether a change (a commit or a tree, made on the commit `tip`) holds its parent: in its history, as itself or as a commit of the
    same code, for a snapshot is committed later. Where `change` is not committed, its edits may also lie on those of the parent, which
    then cannot be made once more."""
    if not git(repository, "rev-list", "-1", parent, f"^{tip}"):
        return True
    since = git(repository, "rev-list", tip, f"^{parent}").split()
    if same_code(repository, parent, since, without=without):
        return True
    base = git(repository, "merge-base", parent, tip, ok=(0, 1)).strip()
    if not base or same_code(repository, change, (tip,), without=without):
        return False
    patch = patch_of(repository, base, change=parent, without=without).decode("utf-8", "replace")
    with tempfile.TemporaryDirectory(prefix="kb-index-") as beside:
        env = {"GIT_INDEX_FILE": os.path.join(beside, "index")}
        git(repository, "read-tree", change, env=env)
        before = git(repository, "write-tree", env=env)
        git(repository, "apply", "--cached", env=env, ok=(0, 1, 128), stdin=patch)
        return git(repository, "write-tree", env=env) == before


def _code(without: tuple[str, ...]) -> tuple[str, ...]:
    """What of a repository is its code, as git takes paths."""
    return (".", *(f":(exclude,top){folder}" for folder in without))


def patch_of(repository: Path, parent: str, *, change: str, without: tuple[str, ...]) -> bytes:
    """The change as a patch."""
    plain = ("--no-color", "--no-ext-diff", "--no-textconv")
    return git(repository, "diff", *plain, parent, change, "--", *_code(without)).encode("utf-8")


def added_naming(
    repository: Path, word: str, parent: str, *, change: str, paths: Iterable[str]
) -> tuple[str, ...]:
    """Lines of these paths that name a word, `FILE:LINE`, in a change beyond those that its parent has, wherever it has them."""
    places = [f":(top,literal){path}" for path in paths]
    flags = ("-z", "--line-number", "--no-column", "--no-color", "--text", "--word-regexp")
    words = (*flags, "--fixed-strings", "-e", word)
    before, after = (
        git(repository, "grep", *words, commit, "--", *places, ok=(0, 1)) if places else ""
        for commit in (parent, change)
    )
    rows = [[line.split("\0", 2) for line in text.split("\n") if line] for text in (before, after)]
    left, added = Counter(text.strip() for _, _, text in rows[0]), []
    for place, number, text in rows[1]:
        left[text.strip()] -= 1
        if left[text.strip()] < 0 and "\0" not in text:  # That of a program is no line.
            added.append(f"{place.partition(':')[2]}:{number}")
    return tuple(added)


def matches(path: str, patterns: tuple[str, ...]) -> bool:
    """Whether one of the patterns names a path: as it stands, as a folder above it, or as a glob in which `*` crosses `/`."""
    return any(
        path == p.rstrip("/")
        or path.startswith(p.rstrip("/") + "/")
        or fnmatch.fnmatchcase(path, p)
        for p in patterns
    )


def own_folders(layout: store.Layout, repository: Path) -> tuple[str, ...]:
    """What belongs to the knowledge base inside the repository: it is no part of the code that is measured."""
    root = layout.root.resolve()
    if root != repository and repository not in root.parents:
        return ()
    inside = "" if root == repository else root.relative_to(repository).as_posix() + "/"
    return tuple(inside + name for name in (*OWN, "artifacts", store.CONFIG_NAME))


@contextlib.contextmanager
def checked_out(
    layout: store.Layout, repository: Path, commits: Mapping[str, str]
) -> Iterator[dict[str, Path]]:
    """A home for each commit, with a clean `tree` of it and folders `out` and `tmp`, gone afterwards; the caller holds the turn to measure.

    The trees are repositories of their own that borrow the objects, so the user's knows nothing of them and its configuration
    does not act in them. What a killed run left is cleared first.
    """
    place = place_of(layout)
    clear(place)
    place.mkdir(parents=True)
    homes = {side: Path(tempfile.mkdtemp(dir=place)) for side in commits}
    try:
        for side, commit in commits.items():
            _check_out(repository, homes[side] / "tree", commit)
            restored(homes[side])
        yield homes
    finally:
        clear(place)


def restored(home: Path) -> list[str]:
    """Make the folders of a home where something else stands in their place, and say which: what a link leads to is nobody's tree or output."""
    strange = [home / name for name in ("tree", "out", "tmp")]
    strange = [place for place in strange if place.is_symlink() or not place.is_dir()]
    for place in strange:
        place.unlink(missing_ok=True)
        place.mkdir()
    return [place.name for place in strange]


def clear(folder: Path) -> None:
    """Remove a folder that a benchmark wrote to, whatever modes and depths it left: Python's own way ends in its recursion limit."""
    # A link in its place is removed; what it leads to keeps its modes.
    for words in (
        [("rm", "-rf")] if folder.is_symlink() else [("chmod", "-R", "u+rwX"), ("rm", "-rf")]
    ):
        subprocess.run([*words, "--", os.fspath(folder)], capture_output=True, check=False)


def place_of(layout: store.Layout) -> Path:
    """Where trees stand while something is measured."""
    return store.own_state(layout, "worktrees").resolve()


def _check_out(repository: Path, tree: Path, commit: str) -> None:
    common = (repository / git(repository, "rev-parse", "--git-common-dir").strip()).resolve()
    kind = git(repository, "rev-parse", "--show-object-format").strip()
    git(repository, "init", "--quiet", "--template=", f"--object-format={kind}", os.fspath(tree))
    (tree / ".git" / "objects" / "info").mkdir(parents=True, exist_ok=True)
    (tree / ".git" / "objects" / "info" / "alternates").write_text(f"{common / 'objects'}\n")
    if (common / "shallow").is_file():
        shutil.copy(common / "shallow", tree / ".git" / "shallow")
    tags = git(repository, "for-each-ref", "refs/tags", "--format=create %(refname) %(objectname)")
    git(tree, "update-ref", "--stdin", stdin=tags)
    git(tree, "checkout", "--quiet", "--detach", commit)


@contextlib.contextmanager
def in_turn(home: Path) -> Iterator[Path]:
    """A home in the one place where every side runs, so that no path in a build or in the environment tells the sides apart."""
    place = home.parent / "turn"
    os.rename(home, place)
    try:
        yield place
    finally:
        os.rename(place, home)


def files_in(folder: Path) -> Iterator[str]:
    """Names of all below a folder that is no folder itself; what lies too deep for a path is passed over. Links are not followed."""
    folders = [os.fspath(folder)]
    for place in folders:
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    yield entry.path[len(folders[0]) + 1 :]


def globbed(folder: Path, pattern: str) -> list[Path]:
    """What a pattern names below a folder; nothing where that is nested beyond what Python looks through."""
    with contextlib.suppress(OSError, RecursionError):
        return list(folder.glob(pattern.strip("/")))
    return []


def manifest_of(folder: Path, patterns: tuple[str, ...]) -> dict[str, str]:
    """Digest of every file below `folder` that one of the glob patterns names (a folder names all below it); links are not followed."""
    listing: dict[str, str] = {}
    for match in (m for pattern in patterns for m in globbed(folder, pattern)):
        walked = match.is_dir() and not match.is_symlink()
        for file in (match / name for name in files_in(match)) if walked else [match]:
            name = file.relative_to(folder).as_posix()
            if file.is_symlink():
                listing[name] = f"link to {os.readlink(file)}"
            elif file.is_file():
                listing[name] = digest_within(file)
    return dict(sorted(listing.items()))


def digest_within(file: Path) -> str:
    """Digest of a file that a benchmark may have made; empty where it cannot be read, or is too large: sparse terabytes would take days."""
    with contextlib.suppress(OSError):
        return store.file_digest(file, most=_READ)
    return ""


def differing(one: Mapping[str, object], other: Mapping[str, object]) -> tuple[str, ...]:
    """Names that stand in one of two listings, or differently in both; sorted."""
    return tuple(sorted(p for p in one.keys() | other.keys() if one.get(p) != other.get(p)))


def stamps_of(folder: Path, names: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Number, size, kind and times of files below `folder`: a write to one shows, for ctime cannot be set."""
    listing = {}
    for name in names:
        with contextlib.suppress(OSError):
            s = os.lstat(folder / name)
            listing[name] = (s.st_ino, s.st_size, s.st_mode, s.st_mtime_ns, s.st_ctime_ns)
    return listing
