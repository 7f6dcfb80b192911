"""Captures as jobs: each on its own, each safe to run again; a bounded pool here, or tasks on Ray.
The journal knows what failed and what is left.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from kb import KbError, store
from kb.research.documents import document_of, same_tree
from kb.research.network import Access, NetworkSession
from kb.research.papers import SITE, Paper, family_of, material_of_paper
from kb.research.replies import Unavailable
from kb.source import SourceMaterial, capture, sources
from kb.store import Layout

CACHE = "research"
# What a page is asked for as; asked in the same words again, a server may say that nothing has changed.
ACCEPT = "text/html,application/xhtml+xml,application/pdf,text/markdown,text/plain;q=0.9"


@dataclass(frozen=True, slots=True)
class Job:
    """One capture: a paper (with what its feed says), a page by its address, or a file by its path.
    `key` names it in the journal; `about` is title, authors and version as whoever captures it
    knows them.
    """

    kind: str
    key: str
    paper: Paper | None = None
    site: str = SITE
    folder: str = ""
    licence: str = ""
    origin: str = ""
    about: tuple[str, str, str] = ("", "", "")
    keep: bool = True


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """How a job ended: new, changed (its origin had another content before), same, failed (try
    again), or refused (trying again is no use).
    """

    job: Job
    state: str
    source: str
    note: str
    links: tuple[str, ...] = ()


def perform(layout: Layout, session: NetworkSession, job: Job, *, now: str) -> JobOutcome:
    """Capture one thing. Failures are outcomes, so that one of many stops no other."""
    try:
        if job.paper and (known := _captured(layout, job.paper)):
            return JobOutcome(job, "same", known, "captured before")
        material, links = _material(session, job)
        source, fresh = capture(layout, material, retrieved=now)
    except Unavailable as error:
        return JobOutcome(job, "failed", "", str(error))
    except (KbError, OSError) as error:
        return JobOutcome(job, "refused", "", str(error))
    message = ", ".join(sorted({f"{mark.kind} at {mark.start}" for mark in source.marks})[:6])
    return JobOutcome(
        job,
        ("changed" if source.previous else "new") if fresh else "same",
        source.id,
        f"beware: {message}" if message and fresh else "",
        links,
    )


def _captured(layout: Layout, paper: Paper) -> str:
    for source in sources(layout, beginning=family_of(paper)):
        if source.origin == paper.address and source.version == paper.version:
            return source.id
    return ""


def _material(session: NetworkSession, job: Job) -> tuple[SourceMaterial, tuple[str, ...]]:
    if job.paper:
        paper = material_of_paper(session, job.paper, site=job.site)
        return replace(paper, keep=job.keep, licence=paper.licence or job.licence), ()
    if job.kind == "page":
        reply = session.get(job.key, accept=ACCEPT)
        document = document_of(
            reply.body, reply.media_type, name=job.key.rpartition("/")[2], address=reply.url
        )
        data, kind, version = (
            reply.body,
            reply.media_type or "application/octet-stream",
            document.date,
        )
        wish = job.key.partition("://")[2].removesuffix(".html")
    else:
        file = Path(job.folder) / job.key
        data = store.bytes_of(file, most=64 << 20, declared=True)
        kind = "application/pdf" if data[:5] == b"%PDF-" else "text/plain"
        document, version, wish = (
            document_of(data, "", name=file.name),
            "",
            job.key.rpartition(".")[0] or job.key,
        )
    end = "html" if "html" in kind else "pdf" if "pdf" in kind else ""
    title, authors, about_version = job.about
    material = SourceMaterial(
        origin=job.origin or (job.key if job.kind == "page" else f"file:{job.key}"),
        kind="web" if job.kind == "page" else "file",
        name=wish,
        version=about_version or version,
        title=title or document.title,
        authors=authors or document.authors,
        licence=document.licence or job.licence,
        text=document.text,
        sections=document.sections,
        hidden=document.hidden,
        references=document.references,
        tool=f"kb research {'web' if job.kind == 'page' else 'files'}",
        files={f"original.{end}": (data, kind)} if end else {},
        keep=job.keep,
        note=f"sha256 as it came: {hashlib.sha256(data).hexdigest()}",
    )
    return material, document.links


def run_jobs(
    layout: Layout,
    session: NetworkSession,
    jobs: Sequence[Job],
    *,
    now: str,
    workers: int = 4,
    on: str = "",
    note: Callable[[int, int, str], None] | None = None,
) -> tuple[JobOutcome, ...]:
    """Run jobs, in their order, by a pool of threads or on Ray; the journal is written as each one
    ends, so a kill loses the running ones only.
    """
    record(layout, [JobOutcome(job, "pending", "", "") for job in jobs], now)
    ended = []
    for outcome in (
        _on_ray(layout, session.access, jobs, now=now, workers=workers)
        if on == "ray"
        else _pooled(layout, session, jobs, now=now, workers=workers)
    ):
        record(layout, [outcome], now)
        ended.append(outcome)
        if note:
            note(len(ended), len(jobs), outcome.job.key)
    order = {job.key: at for at, job in enumerate(jobs)}
    return tuple(sorted(ended, key=lambda o: order[o.job.key]))


def _pooled(
    layout: Layout, session: NetworkSession, jobs: Sequence[Job], *, now: str, workers: int
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
    layout: Layout, access: Access, jobs: Sequence[Job], *, now: str, workers: int
) -> Iterator[JobOutcome]:
    """The same captures as tasks of a Ray cluster that shares this disk. Each worker keeps the pace
    of all: its interval is as many times longer.
    """
    try:
        import ray
    except ImportError as error:
        raise KbError("--on ray needs Ray: pip install 'kb[ray]'") from error
    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False, logging_level="error")
    slower = replace(
        access,
        interval=access.interval * workers,
        intervals=tuple(
            (h, s * workers)
            for h, s in (("export.arxiv.org", 3.0), ("arxiv.org", 3.0), *access.intervals)
        ),
    )
    task = ray.remote(max_retries=2)(_task)
    waiting = list(jobs)
    running = []
    while waiting or running:
        while waiting and len(running) < workers:
            running.append(task.remote(str(layout.root), slower, waiting.pop(0), now))
        done, running = ray.wait(running)
        yield from ray.get(done)


def _task(root: str, access: Access, job: Job, now: str) -> JobOutcome:
    layout = store.layout_at(Path(root))
    with NetworkSession(access, store.own_state(layout, CACHE)) as session:
        return perform(layout, session, job, now=now)


def _journal(layout: Layout) -> sqlite3.Connection:
    db = store.state(layout, writable=True, name="research.db")
    db.execute(
        "create table if not exists job (key text primary key, kind text, state text, source text, note text, tries integer, moment text)"
    )
    return db


def record(layout: Layout, outcomes: Sequence[JobOutcome], now: str) -> None:
    """Write into the journal how captures stand."""
    with closing(_journal(layout)) as db:
        rows = [
            (o.job.key, o.job.kind, o.state, o.source, o.note, int(o.state != "pending"), now)
            for o in outcomes
        ]
        db.execute("begin")
        db.executemany(
            "insert into job values (?, ?, ?, ?, ?, ?, ?) on conflict (key) do update set state = excluded.state, note = excluded.note, moment = excluded.moment,"
            " tries = tries + excluded.tries, source = case excluded.source when '' then source else excluded.source end",
            rows,
        )
        db.execute("commit")


@dataclass(frozen=True, slots=True)
class JobState:
    """One capture that was asked for here, as it stands."""

    key: str
    kind: str
    state: str
    source: str
    note: str
    tries: int
    moment: str


def journal_of(layout: Layout) -> tuple[JobState, ...]:
    """Every capture that was asked for here, by key. The journal stands in `.kb/` and may be
    deleted.
    """
    if not (layout.state / "research.db").is_file():
        return ()
    with closing(_journal(layout)) as db:
        return tuple(
            JobState(*row)
            for row in db.execute(
                "select key, kind, state, source, note, tries, moment from job order by key"
            )
        )


def crawl(
    layout: Layout,
    session: NetworkSession,
    addresses: Sequence[str],
    *,
    now: str,
    depth: int,
    most: int,
    licence: str = "",
    keep: bool = True,
    workers: int = 4,
    on: str = "",
    note: Callable[[int, int, str], None] | None = None,
) -> tuple[JobOutcome, ...]:
    """Pages, and those that they link to in the same tree, level by level; what robots.txt forbids
    is left alone.
    """
    outcomes: list[JobOutcome] = []
    level, known = list(dict.fromkeys(addresses)), set(addresses)
    robots: dict[str, object] = {}
    for step in range(depth + 1):
        allowed = [address for address in level if _permitted(session, address, robots)]
        outcomes += [
            JobOutcome(Job("page", a), "refused", "", f"{a}: its robots.txt asks not to")
            for a in level
            if a not in allowed
        ]
        jobs = [
            Job("page", address, licence=licence, keep=keep)
            for address in allowed[: most - len(outcomes)]
        ]
        ended = run_jobs(layout, session, jobs, now=now, workers=workers, on=on, note=note)
        outcomes += ended
        if step == depth or len(outcomes) >= most:
            break
        links = dict.fromkeys(
            link
            for outcome in ended
            for start in addresses
            for link in same_tree(start, outcome.links)
        )
        level = [link for link in links if link not in known]
        known |= set(level)
    return tuple(outcomes)


def _permitted(session: NetworkSession, address: str, robots: dict) -> bool:
    from urllib.parse import urlsplit
    from urllib.robotparser import RobotFileParser

    if session.access.mirror:
        return True
    parts = urlsplit(address)
    host = f"{parts.scheme}://{parts.netloc}"
    if host not in robots:
        rules = RobotFileParser()
        try:
            rules.parse(
                session.get(f"{host}/robots.txt", accept="text/plain", size=1 << 19, tries=2)
                .body.decode("utf-8", "replace")
                .splitlines()
            )
        except Unavailable as error:
            # As RFC 9309 has it: what is not there forbids nothing, what cannot be read forbids
            # all.
            rules.parse([] if 400 <= error.status < 500 else ["User-agent: *", "Disallow: /"])
        except KbError:
            return True  # The page itself is refused by the same check, with its reason.
        robots[host] = rules
    return robots[host].can_fetch("kb-research", address)
