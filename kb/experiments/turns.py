"""The turns of a run: who may measure, the walls around a command, and what each side did to the other. Ends what a dead run left."""

import contextlib
import os
import signal
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path

from kb import KbError, store
from kb.experiments import worktree
from kb.experiments.attempt import Attempt
from kb.experiments.command import Ended, Walls, run_command
from kb.experiments.plan import Plan, Side
from kb.experiments.stub import Stub
from kb.experiments.targets import Target
from kb.text import one_line

# Two benchmarks at once measure each other: a second one waits this long for its turn.
_TURN_S = 24 * 3600
_MARK = "KB_MARK"
_HOMES = "kb-home-"
Note = Callable[[str], None]


@contextlib.contextmanager
def turn_to_measure(layout: store.Layout, note: Note) -> Iterator[None]:
    """The one turn to measure on this knowledge base; what is left of a dead run is ended first."""
    with contextlib.ExitStack() as locks:
        try:
            locks.enter_context(store.lock(layout, "measure", wait_s=1))
        except KbError:
            note(
                "another experiment is being measured here; waiting for the turn, for two at once would measure each other"
            )
            locks.enter_context(store.lock(layout, "measure", wait_s=_TURN_S))
        ended = _end_leftovers(layout)
        if ended:
            note(
                f"ended {len(ended)} processes that an earlier run had left behind: {', '.join(ended[:4])}"
            )
        yield


def mark_of(layout: store.Layout) -> str:
    """What every process of a run carries in its environment: it names the knowledge base to us, and tells nobody where it is."""
    return store.digest_of(f"mark of {layout.root.resolve()}")


def _end_leftovers(layout: store.Layout) -> list[str]:
    """End what carries our mark, or stands in a tree of a run, although nobody has the turn; names of what was ended."""
    mark, place = f"{_MARK}={mark_of(layout)}".encode(), f"{worktree.place_of(layout)}{os.sep}"
    ended = []
    for process in Path("/proc").glob("[0-9]*"):
        # What ended by itself, or belongs to somebody else, is passed over.
        with contextlib.suppress(OSError):
            marked = mark in (process / "environ").read_bytes().split(b"\0")
            ours = marked or f"{os.readlink(process / 'cwd')}{os.sep}".startswith(place)
            if ours and int(process.name) != os.getpid():
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ")
                os.kill(int(process.name), signal.SIGKILL)
                ended.append(one_line(command.decode("utf-8", "replace"))[:60] or process.name)
    return ended


@contextlib.contextmanager
def homes_over(layout: store.Layout) -> Iterator[dict[str, str]]:
    """Where each side's changes to the home folder go: caches of compilers and of kernels made just in time stay its own. What a
    killed run left of it is cleared first."""
    prefix = f"{_HOMES}{mark_of(layout)[:8]}-"
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        if left.lstat().st_uid == os.getuid():
            worktree.clear(left)
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as folder:
        homes = {side: os.path.join(folder, side) for side in ("parent", "change")}
        for home in homes.values():
            for name in ("upper", "work"):
                os.makedirs(os.path.join(home, name))
        yield homes
        worktree.clear(Path(folder))


def _doors(*, network: bool) -> Iterator[str]:
    """What leads out of a sandbox though its disk is read-only: disks as devices and, but for `network`, sockets and pipes of programs outside."""
    kinds = (stat.S_IFBLK,) if network else (stat.S_IFBLK, stat.S_IFSOCK, stat.S_IFIFO)
    files: list[str] = []
    with contextlib.suppress(OSError), open("/proc/net/unix", errors="surrogateescape") as listed:
        files += [row[7] for row in map(str.split, listed) if row[7:]]
    # Sockets of another network, such as one that a container was given, are not listed; they stand here.
    for pattern in ("/run/*", "/run/*/*", "/dev/*", "/dev/*/*"):
        files += glob(pattern)
    for file in sorted({*files}):
        with contextlib.suppress(OSError):
            if file.startswith("/") and stat.S_IFMT(os.lstat(file).st_mode) in kinds:
                yield file


