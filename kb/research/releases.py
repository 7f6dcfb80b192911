"""Release notes as a forge's REST interface lists them: one source a release, a hundred a request."""

from collections.abc import Iterator
from functools import partial
from itertools import count, islice

from kb import KbError
from kb.research.documents import document_of
from kb.research.jobs import Brought, Job
from kb.research.network import NetworkSession
from kb.source import SourceMaterial
from kb.store import json_of

_PAGE = 100


def release_jobs(
    session: NetworkSession, repository: str, *, api: str, most: int, licence: str, keep: bool
) -> list[Job]:
    """The releases of a repository, the newest first; notes that were edited since are a source that names the one before."""
    if repository.count("/") != 1 or not all(repository.split("/")):
        raise KbError(f"{repository}: write OWNER/REPO")
    notes = islice(_notes(session, f"{api.rstrip('/')}/repos/{repository}/releases"), most)
    return [
        Job(
            "release",
            f"{repository}#{tag}",
            partial(_brought, repository, tag, text),
            licence,
            keep,
        )
        for tag, text in notes
    ]


def _notes(session: NetworkSession, address: str) -> Iterator[tuple[str, str]]:
    """Tag and text of each release."""
    for page in count(1):
        url = f"{address}?per_page={_PAGE}&page={page}"
        reply = session.get(url, accept="application/vnd.github+json")
        try:
            notes = [(str(r["tag_name"]), _text_of(r)) for r in json_of(reply.body)]
        except (ValueError, KeyError, TypeError) as error:
            raise KbError(f"{url}: no list of releases: {error!r}") from error
        yield from notes
        if len(notes) < _PAGE:
            return


def _text_of(release: dict) -> str:
    title = " · ".join(dict.fromkeys(filter(None, (release["tag_name"], release.get("name")))))
    day = str(release.get("published_at") or "")[:10]
    return f"# {title}\n\n{day}\n\n{release.get('body') or ''}\n"


def _brought(repository: str, tag: str, text: str, session: NetworkSession) -> Brought:
    document = document_of(text.encode(), "text/markdown")
    place = f"github.com/{repository}/releases/tag/{tag}"
    about = {"origin": f"https://{place}", "kind": "release", "version": tag}
    stated = document.stated() | about | {"tool": "kb research releases"}
    return SourceMaterial(**stated, name=place, text=document.text), ()
