"""git, as kb runs it on repositories of others: nothing that their configuration names is run, and nothing is fetched but where that is what was asked."""

import os
import re
import subprocess
from collections.abc import Mapping

from kb import KbError

# No hook, no monitor, no signer, no housekeeping, no transport.
_SETTINGS = (
    "core.hooksPath=/dev/null core.fsmonitor=false log.showSignature=false commit.gpgSign=false gc.auto=0 maintenance.auto=false "
    "protocol.allow=never credential.helper= diff.ignoreSubmodules=dirty"
)
_GIT = ("git", *(word for setting in _SETTINGS.split() for word in ("-c", setting)))
# A hook or a wrapper that set these for its own repository must not lead us there.
_VARIABLES_KEPT = ("GIT_SSH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH")
# Settings whose value git runs as a command, where a repository's own configuration makes them.
_RUNS = re.compile(
    r"filter\..*\.(clean|smudge|process|required)|(diff|merge)\..*\.(command|textconv|driver)|diff\.external|hook\..*\.command"
    r"|core\.\w*(command|proxy)|gpg\..*(program|command)|gc\.\w*hook",
    re.IGNORECASE,
)
# What such a setting is made, where empty is no harmless value of it.
_HARMLESS = {"required": "false", "command": "true", "driver": "false"}


def git_output(
    name: str,
    *words: str,
    at: tuple[str, ...],
    env: Mapping[str, str] | None = None,
    stdin: str = "",
    ok: tuple[int, ...] = (0,),
    seconds: float | None = None,
) -> bytes:
    """What a git command prints; `at` says where (`-C`, FOLDER or `--git-dir`, FOLDER), `stdin` is its input.

    Raises KbError, in the words of `name`, where git is missing, fails or takes too long.
    """
    clean = {
        k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k in _VARIABLES_KEPT
    }
    # What is missing is never fetched, whatever the repository's own settings say.
    clean |= {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_TERMINAL_PROMPT": "0"}
    if words[0] not in ("config", "init"):
        clean |= _disarming(name, at, env or {})
    try:
        done = subprocess.run(
            [*_GIT, *at, *words],
            capture_output=True,
            env={**clean, **(env or {})},
            input=stdin.encode(),
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as late:
        raise KbError(
            f"{name}: git {words[0]} took more than {seconds:.0f} s; ask for a smaller range"
        ) from late
    except OSError as missing:
        raise KbError(f"{name}: git cannot be run: {missing.strerror}; install git") from missing
    if done.returncode not in ok:
        message = done.stderr.decode("utf-8", "replace").strip()
        raise KbError(f"{name}: git {words[0]}: {message[-400:] or 'failed'}")
    return done.stdout


def _disarming(name: str, at: tuple[str, ...], env: Mapping[str, str]) -> dict[str, str]:
    """Variables that empty every setting of the repository's own configuration which would make git run a command."""
    words = ("config", "--show-scope", "--name-only", "--list", "-z")
    listed = git_output(name, *words, at=at, env=env, ok=(0, 1)).decode("utf-8", "replace")
    pairs = zip(*[iter(listed.split("\0"))] * 2, strict=False)
    keys = sorted(
        {key for scope, key in pairs if scope in ("local", "worktree") and _RUNS.fullmatch(key)}
    )
    variables = {"GIT_CONFIG_COUNT": str(len(keys))}
    for number, key in enumerate(keys):
        variables[f"GIT_CONFIG_KEY_{number}"] = key
        variables[f"GIT_CONFIG_VALUE_{number}"] = _HARMLESS.get(key.rpartition(".")[2], "")
    return variables
