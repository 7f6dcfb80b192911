"""The turns of a run: who may measure, the walls around a command, and what each side did to the other. Ends what a dead run left."""

import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kb import KbError, store
from kb.experiments import worktree
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
    """The one turn to measure on this knowledge base; what is left of a dead run is ended first, and a busy machine is told."""
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
        load, cores = os.getloadavg()[0], os.cpu_count() or 1
        if load > cores / 2:
            note(f"the machine is busy (load {load:.1f} on {cores} cores): expect noise")
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
        for closed in left.glob("*/work/work"):
            with contextlib.suppress(OSError):
                closed.chmod(0o700)
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as folder:
        homes = {side: os.path.join(folder, side) for side in ("parent", "change")}
        for home in homes.values():
            for name in ("upper", "work"):
                os.makedirs(os.path.join(home, name))
        yield homes


@dataclass(slots=True)
class Bench:
    """What one run of an attempt has open: the homes of both sides, and what was seen of them at their last turn."""

    layout: store.Layout
    stub: Stub
    target: Target
    homes: dict[Side, Path]
    inside: Path
    repository: Path
    over: dict[str, str]
    progress: Note
    touched: set[str] = field(default_factory=set)
    forged: set[str] = field(default_factory=set)
    warm: bool = False
    stamps: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def tree(self, side: Side) -> Path:
        return self.homes[side] / "tree"

    def ran(self, plan: Plan, side: Side, command: str, keep: int) -> Ended:
        """One command of a side, in its turn. What it did to the other side, and to what is protected, is noted."""
        with worktree.in_turn(self.homes[side]) as home:
            env = {k: v for k, v in os.environ.items() if not k.startswith("KB_")}
            env |= {"KB_SIDE": side, "KB_OUT": os.fspath(home / "out"), _MARK: mark_of(self.layout)}
            env |= {"KB_REPOSITORY": os.fspath(self.repository)}
            env |= dict(plan.set) if side == "change" else {}
            ended = run_command(
                command,
                folder=home / "tree" / self.inside,
                timeout_s=plan.timeout_s,
                env=env,
                walls=self._walls(plan, home, side),
                keep=keep,
            )
        self._compare(plan, side)
        return ended

    def _walls(self, plan: Plan, home: Path, side: Side) -> Walls:
        if plan.walls.startswith("none"):
            return Walls()
        own = os.path.realpath(os.path.expanduser("~"))
        above = own not in ("/", "/tmp") and not own.startswith("/tmp/")
        shown = sorted(e.path for e in os.scandir("/tmp") if e.is_dir(follow_symlinks=False))
        writable = (os.path.realpath(os.path.expanduser(w)) for w in self.target.writable)
        mounts = [
            *([("over", own, self.over[side])] if above else []),
            ("write", "/tmp", os.fspath(home / "tmp")),
            *(("read", p, p) for p in shown if not p.startswith(f"/tmp/{_HOMES}")),
            ("hide", os.fspath(self.layout.state.resolve()), ""),
            ("write", os.fspath(home), os.fspath(home)),
            *(("write", p, p) for p in writable if os.path.isdir(p)),
        ]
        return Walls(True, self.target.network, tuple(mounts))

    def _compare(self, plan: Plan, side: Side) -> None:
        """Hold the manifest, and the parent's tree, against what they were."""
        manifest = {s: worktree.manifest_of(self.tree(s), plan.protected) for s in self.homes}
        if "parent" not in self.homes:
            usual = dict(plan.manifest)
            written = worktree.differing(usual, manifest["change"])
            self.touched |= usual.keys() & {*written}
            return
        stamps = worktree.stamps_of(self.tree("parent"))
        if side == "change":
            written = worktree.differing(stamps, self.stamps)[:5] if self.stamps else ()
            # A benchmark that writes into its own data does so on both sides; what tells them apart is the change's doing.
            apart = worktree.differing(manifest["parent"], manifest["change"])
            self.touched |= {*(f"the parent's {p}" for p in written), *apart}
        self.stamps = stamps
