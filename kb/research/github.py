"""GitHub over its REST interface (PyGithub): forks and pull requests that are ahead and alive, each
compared with upstream by merge base.

PyGithub never holds the token and opens no connection: its requests go through `Session`, which
honours limits and asks conditionally.
"""

import gzip
import io
import tarfile
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from kb import KbError
from kb.research.diffs import file_change, role_of
from kb.research.forks import Delta
from kb.research.network import NetworkSession
from kb.research.replies import Unavailable
from kb.research.upstream import Upstream
from kb.source import masked

API = "https://api.github.com"
_MOST_MEMBERS = 60_000
_MOST_ARCHIVE = 512 << 20
_MOST_FILE = 1 << 20
_STATES = {"added": "added", "removed": "deleted", "renamed": "renamed", "copied": "copied"}


@dataclass(frozen=True, slots=True)
class Head:
    """A fork's branch or a pull request, before it is compared. `spec` is what the comparison asks
    for.
    """

    name: str
    spec: str
    number: int
    merged: bool
    pushed: str
    title: str


class Forge:
    """One repository of a forge that speaks GitHub's REST."""

    def __init__(self, session: NetworkSession, name: str, *, api: str = API) -> None:
        import github
        from github.Requester import Requester

        if name.count("/") != 1 or not all(name.split("/")):
            raise KbError(f"{name}: write OWNER/REPO")
        connection = _connection_class(session, api)
        Requester.injectConnectionClasses(connection, connection)
        try:
            client = github.Github(
                base_url=api, per_page=100, retry=None, seconds_between_requests=0, lazy=False
            )
        finally:
            Requester.resetConnectionClasses()
        self.session, self.api = session, api.rstrip("/")
        self.repository = _answer_of(name, lambda: client.get_repo(name))
        self.head = _answer_of(
            name, lambda: self.repository.get_branch(self.repository.default_branch)
        ).commit.sha

    def upstream(self) -> Upstream:
        """All text files of upstream's head, by one archive."""
        reply = self.session.get(
            f"{self.api}/repos/{self.repository.full_name}/tarball/{self.head}",
            size=_MOST_ARCHIVE // 4,
        )
        return Upstream(self.head, dict(_members(reply.body, self.repository.full_name)))

    def heads(self, *, most: int) -> tuple[Head, ...]:
        """Forks that were pushed to after they were made, most stars first, and pull requests, the
        newest first; `most` of each.
        """
        forks = [
            f
            for f in _first(self.repository.get_forks(), 10 * most)
            if f.pushed_at and f.created_at and f.pushed_at > f.created_at
        ]
        forks.sort(key=lambda f: (-f.stargazers_count, -f.pushed_at.timestamp(), f.full_name))
        pulls = _first(
            self.repository.get_pulls(state="all", sort="updated", direction="desc"), most
        )
        return (
            *(
                Head(
                    f.full_name,
                    f"{f.owner.login}:{f.default_branch}",
                    0,
                    False,
                    f.pushed_at.date().isoformat(),
                    f.description or "",
                )
                for f in forks[:most]
            ),
            *(
                Head(
                    f"pull/{p.number}",
                    p.head.sha,
                    p.number,
                    p.merged_at is not None,
                    p.updated_at.date().isoformat(),
                    p.title,
                )
                for p in pulls
            ),
        )

    def delta(self, head: Head) -> Delta | None:
        """One head compared with upstream; None where it is not ahead. A pull request is asked for
        itself: its fork may be gone.
        """
        if head.number:
            pull = _answer_of(head.name, lambda: self.repository.get_pull(head.number))
            files, commits = (
                _answer_of(head.name, lambda: list(pull.get_files())),
                _answer_of(head.name, lambda: list(pull.get_commits())),
            )
            base, sha, message = (
                pull.base.sha,
                pull.head.sha,
                [(pull.head.sha, f"{pull.title}\n\n{pull.body or ''}")],
            )
        else:
            compared = _answer_of(head.name, lambda: self.repository.compare(self.head, head.spec))
            if not compared.ahead_by:
                return None
            files, commits = compared.files, _answer_of(head.name, lambda: list(compared.commits))
            base, sha, message = compared.merge_base_commit.sha, "", []
        listed = [(c.sha, c.commit.message) for c in reversed(commits) if len(c.parents) < 2]
        changes = [
            file_change(
                f.filename,
                f.previous_filename or f.filename,
                _STATES.get(f.status, "changed"),
                masked(f.patch),
            )
            for f in files
            if f.patch and role_of(f.filename) != "vendored"
        ]
        read = {change.path for change in changes}
        left_out = [
            f"{f.filename}: {'vendored' if role_of(f.filename) == 'vendored' else 'binary or large'}, {f.changes} lines"
            for f in files
            if f.filename not in read
        ]
        sha = sha or (commits[-1].sha if commits else "")
        return Delta(
            fork=head.name,
            head=sha,
            base=base,
            merged=head.merged,
            date=head.pushed,
            commits=tuple((sha, masked(text)) for sha, text in listed + message),
            changes=tuple(changes),
            files=tuple(sorted(f.filename for f in files)),
            left_out=tuple(left_out),
        )


