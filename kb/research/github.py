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
from itertools import islice
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
_READ_HEADERS = ("link", "content-type", "etag")
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
        every = islice(self.repository.get_forks(), 10 * most)
        forks = [f for f in every if f.pushed_at and f.created_at and f.pushed_at > f.created_at]
        forks.sort(key=lambda f: (-f.stargazers_count, -f.pushed_at.timestamp(), f.full_name))
        pulls = self.repository.get_pulls(state="all", sort="updated", direction="desc")
        day = lambda moment: moment.date().isoformat()  # noqa: E731
        return (
            *(
                Head(f.full_name, f"{f.owner.login}:{f.default_branch}", 0, False, day(f.pushed_at))
                for f in forks[:most]
            ),
            *(
                Head(f"pull/{p.number}", p.head.sha, p.number, bool(p.merged_at), day(p.updated_at))
                for p in islice(pulls, most)
            ),
        )

    def delta(self, head: Head) -> Delta | None:
        """One head compared with upstream; None where it is not ahead. A pull request is asked for
        itself: its fork may be gone.
        """
        return _answer_of(head.name, lambda: self._delta(head))

    def _delta(self, head: Head) -> Delta | None:
        if head.number:
            pull = self.repository.get_pull(head.number)
            files, commits = list(pull.get_files()), list(pull.get_commits())
            base, sha = pull.base.sha, pull.head.sha
            messages = [(sha, f"{pull.title}\n\n{pull.body or ''}")]
        else:
            compared = self.repository.compare(self.head, head.spec)
            if not compared.ahead_by:
                return None
            files, commits = compared.files, list(compared.commits)
            base, sha = compared.merge_base_commit.sha, commits[-1].sha if commits else ""
            messages = []
        own = [(c.sha, c.commit.message) for c in reversed(commits) if len(c.parents) < 2]
        changes, left_out = [], []
        for f in files:
            vendored = role_of(f.filename) == "vendored"
            if f.patch and not vendored:
                state, before = _STATES.get(f.status, "changed"), f.previous_filename or f.filename
                changes.append(file_change(f.filename, before, state, masked(f.patch)))
            else:
                why = "vendored" if vendored else "binary or large"
                left_out.append(f"{f.filename}: {why}, {f.changes} lines")
        return Delta(
            fork=head.name,
            head=sha,
            base=base,
            merged=head.merged,
            date=head.pushed,
            commits=tuple((sha, masked(text)) for sha, text in own + messages),
            changes=tuple(changes),
            files=tuple(sorted(f.filename for f in files)),
            left_out=tuple(left_out),
        )


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
            self.host, self.status, self.headers, self.text = host, 0, {}, ""

        def request(self, verb, url, input, headers, stream=False):
            if verb != "GET" or input is not None:
                raise KbError(f"{verb} {url}: research only reads")
            address = url if "://" in url else f"{parts.scheme}://{parts.netloc}{url}"
            accept = headers.get("Accept", "application/vnd.github+json")
            try:
                reply = session.get(address, accept=accept)
                self.status, self.text = reply.status, reply.body.decode("utf-8", "replace")
                self.headers = {k: v for k, v in reply.headers.items() if k in _READ_HEADERS}
            except Unavailable as error:
                if error.status in (0, 403, 429):
                    raise
                self.status, self.headers = error.status, {"content-type": "application/json"}
                self.text = '{"message": "Not Found"}' if error.status == 404 else "{}"

        def getresponse(self):
            return self

        def getheaders(self):
            return self.headers.items()

        def read(self):
            return self.text

        def close(self):
            self.text = ""

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
