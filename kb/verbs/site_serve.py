"""kb site serve [serve]: build the site and show it on this machine until interrupted."""

import functools
import http.server
from dataclasses import dataclass

from kb import KbError
from kb.verbs import Caller, Result, option
from kb.verbs.site_build import render


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteServe:
    """Where it listens."""

    port: int = option("port on 127.0.0.1 (default 8000; 0 takes a free one)", default=8000)


@dataclass(frozen=True, slots=True)
class Served(Result):
    """Nothing is left to say when serving ends."""

    formats = ("text",)

    def to_text(self) -> str:
        return ""


class _Files(http.server.SimpleHTTPRequestHandler):
    """Files of one folder; says nothing of every request."""

    def log_message(self, format: str, *args: object) -> None:
        pass


def run(request: SiteServe, caller: Caller) -> Served:
    layout = caller.layout()
    folder = layout.site / "html"
    render(layout, caller, out=folder, strict=False)
    try:
        server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", request.port), functools.partial(_Files, directory=folder)
        )
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise KbError(
            f"cannot listen on 127.0.0.1:{request.port}: {reason}; give another --port"
        ) from error
    with server:
        caller.data(f"http://127.0.0.1:{server.server_address[1]}/ (Ctrl-C ends it)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass
    return Served()