def _first(rows, most: int) -> list:
    listed = []
    for row in rows:
        listed.append(row)
        if len(listed) >= most:
            break
    return listed


def _answer_of(name: str, ask: Callable):
    """An answer of the forge, with its errors as ours."""
    import github

    try:
        return ask()
    except github.UnknownObjectException as error:
        raise Unavailable(f"{name}: not there, or not for this token (HTTP 404)", 404) from error
    except github.GithubException as error:
        raise Unavailable(
            f"{name}: the forge answers HTTP {error.status}; run the same command later, what is captured stays",
            error.status or 0,
        ) from error


def _connection_class(session: NetworkSession, api: str):
    """What PyGithub takes for a connection. The last answer is kept a thread, as PyGithub shares
    one connection among all.
    """
    parts = urlsplit(api)

    class Connection(threading.local):
        def __init__(self, host, port=None, retry=None, pool_size=None, timeout=None, verify=True):
            self.host, self.answer = host, (0, {}, "")

        def request(self, verb, url, input, headers, stream=False):
            if verb != "GET" or input is not None:
                raise KbError(f"{verb} {url}: research only reads")
            address = url if "://" in url else f"{parts.scheme}://{parts.netloc}{url}"
            try:
                reply = session.get(
                    address, accept=headers.get("Accept", "application/vnd.github+json")
                )
            except Unavailable as error:
                if error.status in (0, 403, 429):
                    raise
                self.answer = (
                    error.status,
                    {"content-type": "application/json"},
                    '{"message": "Not Found"}' if error.status == 404 else "{}",
                )
            else:
                kept = {
                    k: v for k, v in reply.headers.items() if k in ("link", "content-type", "etag")
                }
                self.answer = (reply.status, kept, reply.body.decode("utf-8", "replace"))

        def getresponse(self):
            return self

        @property
        def status(self):
            return self.answer[0]

        def getheaders(self):
            return self.answer[1].items()

        def read(self):
            return self.answer[2]

        def close(self):
            self.answer = (0, {}, "")

    return Connection


class _Unpacked(gzip.GzipFile):
    """Refuses reads that no header and no file is worth: tarfile takes a header of any length into memory."""

    def read(self, size: int | None = -1) -> bytes:
        if size is None or not 0 <= size <= _MOST_FILE + tarfile.BLOCKSIZE:
            raise tarfile.ReadError(f"a header of {(size or -1) >> 20} MB")
        return super().read(size)


def _members(archive: bytes, name: str) -> Iterator[tuple[str, str]]:
    """Paths and texts of an archive's regular files; nothing is written to the disk. Raises KbError
    for an archive that is too much.
    """
    total = 0
    try:
        with tarfile.open(fileobj=_Unpacked(fileobj=io.BytesIO(archive)), mode="r:") as tar:
            for count, member in enumerate(tar):
                total += member.size
                if count > _MOST_MEMBERS or total > _MOST_ARCHIVE:
                    raise KbError(
                        f"{name}: its archive holds more than {_MOST_MEMBERS} files or {_MOST_ARCHIVE >> 20} MB; not read"
                    )
                if not member.isreg() or member.size > _MOST_FILE:
                    continue
                data = tar.extractfile(member).read()
                if b"\0" not in data:
                    yield member.name.partition("/")[2], data.decode("utf-8", "replace")
    except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError, RecursionError) as error:
        raise KbError(f"{name}: its archive does not read: {error}") from error
