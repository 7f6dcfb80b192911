"""`kb site build|serve`: the knowledge base as pages to browse."""

import argparse
import sys
from pathlib import Path

from kb import store


def arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="build|serve")
    building = actions.add_parser("build", help="render site/docs and build it into site/html")
    building.add_argument("--out", type=Path, metavar="DIR", help="build into this folder instead of site/html")
    building.add_argument(
        "--render-only", action="store_true", help="stop after site/docs and site/mkdocs.yml; any renderer can go on from there"
    )
    building.add_argument("--strict", action="store_true", help="fail on any warning of MkDocs")
    serving = actions.add_parser("serve", help="build the site and show it on this machine until interrupted")
    serving.add_argument("--port", type=int, default=8000, help="port on 127.0.0.1 (default 8000; 0 takes a free one)")


def run(args: argparse.Namespace) -> int:
    from kb import site
    from kb.build import build

    layout = store.layout_at(Path.cwd())
    build(layout, note=_say)
    with store.lock(layout, "site"):
        db = store.state(layout)
        try:
            report = site.render(layout, db, note=_say)
        finally:
            db.close()
        _say(f"{report.pages} pages in {report.files} files of site/docs: {report.written} written, {report.removed} removed")
        if args.action == "build" and args.render_only:
            print("site/mkdocs.yml")
            return 0
        out = args.out.resolve() if args.action == "build" and args.out else layout.site / "html"
        built = site.publish(layout, report, out=out, strict=args.action == "build" and args.strict)
        _say("built anew" if built else "nothing changed since it was built")
    if args.action == "serve":
        return _serve(out, args.port)
    print(_short(out / "index.html", layout.root))
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _short(path: Path, root: Path) -> Path:
    return path.relative_to(root) if path.is_relative_to(root) else path


def _serve(folder: Path, port: int) -> int:
    import functools
    import http.server

    from kb import KbError

    class Quiet(http.server.SimpleHTTPRequestHandler):
        """Files of one folder; says nothing of every request."""

        def log_message(self, format: str, *args: object) -> None:
            pass

    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), functools.partial(Quiet, directory=folder))
    except (OSError, OverflowError) as error:
        raise KbError(
            f"cannot listen on 127.0.0.1:{port}: {getattr(error, 'strerror', None) or error}; give another --port"
        ) from error
    with server:
        print(f"http://127.0.0.1:{server.server_address[1]}/ (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0
