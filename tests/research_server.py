"""A server on loopback that answers as arXiv, GitHub and plain sites do: Atom pages, REST with paging and limits, HTML, PDF."""

import contextlib
import gzip
import hashlib
import io
import json
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit


class Site:
    """`routes`: path -> (status, headers, body) or a function of the query that gives one. `log` has every request in order."""

    def __init__(self):
        self.routes, self.log, self.headers = {}, [], []
        self.failures: list[tuple[int, dict, bytes]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                parts = urlsplit(self.path)
                site.log.append(self.path)
                site.headers.append({name.title(): value for name, value in self.headers.items()})
                if site.failures and not parts.path.endswith("robots.txt"):
                    status, headers, body = site.failures.pop(0)
                else:
                    route = site.routes.get(unquote(parts.path), (404, {}, b"not here"))
                    status, headers, body = route(parse_qs(parts.query)) if callable(route) else route
                body = body.encode() if isinstance(body, str) else body
                etag = f'"{hashlib.sha256(body).hexdigest()[:12]}"'
                if status == 200 and self.headers.get("If-None-Match") == etag:
                    status, body = 304, b""
                self.send_response(status)
                for name, value in ({"ETag": etag} if status in (200, 304) else {} ).items() | headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # A client that has enough goes away.
                    self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        self.base = f"http://127.0.0.1:{self.server.server_port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


HTML = {"Content-Type": "text/html; charset=utf-8"}
ATOM = {"Content-Type": "application/atom+xml; charset=UTF-8"}
JSON = {"Content-Type": "application/json; charset=utf-8"}


def entry(id, version=1, title="Fused Passes Save Memory Traffic", summary="We fuse two\n  passes into one and gain 2.5 % tokens/s."):
    return f"""<entry><id>http://arxiv.org/abs/{id}v{version}</id><updated>2024-02-0{version}T00:00:00Z</updated><published>2024-01-01T00:00:00Z</published>
<title>{title}</title><summary>  {summary} </summary><author><name>A. Author</name></author><author><name>B. Other</name></author>
<arxiv:comment xmlns:arxiv="http://arxiv.org/schemas/atom">9 pages</arxiv:comment>
<link href="http://arxiv.org/abs/{id}v{version}" rel="alternate" type="text/html"/><link title="pdf" href="http://arxiv.org/pdf/{id}v{version}" rel="related" type="application/pdf"/>
<arxiv:primary_category xmlns:arxiv="http://arxiv.org/schemas/atom" term="cs.LG" scheme="http://arxiv.org/schemas/atom"/><category term="cs.LG" scheme="http://arxiv.org/schemas/atom"/></entry>"""


def feed(entries, total=None, start=0):
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><title type="html">ArXiv Query</title><id>http://arxiv.org/api/x</id><updated>2024-01-01T00:00:00-05:00</updated>
<opensearch:totalResults xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">{len(entries) if total is None else total}</opensearch:totalResults>
<opensearch:startIndex xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">{start}</opensearch:startIndex>
<opensearch:itemsPerPage xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">{len(entries)}</opensearch:itemsPerPage>{''.join(entries)}</feed>"""


PAPER = """<!DOCTYPE html><html><head><title>Fused Passes</title></head><body><article class="ltx_document"><h1 class="ltx_title ltx_title_document">Fused Passes Save Memory Traffic</h1>
<section class="ltx_section"><h2 class="ltx_title ltx_title_section">1 Introduction</h2><div class="ltx_para"><p class="ltx_p">Softmax makes three passes over
<math class="ltx_Math" alttext="O(n^{2})" display="inline"><mi>O</mi></math> values. We make one pass, as described by Dao et al. in their earlier paper on attention.</p></div></section>
<section class="ltx_section"><h2 class="ltx_title ltx_title_section">2 Results</h2><p class="ltx_p">Table 1 gives the throughput that we measured on one processor with eight threads.</p>
<figure class="ltx_table"><table class="ltx_tabular"><thead><tr><th>Kernel</th><th>tok/s</th></tr></thead><tbody><tr><td>three passes</td><td>48.90</td></tr><tr><td>one pass</td><td>49.33</td></tr></tbody></table></figure></section>
<section class="ltx_bibliography"><h2 class="ltx_title">References</h2><ul class="ltx_biblist"><li class="ltx_bibitem">T. Dao et al. FlashAttention. arXiv:2205.14135, 2022.</li></ul></section></article></body></html>"""
ABSTRACT = '<html><head><title>[2401.00001] Fused</title></head><body><p>Abstract page of a paper</p><a rel="license" href="http://creativecommons.org/licenses/by/4.0/">licence</a></body></html>'


def pdf_of(pages, *, across=False):
    """A PDF with these pages, each a list of (x, y, text) drawn in that order in Helvetica of 10 points."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    kids = []
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
    objects.append(font)
    for lines in pages:
        body = b"BT /F1 10 Tf " + b" ".join(b"1 0 0 1 %d %d Tm (%s) Tj" % (x, y, t.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")) for x, y, t in lines) + b" ET"
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(body), body))
        objects.append(b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>" % len(objects))
        kids.append(len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(b"%d 0 R" % k for k in kids))
    out, places = io.BytesIO(), []
    out.write(b"%PDF-1.4\n")
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + b"".join(b"%010d 00000 n \n" % p for p in places))
    out.write(b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))
    return out.getvalue()


def pdf_with(content=b"BT /F1 10 Tf 72 700 Td (Seen by all who read it) Tj ET\n", *, page=b"", root=b"", coding=b"", more=(), xref=True):
    """A PDF of one page as bytes say it: its content, what stands beside it in page and catalogue, further objects from the sixth on, and a place of the table that is wrong."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R %s >>" % root, b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R /Resources << /Font << /F1 4 0 R >> /XObject << /X 6 0 R >> >> %s >>" % page]
    objects += [b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>", b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), coding, content), *more]
    out = b"%PDF-1.7\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + b"xref\n0 %d\n0000000000 65535 f \n%strailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table, len(objects) + 1, len(out) if xref else 9**9)


UPSTREAM = {
    "ops.c": "#include \"ops.h\"\n\nvoid softmax_row(float *out, const float *in, int n, float scale) {\n    memcpy(out, in, n * sizeof(float));\n    vec_scale(out, n, scale);\n    vec_softmax(out, n);\n}\n",
    "README.md": "# engine\n\nMeasures tokens/s; throughput is what counts.\n",
}
FUSED = {
    "filename": "ops.c", "status": "modified", "additions": 3, "deletions": 2, "changes": 5, "sha": "f" * 40,
    "blob_url": "https://x", "raw_url": "https://x", "contents_url": "https://x",
    "patch": "@@ -3,5 +3,7 @@ void softmax_row(float *out, const float *in, int n, float scale) {\n-    memcpy(out, in, n * sizeof(float));\n-    vec_scale(out, n, scale);\n+    fused_scale_copy(out, in, n, scale);\n+    // one pass over memory\n+#define FUSED_TILE 64\n+#define KEY \"hf_ZqZqZqZqZqZqZqZqZqZqZqZqZqZqZqZqZqZq\"\n     vec_softmax(out, n);",
}


def github(site, *, owner="up", repo="engine"):
    """Routes of one repository with three forks (one alive and ahead, one never pushed to, one gone) and two pull requests."""
    base = f"/repos/{owner}/{repo}"
    url = site.base

    def user(name):
        return {"login": name, "id": 1, "url": f"{url}/users/{name}", "type": "User"}

    def repository(owner, pushed, stars):
        return {"id": stars, "name": repo, "full_name": f"{owner}/{repo}", "owner": user(owner), "private": False, "fork": True, "url": f"{url}/repos/{owner}/{repo}", "default_branch": "main",
                "stargazers_count": stars, "created_at": "2026-01-01T00:00:00Z", "pushed_at": pushed, "updated_at": pushed, "description": None}

    def commit(sha, message):
        return {"sha": sha, "url": f"{url}{base}/commits/{sha}", "commit": {"message": message, "author": {"name": "a", "date": "2026-02-01T00:00:00Z"}}, "parents": [{"sha": "b" * 40}]}

    def pull(number, merged):
        return {"id": number, "number": number, "state": "closed" if merged else "open", "title": "perf: fuse scale and copy" if number == 7 else "docs: say more", "body": "48.90 -> 49.33 tok/s on one core",
                "url": f"{url}{base}/pulls/{number}", "merged_at": "2026-03-01T00:00:00Z" if merged else None, "updated_at": "2026-03-02T00:00:00Z", "head": {"sha": str(number) * 40, "ref": "x"}, "base": {"sha": "b" * 40, "ref": "main"}}

    def paged(rows):
        def answer(query):
            page = int(query.get("page", ["1"])[0])
            link = {"Link": f'<{url}{base}/forks?per_page=100&page={page + 1}>; rel="next", <{url}{base}/forks?page=2>; rel="last"'} if page < len(rows) else {}
            return 200, JSON | link, json.dumps(rows[page - 1])
        return answer

    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for name, text in UPSTREAM.items():
            info = tarfile.TarInfo(f"up-engine-abc/{name}")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
        link = tarfile.TarInfo("up-engine-abc/../../../evil")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    ahead = {"url": f"{url}{base}/compare/x", "status": "ahead", "ahead_by": 1, "behind_by": 0, "total_commits": 1, "merge_base_commit": commit("b" * 40, "base"), "base_commit": commit("b" * 40, "base"),
             "commits": [commit("c" * 40, "fuse scale and copy into one pass\n\n48.90 -> 49.33 tok/s")], "files": [FUSED, {**FUSED, "filename": "vendor/x.c"}, {k: v for k, v in FUSED.items() if k != "patch"} | {"filename": "model.bin"}]}
    site.routes |= {
        base: (200, JSON, json.dumps(repository(owner, "2026-03-01T00:00:00Z", 9))),
        f"{base}/branches/main": (200, JSON, json.dumps({"name": "main", "commit": commit("a" * 40, "head"), "protected": False})),
        f"{base}/tarball/{'a' * 40}": (302, {"Location": f"{url}/archive"}, b""),
        "/archive": (200, {"Content-Type": "application/x-gzip"}, archive.getvalue()),
        f"{base}/forks": paged([[repository("alive", "2026-03-01T00:00:00Z", 5), repository("idle", "2025-12-01T00:00:00Z", 0)], [repository("gone", "2026-02-01T00:00:00Z", 1)]]),
        f"{base}/pulls": (200, JSON, json.dumps([pull(7, False), pull(8, True)])),
        **{f"{base}/pulls/{n}": (200, JSON, json.dumps(pull(n, n == 8))) for n in (7, 8)},
        f"{base}/pulls/7/files": (200, JSON, json.dumps([FUSED])),
        f"{base}/pulls/8/files": (200, JSON, json.dumps([{**FUSED, "filename": "README.md", "patch": "@@ -1,3 +1,4 @@\n # engine\n+More words about the engine.\n"}])),
        **{f"{base}/pulls/{n}/commits": (200, JSON, json.dumps([commit(str(n) * 40, "perf: fuse" if n == 7 else "docs: more")])) for n in (7, 8)},
        f"{base}/compare/{'a' * 40}...alive:main": (200, JSON, json.dumps(ahead)),
    }


def bomb(megabytes=64):
    return gzip.compress(b"\0" * (megabytes << 20))
