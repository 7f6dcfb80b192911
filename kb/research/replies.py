"""What a server answered, or why it did not; an address as it may be shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from kb import KbError


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What a server answered; the body from before where it said that nothing has changed."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class NetworkRefusal(KbError):
    """An address that kb does not go to, or an answer that it does not take."""


class Unavailable(KbError):
    """A server that answers with an error; trying again later may help. `status` is what it said, 0
    where there was no answer.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


def shown(url: str) -> str:
    """An address without what may be secret in it: user, password, query values."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    query = "&".join(
        p if "token" not in p.lower() and "key" not in p.lower() else p.partition("=")[0] + "=…"
        for p in parts.query.split("&")
    )
    return urlunsplit(
        (parts.scheme, f"{host}:{parts.port}" if parts.port else host, parts.path, query, "")
    )
