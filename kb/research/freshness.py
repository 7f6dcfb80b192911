"""Whether what was captured still is what its origin gives: one conditional request a page, one for all papers, one a fork.

Refuses to capture: it says what changed, and the command that captured it brings the rest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kb import KbError
from kb.research.jobs import ACCEPT, digest_note
from kb.research.network import NetworkSession
from kb.research.papers import API, papers
from kb.source import Source
from kb.store import json_of

_FORGE = "https://github.com/"
REST = "https://api.github.com"


@dataclass(frozen=True, slots=True)
class Freshness:
    """How a source stands to its origin: same, changed, gone or unasked (nothing to ask, or no answer), and why."""

    source: str
    state: str
    note: str


def freshness_of(
    session: NetworkSession, listed: Sequence[Source], *, api: str = API, rest: str = REST
) -> Iterator[Freshness]:
    """The newest capture of each origin beside what the origin gives now, by id."""
    replaced = {s.previous for s in listed}
    listed = [s for s in listed if s.id not in replaced]
    versions = _versions(session, [s for s in listed if s.kind == "arxiv"], api)
    for source in listed:
        try:
            now = versions.get(source.id, "") or _now(session, source, rest)
        except KbError as error:
            gone = getattr(error, "status", 0) in (404, 410)
            yield Freshness(source.id, "gone" if gone else "unasked", str(error))
            continue
        if not now:
            yield Freshness(source.id, "unasked", "its origin gives no version to ask for")
        elif now in (source.version, source.note) or now[:12] == source.version:
            yield Freshness(source.id, "same", "")
        else:
            note = "" if source.kind == "web" else f"{source.version} → {now[:12]}"
            yield Freshness(source.id, "changed", note)


def _now(session: NetworkSession, source: Source, rest: str) -> str:
    """What tells the present state of an origin: of a page what a capture would note of its bytes, of a fork its head."""
    if source.kind == "web":
        return digest_note(session.get(source.origin, accept=ACCEPT).body)
    if source.origin.startswith(_FORGE) and "#" in source.origin:
        return _head(session, *source.origin.removeprefix(_FORGE).split("#", 1), rest=rest)
    return ""


def _versions(session: NetworkSession, listed: list[Source], api: str) -> dict[str, str]:
    """Newest version of each paper, by the id of its source; one request for a hundred."""
    ids = {s.origin.rpartition("/abs/")[2]: s.id for s in listed}
    return {ids[p.id]: p.version for p in papers(session, ids=[*ids], api=api)} if ids else {}


def _head(session: NetworkSession, repository: str, name: str, *, rest: str) -> str:
    """Commit at the head of a fork's default branch or of a pull request."""
    if name.startswith("pull/"):
        pull = json_of(session.get(f"{rest}/repos/{repository}/pulls/{name[5:]}").body)
        return str(pull["head"]["sha"])
    reply = session.get(f"{rest}/repos/{name}/commits/HEAD", accept="application/vnd.github.sha")
    return reply.body.decode("ascii", "replace").strip()
