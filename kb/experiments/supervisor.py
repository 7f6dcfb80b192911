"""Runs one shell command so that nothing of it outlives it: a program of its own, started as `python -I -S supervisor.py`.

It dies with the process that started it, ends every descendant when the command ends (also one that left its session and its
environment), and, where the system gives namespaces to users, shows the command a disk that is read-only but for its own folders.
Imports nothing of kb, for it starts once for every sample. What to do comes as JSON on its input; one line about how it went goes
to the descriptor `report`.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
import time

_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 36, 24, 38
_NEWNS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = 0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18
# mount_setattr(2) of Linux 5.12, which makes a whole tree of mounts read-only at once.
_SYS_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE, _ATTR_RDONLY = 442, -100, 0x8000, 1
_CAPABILITIES = 64
# What of /proc is no process's but the machine's: root writes there without any capability.
_SYSTEM_WIDE = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs")
_WAITED_FOR = {signal.SIGTERM, signal.SIGCHLD}


def main() -> None:
    spec = json.load(sys.stdin)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    report = spec["report"]
    os.set_inheritable(report, False)
    # Taken one by one in `_exit_of`. A handler would be run late: Python notes a signal that comes just before a wait, and then waits.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED_FOR)
    if _LIBC:
        _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != spec["parent"]:
        os._exit(143)  # kb was gone before the kernel knew that we want to go with it.
    try:
        if spec["sandbox"]:
            _enter(spec)
    except OSError as error:
        _report(report, {"refused": f"{error.filename or ''} {error.strerror}".strip()})
        os._exit(125)
    alive = os.pipe()
    child = os.fork()
    if not child:
        _first(spec, alive) if spec["sandbox"] else _command(spec)
    spec["first"] = child
    status = _exit_of(child, spec)
    if not spec["sandbox"]:
        _report(report, {"exit": status})
    _end_all(0, spec)


def _first(spec: dict, alive: tuple[int, int]) -> None:
    """Process 1 of the namespace: with its end the kernel ends all others in it."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The supervisor holds the other end open; where that is closed, it was gone before the kernel knew that we want to go with it.
    os.close(alive[1])
    if select.select([alive[0]], [], [], 0)[0]:
        os._exit(0)
    # Where the outer /proc is masked a fresh one is refused; the outer one then stays.
    with contextlib.suppress(OSError):
        _mount("proc", "/proc", "proc", 0)
        for part in _SYSTEM_WIDE:
            with contextlib.suppress(OSError):
                _mount(part, part, None, _MS_BIND | _MS_REC)
                _set_attributes(part, on=_ATTR_RDONLY)
    with contextlib.suppress(OSError):
        _mount("devpts", "/dev/pts", "devpts", 0, "newinstance,ptmxmode=0666")
    child = os.fork()
    if not child:
        for capability in range(_CAPABILITIES):
            _LIBC.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
        _command(spec)
    _report(spec["report"], {"exit": _exit_of(child, spec)})
    os._exit(0)


def _command(spec: dict) -> None:
    if _LIBC:
        _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _WAITED_FOR)
    os.chdir(spec["folder"])
    with contextlib.suppress(OSError):
        os.setsid()
    os.execve("/bin/sh", ["/bin/sh", "-c", spec["command"]], dict(os.environ))


