"""Captures as jobs: each on its own, each safe to run again; a bounded pool here, or tasks on Ray.
The journal knows what failed and what is left.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit
from urllib.robotparser import RobotFileParser

from kb import KbError, needing, store
from kb.research.documents import CapturedDocument, document_of, same_tree
from kb.research.network import INTERVALS, Access, NetworkSession
from kb.research.replies import Unavailable
from kb.source import SourceMaterial, capture, sources, varied
from kb.store import Layout

CACHE = "research"
# What a page is asked for as; asked in the same words again, a server may say that nothing has changed.
ACCEPT = "text/html,application/xhtml+xml,application/pdf,text/markdown,text/plain;q=0.9"
# What is captured, and the links of its page.
Brought = tuple[SourceMaterial, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Job:
    """One capture. `key` names it in the journal, `bring` fetches it; a source that is `known` (how its
    id begins, its origin and version) is not fetched again.
    """

    kind: str
    key: str
    bring: Callable[[NetworkSession], Brought]
    licence: str = ""
    keep: bool = True
    known: tuple[str, str, str] = ("", "", "")


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """How a job ended: new, changed (its origin had another content before), same, failed (try
    again), or refused (trying again is no use); pending until then.
    """

    kind: str
    key: str
    state: str
    source: str = ""
    note: str = ""
    links: tuple[str, ...] = ()


def perform(layout: Layout, session: NetworkSession, job: Job, *, now: str) -> JobOutcome:
    """Capture one thing. Failures are outcomes, so that one of many stops no other."""
    ended = partial(JobOutcome, job.kind, job.key)
    try:
        beginning, *known = job.known
        for source in sources(layout, beginning=beginning) if beginning else ():
            if [source.origin, source.version] == known:
                return ended("same", source.id, "captured before")
        material, links = job.bring(session)
        material = varied(material, licence=material.licence or job.licence, keep=job.keep)
        source, fresh = capture(layout, material, retrieved=now)
    except Unavailable as error:
        return ended("failed", note=str(error))
    except (KbError, OSError) as error:
        return ended("refused", note=str(error))
    if not fresh:
        return ended("same", source.id, "", links)
    marks = sorted({f"{mark.kind} at {mark.start}" for mark in source.marks})[:6]
    note = f"beware: {', '.join(marks)}" if marks else ""
    return ended("changed" if source.previous else "new", source.id, note, links)


def page_job(address: str, *, licence: str = "", keep: bool = True) -> Job:
    """The capture of a page or a PDF by its address."""
    return Job("page", address, partial(_page, address), licence, keep)


def _page(address: str, session: NetworkSession) -> Brought:
    reply = session.get(address, accept=ACCEPT)
    name = address.rpartition("/")[2]
    document = document_of(reply.body, reply.media_type, name=name, address=reply.url)
    wish = address.partition("://")[2].removesuffix(".html")
    about = {"origin": address, "kind": "web", "name": wish, "tool": "kb research web"}
    return _material(document, reply.body, reply.media_type, about), document.links


def file_of(file: Path, key: str, stated: Mapping[str, str], session: NetworkSession) -> Brought:
    """A file of this disk; `stated` are its origin, title, authors and version as far as whoever captures it knows them."""
    data = store.bytes_of(file, most=64 << 20, declared=True)
    document = document_of(data, "", name=file.name)
    media_type = "application/pdf" if data[:5] == b"%PDF-" else "text/plain"
    about = {"origin": f"file:{key}", "kind": "file", "name": key.rpartition(".")[0] or key}
    about |= {"version": "", "tool": "kb research files"}
    known = {name: text for name, text in stated.items() if text}
    return _material(document, data, media_type, about | known), ()


def digest_note(data: bytes) -> str:
    """What a capture notes of the bytes that it was made from."""
    return f"sha256 as it came: {hashlib.sha256(data).hexdigest()}"


def _material(
    document: CapturedDocument, data: bytes, media_type: str, about: Mapping[str, str]
) -> SourceMaterial:
    """What is captured of a document: of a PDF or a page of HTML its bytes as well."""
    end = next((end for end in ("html", "pdf") if end in media_type), "")
    return SourceMaterial(
        **document.stated() | about | {"note": digest_note(data)},
        text=document.text,
        hidden=document.hidden,
        files={f"original.{end}": (data, media_type)} if end else {},
    )


def run_jobs(
    layout: Layout,
    session: NetworkSession,
    jobs: Sequence[Job],
    *,
    now: str,
    workers: int = 4,
    on: str = "",
    note: Callable[[int, int, str], None] = lambda done, of, key: None,
) -> tuple[JobOutcome, ...]:
    """Run jobs, in their order, by a pool of threads or on Ray; the journal is written as each one
    ends, so a kill loses the running ones only.
    """
    record(layout, [JobOutcome(job.kind, job.key, "pending") for job in jobs])
    run = _on_ray if on == "ray" else _pooled
    ended = {}
    for outcome in run(layout, session, jobs, now, workers):
        record(layout, [outcome])
        ended[outcome.key] = outcome
        note(len(ended), len(jobs), outcome.key)
    return tuple(ended[job.key] for job in jobs)


def _pooled(
    layout: Layout, session: NetworkSession, jobs: Sequence[Job], now: str, workers: int
) -> Iterator[JobOutcome]:
    from concurrent.futures import ThreadPoolExecutor, as_completed

    with ThreadPoolExecutor(max(1, min(workers, 16))) as pool:
        running = [pool.submit(perform, layout, session, job, now=now) for job in jobs]
        try:
            for done in as_completed(running):
                yield done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _on_ray(
    layout: Layout, session: NetworkSession, jobs: Sequence[Job], now: str, workers: int
) -> Iterator[JobOutcome]:
    """The same captures as tasks of a Ray cluster that shares this disk. Each worker keeps the pace
    of all: its interval is as many times longer.
    """
    with needing("ray"):
        import ray
    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False, logging_level="error")
    access = session.access
    paces = {**INTERVALS, **dict(access.intervals)}
    intervals = tuple((host, pace * workers) for host, pace in paces.items())
    slower = replace(access, interval=access.interval * workers, intervals=intervals)
    task = ray.remote(max_retries=2)(_task)
    waiting, running = list(jobs), []
    while waiting or running:
        while waiting and len(running) < workers:
            running.append(task.remote(str(layout.root), slower, waiting.pop(0), now))
        done, running = ray.wait(running)
        yield from ray.get(done)


def _task(root: str, access: Access, job: Job, now: str) -> JobOutcome:
    layout = store.layout_at(Path(root))
    with NetworkSession(access, store.own_state(layout, CACHE)) as session:
        return perform(layout, session, job, now=now)


_JOURNAL = "research.db"
_COLUMNS = "kind, key, state, source, note"
_TABLE = "create table if not exists capture (kind, key text primary key, state, source, note)"


def record(layout: Layout, outcomes: Sequence[JobOutcome]) -> None:
    """Write into the journal how captures stand."""
    rows = [(o.kind, o.key, o.state, o.source, o.note) for o in outcomes]
    with closing(store.cache(layout, _JOURNAL, (_TABLE,))) as db, db:
        db.executemany(f"insert or replace into capture ({_COLUMNS}) values (?, ?, ?, ?, ?)", rows)


def journal_of(layout: Layout) -> tuple[JobOutcome, ...]:
    """Every capture that was asked for here, by key. The journal stands in `.kb/` and may be
    deleted.
    """
    if not (layout.state / _JOURNAL).is_file():
        return ()
    with closing(store.cache(layout, _JOURNAL, (_TABLE,))) as db:
        rows = db.execute(f"select {_COLUMNS} from capture order by key")
        return tuple(JobOutcome(*row) for row in rows)


def crawl(
    session: NetworkSession,
    addresses: Sequence[str],
    *,
    job_of: Callable[[str], Job],
    run: Callable[[list[Job]], Sequence[JobOutcome]],
    depth: int,
    most: int,
) -> tuple[JobOutcome, ...]:
    """Pages, and those that they link to in the same tree, level by level; what robots.txt forbids
    is left alone.
    """
    outcomes: list[JobOutcome] = []
    level, known = list(dict.fromkeys(addresses)), set(addresses)
    robots: dict[str, RobotFileParser] = {}
    for step in range(depth + 1):
        forbidden = [a for a in level if not _permitted(session, a, robots)]
        reason = "its robots.txt asks not to"
        outcomes += [JobOutcome("page", a, "refused", "", f"{a}: {reason}") for a in forbidden]
        allowed = [a for a in level if a not in forbidden][: max(0, most - len(outcomes))]
        ended = run([job_of(address) for address in allowed])
        outcomes += ended
        if step == depth or len(outcomes) >= most:
            break
        links = (link for o in ended for start in addresses for link in same_tree(start, o.links))
        level = [link for link in dict.fromkeys(links) if link not in known]
        known |= set(level)
    return tuple(outcomes)


def _permitted(session: NetworkSession, address: str, robots: dict[str, RobotFileParser]) -> bool:
    if session.access.mirror:
        return True
    parts = urlsplit(address)
    host = f"{parts.scheme}://{parts.netloc}"
    if host not in robots:
        rules = RobotFileParser()
        try:
            reply = session.get(f"{host}/robots.txt", accept="text/plain", size=1 << 19, tries=2)
            rules.parse(reply.body.decode("utf-8", "replace").splitlines())
        except Unavailable as error:
            # As RFC 9309 has it: what is not there forbids nothing, what cannot be read forbids
            # all.
            rules.parse([] if 400 <= error.status < 500 else ["User-agent: *", "Disallow: /"])
        except KbError:
            return True  # The page itself is refused by the same check, with its reason.
        robots[host] = rules
    return robots[host].can_fetch("kb-research", address)
