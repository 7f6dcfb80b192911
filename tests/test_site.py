"""The site: what is rendered, that nothing of a page runs, that only what changed is written, and how it works in a browser."""

import contextlib
import functools
import hashlib
import html.parser
import http.client
import http.server
import importlib.resources
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings, strategies

pytest.importorskip("jinja2", reason="the site extra is not installed")
pytest.importorskip("mkdocs", reason="the site extra is not installed")

from kb import KbError, site, store  # noqa: E402
from kb.build import build  # noqa: E402
from kb.page import read  # noqa: E402
from kb.schema import TYPES  # noqa: E402
from kb.site.body import LARGEST_OPEN, Destination, body_of  # noqa: E402
from kb.site.links import site_paths, url_between  # noqa: E402
from kb.site.survey import plural  # noqa: E402
from kb.site.templating import plain_title  # noqa: E402
from kb.verbs.site_build import slice_now  # noqa: E402

CHROMIUM = next((p for p in ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome") if os.path.exists(p)), None)


def accessibility_checker() -> str:
    """The script of axe-core, which is no part of kb: a package of the test extra brings it."""
    try:
        package = importlib.resources.files("axe_playwright_python")
    except ModuleNotFoundError:
        return ""
    return (package / "axe.min.js").read_text(encoding="utf-8")


AXE = accessibility_checker()


def shown(text: str, links: dict[str, Destination] | None = None) -> str:
    """What a body becomes, its first heading included."""
    page = read("wiki/a.md", text.encode())
    body = body_of(text, slugs=[h.slug for h in page.headings], links=links or {})
    return (f'<h1 id="{body.anchor}">{body.title}</h1>' if body.title else "") + body.html


def test_an_index_and_a_call_within_a_formula_are_shown_as_they_stand():
    html = shown("For $f[x](y)$ see [a](b.md) and [gone](c.md).\n", {"b.md": Destination("page", "b/")})
    assert "$f[x](y)$" in html and '<a href="b/">a</a>' in html and 'kb-broken' in html


def write(root: Path, pages: dict[str, str]) -> store.Layout:
    for path, text in {"kb.toml": '[kb]\nname = "Tiny"\n', **pages}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return store.layout_at(root)


def published(layout: store.Layout, out: Path | None = None) -> site.SiteReport:
    layout = store.layout_at(layout.root)
    build(layout)
    db = store.state(layout)
    try:
        return site.publish(layout, db, out=out, handed=slice_now(layout, db))
    finally:
        db.close()


def doc(layout: store.Layout, place: str) -> str:
    return (layout.site / "html" / place).read_text(encoding="utf-8")


def content(layout: store.Layout, place: str) -> str:
    """The text of a wiki page within its shell."""
    return doc(layout, place).split('class="kb-text"', 1)[1].split('<footer class="kb-source"', 1)[0]


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
    published(layout)
    assert "<a " not in content(layout, "a.html").split("<details class=\"kb-fold")[0]


def test_a_type_is_headed_as_the_vocabulary_has_it_and_any_other_by_its_word():
    assert {plural(t.name) == t.plural for t in TYPES.values()} == {True}
    assert [plural(name) for name in ("page", "open-question")] == ["Other pages", "Open questions"]


def test_harmless_tags_pass_only_bare_and_in_pairs():
    assert "H<sub>2</sub>O<br>" in shown("H<sub class=x>2</sub>O<br/>")
    assert "&lt;sub&gt;open" in shown("<sub>open")
    assert "&lt;/div&gt;" in shown("a</div>b")
    assert '<span id="far"></span>x' in shown('<a id="far"></a>x')
    folded = shown("<details>\n<summary>More</summary>\n\n## Inside\n\n- item\n\n</details>\n\nafter\n")
    assert "<details>" in folded and "</details>" in folded and '<h2 id="inside">' in folded
    assert "&lt;details&gt;" in shown("<details>\n\nnever closed\n")
    assert "secret" not in shown("a <!-- secret --> b\n\n<!-- kb:auto secret -->\ntext\n<!-- /kb:auto -->\n")


def test_headings_mean_nothing_but_their_text():
    line = shown("# a {: onclick=x } `b_c` *d* [e](f) <script> \\* ![i](x) {#own}\n", {"f": Destination("page", "f.html")})
    assert line.startswith('<h1 id="') and '<span id="own"></span>a {: onclick=x } <code>b_c</code> <em>d</em> <a href="f.html">e</a> &lt;script&gt; *' in line


def test_code_comes_out_byte_for_byte():
    code = "\n\n\tall:\n\t\tmake  \n   \n<script>{{ x }} {% y %} [TOC] *a* &amp; \\_\n````\n\n"
    made = shown(f"`````\n{code}`````\n")
    assert html.unescape(made.split("<code>", 1)[1].split("</code>", 1)[0]) == code


def test_a_list_glued_to_a_paragraph_is_a_list():
    assert shown("text\n- one\n- two\n").count("<li>") == 2


def test_a_page_too_long_to_scroll_is_folded_and_keeps_its_anchors():
    long = shown("".join(f"## Entry {n}\n\n{'word ' * 4000}\n\n### Inner {n}\n\nx\n\n" for n in range(20)))
    assert len(long) > LARGEST_OPEN and long.count("<details") == long.count("</details>") == 20 and 'id="inner-7"' in long
    assert "<details" not in shown("## One\n\ntext\n")
    rows = "".join(f"| {n} | {'cell ' * 20} |\n" for n in range(4000))
    assert 'class="kb-window" tabindex="0"' in shown(f"| a | b |\n|---|---|\n{rows}")


def test_alignment_of_a_table_needs_no_style():
    made = shown("| a | b |\n|--|--:|\n| 1 | 2 |\n")
    assert "style=" not in made and '<td class=kb-right>2</td>' in made


ALLOWED = {
    "a": {"href", "title", "rel", "class", "aria-label"}, "span": {"class", "id", "title"}, "div": {"class", "tabindex"}, "pre": {"tabindex"}, "p": {"class"}, "img": {"src", "alt", "loading"}, "ol": {"start"},
    "th": {"class"}, "td": {"class"}, "table": {"class"}, **{f"h{n}": {"id"} for n in range(1, 7)},
}
PLAIN = {*["code", "ul", "li", "em", "strong", "s", "del", "sub", "sup", "kbd", "b", "i", "br", "hr", "blockquote", "table", "thead", "tbody", "tr", "details", "summary", "ins", "mark", "small"]}
NASTY = ["<script>", "</script>", "<details>", "</details>", "<summary>", "<div>", "</div>", "<b>", "</b>", "<sub>", "</sub>", "<a id='x'>", "</a>", "<br>", "<!--", "-->", "<img src=x onerror=y>",
         "<?php ", "?>", "<![CDATA[", "]]>", "<!DOCTYPE x>", "\n", "\n\n", "# ", "## ", "- ", "> ", "> [!note] ", "1. ", "    ", "\t", "```", "~~~", "`", "``", "*", "**", "_", "[", "](", ")", "![", "x",
         "[a](javascript:b)", "[a](b.md)", "<http://e.org>", "{: onclick=x }", "{#i}", "|", "\n|---|---|\n", "&lt;", "&#60;", "&", "<", ">", "\"", "'", "\\", "\x02", "\x03", "\x02wzxhzdk:0\x03", "[TOC]",
         "{{ x }}", "{% y %}", "http://e.org/<b", "===", "---", "word word", "\u2028", "é", "</p>", "<p>", "[x]: javascript:y\n"]


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(strategies.lists(strategies.sampled_from(NASTY), max_size=25).map("".join))
def test_whatever_a_page_holds_only_harmless_markup_comes_out(text):
    made = shown(text, {"b.md": Destination("page", "b.html"), "http://e.org": Destination("web", "http://e.org")})
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


def test_a_title_stays_on_one_line_and_steers_nothing():
    assert plain_title("a\u202eb\u200bc\x1b[1m\nd") == "abc[1m d" and len(plain_title("x " * 400)) < 210


def test_places_never_clash_and_never_take_a_name_of_the_renderer():
    paths = ["wiki/index.md", "wiki/README.md", "wiki/404.md", "wiki/a/README.md", "wiki/a/index.md", "wiki/A/index.md", "wiki/.md", "wiki/x/.md", "wiki/a b#c?.md", "wiki/a b#c!.md",
             "wiki/über ü.md", "wiki/search/a.md", "wiki/assets/b.md", "wiki/templates/c.md", f"wiki/{'long' * 62}.md", "wiki/x.md", "wiki/X.md", "indexes/x.md"]
    places = site_paths(paths, taken=("index.html", "404.html"))
    assert len({p.lower() for p in places.values()}) == len(paths)
    for place in places.values():
        first, name = place.split("/")[0].lower(), place.rsplit("/", 1)[-1]
        assert first not in ("search", "assets", "templates", "by-type") and place not in ("index.html", "404.html") and name.lower() != "readme.html"
        assert not any(part.startswith(".") or len(part.encode()) > 200 for part in place.split("/"))
    assert url_between("a/b.html", "c/ü.html", "x y") == "../c/%C3%BC.html#x-y"


def test_links_lead_where_they_lead_in_the_wiki_or_say_that_they_do_not(tmp_path):
    layout = write(tmp_path, {
        "wiki/a.md": "# A\n\n[ok](b%20c.md#two-words) [gone](none.md) [far](../src/x.py) [loose](b%20c.md#nope) [out](https://example.org/?a=1&b=2) [up](../../etc/passwd) [folder](sub)\n",
        "wiki/b c.md": "# B\n\n## Two words\n", "wiki/sub/README.md": "# Sub\n", "src/x.py": "pass\n"})
    published(layout)
    text = content(layout, "a.html")
    assert '<a href="b-c.html#two-words">ok</a>' in text
    assert '<span class="kb-broken" title="broken link: wiki/none.md">gone</span>' in text
    assert '<span class="kb-file" title="not part of the site: src/x.py">far</span>' in text
    assert '<a class="kb-loose" href="b-c.html" title="no such heading: #nope">loose</a>' in text
    assert '<a href="https://example.org/?a=1&amp;b=2" rel="noopener noreferrer nofollow">out</a>' in text
    assert 'kb-broken" title="broken link: ../etc/passwd"' in text and '<a href="sub/read-me.html">folder</a>' in text
    assert "Cited by" in doc(layout, "b-c.html") and '<a href="a.html">A</a>' in doc(layout, "b-c.html")
    (tmp_path / "src/x.py").unlink()
    published(layout)
    assert "broken link: src/x.py" in content(layout, "a.html"), "a file outside the wiki went away, and nothing else changed"


def test_a_front_matter_value_that_is_a_web_address_is_a_link_and_any_other_is_text(tmp_path):
    fields = {"one": "https://arxiv.org/abs/2506.13131", "two": "javascript:alert(1)", "three": "see https://example.org", "four": "https://example.org/\"onclick=x", "five": "file:///etc/passwd"}
    layout = write(tmp_path, {"wiki/sources/a.md": "---\ntitle: A\ntype: source\n" + "".join(f"{k}: {json.dumps(v)}\n" for k, v in fields.items()) + "---\n\n# A\n"})
    published(layout)
    table = doc(layout, "sources/a.html").split("Front matter")[1].split("</details>")[0]
    assert '<td><a href="https://arxiv.org/abs/2506.13131" rel="noopener noreferrer nofollow">https://arxiv.org/abs/2506.13131</a></td>' in table
    assert table.count("<a ") == 1


@pytest.mark.parametrize("setting", ['repository = "javascript:alert(1)//"', 'url = "data:text/html,x"', 'repository = "https://a.b/\\"onclick=x"', 'url = "https://"', 'shell = "fancy"', 'overrides = "../elsewhere"'])
def test_an_address_of_the_settings_that_is_none_is_refused(tmp_path, setting):
    layout = write(tmp_path, {**SMALL, "kb.toml": f"[site]\n{setting}\n"})
    with pytest.raises(KbError, match=r"kb.toml: \[site\]"):
        published(layout)


def test_files_outside_the_wiki_are_linked_where_kb_toml_says(tmp_path):
    layout = write(tmp_path, {"kb.toml": '[site]\nrepository = "https://example.org/r/blob/main/"\n', "wiki/a.md": "[far](../src/x.py)\n", "src/x.py": ""})
    published(layout)
    assert '<a href="https://example.org/r/blob/main/src/x.py"' in doc(layout, "a.html") and '<a href="https://example.org/r/blob/main/wiki/a.md">' in doc(layout, "a.html")


def test_pictures_of_the_wiki_are_shown_and_those_of_other_hosts_are_not(tmp_path):
    layout = write(tmp_path, {"wiki/a.md": "![in](p.png) ![out](https://example.org/x.png) ![gone](q.png) ![drawn](d.svg) ![nul](a%00b.png)\n",
                              "wiki/d.svg": "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"})
    (tmp_path / "wiki/p.png").write_bytes(b"\x89PNG fake")
    published(layout)
    text = content(layout, "a.html")
    assert '<img src="pictures/' in text and 'alt="in"' in text and "<img src=\"https" not in text and "no picture wiki/q.png" in text
    assert '<img src="data:image/svg+xml;base64,' in text
    (tmp_path / "wiki/p.png").write_bytes(b"\x89PNG other bytes")
    published(layout)
    assert content(layout, "a.html") != text and len(list((layout.site / "html/pictures").iterdir())) == 1


def test_home_is_the_standing(tmp_path):
    layout = write(tmp_path, {**SMALL, "wiki/hypotheses/wider.md": "---\ntitle: Wider tiles\ntype: hypothesis\nstatus: open\ntarget: alpha\n---\n# Wider tiles\n",
                              "wiki/hypotheses/again.md": "---\ntitle: Wider  tiles\ntype: hypothesis\nstatus: open\ntarget: alpha\n---\n# Wider tiles\n",
                              "wiki/targets/idle.md": "---\ntitle: An idle target\ntype: target\ntarget: omega\n---\n# Idle\n"})
    published(layout)
    home = doc(layout, "index.html").split('id="kb-content"')[1]
    card = home.split('class="kb-card"')[1].split("</section>")[0]
    assert "<b>8 ms</b>" in card and "Try 6" in card and "Wider tiles" in card and "noise unknown" in card and ">6 experiments</a>" in card
    assert home.index("kb-card") < home.index("An idle target") < home.index("What this knowledge base holds")
    target = doc(layout, "by-target/alpha/index.html")
    assert target.split("Open leads")[1].split("<h2")[0].count("Wider") == 1, "the same lead stands once"
    assert "<b>8 ms</b>" in target, "one best value wherever it stands"


def test_runs_of_notes_that_name_no_target_are_experiments_and_stand_as_those_of_a_target_do(tmp_path):
    notes = {f"wiki/experiments/2026-01-0{n}-v00{n}-try.md": f"---\nverdict: supported\n---\n# Try {n}\n\n## Result\n\nLatency: {9 - n} ms.\n" for n in (1, 2)}
    layout = write(tmp_path, notes | {"wiki/targets/idle.md": "---\ntitle: An idle target\ntype: target\n---\n# Idle\n"})
    published(layout)
    pages = [doc(layout, place) for place in ("index.html", "by-target/no-target/index.html", "experiments/2026-01-02-v002-try.html")]
    assert all(">experiments</" in text and ">no target<" not in text for text in pages)
    assert "kb load hypothesis --before wiki/experiments/2026-01-02-v002-try.md" in pages[2]
    assert "Where the experiments stand" in pages[0] and "<b>7 ms</b>" in pages[0] and "<b>7 ms</b>" in pages[1]
    named = {"wiki/experiments/alpha/2026-01-03-v003-try.md": "---\nverdict: refuted\n---\n# Try 3\n\n## Result\n\nLatency: 8 ms.\n"}
    layout = write(tmp_path, notes | named)
    published(layout)
    assert ">without a target</" in doc(layout, "index.html")
    assert "kb load hypothesis --before wiki/experiments/alpha/2026-01-03-v003-try.md --target alpha" in doc(layout, "experiments/alpha/2026-01-03-v003-try.html")


def test_what_was_kept_without_a_figure_is_told_and_a_trail_without_a_name_shows_its_slice(tmp_path):
    runs = {f"wiki/experiments/00{n}-try.md": f"---\nverdict: {'refuted' if n > 4 else 'supported'}\n---\n# Try {n}\n\nThe parser was {n}.\n" for n in range(1, 7)}
    layout = write(tmp_path, runs)
    published(layout)
    home, target = doc(layout, "index.html"), doc(layout, "by-target/no-target/index.html")
    assert all("kept last: <a" in text and "Try 4</a>" in text and "No run was kept" not in text for text in (home, target))
    assert "<code>kb load hypothesis</code>" in doc(layout, "by-target/no-target/state.html")
    assert "state.html" in target and "State of experiments" in home and (layout.site / "html/by-target/no-target/state.html").is_file()


def test_a_target_page_of_another_name_joins_the_trail_that_all_its_words_name(tmp_path):
    layout = write(tmp_path, {"wiki/models/qwen3-cx-jax.md": "---\ntitle: The cx lane\ntype: model\n---\n# cx\n",
                              **{f"wiki/experiments/qwen3_{lane}_auto/jax/2026-01-0{n}-v00{n}-x.md": experiment(n, "supported", target="").replace("target: \n", "") for n, lane in ((1, "cx"), (2, "cc"))}})
    published(layout)
    assert "qwen3-cx-jax.html" in doc(layout, "by-target/qwen3_cx_auto-jax/index.html") and "qwen3-cx-jax.html" not in doc(layout, "by-target/qwen3_cc_auto-jax/index.html")
    assert "Targets without runs" not in doc(layout, "index.html")


def lanes() -> dict[str, str]:
    return {f"wiki/experiments/beta/2026-02-0{n}-v{10 * k + n:03}-{name}.md": experiment(10 * k + n, "supported" if n > 1 else "baseline", target="beta", metric=20.0 - n - k).replace("target: beta", f"target: beta\nvariant: lane-{name}")
            for k, name in enumerate("abcd") for n in (1, 2, 3)}


def test_lanes_are_shown_side_by_side_and_never_joined_into_one_climb(tmp_path):
    layout = write(tmp_path, {**SMALL, **lanes()})
    published(layout)
    target = doc(layout, "by-target/beta/index.html")
    assert target.count('<svg viewBox="0 0 640 200"') == 4 and "kb-multiples" in target and "Lanes side by side" in target
    assert doc(layout, "compare.html").count("lane-b") >= 2
    alone = doc(layout, "by-target/alpha/index.html")
    assert "Lanes side by side" not in alone and alone.count('class="kb-frontier"') == 1 and alone.count("<circle") == 6, "a dot for each run with the metric"


def agents() -> dict[str, str]:
    """Three agents that each started from one run, and say who they are."""
    base = "wiki/experiments/gamma/2026-03-01-v000-start.md"
    pages = {base: experiment(0, "baseline", target="gamma", metric=50)}
    for k, (name, metrics) in enumerate({"one": (20, 18), "two": (30, 25), "three": (40, 41)}.items()):
        for n, metric in enumerate(metrics):
            path = f"wiki/experiments/gamma/2026-03-0{2 + k}-v0{k}{n}-{name}.md"
            text = experiment(10 * k + n, "supported" if metric < 41 else "refuted", target="gamma", metric=metric)
            pages[path] = text.replace("target: gamma", f"target: gamma\nagent: {name}")
    return pages


def climbs(text: str) -> dict[str, int]:
    """Dots of each climb on a page by its caption."""
    figures = text.split("<figcaption>")[1:]
    return {f.split(" <b>")[0]: f.split("</figure>")[0].count("<circle") for f in figures}


def test_agents_that_start_from_one_run_climb_side_by_side(tmp_path):
    layout = write(tmp_path, {**SMALL, **agents()})
    published(layout)
    target = doc(layout, "by-target/gamma/index.html")
    assert climbs(target) == {"one": 3, "two": 3, "three": 3}
    assert "<b>18 ms</b>" in target and "-64.0%" in target, "the best lane stands first, against where all began"


CAPTURED = {
    "origin": "https://example.org/<script>window.ran=30</script>", "kind": "forks", "title": "Fuse <img src=x onerror=window.ran=31> passes", "authors": "a", "retrieved": "2026-01-01", "version": "abc",
    "licence": "MIT", "tool": "kb research forks", "text": "text.md",
}


def captured(root: Path, id: str, text: str, **more: object) -> None:
    """A source on file, as a capture leaves it."""
    folder = root / "sources" / id
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "text.md").write_text(text)
    data = text.encode()
    file = {"name": "text.md", "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data), "media_type": "text/markdown"}
    (folder / "meta.json").write_text(json.dumps({**CAPTURED, "files": [file], **more}))


def test_a_captured_source_is_a_page_with_its_diff_hunk_by_hunk(tmp_path):
    layout = write(tmp_path, {**SMALL, "wiki/concepts/fusion.md": "# Fusion\n\nFrom [a fork](../../sources/fork-a/text.md).\n"})
    text = "# Fuse\n\nintro <script>window.ran=32</script>\n\n## Diff of src/a.c\n\nchanged source\n\n````diff\n@@ line 3 @@ main\n-old <b>\n+new </pre><svg onload=window.ran=33>\n@@ line 9 @@\n+more wombatfusion\n````\n"
    captured(tmp_path, "fork-a", text, sections=[{"title": "Diff of src/a.c", "start": text.index("## Diff")}])
    captured(tmp_path, "damaged", "x")
    (tmp_path / "sources/damaged/meta.json").write_text("{")
    published(layout)
    page = doc(layout, "captured/fork-a.html").split('id="kb-content"')[1]
    assert "MIT" in page and '<a href="../concepts/fusion.html">Fusion</a>' in page and "2 hunks" in page
    assert '<span class="kb-added">+new &lt;/pre&gt;&lt;svg onload=window.ran=33&gt;' in page and '<span class="kb-removed">-old &lt;b&gt;' in page
    assert "<script>window" not in page and "<img src=x" not in page and "onload=window.ran=33>" not in page
    assert '<a href="../captured/fork-a.html" title="sources/fork-a/text.md">a fork</a>' in content(layout, "concepts/fusion.html")
    listing = doc(layout, "captured/index.html")
    assert "sources/damaged/meta.json" in listing and "captured/fork-a.html" not in listing.split("<table")[0] and 'href="fork-a.html"' in listing
    assert "wombatfusion" in "".join(f.read_text() for f in (layout.site / "html/kb-search").glob("words-*.js"))
    assert published(layout).fresh
    captured(tmp_path, "fork-a", text, licence="Apache-2.0", sections=[])
    published(layout)
    assert "Apache-2.0" in doc(layout, "captured/fork-a.html"), "what is said of a source changed, and nothing else"


def test_what_forks_have_and_others_lack_is_a_table(tmp_path):
    layout = write(tmp_path, SMALL)
    fork = {"fork": "me/a", "head": "abc", "base": "def", "kind": "performance", "optimization": True, "score": 2.0, "techniques": ["fusion"], "symbols": [], "files": [], "not_upstream": ["fuse_all"],
            "in_upstream": False, "merged": False, "claims": [], "also": [], "evidence": [], "commits": 1, "date": "2026-01-01", "title": "Fuse", "left_out": []}
    for id, more in (("f-a", {}), ("f-b", {"fork": "you/b", "score": 1.0, "not_upstream": ["<b>tile</b>"]})):
        captured(tmp_path, id, "x\n", origin=f"https://example.org/r#{id}")
        (tmp_path / f"sources/{id}/reading.json").write_text(json.dumps({**fork, **more}))
    published(layout)
    matrix = doc(layout, "captured/forks.html").split("What exists where")[1]
    row = next(r for r in matrix.split("<tr>") if "fuse_all" in r)
    assert '<a href="f-a.html">me/a</a>' in row and "upstream, you/b" in row and "&lt;b&gt;tile&lt;/b&gt;" in matrix


def test_the_search_holds_whole_sections_and_reads_the_same_after_any_history(tmp_path):
    from kb.site.search_index import bucket_of

    layout = write(tmp_path, {**SMALL, "wiki/concepts/long.md": "# Long\n\n## Far\n\n" + "word " * 3000 + "quokkaword\n"})
    published(layout)
    folder = layout.site / "html/kb-search"
    assert f"kbSearch('words-{bucket_of('quokkaword')}'" in (folder / f"words-{bucket_of('quokkaword')}.js").read_text()
    held = json.loads((folder / f"words-{bucket_of('quokkaword')}.js").read_text().split("','", 1)[1].rsplit("')", 1)[0])
    pages = json.loads((folder / "pages.js").read_text().split("','", 1)[1].rsplit("')", 1)[0].replace("\\'", "'"))
    assert pages[int(held["quokkaword"][:-1], 36)][1] == "Long"


def test_the_refuted_explorer_groups_by_lever_and_leaves_out_cards_without_a_reason(tmp_path):
    layout = write(tmp_path, {**SMALL, "wiki/hypotheses/no.md": "---\ntitle: A retired idea\ntype: hypothesis\nstatus: refuted\n---\n# A retired idea\n"})
    published(layout)
    explorer = doc(layout, "refuted.html")
    assert '<code>block</code>' in explorer and "measured 12.25 ms" in explorer and "Try 1<" not in explorer
    assert "A retired idea" not in explorer.split("Retired without a reason")[0] and "A retired idea" in explorer


def test_every_hub_is_there_and_the_run_table_is_a_csv_too(tmp_path):
    layout = write(tmp_path, {**SMALL, "wiki/experiments/alpha/2026-01-09-v009-f.md": experiment(9, "refuted").replace("title: Try 9", "title: '=cmd()'").replace("block=9", "=HYPERLINK(1)")})
    published(layout)
    assert "tiling <small>8</small>" in doc(layout, "by-tag/index.html") and "Try 6" in doc(layout, "by-tag/all.html")
    rows = doc(layout, "by-target/alpha/runs.csv").splitlines()
    assert rows[0].startswith("path,target,variant,date,verdict") and len(rows) == 8 and not any(cell.startswith("=") for row in rows for cell in row.split(","))
    state = doc(layout, "by-target/alpha/state.html")
    assert "tokens" in state and "part-state" in state and "part-refuted" in state
    assert doc(layout, "graph.html").count("kb-star") >= 8 and "kb-star" in doc(layout, "concepts/tiling.html")


def test_a_gain_that_was_measured_by_turns_is_shown_in_place_of_one_against_the_parents_old_figure(tmp_path):
    parent, name = "wiki/experiments/alpha/2026-01-01-v001-a.md", "wiki/experiments/alpha/2026-01-08-v008-h.md"
    stated = f'parent: {parent}\nmeasured: "1:abc"\ngain: "+4.9 % (+1.6 % to +8.3 %)"\n'
    page = experiment(8, "inconclusive", metric=8.5).replace("tags:", f"{stated}tags:", 1)
    layout = write(tmp_path, {**SMALL, name: page, name.replace("08", "09").replace("v008", "v009"): page.replace("inconclusive", "supported")})
    published(layout)
    head = doc(layout, "experiments/alpha/2026-01-08-v008-h.html").partition("<dl>")[0]
    assert '<span class="kb-change ">-4.90%</span>' in head and "by turns: gain +4.9 % (+1.6 % to +8.3 %)" in head and "-10.5%" not in head
    assert '<span class="kb-change kb-better">-4.90%</span>' in doc(layout, "experiments/alpha/2026-01-09-v009-h.html")


def test_a_column_of_the_run_table_is_one_entry(tmp_path, monkeypatch):
    from kb.site import runs

    monkeypatch.setattr(runs, "COLUMNS", (*runs.COLUMNS, runs.RunColumn("Slug", "text", lambda r: r.facts.path, lambda r: r.facts.path)))
    layout = write(tmp_path, SMALL)
    published(layout)
    assert ">Slug</th>" in doc(layout, "by-target/alpha/runs.html")


def test_only_what_changed_is_rendered_and_what_went_is_removed(tmp_path):
    layout = write(tmp_path, SMALL)
    published(layout)
    assert published(layout).fresh
    before = {p: p.stat().st_mtime_ns for p in (layout.site / "html").rglob("*.html")}
    page = tmp_path / "wiki/concepts/tiling.md"
    page.write_text(page.read_text() + "\nmore\n")
    assert published(layout).rendered == 2, "the page, and what the loop of its target is handed"
    changed = {p.relative_to(layout.site / "html").as_posix() for p in before if p.stat().st_mtime_ns != before[p]}
    assert "concepts/tiling.html" in changed and "experiments/alpha/2026-01-01-v001-a.html" not in changed and len(changed) < 6
    (layout.site / "html/concepts/tiling.html").write_text("changed by hand")
    published(layout)
    assert "zyzzyva" in doc(layout, "concepts/tiling.html")
    page.unlink()
    published(layout)
    assert not (layout.site / "html/concepts/tiling.html").exists()


def test_building_after_edits_gives_what_building_from_nothing_gives(tmp_path):
    layout = write(tmp_path, SMALL)
    published(layout)
    (tmp_path / "wiki/concepts/Tiling.md").write_text("# Twin\n\n[x](tiling.md#tiling) [y](../experiments/alpha/2026-01-02-v002-b.md#gone)\n")
    (tmp_path / "wiki/experiments/alpha/2026-01-05-v005-e.md").unlink()
    published(layout)
    target = tmp_path / "wiki/concepts/tiling.md"
    target.write_text(target.read_text().replace("# Tiling", "# Renamed").replace("title: Tiling", "title: Renamed"))
    published(layout)
    kept = {p.relative_to(layout.site): p.read_bytes() for p in layout.site.rglob("*") if p.is_file() and p.name != ".kb-site"}
    shutil.rmtree(layout.site)
    shutil.rmtree(layout.state)
    published(layout)
    assert {p.relative_to(layout.site): p.read_bytes() for p in layout.site.rglob("*") if p.is_file() and p.name != ".kb-site"} == kept


def test_what_an_edit_changes_on_no_other_page_makes_none_again(tmp_path):
    pages = {f"wiki/concepts/c{n}.md": f"---\ntags: [t{n}]\n---\n# C{n}\n\n[tiling](tiling.md) and [one place of it](tiling.md#tiling)\n" for n in range(9)}
    layout = write(tmp_path, SMALL | pages)
    published(layout)
    page, before = tmp_path / "wiki/concepts/tiling.md", (tmp_path / "wiki/concepts/tiling.md").read_text()

    def made_again(text: str) -> int:
        page.write_text(text)
        return published(layout).rendered

    assert made_again(before + "\n## One more heading\n\nmore\n") == 2, "the page, and what the loop of its target is handed"
    assert made_again(before.replace("\n# Tiling\n", "\n# Tiles\n") + "\n## Gone\n") == 1 + 9 + 1, "who leads to the heading that went"
    assert made_again(before.replace("tags: [tiling, memory]", "tags: [tiling, memory, 1st]")) <= 14, "its tags, not who has others"


def edited(random: Random, root: Path) -> None:
    """One edit of a wiki, such as people make."""
    pages, notes = sorted((root / "wiki").rglob("*.md")), sorted((root / "wiki/concepts").glob("*.md"))
    page, other = random.choice(notes * 2 + pages), random.choice(notes * 2 + pages)
    text, way = page.read_text(encoding="utf-8"), os.path.relpath(other, page.parent)
    name, number = random.choice(("Tiling", "Twin", "Gone")), random.randrange(9)
    match random.randrange(11):
        case 0:
            text += f"\n## {name}\n\nmore\n"
        case 1:
            text = re.sub(rf"(?m)^## {name}\n" if number else r"(?m)^#+ .*\n", "", text, count=1)
        case 2:
            text = re.sub(r"(?m)^title: .*", f"title: {name} {number}", text)
        case 3:
            text += f"\n[there]({way}#{name.lower()}) [and]({way}) ![drawn](p{number % 2}.png)\n"
        case 4:
            text += f"\n[[{name}]] and [[{other.stem}#{name}]] and [gone](gone-{number}.md)\n"
        case 5:
            text = re.sub(r"(?m)^tags: .*", f"tags: [tiling, {name.lower()}]", text)
        case 6:
            text = re.sub(r"(?m)^verdict: .*", f"verdict: {random.choice(('supported', 'refuted', 'crash'))}", text)
        case 7:
            page.unlink()
            return
        case 8:
            page = page.parent / f"{name}.md"
            text = f"---\ntitle: {name}\ntype: {random.choice(('concept', 'hypothesis', 'observation'))}\n---\n# {name}\n\n[x]({way})\n"
        case 9:
            (page.parent / f"p{number % 2}.png").write_bytes(bytes([number]))
        case 10:
            page = root / f"wiki/experiments/{random.choice(('alpha', 'beta'))}/2026-02-0{number + 1}-v01{number}-n.md"
            text = experiment(number, random.choice(("supported", "refuted")), target=page.parent.name, metric=7 + number / 3)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("seed", range(3))
def test_a_site_after_any_history_is_the_site_from_nothing(tmp_path, seed):
    def files(layout: store.Layout) -> dict[str, bytes]:
        published(layout)
        home = layout.site / "html"
        return {p.relative_to(home).as_posix(): p.read_bytes() for p in home.rglob("*") if p.is_file() and p.name != ".kb-site"}

    names, random = ("Tiling", "Twin", "Gone"), Random(seed)
    heads = "".join(f"\n## {name}\n\nmore\n" for name in names)
    ways = "".join(f"[x](c{n}.md#{name.lower()}) [[c{n}#{name}]] [[{name}]] ![](p{n}.png)\n" for n in range(3) for name in names)
    linked = {f"wiki/concepts/c{n}.md": f"---\ntitle: C{n}\ntags: [t{n}]\n---\n# C{n}\n\n{ways}{heads}" for n in range(3)}
    layout = write(tmp_path / "grown", SMALL | linked | {"kb.toml": '[kb]\nname = "Tiny"\n[site]\nshell = "plain"\n'})
    files(layout)
    for turn in range(8):
        for _ in range(1 + turn % 3):
            edited(random, layout.root)
        grown = files(layout)
        bare = tmp_path / f"bare-{turn}"
        shutil.copytree(layout.root, bare, ignore=shutil.ignore_patterns(".kb", "site", "indexes"))
        fresh = files(store.layout_at(bare))
        assert sorted(grown) == sorted(fresh) and not [place for place in fresh if grown[place] != fresh[place]]


def test_a_page_follows_what_is_written_far_from_it(tmp_path):
    citing = {f"wiki/concepts/near-{n:02}.md": f"# Near {n}\n\n[hub](hub.md)\n" for n in range(12)}
    layout = write(tmp_path, SMALL | citing | {"wiki/concepts/hub.md": "# Hub\n", "wiki/concepts/far.md": "# Far\n"})
    parent, run = "experiments/alpha/2026-01-01-v001-a", "experiments/alpha/2026-01-04-v004-d"
    page = tmp_path / f"wiki/{run}.md"
    page.write_text(page.read_text().replace("---\n", f"---\nparent: wiki/{parent}.md\n", 1))
    drawn = lambda: doc(layout, "concepts/hub.html").partition("kb-sky")[2].partition("</svg>")[0]  # noqa: E731
    published(layout)
    assert "Near 10" not in drawn() and "Another name" not in doc(layout, f"{run}.html")
    (tmp_path / "wiki/concepts/far.md").write_text("# Far\n\n[one](near-10.md)\n")
    page = tmp_path / f"wiki/{parent}.md"
    page.write_text(re.sub(r"(?m)^title: .*", "title: Another name", page.read_text()))
    published(layout)
    assert "Near 10" in drawn() and "Another name" in doc(layout, f"{run}.html")


def test_files_of_other_people_are_never_cleared_or_written(tmp_path):
    layout = write(tmp_path / "kb", {**SMALL, "site/html/mine.txt": "keep"})
    with pytest.raises(KbError, match="did not write"):
        published(layout)
    (tmp_path / "kb/site/html/mine.txt").unlink()
    published(layout)
    (layout.site / "html/mine.txt").write_text("beside")
    (layout.site / "html/new.html").write_text("mine")
    (tmp_path / "kb/wiki/new.md").write_text("# New\n")
    with pytest.raises(KbError, match="new.html: kb did not write"):
        published(layout)
    (tmp_path / "kb/wiki/new.md").unlink()
    published(layout)
    assert (layout.site / "html/mine.txt").read_text() == "beside" and (layout.site / "html/new.html").read_text() == "mine"
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/thesis.txt").write_text("years")
    with pytest.raises(KbError, match="--out"):
        published(layout, tmp_path / "precious")
    mark = json.loads((layout.site / "html/.kb-site").read_text())
    mark["files"] |= {"../../../precious/thesis.txt": mark["files"]["index.html"], "/etc/hostname": mark["files"]["index.html"]}
    (layout.site / "html/.kb-site").write_text(json.dumps({**mark, "inputs": ""}))
    published(layout)
    assert (tmp_path / "precious/thesis.txt").read_text() == "years", "a manifest that came with the wiki names no file outside"
    shutil.rmtree(layout.site)
    layout.site.symlink_to(tmp_path / "precious")
    with pytest.raises(KbError, match="leads out"):
        published(layout)


def test_odd_pages_are_shown_as_far_as_they_can_be(tmp_path):
    layout = write(tmp_path, {**SMALL, "wiki/empty.md": "", "wiki/front.md": "---\n- a\n---\nbody\n", "wiki/open.md": "```\nnever closed <script>", "wiki/.md": "# Dot\n",
                              "wiki/long.md": "[a](b " * 30_000, "wiki/crlf.md": "# A\r\n\r\ntext\r\n", "wiki/ctrl.md": "# \x02wzxhzdk:0\x03\n\n\x02wzxhzdk:0\x03 `\x01`\n"})
    (tmp_path / "wiki/binary.md").write_bytes(b"\0\1\2<script>")
    (tmp_path / "wiki/latin.md").write_bytes(b"# caf\xe9\n")
    published(layout)
    assert "is not shown" in doc(layout, "binary.html") and "caf\ufffd" in doc(layout, "latin.html") and "never closed &lt;script&gt;" in doc(layout, "open.html")
    assert "\x02" not in content(layout, "ctrl.html") and (layout.site / "html/untitled.html").exists()


def test_the_plain_shell_shows_the_same_content_without_anything_of_the_theme(tmp_path):
    layout = write(tmp_path, SMALL)
    published(layout)
    themed = content(layout, "concepts/tiling.html")
    (tmp_path / "kb.toml").write_text('[kb]\nname = "Tiny"\n[site]\nshell = "plain"\n')
    published(layout)
    assert content(layout, "concepts/tiling.html") == themed
    assert not (layout.site / "html/assets").exists() and "material" not in doc(layout, "concepts/tiling.html").lower() and (layout.site / "html/404.html").exists()


def test_building_runs_nothing_that_lies_in_the_knowledge_base(tmp_path):
    evil = "import pathlib; pathlib.Path(__file__).with_name('ran').write_text('x')\n"
    layout = write(tmp_path, {**SMALL, **dict.fromkeys(("mkdocs.py", "material.py", "yaml.py", "jinja2.py", "pygments.py", "sitecustomize.py", "hooks.py"), evil),
                              "site/overrides/main.html": "{{ [].__class__ }} RAN", "overrides/main.html": "RAN", "mkdocs.yml": "hooks: [hooks.py]\nplugins: [evil]\n"})
    run = subprocess.run([str(Path(sys.executable).with_name("kb")), "site", "build"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert not (tmp_path / "ran").exists() and "RAN" not in doc(layout, "index.html")


def test_templates_of_people_come_in_by_a_setting_and_in_a_sandbox(tmp_path):
    layout = write(tmp_path, {**SMALL, "kb.toml": '[site]\noverrides = "site/overrides"\n', "site/overrides/main.html": '{% extends "kb-base.html" %}{% block announce %}OURS{% endblock %}'})
    published(layout)
    assert "OURS" in doc(layout, "index.html") and "zyzzyva" in doc(layout, "concepts/tiling.html")
    (tmp_path / "site/overrides/main.html").write_text("{{ ''.__class__.__mro__[1].__subclasses__() }}")
    with pytest.raises(KbError, match="could not make the shell"):
        published(layout)


def test_without_the_extra_there_is_one_sentence(tmp_path):
    write(tmp_path, SMALL)
    code = "import sys; sys.modules['jinja2'] = None; from kb.cli import main; sys.exit(main(['site', 'build']))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 2 and "pip install 'kb[site]'" in ran.stderr and "Traceback" not in ran.stderr


def test_mkdocs_itself_shows_the_same_pages(tmp_path):
    layout = write(tmp_path, {**SMALL, "mkdocs.yml": "site_name: Tiny\ndocs_dir: wiki\nsite_dir: public\ntheme: {name: material}\nplugins: [kb]\n"})
    published(layout)
    run = subprocess.run([sys.executable, "-m", "mkdocs", "build", "-q"], cwd=tmp_path, capture_output=True, text=True, check=False)
    if "not installed" in run.stderr:
        pytest.skip("kb was installed before it was a plugin: install it again")
    assert run.returncode == 0, run.stderr
    for place in ("index.html", "concepts/tiling.html", "by-target/alpha/runs.html"):
        ours, theirs = doc(layout, place), (tmp_path / "public" / place).read_text()
        assert ours.split('id="kb-content"')[1].split("</article>")[0].split() == theirs.split('id="kb-content"')[1].split("</article>")[0].split()


HOSTILE = """---
title: "</title><script>window.ran=1</script><img src=x onerror=window.ran=2> \\" onmouseover=window.ran=3 {{ 7*7 }}"
type: concept
tags: ["<script>window.ran=4</script>", "\\"><img src=x onerror=window.ran=5>", "LONGTAG", "\u202ertl"]
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

@@kb:content@@ {{ config }} {% raw %} wombatword &lt;img src=x onerror=window.ran=18&gt;

<base href="https://example.org/"> <link rel=stylesheet href="https://example.org/x.css">

## ENDLESSWORD

ENDLESSWORD `ENDLESSWORD` \u202ertl

| ENDLESSWORD | b |
|---|---|
| x | ENDLESSWORD |

## __config

{"base": "https://example.org", "search": "https://example.org/worker.js"}
""".replace("LONGTAG", "long" * 75).replace("ENDLESSWORD", "endless" * 715)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A small knowledge base with a hostile page, built once: (layout, folder of the site)."""
    root = tmp_path_factory.mktemp("site")
    more = {f"wiki/experiments/alpha/2026-03-{n:02}-v1{n:02}-{'long-' * 12}x.md": experiment(100 + n, "inconclusive", metric=9 + n / 10) for n in range(1, 8)}
    layout = write(root, {**SMALL, **lanes(), **more, "kb.toml": "[kb]\nname = \"Tiny <script>window.ran=20</script> & 'co'\"\n", "wiki/concepts/hostile.md": HOSTILE,
                          "wiki/hypotheses/wider.md": "---\ntitle: Wider tiles\ntype: hypothesis\nstatus: open\ntarget: alpha\n---\n# Wider tiles\n",
                          "wiki/experiments/alpha/2026-01-07-v007-g.md": experiment(7, "refuted").replace("Try 7", "'<script>window.ran=19</script>'").replace("block=7", "nwarps=8")})
    captured(root, "fork-a", "# F\n\n## Diff of a.c\n\nchanged\n\n```diff\n@@ line 1 @@\n+x <script>window.ran=40</script>\n```\n\u202e hidden \u200b", sections=[{"title": "Diff of a.c", "start": 5}])
    published(layout)
    return layout, layout.site / "html"


def test_the_built_site_names_no_other_host_and_lets_no_script_of_a_page_run(built):
    layout, folder = built
    assert published(layout).fresh
    for file in folder.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        for tag in ("<script src=\"http", "<link rel=\"stylesheet\" href=\"http", "<img src=\"http", "fonts.g", "unpkg", " style=", "@@kb:policy"):
            assert tag not in text, (file, tag)
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
        assert "unsafe" not in policy and "default-src 'none'" in policy


def test_the_command_builds_where_it_is_told_and_says_where(tmp_path):
    write(tmp_path, SMALL)
    ran = subprocess.run([sys.executable, "-m", "kb", "site", "build", "--out", "public"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "public/index.html" and (tmp_path / "public/index.html").is_file() and not (tmp_path / "site/html").exists()


def test_the_site_is_served_on_this_machine_only_and_follows_edits(interruptible, tmp_path):
    write(tmp_path, {"wiki/a.md": "# A\n"})
    with subprocess.Popen([sys.executable, "-m", "kb", "site", "serve", "--port", "0"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=interruptible) as server:
        try:
            address = server.stdout.readline().split()[0]
            assert address.startswith("http://127.0.0.1:")

            def loaded(path: str) -> bytes:
                with urllib.request.urlopen(address + path, timeout=10) as page:
                    return page.read()

            def answered(path: str, host: str) -> int:
                with contextlib.closing(http.client.HTTPConnection(address.split("/")[2], timeout=10)) as asking:
                    asking.request("GET", path, headers={"Host": host})
                    return asking.getresponse().status

            assert [answered("/a.html", host) for host in ("localhost:80", "[::1]", "127.0.0.1", "evil.example", "evil.example:8000", "")] == [200, 200, 200, 421, 421, 421]
            assert [answered(path, "localhost") for path in ("/" + "a" * 9000, "/a%00.html", "/kb-version")] == [404, 404, 200]
            assert b"<h1" in loaded("a.html") and b"kb-reload.js" in loaded("a.html") and loaded("kb-version") == b"0"
            (tmp_path / "wiki/a.md").write_text("# A\n\nquokka\n")
            deadline = time.monotonic() + 60
            while loaded("kb-version") == b"0" and time.monotonic() < deadline:
                time.sleep(0.2)
            assert b"quokka" in loaded("a.html")
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait(timeout=20) == 0


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


@pytest.fixture(params=["http", "file"])
def visit(request, browser, built):
    """Opens a page of the site, from a server and as a file; at the end, nothing may have run, spoken or asked another host."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=built[1]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}/" if request.param == "http" else built[1].as_uri() + "/"
    context = browser.new_context(color_scheme="light")
    tab = context.new_page()
    elsewhere, spoken = [], []
    tab.on("request", lambda r: None if r.url.startswith((base, "data:", "blob:" + base)) else elsewhere.append(r.url))
    tab.on("dialog", lambda d: (spoken.append(d.message), d.dismiss()))
    tab.on("console", lambda m: spoken.append(m.text) if m.type == "error" else None)
    tab.on("pageerror", lambda e: spoken.append(str(e)))

    def go(path: str):
        tab.goto(base + path)
        tab.wait_for_timeout(120)
        return tab

    yield go
    assert tab.evaluate("window.ran") is None
    assert elsewhere == [] and spoken == []
    context.close()
    server.shutdown()
    server.server_close()


TEN_KINDS = ["index.html", "by-target/alpha/index.html", "by-target/alpha/runs.html", "by-target/alpha/refuted.html", "by-target/alpha/state.html", "experiments/alpha/2026-01-07-v007-g.html",
             "concepts/hostile.html", "compare.html", "graph.html", "by-type/concept.html", "by-tag/index.html", "refuted.html", "captured/index.html", "captured/fork-a.html"]


@pytest.mark.browser
@pytest.mark.parametrize("path", [*TEN_KINDS, "404.html"])
def test_nothing_that_a_page_says_runs(request, visit, path):
    if path == "404.html" and "file" in request.node.name:
        pytest.skip("the page for missing addresses is only ever sent by a server")
    tab = visit(path)
    assert tab.evaluate("document.querySelectorAll('[onerror],[onclick],[onmouseover],[ontoggle],[onload],a[href^=\"javascript:\" i],a[href^=\"data:\" i]').length") == 0
    assert tab.evaluate("window.ran") is None


@pytest.mark.browser
def test_the_search_finds_words_and_levers_and_runs_nothing_of_what_it_found(visit):
    tab = visit("concepts/tiling.html")
    tab.click(".kb-search-open")
    words = "dialog[aria-label=Search] input"
    for word, title in (("zyzzyva", "Tiling"), ("wombatword", "wombatword"), ("nwarps=8", "window.ran=19"), ("wider", "Wider tiles")):
        tab.fill(words, word)
        tab.wait_for_selector(f".kb-results li:first-child:has-text('{title}')", timeout=5_000)
        assert tab.evaluate("document.querySelectorAll('.kb-results script, .kb-results img').length") == 0
    tab.fill(words, "try")
    tab.select_option("dialog select[aria-label=verdict]", "crash")
    tab.wait_for_selector(".kb-results:not(:has(li + li)) li:has-text('Try 5')", timeout=5_000)
    tab.keyboard.press("Escape")
    tab.keyboard.press("/")
    assert tab.evaluate("document.activeElement.getAttribute('aria-label')") == "Search words"


def visible(tab) -> list[str]:
    return tab.eval_on_selector_all("[data-kb-noun=runs] tbody tr", "rows => rows.filter(r => !r.hidden).map(r => r.cells[0].textContent.trim())")


@pytest.mark.browser
def test_the_run_table_filters_sorts_and_keeps_it_in_the_address(visit):
    tab = visit("by-target/alpha/runs.html")
    assert len(visible(tab)) == 14
    tab.fill(".kb-tools input[type=search]", "block=3")
    assert visible(tab) == ["Try 3"] and tab.inner_text(".kb-tools output") == "1 of 14 runs"
    tab.fill(".kb-tools input[type=search]", "latency<9.55 try")
    assert visible(tab) == ["Try 103", "Try 104", "Try 105"][:0] or set(visible(tab)) == {f"Try {n}" for n in (1, 5, 6, 101, 102, 103, 104, 105)}
    tab.select_option("select[aria-label=Verdict]", label="supported")
    assert visible(tab) == ["Try 6", "Try 1"]
    tab.focus("[data-kb-noun=runs] th:has-text('Value') button")
    tab.keyboard.press("Enter")
    tab.keyboard.press("Enter")
    assert visible(tab) == ["Try 1", "Try 6"] and tab.get_attribute("[data-kb-noun=runs] th:has-text('Value')", "aria-sort") == "descending"
    address = tab.url
    assert "#?" in address
    tab.goto("about:blank")
    tab.go_back()
    tab.wait_for_selector("[data-kb-noun=runs] tbody tr:nth-child(3)[hidden]", state="attached", timeout=5_000)
    assert visible(tab) == ["Try 1", "Try 6"] and tab.input_value(".kb-tools input[type=search]") == "latency<9.55 try"


@pytest.mark.browser
def test_ticked_runs_are_compared_and_columns_are_chosen(visit):
    tab = visit("by-target/alpha/runs.html")
    for name in ("Compare Try 6", "Compare Try 2"):
        tab.check(f"input[aria-label='{name}']")
    text = tab.inner_text("#compare")
    assert "2 runs side by side" in text and "block" in text and "12.25 ms" in text and "8 ms" in text and tab.locator("#compare tr.kb-differs").count() >= 3
    tab.reload()
    assert tab.locator("#compare thead a").count() == 2, "what was ticked stands in the address"
    tab.click(".kb-columns-menu summary")
    tab.uncheck(".kb-columns-menu label:has-text('Levers') input")
    assert not tab.is_visible("th:has-text('Levers')")
    tab.click("#compare button")
    assert tab.is_hidden("#compare")


@pytest.mark.browser
def test_refuted_levers_are_filtered_by_words_and_target(visit):
    tab = visit("refuted.html")
    assert tab.locator(".kb-lever:visible").count() == 2
    tab.fill(".kb-explorer input", "try 5")
    assert tab.locator(".kb-lever:visible").count() == 1 and "block" in tab.inner_text(".kb-lever:visible")


@pytest.mark.browser
@pytest.mark.parametrize("width,height", [(1280, 720), (390, 664)], ids=["laptop", "phone between its browser's bars"])
def test_the_first_screen_of_a_target_answers_the_four_questions(browser, built, width, height):
    context = browser.new_context(viewport={"width": width, "height": height}, java_script_enabled=False)
    tab = context.new_page()
    tab.goto((built[1] / "by-target/alpha/index.html").as_uri())
    for place, answer in (("standing", "8 ms"), ("tried", "supported"), ("failed", "block"), ("next", "Wider tiles")):
        box = tab.locator(f"section:has(> #{place})").bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= height and answer in tab.inner_text(f"section:has(> #{place})"), place
    context.close()


@pytest.mark.browser
@pytest.mark.parametrize("path", TEN_KINDS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_a_phone_and_none_has_a_serious_barrier(browser, built, path, scheme):
    for size in ({"width": 390, "height": 844}, {"width": 1280, "height": 860}):
        context = browser.new_context(viewport=size, color_scheme=scheme, bypass_csp=True)
        tab = context.new_page()
        tab.goto((built[1] / path).as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth") <= size["width"], "a page scrolls sideways"
        if AXE:
            tab.add_script_tag(content=AXE)
            tab.wait_for_timeout(300)
            result = tab.evaluate("axe.run(document, {resultTypes: ['violations']})")
            assert [(v["id"], [n["html"][:160] for n in v["nodes"][:3]]) for v in result["violations"] if v["impact"] in ("serious", "critical")] == []
        context.close()


@pytest.mark.browser
def test_the_accessibility_checker_was_there():
    if not AXE:
        pytest.skip("axe-core is not here; the test extra brings it: pip install axe-playwright-python")
    assert "axe" in AXE


@pytest.mark.browser
def test_dark_and_light_can_be_chosen(visit):
    tab = visit("index.html")
    assert tab.get_attribute("body", "data-md-color-scheme") == "default"
    light = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    tab.click("label[for=__palette_1]")
    tab.wait_for_timeout(300)
    assert tab.get_attribute("body", "data-md-color-scheme") == "slate" and tab.evaluate("getComputedStyle(document.body).backgroundColor") != light


def test_every_link_of_the_small_site_leads_somewhere(built):
    _, folder = built
    missing = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs):
            href = dict(attrs).get("href", "")
            if tag == "a" and href and not href.startswith(("http", "mailto:", "/")):
                path, _, anchor = href.partition("#")
                file = (self.file.parent / urllib.parse.unquote(path)).resolve() if path else self.file
                if not file.is_file() or anchor and f'id="{urllib.parse.unquote(anchor)}"' not in file.read_text(encoding="utf-8"):
                    missing.append((self.file.name, href))

    for file in sorted(folder.rglob("*.html")):
        reader = Reader()
        reader.file = file
        reader.feed(file.read_text(encoding="utf-8"))
    assert missing == []


@pytest.mark.corpora
def test_a_real_wiki_is_rendered_whole(tmp_path):
    corpus = Path(__file__).parents[2] / "shared/corpora/tpu-wiki/wiki/concepts"
    if not corpus.is_dir():
        pytest.skip("the corpora are not beside the checkout")
    shutil.copytree(corpus, tmp_path / "wiki/concepts")
    assert published(write(tmp_path, {})).pages >= len(list(corpus.rglob("*.md")))


def test_mkdocs_serve_shows_the_pages_and_an_edit(interruptible, tmp_path):
    layout = write(tmp_path, {**SMALL, "mkdocs.yml": "site_name: Tiny\ndocs_dir: wiki\nsite_dir: public\ntheme: {name: material}\nplugins: [kb]\n"})
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % free.getsockname()[1]
    with subprocess.Popen([sys.executable, "-m", "mkdocs", "serve", "-q", "-a", address], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=interruptible) as server:
        try:
            def loaded(path: str) -> str:
                try:
                    with urllib.request.urlopen(f"http://{address}/{path}", timeout=10) as page:
                        return page.read().decode()
                except OSError:
                    return ""

            def comes(path: str, word: str) -> bool:
                deadline = time.monotonic() + 90
                while word not in loaded(path) and time.monotonic() < deadline and server.poll() is None:
                    time.sleep(0.3)
                return word in loaded(path)

            if not comes("concepts/tiling.html", "zyzzyva") and server.poll() is not None and "not installed" in server.stderr.read():
                pytest.skip("kb was installed before it was a plugin: install it again")
            assert "zyzzyva" in loaded("concepts/tiling.html") and "8 ms" in loaded("by-target/alpha/index.html")
            page = layout.root / "wiki/concepts/tiling.md"
            page.write_text(page.read_text() + "\nquokka\n")
            assert comes("concepts/tiling.html", "quokka")
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(timeout=20)


def test_wikilinks_lead_where_a_vault_leads_them(tmp_path):
    layout = write(tmp_path, {"wiki/a.md": "# A\n\n[[Deep Page]] and [[deep page#Two words|label]] and [[nowhere]] and `[[Deep Page]]`\n\n| a |\n|---|\n| [[Deep Page\\|in a cell]] |\n", "wiki/sub/Deep Page.md": "# D\n\n## Two words\n"})
    published(layout)
    text = content(layout, "a.html")
    assert '<a href="sub/Deep-Page.html">Deep Page</a> and <a href="sub/Deep-Page.html#two-words">label</a>' in text
    assert 'kb-broken" title="no page has this name: nowhere"' in text and "<code>[[Deep Page]]</code>" in text and ">in a cell</a>" in text


def test_a_title_turns_no_text_beside_it(tmp_path):
    layout = write(tmp_path, {**SMALL, "wiki/concepts/turned.md": "---\ntitle: \"\u202eevil \u05d0\"\ntype: concept\n---\n# x\n\n[t](tiling.md)\n"})
    published(layout)
    for place in ("by-type/concept.html", "concepts/tiling.html", "kb-search/pages.js"):
        text = doc(layout, place)
        assert "evil \u05d0" in text and "\u202e" not in text, place


def test_a_build_beside_another_leaves_nothing_unseen(tmp_path):
    layout = write(tmp_path, SMALL)
    page = tmp_path / "wiki/concepts/tiling.md"
    build(layout)
    db = store.state(layout)

    def edited(text: str) -> None:
        if text.startswith("rendering"):
            page.write_text(page.read_text() + "\nmeanwhile\n")
            build(layout)

    more = {f"wiki/n/p{n}.md": f"# P{n}\n" for n in range(120)}
    write(tmp_path, more)
    build(layout)
    site.publish(layout, db, handed=None, note=edited)
    db.close()
    assert not published(layout).fresh and "meanwhile" in content(layout, "concepts/tiling.html")


def test_what_other_code_kept_is_made_anew(tmp_path):
    layout = write(tmp_path, SMALL)
    published(layout)
    cache = store.state(layout, writable=True, name="site.db")
    cache.execute("update kept set row = ?", (store.row_of(("of", "another", "shape")),))
    cache.execute("pragma user_version = 1")
    cache.close()
    shutil.rmtree(layout.site)
    assert published(layout).rendered > 5
