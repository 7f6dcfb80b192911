"""What the research verbs share: how the network is reached, and how captures are told."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from kb import KbError, store
from kb.research.jobs import CACHE, Job, JobOutcome, run_jobs
from kb.research.network import Access, NetworkSession
from kb.text import head_of, one_line
from kb.verbs import FINDINGS, FINE, Caller, Result, flag, option, several

# Where the tokens of a forge stand, as its own tools name them. They go into requests to that host
# and nowhere else.
_TOKENS = {"api.github.com": ("GITHUB_TOKEN", "GH_TOKEN")}
_SHOWN = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The part of a request that says how the network is reached."""

    from_: str = option("a mirror (`wget --mirror`) to read instead of the network", metavar="DIR")
    allow_host: tuple[str, ...] = several("a private host that may be reached", metavar="HOST")


@dataclass(frozen=True, kw_only=True)
class Keeping:
    """The part of a request that says what is kept of a capture."""

    licence: str = option("the licence of what is captured, where it states none", metavar="NAME")
    no_text: bool = flag(
        "keep digests and provenance alone: a licence that does not let the text be passed on"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Capturing(Reach, Keeping):
    """The part of a request that says where many captures run."""

    workers: int = option("captures at once, at most 16", default=4, metavar="N")
    on: str = option(
        "where captures run: this machine, or tasks of a Ray cluster",
        default="here",
        choices=("here", "ray"),
    )


def capture_result(outcomes: Sequence[JobOutcome], requests: int) -> Result:
    """How each capture ended; a finding where one failed or was refused."""
    shown = ("key", "kind", "state", "source", "note")
    captures = [{name: getattr(outcome, name) for name in shown} for outcome in outcomes]
    lines = [
        f"{o.state:<8} {o.source or o.key}{'  ' + one_line(o.note) if o.note else ''}"
        for o in outcomes
    ]
    lines = head_of(lines, _SHOWN, "… and {} more; `kb research status` lists all")
    count = [o.state for o in outcomes].count
    states = ("new", "changed", "same", "failed", "refused")
    counts = ", ".join(f"{count(state)} {state}" for state in states if count(state))
    lines.append(f"{counts or 'nothing to capture'}; {requests} requests")
    failed = count("failed") or count("refused")
    value = {"requests": requests, "captures": captures}
    return Result(value, "\n".join(lines), FINDINGS if failed else FINE)


def session_of(request: Reach, caller: Caller, *, api: str = "") -> NetworkSession:
    """The network as it is reached for this request. A token is taken from the environment for the
    forge's own host alone.
    """
    if caller.confined and request.allow_host:
        raise KbError("--allow-host is for the person at the terminal, not for a program")
    mirror = caller.file(request.from_) if request.from_ else None
    if mirror and not mirror.is_dir():
        raise KbError(f"{request.from_}: no folder to read a mirror from")
    token = next(
        (os.environ[name] for name in _TOKENS["api.github.com"] if os.environ.get(name)), ""
    )
    host = urlsplit(api).hostname or "api.github.com"
    # A forge states its limits in every answer and is paced by these.
    access = Access(
        allow_hosts=request.allow_host,
        mirror=mirror,
        tokens=((host, token),) if token and api else (),
        intervals=((host, 0.0),) if api else (),
    )
    return NetworkSession(access, store.own_state(caller.layout, CACHE))


def runner(
    request: Capturing, caller: Caller, session: NetworkSession, what: str
) -> Callable[[Sequence[Job]], tuple[JobOutcome, ...]]:
    """What runs the jobs of a command, with one progress line for all of them."""

    def note(done: int, of: int, key: str) -> None:
        caller.progress(f"{what} {done}/{of} {key[:60]}" if done < of else "")

    layout, workers, on = caller.layout, request.workers, request.on
    return partial(run_jobs, layout, session, now=caller.now, workers=workers, on=on, note=note)
