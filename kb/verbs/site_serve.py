"""kb site serve [serve]: build the site and show it on this machine until interrupted; edits are shown as they are saved."""

import functools
import http.server
import io
import os
import threading
from dataclasses import dataclass, replace
from pathlib import Path

from kb import KbError, store
from kb.verbs import Caller, Result, option, text_result
from kb.verbs.site_build import render

FORMATS = ("text",)
# How long after a look at the files the next one is taken.
_PAUSE_S = 1.0
# A page of elsewhere whose name is made to lead here is told nothing.
_NAMES = ("127.0.0.1", "localhost", "[::1]")
_RELOAD = b'<script src="/kb-reload.js" defer></script></body>'
_SCRIPT = b"""(function(){"use strict";var known="";setInterval(function(){fetch("/kb-version",{cache:"no-store"}).then(function(r){return r.text()})
.then(function(v){if(known&&v!==known)location.reload();known=v}).catch(function(){})},1000)})();"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteServe:
    """Where it listens."""

    port: int = option("port on 127.0.0.1 (default 8000; 0 takes a free one)", default=8000)


class _Files(http.server.SimpleHTTPRequestHandler):
    """Files of one folder; says nothing of every request. A page gets the script that loads it again after an edit."""

    version = [0]

    def send_head(self):
        own = {
            "/kb-version": (b"%d" % self.version[0], "text/plain"),
            "/kb-reload.js": (_SCRIPT, "text/javascript"),
        }
        host = self.headers.get("Host", "")
        name, _, port = host.rpartition(":")
        if (name if name and port.isdigit() else host) not in _NAMES:
            return self.send_error(421, "asked by a name that is not this machine's")
        if self.path in own:
            return self._answer(*own[self.path])
        file = Path(self.translate_path(self.path))
        if not os.path.lexists(file):  # Also what is no name of a file, or too long for one.
            return self.send_error(404)
        file = (
            file / "index.html" if file.is_dir() and self.path.split("?")[0].endswith("/") else file
        )
        if file.suffix == ".html" and file.is_file():
            return self._answer(
                file.read_bytes().replace(b"</body>", _RELOAD), "text/html; charset=utf-8"
            )
        return super().send_head()

    def _answer(self, data: bytes, kind: str) -> io.BytesIO:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        return io.BytesIO(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


def run(request: SiteServe, caller: Caller) -> Result:
    folder = render(caller, out=None)
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
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            _watch(caller)
        except KeyboardInterrupt:
            pass
        server.shutdown()
    return text_result()


def _watch(caller: Caller) -> None:
    """Build again after every edit, until interrupted. What cannot be built is said, and the last site stays."""
    stop, before = threading.Event(), _look(caller.layout)
    while not stop.wait(_PAUSE_S):
        after = _look(caller.layout)
        if after == before:
            continue
        before = after
        try:
            render(replace(caller), out=None)  # With its settings as they are now.
            _Files.version[0] += 1
        except KbError as error:
            caller.talk(f"not built: {error}")


def _look(layout: store.Layout) -> tuple[int, int]:
    """How many files the wiki has, and when the last of them or the settings changed."""
    times = [os.stat(layout.root / "kb.toml").st_mtime_ns]
    for folder, names, files in os.walk(layout.wiki):
        names[:] = [n for n in names if not n.startswith(".")]
        for name in files:
            try:
                times.append(os.stat(os.path.join(folder, name)).st_mtime_ns)
            except OSError:
                continue  # It went away between the two looks.
    return len(times), hash(tuple(times))