@dataclass(slots=True)
class Bench:
    """What one run of an attempt has open: the homes of both sides, and what was seen of them at their last turn. `usual` are protected
    files that the parent writes to itself."""

    layout: store.Layout
    stub: Stub
    target: Target
    homes: dict[Side, Path]
    inside: Path
    repository: Path
    over: dict[str, str]
    progress: Note
    attempt: Attempt = field(init=False)
    touched: set[str] = field(default_factory=set)
    forged: set[str] = field(default_factory=set)
    warm: bool = False
    stamps: dict[Side, dict[str, tuple[int, ...]]] = field(default_factory=dict)
    usual: set[str] = field(default_factory=set)

    def tree(self, side: Side) -> Path:
        return self.homes[side] / "tree"

    def ran(self, side: Side, command: str, keep: int) -> Ended:
        """One command of a side, in its turn. What it did to the other side, and to what is protected, is noted."""
        plan = self.attempt.plan
        with worktree.in_turn(self.homes[side]) as home:
            env = {k: v for k, v in os.environ.items() if not k.startswith("KB_")}
            env |= {"KB_SIDE": side, "KB_OUT": os.fspath(home / "out"), _MARK: mark_of(self.layout)}
            env |= {"KB_REPOSITORY": os.fspath(self.repository)}
            env |= dict(plan.set) if side == "change" else {}
            names = os.stat(home).st_ctime_ns
            ended = run_command(
                command,
                folder=home / "tree" / self.inside,
                timeout_s=plan.timeout_s,
                env=env,
                walls=self._walls(plan, home, side),
                keep=keep,
            )
            moved = {".."} if os.stat(home).st_ctime_ns != names else set()
        replaced = worktree.restored(self.homes[side])
        self.forged |= {
            f"the {side} put something else in place of its folder {n}" for n in replaced
        }
        self._compare(plan, side, moved)
        return ended

    def _walls(self, plan: Plan, home: Path, side: Side) -> Walls | None:
        if plan.walls.startswith("none"):
            return None
        own = os.path.realpath(os.path.expanduser("~"))
        above = own not in ("/", "/tmp") and not own.startswith("/tmp/")
        shown = sorted(e.path for e in os.scandir("/tmp") if e.is_dir(follow_symlinks=False))
        tree = os.path.realpath(home / "tree")
        folders = {p for name, _ in plan.manifest for p in Path(name).parents[:-1]}
        # Folders that hold protected files: as mounts they cannot be moved out of the way for a while. A link that the change put there
        # may lead anywhere.
        pinned = {p for p in (os.path.join(tree, p) for p in folders) if os.path.realpath(p) == p}
        mounts = [
            *([("over", own, self.over[side])] if above else []),
            ("write", "/tmp", os.fspath(home / "tmp")),
            *(("read", p, p) for p in shown if not p.startswith(f"/tmp/{_HOMES}")),
            ("hide", os.fspath(self.layout.state.resolve()), ""),
            ("write", os.fspath(home), os.fspath(home)),
            *(("write", p, p) for p in sorted(pinned) if os.path.isdir(p)),
        ]
        mounts += [("hide", door, "") for door in _doors(network=self.target.network)]
        return Walls(self.target.network, tuple(mounts))

    def look(
        self, protected: tuple[str, ...]
    ) -> tuple[dict[Side, dict[str, str]], dict[Side, dict[str, tuple[int, ...]]]]:
        """What each side's protected files hold, and what the disk says of them; of the parent's tree, of every file."""
        manifest = {s: worktree.manifest_of(self.tree(s), protected) for s in self.homes}
        names = {
            s: worktree.files_in(self.tree(s)) if s == "parent" else manifest[s] for s in manifest
        }
        return manifest, {s: worktree.stamps_of(self.tree(s), names[s]) for s in names}

    def _compare(self, plan: Plan, side: Side, moved: set[str]) -> None:
        """Hold what is protected, and the parent's tree, against what they were; `moved` says that the tree itself was."""
        manifest, stamps = self.look(plan.protected)
        if "parent" not in self.homes:
            usual = dict(plan.manifest)
            written = worktree.differing(usual, manifest["change"])
            self.touched |= usual.keys() & {*written}
            return
        before = self.stamps
        self.stamps = stamps
        written = {*worktree.differing(before[side], stamps[side])}
        written = written & manifest[side].keys() & before[side].keys() | moved
        if side == "parent":
            self.usual |= written
            return
        # A benchmark that writes into its own data does so on both sides; what tells them apart is the change's doing.
        apart = {*worktree.differing(manifest["parent"], manifest["change"])}
        other = worktree.differing(before["parent"], stamps["parent"])[:5]
        for_a_while = written - self.usual - apart
        self.touched |= {*apart, *(f"the parent's {p}" for p in other)}
        self.touched |= {
            f"{p} for a while" if p != ".." else "the folder of the tree" for p in for_a_while
        }
