"""A command that reads a prompt on stdin and prints the reply. It runs in a session of its own, all of which ends at the deadline, and with kb."""

import contextlib
import os
import selectors
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator

from kb.model import ModelError

# More than any reply; a command that prints on and on must not fill the memory. Of its complaints the last ones are kept.
_LONGEST, _COMPLAINTS = 8 << 20, 64 << 10
_CHUNK = 1 << 16
# Waits for the end of kb, however that comes, which closes its input: what was started in a session of its own would go on.
_WATCH = ("/bin/sh", "-c", 'read -r _; kill -s KILL -- "-$0"')


def printed_by(
    command: str, text: str, *, timeout_s: float = 600.0, folder: "os.PathLike[str] | None" = None
) -> str:
    """What a command prints that reads a prompt on stdin (`claude -p`, `codex exec -`, `llm`, any program).

    Raises ModelError where it cannot be started, fails, takes longer than `timeout_s` or prints more than any reply has.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ModelError(f"{command!r}: not a command line: {error}") from error
    if not words:
        raise ModelError(
            "the command that shall answer is empty; say `--command 'claude -p'` or set [model] command"
        )
    with tempfile.TemporaryFile() as prompt:
        prompt.write(text.encode("utf-8", "replace"))
        prompt.seek(0)
        try:
            process = subprocess.Popen(
                words,
                stdin=prompt,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                cwd=folder,
            )
        except OSError as error:
            raise ModelError(f"{words[0]}: cannot be started: {error.strerror or error}") from error
    try:
        with _ending_with_kb(process.pid):
            reply, complaints = _printed(process, time.monotonic() + timeout_s)
    except subprocess.TimeoutExpired as error:
        raise ModelError(f"{words[0]}: no reply within {timeout_s:.0f} s; it was ended") from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if len(reply) > _LONGEST:
        raise ModelError(f"{words[0]}: printed over {_LONGEST >> 20} MB; it was ended")
    if process.returncode:
        last = complaints.decode("utf-8", "replace").strip().splitlines()[-1:] or [
            "it said nothing"
        ]
        raise ModelError(f"{words[0]}: ended with {process.returncode}: {last[0][:300]}")
    return reply.decode("utf-8", "replace")


@contextlib.contextmanager
def _ending_with_kb(group: int) -> Iterator[None]:
    """A group of processes that ends where this one does meanwhile, also where it is killed."""
    none = subprocess.DEVNULL
    watcher = subprocess.Popen(
        (*_WATCH, str(group)),
        stdin=subprocess.PIPE,
        stdout=none,
        stderr=none,
        start_new_session=True,
    )
    try:
        yield
    finally:
        watcher.kill()
        watcher.communicate()


def _printed(process: "subprocess.Popen[bytes]", deadline: float) -> tuple[bytearray, bytearray]:
    """What a process prints to its end, or until that is too much, and the last of its complaints. Raises TimeoutExpired at the deadline."""
    reply, complaints = bytearray(), bytearray()
    with process.stdout, process.stderr, selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ, reply)
        ready.register(process.stderr, selectors.EVENT_READ, complaints)
        while ready.get_map() and len(reply) <= _LONGEST:
            if (left := deadline - time.monotonic()) <= 0:
                raise subprocess.TimeoutExpired(process.args, 0)
            for key, _ in ready.select(left):
                chunk = os.read(key.fd, _CHUNK)
                key.data.extend(chunk)
                if not chunk:
                    ready.unregister(key.fileobj)
            del complaints[:-_COMPLAINTS]
    if len(reply) <= _LONGEST:
        process.wait(max(0.0, deadline - time.monotonic()))
    return reply, complaints
