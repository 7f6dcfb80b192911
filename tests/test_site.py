"""The site: what is rendered, that nothing of a page runs, that only what changed is written, and how it works in a browser."""

import functools
import html.parser
import http.server
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies

from kb import KbError, site, store
from kb.build import build
from kb.page import read
from kb.site import config
from kb.site.html import Destination, markdown_of, parts_of
from kb.site.pages import plain_title
from kb.site.places import site_paths, url_between

CHROMIUM = next((p for p in ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome") if os.path.exists(p)), None)
mkdocs = pytest.mark.skipif(shutil.which("mkdocs", path=Path(sys.executable).parent) is None, reason="the site extra is not installed")


def shown(text: str, links: dict[str, Destination] | None = None) -> str:
    """What a body becomes, as text for the renderer."""
    page = read("wiki/a.md", text.encode())
    return "\n\n".join(markdown_of(parts_of(text, slugs=tuple(h.slug for h in page.headings), links=links or {})))


def write(root: Path, pages: dict[str, str]) -> store.Layout:
    for path, text in {"kb.toml": '[kb]\nname = "Tiny"\n', **pages}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return store.layout_at(root)


def rendered(layout: store.Layout) -> site.Report:
    build(layout)
    db = store.state(layout)
    try:
        return site.render(layout, db)
    finally:
        db.close()


def doc(layout: store.Layout, place: str) -> str:
    return (layout.site / "docs" / place).read_text(encoding="utf-8")


def experiment(number: int, verdict: str, *, target: str = "alpha", metric: float = 10.0, extra: str = "") -> str:
    return (f"---\ntitle: Try {number}\ntype: experiment\ntarget: {target}\nverdict: {verdict}\nlevers: ['block={number}']\n"
            f"metrics: {{latency: {{value: {metric}, unit: ms, direction: lower}}}}\ntags: [tiling]\n---\n# Try {number}\n\n"
            f"## Hypothesis under test\n\n**Hypothesis**: a block of {number} is faster.\n\n## Verdict\n\n{verdict.capitalize()}: measured {metric} ms.\n{extra}")


SMALL = {
    "wiki/index.md": "---\ntitle: All pages\ntype: index\n---\n# All pages\n\n- [Tiling](concepts/tiling.md)\n",
    "wiki/targets/alpha.md": "---\ntitle: The alpha kernel\ntype: target\ntarget: alpha\nmetric: {name: latency, unit: ms, direction: lower}\n---\n# The alpha kernel\n\nFast.\n",
    "wiki/concepts/tiling.md": "---\ntitle: Tiling\ntype: concept\ntags: [tiling, memory]\n---\n# Tiling\n\nA zyzzyva of a word. See [try](../experiments/alpha/2026-01-02-v002-b.md#verdict).\n",
    "wiki/experiments/alpha/2026-01-01-v001-a.md": experiment(1, "supported", metric=9.5),
    "wiki/experiments/alpha/2026-01-02-v002-b.md": experiment(2, "refuted", metric=12.25, extra="\nSee [tiling](../../concepts/tiling.md).\n"),
    "wiki/experiments/alpha/2026-01-03-v003-c.md": experiment(3, "refuted", metric=101),
    "wiki/experiments/alpha/2026-01-04-v004-d.md": experiment(4, "inconclusive", metric=9.6),
    "wiki/experiments/alpha/2026-01-05-v005-e.md": experiment(5, "crash", metric=0.5),
    "wiki/experiments/alpha/2026-01-06-v006-f.md": experiment(6, "supported", metric=8),
}


@pytest.mark.parametrize("hostile", [
    "<script>alert(1)</script>", "text <img src=x onerror=alert(1)> text", "<svg/onload=alert(1)>", "<iframe src='javascript:alert(1)'></iframe>",
    "<details open ontoggle=alert(1)><summary>x</summary></details>", "<br onclick=alert(1)>", "<a id='x' onmouseover=alert(1)>y</a>", "<b onfocus=alert(1)>x</b>",
    "para <a href='javascript:alert(1)'>x</a>", "<style>*{display:none}</style>", "<!-- c --><script>alert(1)</script>", "<math><mtext><script>alert(1)</script></mtext></math>",
    "| <script>alert(1)</script> |\n|---|\n| <img src=x onerror=alert(1)> |", "- <script>\n  alert(1)\n  </script>", "> <script>alert(1)</script>",
])
def test_raw_html_is_shown_as_text(hostile):
    made = shown(hostile)
    for tag in ("<script", "<img", "<svg", "<iframe", "<style", "<math", "<a "):
        assert tag not in made
    assert not any(word in tag.split(">")[0] for tag in made.split("<")[1:] if ">" in tag for word in (" on", " open"))


@pytest.mark.parametrize("href", ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,<script>alert(1)</script>", "vbscript:x", "file:///etc/passwd", "java\tscript:alert(1)"])
def test_a_link_that_would_run_something_is_no_link(href, tmp_path):
    layout = write(tmp_path, {"wiki/a.md": f"# A\n\n[click](<{href}>) ![pic](<{href}>) <{href}>\n"})
    rendered(layout)
    assert "<a " not in doc(layout, "a.md").split('class="kb-text"', 1)[1].split("Source:")[0]


def test_harmless_tags_pass_only_bare_and_in_pairs():
    assert "H<sub>2</sub>O<br>" in shown("H<sub class=x>2</sub>O<br/>")
    assert "&lt;sub&gt;open" in shown("<sub>open")
    assert "&lt;/div&gt;" in shown("a</div>b")
    folded = shown("<details>\n<summary>More</summary>\n\n## Inside\n\n- item\n\n</details>\n\nafter\n")
    assert "<details>" in folded and "</details>" in folded and '<h2 id="inside">' in folded
    assert "&lt;details&gt;" in shown("<details>\n\nnever closed\n")
    assert "secret" not in shown("a <!-- secret --> b\n\n<!-- kb:auto secret -->\ntext\n<!-- /kb:auto -->\n")


HEADING = "# a {: onclick=x } `b_c` *d* [e](f) <script> \\* ![i](x) {#own}\n"


def test_headings_mean_nothing_to_the_renderer_but_their_text():
    line = shown(HEADING, {"f": Destination("page", "f.html")})
    assert line.startswith('# <span id="own"></span>a &#123;&#58; onclick&#61;x &#125; <code>b&#95;c</code> <em>d</em> <a href="f.html">e</a> &lt;script&gt;')
    markdown = pytest.importorskip("markdown")
    assert markdown.markdown(line, extensions=["attr_list", "toc"]).split(">", 1)[0] == f'<h1 id="{read("wiki/a.md", HEADING.encode()).headings[0].slug}"'


def test_code_comes_out_byte_for_byte():
    markdown = pytest.importorskip("markdown")
    code = "\n\n\tall:\n\t\tmake  \n   \n<script>{{ x }} {% y %} [TOC] *a* &amp; \\_\n````\n\n"
    made = markdown.markdown(shown(f"`````\n{code}`````\n"), extensions=["attr_list", "toc"])
    assert html.unescape(made.split("<code>", 1)[1].split("</code>", 1)[0]) == code


def test_a_list_glued_to_a_paragraph_is_a_list():
    markdown = pytest.importorskip("markdown")
    assert markdown.markdown(shown("text\n- one\n- two\n")).count("<li>") == 2


ALLOWED = {
    "a": {"href", "title", "rel", "class"}, "span": {"class", "id", "title"}, "div": {"class"}, "p": {"class"}, "img": {"src", "alt", "loading"}, "ol": {"start"},
    "th": {"style"}, "td": {"style"}, **{f"h{n}": {"id"} for n in range(1, 7)},
}
PLAIN = {*["pre", "code", "ul", "li", "em", "strong", "s", "del", "sub", "sup", "kbd", "b", "i", "br", "hr", "blockquote", "table", "thead", "tbody", "tr", "details", "summary", "ins", "mark", "small"]}
NASTY = ["<script>", "</script>", "<details>", "</details>", "<summary>", "<div>", "</div>", "<b>", "</b>", "<sub>", "</sub>", "<a id='x'>", "</a>", "<br>", "<!--", "-->", "<img src=x onerror=y>",
         "<?php ", "?>", "<![CDATA[", "]]>", "<!DOCTYPE x>", "\n", "\n\n", "# ", "## ", "- ", "> ", "> [!note] ", "1. ", "    ", "\t", "```", "~~~", "`", "``", "*", "**", "_", "[", "](", ")", "![", "x",
         "[a](javascript:b)", "[a](b.md)", "<http://e.org>", "{: onclick=x }", "{#i}", "|", "\n|---|---|\n", "&lt;", "&#60;", "&", "<", ">", "\"", "'", "\\", "\x02", "\x03", "\x02wzxhzdk:0\x03", "[TOC]",
         "{{ x }}", "{% y %}", "http://e.org/<b", "===", "---", "word word", "\u2028", "é", "</p>", "<p>", "[x]: javascript:y\n"]


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(strategies.lists(strategies.sampled_from(NASTY), max_size=25).map("".join))
def test_whatever_a_page_holds_only_harmless_markup_comes_out(text):
    markdown = pytest.importorskip("markdown")
    made = markdown.markdown(shown(text, {"b.md": Destination("page", "b.html"), "http://e.org": Destination("web", "http://e.org")}), extensions=["attr_list", "toc"])
    wrong = []
    depth = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs):
            if tag not in PLAIN and tag not in ALLOWED or {k for k, _ in attrs} - ALLOWED.get(tag, set()):
                wrong.append((tag, attrs))
            if any(k in ("href", "src") and ":" in (v or "") and not v.startswith("http") for k, v in attrs):
                wrong.append((tag, attrs))
            if tag not in ("br", "img", "hr"):
                depth.append(tag)

        def handle_endtag(self, tag):
            if tag not in ("br", "img", "hr") and (not depth or depth.pop() != tag):
                wrong.append(("unbalanced", tag))

        def handle_comment(self, data):
            wrong.append(("comment", data))

        handle_decl = handle_pi = unknown_decl = handle_comment

    reader = Reader()
    reader.feed(made)
    reader.close()
    assert wrong == [] and depth == [], made


def test_callouts_become_admonitions_and_tasks_become_boxes():
    made = shown("> [!warning] Mind *this*\n> body\n\n> [!CAUTION]\n> hot\n\n- [ ] open\n- [x] done\n")
    assert '<div class="admonition warning"><p class="admonition-title">Mind <em>this</em></p>' in made
    assert '<div class="admonition danger"><p class="admonition-title">Caution</p>' in made and "☐ open" in made and "☑ done" in made


def test_a_title_cannot_break_out_of_a_template():
    title = plain_title('</title><script>alert("x")</script> & \'y\' {{ z }} &lt;b&gt;\n')
    assert not set(title.replace("&amp;", "")) & set("<>\"'{}&\n`")


def test_places_never_clash_and_never_take_a_name_of_the_renderer():
    paths = ["wiki/index.md", "wiki/README.md", "wiki/404.md", "wiki/a/README.md", "wiki/a/index.md", "wiki/A/index.md", "wiki/.md", "wiki/x/.md", "wiki/a b#c?.md", "wiki/a b#c!.md",
             "wiki/über ü.md", "wiki/search/a.md", "wiki/assets/b.md", "wiki/templates/c.md", f"wiki/{'long' * 62}.md", "wiki/x.md", "wiki/X.md", "indexes/x.md"]
    places = site_paths(paths, taken=("index.md", "404.md"))
    assert len({p.lower() for p in places.values()}) == len(paths)
    for place in places.values():
        first, name = place.split("/")[0].lower(), place.rsplit("/", 1)[-1]
        assert first not in ("search", "assets", "templates", "by-type") and place not in ("index.md", "404.md") and name.lower() != "readme.md"
        assert not any(part.startswith(".") or len(part.encode()) > 200 for part in place.split("/"))
    assert url_between("a/b.md", "c/ü.md", "x y") == "../c/%C3%BC.html#x-y"


def test_links_lead_where_they_lead_in_the_wiki_or_say_that_they_do_not(tmp_path):
    layout = write(tmp_path, {
        "wiki/a.md": "# A\n\n[ok](b%20c.md#two-words) [gone](none.md) [far](../src/x.py) [loose](b%20c.md#nope) [out](https://example.org/?a=1&b=2) [up](../../etc/passwd) [folder](sub)\n",
        "wiki/b c.md": "# B\n\n## Two words\n", "wiki/sub/README.md": "# Sub\n", "src/x.py": "pass\n"})
    rendered(layout)
    text = doc(layout, "a.md")
    assert '<a href="b-c.html#two-words">ok</a>' in text
    assert '<span class="kb-broken" title="broken link: wiki/none.md">gone</span>' in text
    assert '<span class="kb-file" title="not part of the site: src/x.py">far</span>' in text
    assert '<a class="kb-loose" href="b-c.html" title="no such heading: #nope">loose</a>' in text
    assert '<a href="https://example.org/?a=1&amp;b=2" rel="noopener noreferrer nofollow">out</a>' in text
    assert 'kb-broken" title="broken link: ../etc/passwd"' in text and '<a href="sub/read-me.html">folder</a>' in text
    assert "Cited by" in doc(layout, "b-c.md") and '<a href="a.html">A</a>' in doc(layout, "b-c.md")


def test_a_front_matter_value_that_is_a_web_address_is_a_link_and_any_other_is_text(tmp_path):
    fields = {"one": "https://arxiv.org/abs/2506.13131", "two": "javascript:alert(1)", "three": "see https://example.org", "four": "https://example.org/\"onclick=x", "five": "file:///etc/passwd"}
    layout = write(tmp_path, {"wiki/sources/a.md": "---\ntitle: A\ntype: source\n" + "".join(f"{k}: {json.dumps(v)}\n" for k, v in fields.items()) + "---\n\n# A\n"})
    rendered(layout)
    table = doc(layout, "sources/a.md").split("Front matter")[1]
    assert '<td><a href="https://arxiv.org/abs/2506.13131" rel="noopener noreferrer nofollow">https://arxiv.org/abs/2506.13131</a></td>' in table
    assert table.count("<a ") == 1


def test_files_outside_the_wiki_are_linked_where_kb_toml_says(tmp_path):
    layout = write(tmp_path, {"kb.toml": '[site]\nrepository = "https://example.org/r/blob/main"\n', "wiki/a.md": "[far](../src/x.py)\n", "src/x.py": ""})
    rendered(layout)
    assert '<a href="https://example.org/r/blob/main/src/x.py"' in doc(layout, "a.md")


def test_pictures_of_the_wiki_are_shown_and_those_of_other_hosts_are_not(tmp_path):
    layout = write(tmp_path, {"wiki/a.md": "![in](p.png) ![out](https://example.org/x.png) ![gone](q.png) ![drawn](d.svg) ![nul](a%00b.png)\n",
                              "wiki/d.svg": "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"})
    (tmp_path / "wiki/p.png").write_bytes(b"\x89PNG fake")
    rendered(layout)
    text = doc(layout, "a.md")
    assert '<img src="pictures/' in text and 'alt="in"' in text and "<img src=\"https" not in text and "no picture wiki/q.png" in text
    assert '<img src="data:image/svg+xml;base64,' in text


def test_every_hub_is_there(tmp_path):
    layout = write(tmp_path, SMALL)
    rendered(layout)
    hub = doc(layout, "by-target/alpha/index.md")
    assert hub.count('class="kb-badge kb-refuted"') == 2 and "latency (ms)" in hub and 'data-kb-value="12.25"' in hub
    assert "Where it stands" in hub and ">8</a>" in hub, "the frontier is the best supported run"
    refuted = doc(layout, "by-target/alpha/refuted.md")
    assert "measured 12.25 ms" in refuted and "Try 2" in refuted and "Try 1<" not in refuted
    assert "by-target/alpha/refuted.html" in doc(layout, "targets/alpha.md") or "../by-target/alpha/refuted.html" in doc(layout, "targets/alpha.md")
    assert "tiling <small>7</small>" in doc(layout, "by-tag/index.md") and "Try 6" in doc(layout, "by-tag/all.md")
    assert ">6</b><span>Experiments" in doc(layout, "index.md")
    settings = (layout.site / "mkdocs.yml").read_text()
    assert "by-target/alpha/refuted.md" in settings and "navigation.prune" in settings and "font: false" in settings and "hooks" not in settings


def test_machine_made_lists_stay_out_of_the_search(tmp_path):
    layout = write(tmp_path, {**SMALL, "wiki/codebases/catalog/x.md": "---\ntype: catalog\ntitle: X\n---\n# X\n"})
    rendered(layout)
    for place in ("codebases/catalog/x.md", "contents.md", "by-type/concept.md", "by-tag/all.md", "indexes/catalog.md"):
        if (layout.site / "docs" / place).exists():
            assert "search: {exclude: true}" in doc(layout, place).split("---")[1], place
    assert "exclude" not in doc(layout, "concepts/tiling.md").split("---")[1]


def test_only_what_changed_is_written_and_what_went_is_removed(tmp_path):
    layout = write(tmp_path, SMALL)
    first = rendered(layout)
    again = rendered(layout)
    assert again.written == again.removed == 0 and again.digest == first.digest
    before = {p: p.stat().st_mtime_ns for p in (layout.site / "docs").rglob("*.md")}
    page = tmp_path / "wiki/concepts/tiling.md"
    page.write_text(page.read_text() + "\nmore\n")
    assert rendered(layout).written >= 1
    changed = {p.relative_to(layout.site / "docs").as_posix() for p in before if p.stat().st_mtime_ns != before[p]}
    assert "concepts/tiling.md" in changed and "experiments/alpha/2026-01-01-v001-a.md" not in changed
    (layout.site / "docs/concepts/tiling.md").write_text("changed by hand")
    rendered(layout)
    assert "zyzzyva" in doc(layout, "concepts/tiling.md")
    page.unlink()
    rendered(layout)
    assert not (layout.site / "docs/concepts/tiling.md").exists()


def test_rendering_after_edits_gives_what_rendering_from_nothing_gives(tmp_path):
    layout = write(tmp_path, SMALL)
    rendered(layout)
    (tmp_path / "wiki/concepts/Tiling.md").write_text("# Twin\n\n[x](tiling.md)\n")
    (tmp_path / "wiki/experiments/alpha/2026-01-05-v005-e.md").unlink()
    report = rendered(layout)
    kept = {p.relative_to(layout.site): p.read_bytes() for p in layout.site.rglob("*") if p.is_file()}
    shutil.rmtree(layout.site)
    shutil.rmtree(layout.state)
    assert rendered(layout).digest == report.digest
    assert {p.relative_to(layout.site): p.read_bytes() for p in layout.site.rglob("*") if p.is_file()} == kept


def test_files_of_other_people_are_never_cleared(tmp_path):
    layout = write(tmp_path, {**SMALL, "site/docs/mine.txt": "keep"})
    with pytest.raises(KbError, match="did not write"):
        rendered(layout)
    assert (tmp_path / "site/docs/mine.txt").read_text() == "keep"
    (tmp_path / "site/docs/mine.txt").unlink()
    report = rendered(layout)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/thesis.txt").write_text("years")
    with pytest.raises(KbError, match="--out"):
        site.publish(layout, report, out=tmp_path / "precious")
    assert (tmp_path / "precious/thesis.txt").read_text() == "years"


def test_odd_pages_are_shown_as_far_as_they_can_be(tmp_path):
    layout = write(tmp_path, {**SMALL, "wiki/empty.md": "", "wiki/front.md": "---\n- a\n---\nbody\n", "wiki/open.md": "```\nnever closed <script>", "wiki/.md": "# Dot\n",
                              "wiki/long.md": "[a](b " * 30_000, "wiki/crlf.md": "# A\r\n\r\ntext\r\n", "wiki/ctrl.md": "# \x02wzxhzdk:0\x03\n\n\x02wzxhzdk:0\x03 `\x01`\n"})
    (tmp_path / "wiki/binary.md").write_bytes(b"\0\1\2<script>")
    (tmp_path / "wiki/latin.md").write_bytes(b"# caf\xe9\n")
    rendered(layout)
    assert "is not shown" in doc(layout, "binary.md") and "caf\ufffd" in doc(layout, "latin.md") and "never closed &lt;script&gt;" in doc(layout, "open.md")
    assert "\x02" not in doc(layout, "ctrl.md") and (layout.site / "docs/untitled.md").exists()


def test_a_site_address_that_is_none_is_refused(tmp_path):
    layout = write(tmp_path, {**SMALL, "kb.toml": '[site]\nurl = "javascript:alert(1)"\n'})
    with pytest.raises(KbError, match="https://"):
        rendered(layout)


HOSTILE = """---
title: "</title><script>window.ran=1</script><img src=x onerror=window.ran=2> \\" onmouseover=window.ran=3 {{ 7*7 }}"
type: concept
tags: ["<script>window.ran=4</script>", "\\"><img src=x onerror=window.ran=5>"]
"on<b>key": "<script>window.ran=6</script>"
symbols: {"x\\" onclick=window.ran=14": 1}
---
# <script>window.ran=7</script> Hostile <img src=x onerror=window.ran=8> quokka

<script>window.ran=9</script>

<img src=x onerror="window.ran=10">

[click me](javascript:window.ran=11) [data](data:text/html,<script>window.ran=12</script>) ![p](https://example.org/pixel.png)

## &lt;img src=x onerror=window.ran=13&gt; {: onclick="window.ran=15" }

<details open ontoggle="window.ran=16"><summary>s</summary>x</details>

```mermaid
graph TD; A-->B; click A "javascript:window.ran=17"
```

{{ config }} {% raw %} wombatword &lt;img src=x onerror=window.ran=18&gt;

<base href="https://example.org/"> <link rel=stylesheet href="https://example.org/x.css">

## __config

{"base": "https://example.org", "search": "https://example.org/worker.js"}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A small knowledge base with a hostile page, built once: (layout, folder of the site)."""
    root = tmp_path_factory.mktemp("site")
    layout = write(root, {**SMALL, "kb.toml": "[kb]\nname = \"Tiny <script>window.ran=20</script> & 'co'\"\n", "wiki/concepts/hostile.md": HOSTILE,
                          "wiki/experiments/alpha/2026-01-07-v007-g.md": experiment(7, "refuted").replace("Try 7", "'<script>window.ran=19</script>'")})
    site.publish(layout, rendered(layout))
    return layout, layout.site / "html"


@mkdocs
def test_the_built_site_holds_no_date_and_no_other_host(built):
    layout, folder = built
    assert not site.publish(layout, rendered(layout)), "nothing changed, so nothing is built"
    for file in folder.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        for tag in ("<script src=\"http", "<link rel=\"stylesheet\" href=\"http", "<img src=\"http", "fonts.g", "unpkg"):
            assert tag not in text, file
    assert "window.ran" not in json.dumps([s for s in (folder / "concepts/hostile.html").read_text().split("<script")[1:] if "window.ran" in s.split("</script")[0]])
    assert "Content-Security-Policy" in (folder / "index.html").read_text()


@mkdocs
def test_the_command_builds_where_it_is_told_and_says_where(tmp_path):
    write(tmp_path, SMALL)
    ran = subprocess.run([sys.executable, "-m", "kb", "site", "build", "--out", "public", "--strict"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "public/index.html" and (tmp_path / "public/index.html").is_file() and not (tmp_path / "site/html").exists()


@mkdocs
def test_the_site_is_served_on_this_machine_only(tmp_path):
    write(tmp_path, {"wiki/a.md": "# A\n"})
    with subprocess.Popen([sys.executable, "-m", "kb", "site", "serve", "--port", "0"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            address = server.stdout.readline().split()[0]
            assert address.startswith("http://127.0.0.1:")
            with urllib.request.urlopen(address + "a.html", timeout=10) as page:
                assert b"<h1" in page.read()
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait(timeout=10) == 0


def test_only_one_template_of_ours_stands_beside_the_theme():
    assert config.template().startswith('{% extends "base.html" %}')


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as p:
        started = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        yield started
        started.close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format, *args):
        pass


@pytest.fixture
def visit(browser, built):
    """Opens a page of the site; at the end, nothing may have run, spoken or asked another host."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=built[1]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}/"
    context = browser.new_context(color_scheme="light")
    tab = context.new_page()
    elsewhere, said = [], []
    tab.on("request", lambda r: None if r.url.startswith((base, "data:", "blob:" + base)) else elsewhere.append(r.url))
    tab.on("dialog", lambda d: (said.append(d.message), d.dismiss()))
    tab.on("console", lambda m: said.append(m.text) if m.type == "error" else None)
    tab.on("pageerror", lambda e: said.append(str(e)))

    def go(path: str):
        tab.goto(base + path)
        tab.wait_for_timeout(150)
        return tab

    yield go
    assert tab.evaluate("window.ran") is None
    assert elsewhere == [] and said == []
    context.close()
    server.shutdown()
    server.server_close()


@mkdocs
@pytest.mark.browser
@pytest.mark.parametrize("path", ["concepts/hostile.html", "index.html", "by-type/concept.html", "by-tag/index.html", "by-tag/all.html", "by-target/alpha/index.html",
                                  "by-target/alpha/refuted.html", "experiments/alpha/2026-01-07-v007-g.html", "404.html"])
def test_nothing_that_a_page_says_runs(visit, path):
    tab = visit(path)
    assert tab.evaluate("document.querySelectorAll('[onerror],[onclick],[onmouseover],[ontoggle],[onload],a[href^=\"javascript:\" i],a[href^=\"data:\" i]').length") == 0
    for link in tab.query_selector_all(".md-content a")[:3]:
        link.hover()
    assert tab.evaluate("window.ran") is None


@mkdocs
@pytest.mark.browser
def test_the_search_finds_a_word_and_runs_nothing_of_what_it_found(visit):
    tab = visit("index.html")
    for word, title in (("zyzzyva", "Tiling"), ("wombatword", "Hostile"), ("quokka", "quokka")):
        tab.fill("input.md-search__input", "")
        tab.type("input.md-search__input", word)
        tab.wait_for_selector(f".md-search-result__list :text('{title}')", timeout=10_000)
        assert tab.evaluate("document.querySelectorAll('.md-search-result script, .md-search-result img').length") == 0


@mkdocs
@pytest.mark.browser
def test_the_table_filters_and_sorts_by_mouse_and_keyboard(visit):
    tab = visit("by-target/alpha/index.html")

    def visible() -> list[str]:
        return tab.eval_on_selector_all("[data-kb-noun=experiments] tbody tr", "rows => rows.filter(r => !r.hidden).map(r => r.cells[2].textContent)")

    assert len(visible()) == 7 and visible()[1:3] == ["Try 6", "Try 5"]
    tab.fill(".kb-tools input", "block=3")
    assert visible() == ["Try 3"] and tab.inner_text(".kb-tools output") == "1 of 7 experiments"
    tab.fill(".kb-tools input", "")
    tab.select_option("select[aria-label=Verdict]", label="supported")
    assert visible() == ["Try 6", "Try 1"]
    tab.select_option("select[aria-label=Verdict]", index=0)
    tab.click("[data-kb-noun=experiments] th:has-text('latency') button")
    assert visible()[:3] == ["Try 5", "Try 6", "Try 1"] and visible()[-1] == "Try 3", "sorted as numbers"
    tab.focus("[data-kb-noun=experiments] th:has-text('latency') button")
    tab.keyboard.press("Enter")
    assert visible()[0] == "Try 3" and tab.get_attribute("[data-kb-noun=experiments] th:has-text('latency')", "aria-sort") == "descending"


@mkdocs
@pytest.mark.browser
def test_dark_and_light_can_be_chosen(visit):
    tab = visit("index.html")
    assert tab.get_attribute("body", "data-md-color-scheme") == "default"
    light = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    tab.click("label[for=__palette_1]")
    tab.wait_for_timeout(300)
    assert tab.get_attribute("body", "data-md-color-scheme") == "slate" and tab.evaluate("getComputedStyle(document.body).backgroundColor") != light


@mkdocs
@pytest.mark.browser
def test_every_link_of_the_small_site_leads_somewhere(built):
    _, folder = built
    missing = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs):
            href = dict(attrs).get("href", "")
            if tag == "a" and href and not href.startswith(("http", "mailto:", "/")):
                path, _, anchor = href.partition("#")
                file = (self.file.parent / urllib.parse.unquote(path)).resolve() if path else self.file
                file = file / "index.html" if file.is_dir() else file
                if not file.is_file() or anchor and f'id="{urllib.parse.unquote(anchor)}"' not in file.read_text(encoding="utf-8"):
                    missing.append((self.file.name, href))

    for file in sorted(folder.rglob("*.html")):
        reader = Reader()
        reader.file = file
        reader.feed(file.read_text(encoding="utf-8"))
    assert [m for m in missing if m[0] != "404.html"] == []


@pytest.mark.corpora
def test_a_real_wiki_is_rendered_whole(tmp_path):
    corpus = Path(__file__).parents[2] / "shared/corpora/tpu-wiki/wiki/concepts"
    if not corpus.is_dir():
        pytest.skip("the corpora are not beside the checkout")
    shutil.copytree(corpus, tmp_path / "wiki/concepts")
    layout = write(tmp_path, {})
    report = rendered(layout)
    assert report.pages >= len(list(corpus.rglob("*.md")))
    assert isinstance(store.state(layout), sqlite3.Connection)
