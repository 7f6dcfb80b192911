"""Release notes as a forge's REST interface lists them: one source a release, a hundred a request."""

from kb import KbError
from kb.research.documents import document_of
from kb.research.jobs import Job, JobOutcome
from kb.research.network import NetworkSession
from kb.source import SourceMaterial, capture
from kb.store import Layout, json_of

_PAGE = 100


def captured_releases(
    layout: Layout,
    session: NetworkSession,
    repository: str,
    *,
    api: str,
    most: int,
    licence: str,
    keep: bool,
    now: str,
) -> tuple[JobOutcome, ...]:
    """The releases of a repository, the newest first; notes that were edited since are a source that names the one before."""
    if repository.count("/") != 1 or not all(repository.split("/")):
        raise KbError(f"{repository}: write OWNER/REPO")
    outcomes: list[JobOutcome] = []
    while len(outcomes) < most:
        page = len(outcomes) // _PAGE + 1
        address = f"{api.rstrip('/')}/repos/{repository}/releases?per_page={_PAGE}&page={page}"
        reply = session.get(address, accept="application/vnd.github+json")
        try:
            notes = [(str(r["tag_name"]), _text_of(r)) for r in json_of(reply.body)]
        except (ValueError, KeyError, TypeError) as error:
            raise KbError(f"{address}: no list of releases: {error!r}") from error
        for tag, text in notes[: most - len(outcomes)]:
            document = document_of(text.encode(), "text/markdown")
            origin = f"https://github.com/{repository}/releases/tag/{tag}"
            material = SourceMaterial(
                origin=origin,
                kind="release",
                name=origin.partition("://")[2],
                version=tag,
                title=document.title,
                licence=licence,
                text=document.text,
                sections=document.sections,
                references=document.references,
                tool="kb research releases",
                keep=keep,
            )
            source, fresh = capture(layout, material, retrieved=now)
            state = "same" if not fresh else "changed" if source.previous else "new"
            outcomes.append(JobOutcome(Job("release", f"{repository}#{tag}"), state, source.id, ""))
        if len(notes) < _PAGE:
            break
    return tuple(outcomes)


def _text_of(release: dict) -> str:
    title = " · ".join(dict.fromkeys(filter(None, (release["tag_name"], release.get("name")))))
    day = str(release.get("published_at") or "")[:10]
    return f"# {title}\n\n{day}\n\n{release.get('body') or ''}\n"