def _exit_of(child: int, spec: dict) -> int:
    """Exit code of one child; orphans that were handed to us are buried on the way. Ends all where we are asked to end."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == child:
            return os.waitstatus_to_exitcode(status)
        if not pid and signal.sigwait(_WAITED_FOR) == signal.SIGTERM:
            _end_all(143, spec)


def _report(report: int, outcome: dict) -> None:
    with contextlib.suppress(OSError):
        os.write(report, json.dumps(outcome).encode())


def _end_all(status: int, spec: dict) -> None:
    """End every descendant; as their reaper we are handed those whose parents are gone."""
    if spec["sandbox"]:
        # The kernel ends all others with the first. Numbers in /proc are those of the inner namespace by now, and mean others out here.
        if "first" in spec:
            with contextlib.suppress(OSError):
                os.kill(spec["first"], signal.SIGKILL)
                os.waitpid(spec["first"], 0)
        os._exit(status)
    empty = 0
    for _ in range(2000):
        below = _descendants(os.getpid())
        # One that forks while we look may be missed once.
        empty = 0 if below else empty + 1
        if empty == 2:
            break
        for pid in below:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.002)
    os._exit(status)


def _descendants(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        # What ended meanwhile has no children left.
        with (
            contextlib.suppress(OSError, IndexError, ValueError),
            open(f"/proc/{int(name)}/stat", "rb") as file,
        ):
            parent = int(file.read().rpartition(b")")[2].split()[1])
            children.setdefault(parent, []).append(int(name))
    pids = children.get(root, [])
    for pid in pids:
        pids += children.get(pid, [])
    return pids


def _enter(spec: dict) -> None:
    """New namespaces, and in them a disk that is read-only but for the folders named. Raises OSError where the system refuses."""
    user, group = os.getuid(), os.getgid()
    kinds = _NEWUSER | _NEWNS | _NEWPID | _NEWIPC | (0 if spec["network"] else _NEWNET)
    if _LIBC.unshare(kinds):
        raise _refused("unshare")
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with contextlib.suppress(FileNotFoundError), open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    # Where what shall be shown lies is held open before anything is laid over it: the folders, for of what they hold there may be thousands.
    shown = {os.path.dirname(m[2]) for m in spec["mounts"] if m[0] in ("read", "write")}
    folders = {folder: os.open(folder, os.O_PATH) for folder in shown}
    _set_attributes("/", on=_ATTR_RDONLY, flags=_AT_RECURSIVE)
    for how, where, source in spec["mounts"]:
        handle = folders.get(os.path.dirname(source))
        _lay(how, where, source, f"/proc/self/fd/{handle}/{os.path.basename(source)}")
    for handle in folders.values():
        os.close(handle)
    with contextlib.suppress(OSError):
        _mount("none", "/dev/shm", "tmpfs", 0)
    if not spec["network"]:
        _raise_loopback()


def _lay(how: str, where: str, source: str, held: str) -> None:
    """One mount. `over`: changes go elsewhere; `hide`: an empty folder or file; `read`, `write`: a folder shown at a place, by where it is `held`."""
    # Not every disk can be laid over; then the folder stays read-only. What went away meanwhile need not be there.
    gone = OSError if how == "over" else FileNotFoundError
    with contextlib.suppress(*() if how == "write" else (gone,)):
        if how == "hide" and os.path.isdir(where):
            _mount("none", where, "tmpfs", 0)
        elif how == "hide":
            _mount(os.devnull, where, None, _MS_BIND)
        elif how == "over":
            layers = f"lowerdir={where},upperdir={source}/upper,workdir={source}/work,userxattr"
            _mount("overlay", where, "overlay", 0, layers)
        elif how == "write" or os.path.isdir(held):
            os.makedirs(where, exist_ok=True)
            _mount(held, where, None, _MS_BIND | _MS_REC)
        if how == "write":
            _set_attributes(where, off=_ATTR_RDONLY)


def _mount(source: str, where: str, kind: str | None, flags: int, data: str = "") -> None:
    if _LIBC.mount(
        source.encode(), where.encode(), kind and kind.encode(), flags, data.encode() or None
    ):
        raise _refused(f"mount {where}")


def _set_attributes(where: str, *, on: int = 0, off: int = 0, flags: int = 0) -> None:
    attributes = (ctypes.c_uint64 * 4)(on, off, 0, 0)
    about = (ctypes.byref(attributes), ctypes.c_size_t(ctypes.sizeof(attributes)))
    if _LIBC.syscall(_SYS_MOUNT_SETATTR, _AT_FDCWD, where.encode(), flags, *about):
        raise _refused(f"mount_setattr {where}")


def _raise_loopback() -> None:
    import fcntl
    import socket
    import struct

    # SIOCSIFFLAGS with IFF_UP: a server that a benchmark starts is asked over loopback.
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        fcntl.ioctl(opened, 0x8914, struct.pack("16sh", b"lo", 1))


def _refused(what: str) -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code), what)


if __name__ == "__main__":
    main()
