"""A command that reads a prompt on stdin and prints the reply. It runs in a session of its own, all of which ends at the deadline."""

import contextlib
import os
import shlex
import signal
import subprocess

from kb.model import ModelError

_LONGEST = (
    8 * 1024 * 1024
)  # More than any reply; a command that prints on and on must not fill the memory.


def printed_by(
    command: str, text: str, *, timeout_s: float = 600.0, folder: "os.PathLike[str] | None" = None
) -> str:
    """What a command prints that reads a prompt on stdin (`claude -p`, `codex exec -`, `llm`, any program).

    Raises ModelError where it cannot be started, fails or takes longer than `timeout_s`.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ModelError(f"{command!r}: not a command line: {error}") from error
    if not words:
        raise ModelError(
            "the command that shall answer is empty; say `--command 'claude -p'` or set [model] command"
        )
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            cwd=folder,
        )
    except OSError as error:
        raise ModelError(f"{words[0]}: cannot be started: {error.strerror or error}") from error
    try:
        out, complaints = process.communicate(text.encode("utf-8", "replace"), timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise ModelError(f"{words[0]}: no reply within {timeout_s:.0f} s; it was ended") from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.returncode:
        last = complaints.decode("utf-8", "replace").strip().splitlines()[-1:] or [
            "it said nothing"
        ]
        raise ModelError(f"{words[0]}: ended with {process.returncode}: {last[0][:300]}")
    return out[:_LONGEST].decode("utf-8", "replace")
