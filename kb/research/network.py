"""The network as research uses it: http(s) to public addresses, polite, bounded, conditional.
Refuses private addresses, also behind a redirect or a name.

Every client of this room goes through `Session`; nothing else opens a connection. Tokens go into
requests and nowhere else. For networks that are closed, a folder may mirror addresses.
"""

import hashlib
import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from kb import store
from kb.research.replies import HttpReply, NetworkRefusal, Unavailable, shown
from kb.source import masked
from kb.store import bytes_of

_TYPES = {
    ".pdf": "application/pdf",
    ".json": "application/json",
    ".xml": "application/atom+xml",
    ".md": "text/markdown",
    ".txt": "text/plain",
    ".gz": "application/gzip",
}


def mirrored(folder: Path, url: str) -> HttpReply:
    """A page of an offline mirror, as `wget --mirror` lays it out: `DIR/host/path`, with `?query`
    in the file's name.
    """
    parts = urlsplit(url)
    plain = f"{parts.hostname}{parts.path}".strip("/") + (f"?{parts.query}" if parts.query else "")
    for name in (plain, f"{plain}.html", f"{plain}/index.html"):
        file = folder / name
        if file.is_file() and file.resolve().is_relative_to(folder.resolve()):
            kind = _TYPES.get(file.suffix) or (
                "application/atom+xml" if "/api/query" in plain else "text/html"
            )
            return HttpReply(url, 200, {"content-type": kind}, bytes_of(file, declared=True))
    raise Unavailable(
        f"{shown(url)}: not in the mirror {folder}; `wget --mirror` brings it there", 404
    )


# What the services ask of their callers: arXiv one request in three seconds, others one a second
# from one caller.
INTERVALS = {
    "export.arxiv.org": 3.0,
    "arxiv.org": 3.0,
    "api.github.com": 0.0,
    "codeload.github.com": 0.0,
}
_AGAIN = (429, 500, 502, 503, 504)
_KEPT_HEADERS = ("etag", "last-modified", "content-type", "link", "x-github-media-type")
USER_AGENT = "kb-research/0.1 (polite capture of cited sources)"


@dataclass(frozen=True, slots=True)
class Access:
    """How the network is reached: hosts that may be private, intervals a host, a mirror folder
    instead of any network, tokens by host (never shown). One request is bounded by bytes after decompression
    (`size`), seconds in all, redirects, tries, and seconds to wait for a server's own limit (`patience`).
    """

    allow_hosts: tuple[str, ...] = ()
    intervals: tuple[tuple[str, float], ...] = ()
    interval: float = 1.0
    mirror: Path | None = None
    tokens: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    size: int = 32 << 20
    seconds: float = 90
    redirects: int = 5
    tries: int = 4
    patience: float = 120


def checked_address(url: str, access: Access) -> str:
    """The host of an address that kb may go to. Raises NetworkRefusal for another scheme, a user in
    the address, or a private address in numbers.
    """
    try:
        parts = urlsplit(url)
        host, _ = (parts.hostname or "").rstrip("."), parts.port
    except ValueError as error:
        raise NetworkRefusal(f"{url[:200]}: not an address: {error}") from error
    if parts.scheme not in ("http", "https") or not host:
        raise NetworkRefusal(f"{url[:200]}: only http and https are captured")
    if parts.username or parts.password:
        raise NetworkRefusal(
            f"{shown(url)}: an address with a user or password in it is refused; give a token by the environment"
        )
    if host in access.allow_hosts:
        return host
    try:
        _check_number(ipaddress.ip_address(host), host)
    except ValueError:
        if (
            host == "localhost"
            or host.endswith((".localhost", ".local", ".internal"))
            or "." not in host
        ):
            raise NetworkRefusal(
                f"{host}: a private host; `--allow-host {host}` lets kb go there"
            ) from None
    return host


# Addresses that a gateway turns into those of the old protocol (RFC 6052): what they lead to is in their last four bytes.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def _check_number(address: ipaddress.IPv4Address | ipaddress.IPv6Address, host: str) -> None:
    plain = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None) or address
    if plain in _NAT64:
        plain = ipaddress.IPv4Address(int(plain) & 0xFFFFFFFF)
    if not plain.is_global or plain.is_multicast:
        where = f"{host} is" if str(address) == host else f"{host} is {address},"
        raise NetworkRefusal(f"{where} a private address; `--allow-host {host}` lets kb go there")


