"""A command of an experiment ends with what started it, and sees of the disk what it may; nothing of it is left."""

import os
import resource
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kb.experiments import command
from kb.experiments.command import Walls, run_command, sandbox_problem

walls = pytest.mark.parametrize("walls", [None, Walls()], ids=["bare", "sandbox"])


def run(command: str, folder: Path, walls: Walls | None = None, *, timeout_s: float = 60, **env: str):
    if walls:
        if sandbox_problem():
            pytest.skip(sandbox_problem())
        walls = Walls(False, (("write", str(folder), str(folder)),))
    return run_command(command, folder=folder, timeout_s=timeout_s, env={"PATH": os.environ["PATH"], **env}, walls=walls)


def left_running(seconds: str) -> list[str]:
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = file.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if line.startswith(f"sleep {seconds} "):
            found.append(line)
    return found


def gone(seconds: str) -> bool:
    deadline = time.monotonic() + 60
    while left_running(seconds) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not left_running(seconds)


@walls
def test_a_benchmark_that_hangs_is_ended_with_all_that_it_started(tmp_path, walls):
    ended = run("trap '' TERM; (env -i setsid sleep 987.1 &); sleep 987.1 & sleep 987.1", tmp_path, walls, timeout_s=0.7)
    assert ended.timed_out and ended.problem.startswith("it was ended after") and gone("987.1")


@walls
def test_a_benchmark_that_forks_and_returns_leaves_nothing_behind_and_is_not_waited_for(tmp_path, walls):
    ended = run("(env -i setsid sleep 984.1 &); sleep 983.1 & echo METRIC a=1", tmp_path, walls)
    assert ended.lines.values == {"a": 1.0} and not ended.timed_out and gone("984.1") and gone("983.1")


@walls
@pytest.mark.parametrize(("command", "problem"), [
    ("exit 3", "it exited with 3"), ("kill -9 $$", "it was ended by signal 9"), ("echo METRIC a=nan", "a=nan is no finite number"),
    ("true", "it exited with 0 but printed no `METRIC a=...` line"), ("echo METRIC a=1", ""),
])
def test_what_did_not_measure_says_why(command, problem, tmp_path, walls):
    ended = run(command, tmp_path, walls)
    assert (ended.problem or ended.lines.problem("a")) == problem


def test_gigabytes_of_output_are_read_and_only_head_and_tail_kept(tmp_path):
    ended = run("echo first; head -c 1000000000 /dev/zero; echo; echo METRIC a=3", tmp_path, timeout_s=600)
    assert ended.lines.values == {"a": 3.0} and b"\n[... 9999" in ended.output
    assert ended.output.startswith(b"first") and ended.output.endswith(b"METRIC a=3\n") and len(ended.output) < 600_000


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize("sandbox", [False, True])
def test_however_kb_ends_the_benchmark_ends_with_it(tmp_path, number, sandbox):
    if sandbox and sandbox_problem():
        pytest.skip(sandbox_problem())
    seconds = f"97{int(sandbox)}.{int(number)}"
    code = f"""
from pathlib import Path
from kb.experiments.command import Walls, run_command
run_command("(env -i setsid sleep {seconds} &); sleep {seconds}", folder=Path({str(tmp_path)!r}), timeout_s=60, env={{"PATH": "/usr/bin:/bin"}},
            walls=Walls(False, (("write", {str(tmp_path)!r}, {str(tmp_path)!r}),)) if {sandbox} else None)
"""
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    deadline = time.monotonic() + 60
    # Both of them: that the command has come past `touch` says nothing of what it started before.
    while len(left_running(seconds)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(left_running(seconds)) == 2
    os.kill(process.pid, number)
    process.wait()
    assert gone(seconds)


def test_a_sandbox_shows_the_disk_read_only_but_for_what_may_be_written(tmp_path):
    if sandbox_problem():
        pytest.skip(sandbox_problem())
    for name in ("own", "other", "secret"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("as it was\n")
    script = "echo x > own/file; echo x > other/file; ls secret; cat secret/file; mount -o remount,rw /; umount secret; ls secret; cat /sys/class/net/eth0/mtu"
    mounts = (("hide", str(tmp_path / "secret"), ""), ("write", str(tmp_path / "own"), str(tmp_path / "own")))
    ended = run_command(script, folder=tmp_path, timeout_s=60, env={"PATH": os.environ["PATH"]}, walls=Walls(False, mounts))
    assert (tmp_path / "own" / "file").read_text() == "x\n" and (tmp_path / "other" / "file").read_text() == "as it was\n"
    assert b"as it was" not in ended.output and b"Read-only" in ended.output


def test_a_sandbox_knows_whether_it_sees_the_processes_outside(tmp_path):
    from kb.experiments.command import sandbox_weakness

    ended = run("ls /proc | grep -c '^[0-9]'", tmp_path, Walls())
    assert (int(ended.output) < 10) == (not sandbox_weakness())


def test_a_sandbox_shows_more_folders_than_a_process_may_hold_open(tmp_path):
    if sandbox_problem():
        pytest.skip(sandbox_problem())
    # What the tests before it left open counts too.
    allowed = len(os.listdir("/proc/self/fd")) + 100
    shown = [tmp_path / str(n) for n in range(allowed + 100)]
    for folder in shown:
        folder.mkdir()
        (folder / "here").touch()
    mounts = (("hide", str(tmp_path), ""), *(("read", str(f), str(f)) for f in shown))
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most[1]))
    try:
        ended = run_command(f"ls {tmp_path}/*/here | wc -l", folder=Path("/"), timeout_s=60, env={"PATH": os.environ["PATH"]}, walls=Walls(False, mounts))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)
    assert (ended.problem, int(ended.output)) == ("", len(shown))


def test_a_sandbox_leads_to_no_program_outside_and_to_nothing_of_the_machine(tmp_path):
    from kb.experiments.turns import _doors

    if sandbox_problem():
        pytest.skip(sandbox_problem())
    outside = socket.socket(socket.AF_UNIX)
    outside.bind(str(tmp_path / "socket"))
    outside.listen()
    assert str(tmp_path / "socket") in _doors(network=False) and str(tmp_path / "socket") not in _doors(network=True)
    code = f"import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect({str(tmp_path / 'socket')!r})\ns.send(b'x')\n"
    script = f"{sys.executable} -c {shlex.quote(code)}; cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness; ls /dev/pts; {sys.executable} -c 'import pty; pty.openpty()' && echo terminal"
    doors = tuple(("hide", door, "") for door in _doors(network=False))
    ended = run_command(script, folder=tmp_path, timeout_s=60, env={"PATH": os.environ["PATH"]}, walls=Walls(False, doors))
    assert b"ConnectionRefusedError" in ended.output and b"terminal" in ended.output
    assert b"Read-only file system" in ended.output or b"ermission denied" in ended.output
    assert b"ptmx" in ended.output and not any(line.isdigit() for line in ended.output.splitlines())


def test_what_is_printed_in_the_moment_of_the_end_is_read():
    reading, writing = os.pipe()

    class Ending:
        stdout = os.fdopen(reading, "rb", buffering=0)
        looks = 0

        def poll(self):
            self.looks += 1
            if self.looks == 2:
                os.write(writing, b"METRIC t=1\n")
                os.close(writing)
            return None if self.looks < 2 else 0

        def wait(self, timeout):
            return 0

    with Ending.stdout:
        assert b"".join(command._chunks(Ending(), time.monotonic() + 60)) == b"METRIC t=1\n"