def public_numbers(host: str, port: int, access: Access) -> list[str]:
    """The addresses of a host, each checked: the connection goes to one of these and asks no name
    again (DNS may answer differently next time).
    """
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise Unavailable(f"{host}: no such host ({error.strerror})") from error
    numbers = list(dict.fromkeys(row[4][0].partition("%")[0] for row in rows))
    if host not in access.allow_hosts:
        for number in numbers:
            _check_number(ipaddress.ip_address(number), host)
    return numbers


def _transport(access: Access, end: threading.local):
    """A transport of httpx whose connections go to checked addresses only, and end at the moment `end.at` of each thread."""
    import httpcore
    import httpx

    class BoundedStream(httpcore.NetworkStream):
        """A connection on which no server takes longer in all than a request may, however little it sends at a time."""

        def __init__(self, inner: httpcore.NetworkStream) -> None:
            self.inner, self.get_extra_info = inner, inner.get_extra_info

        def read(self, max_bytes, timeout=None):
            left = end.at - time.monotonic()
            if left <= 0:
                raise NetworkRefusal(f"took more than {access.seconds:.0f} s; not captured")
            return self.inner.read(max_bytes, min(left, timeout or left))

        def write(self, buffer, timeout=None):
            self.inner.write(buffer, timeout)

        def close(self):
            self.inner.close()

        def start_tls(self, ssl_context, server_hostname=None, timeout=None):
            return BoundedStream(self.inner.start_tls(ssl_context, server_hostname, timeout))

    class CheckedBackend(httpcore.SyncBackend):
        def connect_tcp(self, host, port, timeout=None, local_address=None, socket_options=None):
            failure: httpcore.ConnectError | None = None
            for number in public_numbers(host, port, access):
                try:
                    return BoundedStream(
                        super().connect_tcp(number, port, timeout, local_address, socket_options)
                    )
                except httpcore.ConnectError as error:
                    failure = error
            raise failure or httpcore.ConnectError(host)

        def connect_unix_socket(self, path, timeout=None, socket_options=None):
            raise NetworkRefusal("sockets of this machine are not captured")

    transport = httpx.HTTPTransport(verify=True, retries=0)
    transport._pool = httpcore.ConnectionPool(
        ssl_context=httpx.create_ssl_context(), network_backend=CheckedBackend(), max_connections=8
    )
    return transport


class NetworkSession:
    """Open connections, the pace of each host, and what was fetched before. Safe for a pool of
    threads.
    """

    def __init__(
        self, access: Access, cache: Path, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.access, self.cache, self.sleep = access, cache, sleep
        self.requests = 0
        self._next: dict[str, float] = {}
        self._guard = threading.Lock()
        self._end = threading.local()
        self._http = None

    def __enter__(self) -> "NetworkSession":
        return self

    def __exit__(self, *_: object) -> None:
        if self._http is not None:
            self._http.close()

    def get(self, url: str, *, accept: str = "*/*", size: int = 0, tries: int = 0) -> HttpReply:
        """One address fetched, redirects checked and followed. Raises NetworkRefusal, and
        Unavailable for 4xx and 5xx.
        """
        if self.access.mirror:
            return mirrored(self.access.mirror, url)
        kept = self._kept(url, accept)
        for attempt in range(tries or self.access.tries):
            reply = self._once(url, accept, kept, size or self.access.size)
            if reply.status == 304 and kept:
                return HttpReply(kept.url, 200, kept.headers, kept.body)
            if reply.status < 400:
                self._keep(url, accept, reply)
                return reply
            wait = _wait_of(reply, attempt)
            if wait is None or attempt + 1 == (tries or self.access.tries):
                break
            if wait > self.access.patience:
                raise Unavailable(
                    f"{shown(url)}: the server asks to wait {wait:.0f} s; run the same command then, what is captured stays",
                    reply.status,
                )
            self.sleep(wait)
        raise Unavailable(f"{shown(url)}: HTTP {reply.status}", reply.status)

    def _once(self, url: str, accept: str, kept: HttpReply | None, size: int) -> HttpReply:
        headers = {"user-agent": USER_AGENT, "accept": accept, "accept-encoding": "gzip, deflate"}
        if kept:
            headers |= {
                h: kept.headers[k]
                for h, k in (("if-none-match", "etag"), ("if-modified-since", "last-modified"))
                if k in kept.headers
            }
        for _ in range(self.access.redirects + 1):
            host = checked_address(url, self.access)
            token = dict(self.access.tokens).get(host)
            reply = self._fetch(
                url, headers | ({"authorization": f"Bearer {token}"} if token else {}), size
            )
            if reply.status not in (301, 302, 303, 307, 308) or "location" not in reply.headers:
                return reply
            target = urljoin(url, reply.headers["location"])
            if urlsplit(url).scheme == "https" and urlsplit(target).scheme == "http":
                raise NetworkRefusal(f"{shown(url)}: leads from https to http; refused")
            url = target
        raise NetworkRefusal(f"{shown(url)}: more than {self.access.redirects} redirects")

    def _fetch(self, url: str, headers: Mapping[str, str], size: int) -> HttpReply:
        import httpx

        self._pace(urlsplit(url).hostname or "")
        self._end.at = time.monotonic() + self.access.seconds
        try:
            with self._client().stream("GET", url, headers=dict(headers)) as answer:
                if "," in answer.headers.get("content-encoding", ""):
                    raise NetworkRefusal("compressed more than once; not captured")
                body = bytearray()
                for chunk in answer.iter_bytes():
                    body += chunk
                    if len(body) > size:
                        raise NetworkRefusal(
                            f"more than {size >> 20} MB (after decompression); not captured"
                        )
                return HttpReply(
                    url,
                    answer.status_code,
                    {k.lower(): v for k, v in answer.headers.items()},
                    bytes(body),
                )
        except NetworkRefusal as refused:
            raise NetworkRefusal(f"{shown(url)}: {refused}") from refused
        except httpx.DecodingError as error:
            raise NetworkRefusal(f"{shown(url)}: its compression does not read: {error}") from error
        except httpx.HTTPError as error:
            raise Unavailable(f"{shown(url)}: no answer ({type(error).__name__})") from error

    def _client(self):
        import httpx

        with self._guard:
            if self._http is None:
                seconds = min(30.0, self.access.seconds)
                self._http = httpx.Client(
                    transport=_transport(self.access, self._end),
                    timeout=seconds,
                    follow_redirects=False,
                    trust_env=False,
                )
        return self._http

    def _pace(self, host: str) -> None:
        interval = dict(self.access.intervals).get(host, INTERVALS.get(host, self.access.interval))
        with self._guard:
            self.requests += 1
            start = max(time.monotonic(), self._next.get(host, 0.0))
            self._next[host] = start + interval
        if (wait := start - time.monotonic()) > 0:
            self.sleep(wait)

    def _place(self, url: str, accept: str) -> Path:
        return self.cache / hashlib.sha256(f"{accept} {url}".encode()).hexdigest()[:32]

    def _kept(self, url: str, accept: str) -> HttpReply | None:
        place = self._place(url, accept)
        try:
            head = store.bytes_of(place.with_suffix(".json"))
            url, headers, digest = store.from_json(head, _CacheHead)
            body = store.bytes_of(place.with_suffix(".body"))
        except (OSError, ValueError):
            return None
        whole = hashlib.sha256(body).hexdigest() == digest
        return HttpReply(url, 200, headers, body) if whole else None

    def _keep(self, url: str, accept: str, reply: HttpReply) -> None:
        """Keep what the server can be asked about again; the cache may be deleted at any time."""
        headers = {k: v for k, v in reply.headers.items() if k in _KEPT_HEADERS}
        if reply.status == 200 and ("etag" in headers or "last-modified" in headers):
            place, body = self._place(url, accept), reply.body
            if reply.media_type.startswith("text/") or "json" in reply.media_type:
                # A secret in a diff is kept nowhere, not here either.
                plain = masked(body.decode("utf-8", "surrogateescape"))
                body = plain.encode("utf-8", "surrogateescape")
            store.write(place.with_suffix(".body"), body, durable=False)
            head = (shown(reply.url), headers, hashlib.sha256(body).hexdigest())
            store.write(place.with_suffix(".json"), store.packed(head), durable=False)


# What the cache keeps of an answer beside its body: address, headers, and sha256 of the body.
_CacheHead = tuple[str, dict[str, str], str]


def _wait_of(reply: HttpReply, attempt: int) -> float | None:
    """Seconds after which a server may be asked again, as it says itself, else doubling; None where
    asking again is no use.
    """
    spent = reply.headers.get("x-ratelimit-remaining") == "0"
    if reply.status not in _AGAIN and not (
        reply.status == 403 and (spent or "retry-after" in reply.headers)
    ):
        return None
    after = reply.headers.get("retry-after", "")
    if after.isdigit():
        return float(after)
    if spent and reply.headers.get("x-ratelimit-reset", "").isdigit():
        return max(1.0, float(reply.headers["x-ratelimit-reset"]) - time.time())
    return 2.0**attempt
