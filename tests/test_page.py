"""The room `page`: reading markdown exactly, bad content as findings, edits that keep every other byte."""

import json
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kb import KbError, page, store
from kb.page import edit, front, front_yaml, markdown, reading
from kb.trail.handles import label_of
from kb.trail.page_facts import read_facts

# Pieces that make links, references, code, HTML, escapes and emphasis meet in every way.
PIECES = st.sampled_from(
    ["[", "]", "(", ")", "![", "](", "][", "[a](b.md)", "[`x`](y.md#z)", "[a][r]", "[r]", "[[w]]", "<http://h.x>", "<b>", "</b>", "<!-- c -->", "<a id='q'>",
     "`", "``", "`[a](b)`", "\\", "\\[", "\\`", "*", "**", "_", "&amp;", "&#42;", "?a=b&c=d", " ", "\n", "text", "b.md", "<x y.md>", '"t"', "'t'", "\n\n", "# H\n", "\nH\n===\n",
     "> ", "- ", "1. ", "```\n", "~~~\n", "    ", "|", "| a | b |\n|---|---|\n", "\n[r]: r.md\n", "é", "\u00a0", "\x00", "<m@x.y>", "file:///x", "javascript:1"]
)


# Lines that open, continue, interrupt and close every kind of block.
LINES = st.sampled_from([
    "", "", "  ", "text [a](b.md)", "# head", "## h [x](y) ##", "#nohead", "- item [a](b)", "* item [c](d)", "+ x [l](m)", "1. one [n](o)", "2. two [n](o)", "10) ten [q](z)",
    "  - nested [e](f)", "   - three [e](f)", "    - four [i](j)", "      - six [k](l)", "  cont [g](h)", "    code [z](z)", "     five [z](z)", "      six [z](z)", "> quote [q](r)",
    ">> qq [q](r)", "| a [t](u) | b |", "|---|---|", "| c \\| [v](w) | `x|y` [aa](bb) |", "a | b [a](b)", "--- | ---", "---", "===", "***", "* * *", "_ _ _", "```", "```py", "~~~", "  ```",
    "   ```", "- ```", "```inline```", "<div>", "</div>", "<b>x</b> [a](b)", "<!-- c -->", "- # hh [a](b)", "- > q [a](b)", "- - dd [a](b)", "-", "1.", "- [ ] task [a](b)", "`code",
    "span` [a](b)", "[multi", "line](x.md)", "- [multi", "\ttab [a](b)", "-\ttab item [a](b)", "- \ttab2 [a](b)", "1986. year [a](b)", "**bold** [a](b)", "  # indented [a](b)",
    "   > iq [a](b)", "=x [a](b)", ": def [a](b)", "[r]: u", "[r]", "<!-- open", "close -->", "\u00a0nb [a](b)", "- \u00a0nb [a](b)", "\x0b", "a\\", "| single [a](b) |", "|-|",
])


# Where pulldown-cmark and markdown-it-py read differently, by class; docs/decisions/0050 says who is right.
DIFFERENCES = re.compile(
    r"[\x00\x0b\u00a0]"  # no-break blanks and vertical tabs at the ends of lines
    r"|\]:[^\n]*\n[^\n]"  # a line directly below a definition
    r"|[>|][^\n]*\n(?:[^\n]+\n)*(?: {4}|\t)"  # text set in deeply below a quote or a table
    r"|^\|[^|\n]*\|?\n-+$"  # one cell above a rule: a table or an underlined heading
    r"|\[r\](?:\(|\\\[)"  # a reference before a bracket that opens no destination
    r"|\\\n[^\n]*\|[^\n]*\n[ \t|:-]+(?:\n|\Z)"  # a backslash at the end of the line above a table
    r"|\\ +\n|^ *\[[^\n]*\n\\\|",  # a backslash before blanks at the end of a line, before a bar at the start of one
    re.MULTILINE,
)
MARKDOWN_IT = markdown.parser()


def as_markdown_it_reads(body: str) -> tuple[list[tuple[int, str]], list[tuple[str, str]]]:
    """(level, shown text) of headings and (kind, href) of links by a whole markdown-it-py parse."""
    tokens, headings, links = MARKDOWN_IT.parse(body), [], []
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type == "inline":
            if before.type == "heading_open":
                headings.append((int(before.tag[1]), shown(token.children)))
            links += [("auto" if c.markup == "autolink" else "inline", c.attrs["href"]) if c.type == "link_open" else ("image", c.attrs["src"])
                      for c in token.children if c.type in ("link_open", "image")]
    return headings, links


def shown(children) -> str:
    return "".join(t.content if t.type in ("text", "code_inline", "text_special") else " " if t.type in ("softbreak", "hardbreak") else "" for t in children)


def as_kb_reads(body: str) -> tuple[list[tuple[int, str]], list[tuple[str, str]]]:
    parsed = page.document_of("\n" + body)
    return ([(b.level, b.plain) for b in parsed.of("heading")], [(link.kind, link.href) for link in parsed.links if link.kind not in ("wikilink", "unresolved")])


@settings(max_examples=400, deadline=None)
@given(st.lists(PIECES, max_size=24).map("".join) | st.lists(LINES, max_size=12).map("\n".join))
def test_headings_and_links_are_those_of_markdown_it(body):
    assume(not DIFFERENCES.search(body))
    assert as_kb_reads(body) == as_markdown_it_reads(body)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES | LINES.map(lambda line: line + "\n"), max_size=20).map("".join))
def test_every_block_stands_where_it_says(body):
    text = f"---\ntitle: é\n---\n{body}"
    document = page.document_of(text)
    lines = text.split("\n")
    for place, block in enumerate(document.blocks):
        assert block.parent < place and block.depth == (document.blocks[block.parent].depth + 1 if block.parent >= 0 else 0)
        assert block.line == text.count("\n", 0, block.start) + 1 and block.line < block.stop <= len(lines) + 1
        assert all(document.source(s).startswith("`") for s in block.spans if s.kind == "code")
        assert all(block.plain[s.at :].startswith(s.text) for s in block.spans if s.kind in ("strong", "emphasis", "link", "auto"))
    assert [b.line for b in document.blocks] == sorted(b.line for b in document.blocks)


def test_a_page_gives_its_blocks_with_their_places():
    text = "---\ntitle: t\n---\n# A *b*\n\n| x \\| y | z |\n|--|--|\n| `1 \\| 2` | **3** |\n\n- one\n  1. two\n\n> said\n\n```py run\ncode\n```\n<p>\nraw\n"
    document = page.document_of(text)
    assert [(b.kind, b.line, b.stop, b.level, b.info, b.plain) for b in document.blocks] == [
        ("heading", 4, 5, 1, "", "A b"), ("table", 6, 9, 0, "", ""), ("list", 10, 12, 0, "", ""), ("item", 10, 12, 1, "-", ""), ("paragraph", 10, 11, 0, "", "one"),
        ("list", 11, 12, 0, "", ""), ("item", 11, 12, 2, "1.", ""), ("paragraph", 11, 12, 0, "", "two"), ("quote", 13, 14, 0, "", ""), ("paragraph", 13, 14, 0, "", "said"),
        ("fence", 15, 18, 0, "py run", "code\n"), ("html", 18, 20, 0, "", "<p>\nraw\n")]
    table = next(document.of("table"))
    assert [[c.plain for c in row.cells] for row in table.rows] == [["x | y", "z"], ["1 | 2", "3"]] and table.rows[1].line == 8
    assert [(s.kind, document.source(s)) for s in table.rows[1].cells[1].spans] == [("strong", "**3**")]
    assert [b.plain for b in document.between(13, 16) if b.kind == "paragraph"] == ["said"]


# Lines of catalogs, as machines write them, and what makes a line something else.
CATALOG = st.lists(
    st.sampled_from(["# Module: [`a.py`](../a.py)", "## Classes", "### `C`", "- def: [`a.py:1`](../a.py#L1) — in [c](c.md)", "- members:", "  - `f(x: list[int])` — [`L2`](../a.py#L2)",
                     "- signature: `def f(a)[0](b)`", "- [x] done [a](b)", "", "", "text ![p](p.png)", "a `b", "c` [a](b)", "[a", "b](c.md)", "[[w]]", "[[a](b)](c)", "[a](b \"t\")", "[a](<b>)", "`a``b`"])
    | LINES | PIECES.filter(lambda piece: "\n" not in piece), max_size=10
).map("\n".join)


@settings(max_examples=800, deadline=None)
@given(CATALOG, st.sampled_from(["", "\n"]))
def test_a_catalog_that_is_skimmed_names_and_cites_what_a_whole_reading_finds(body, end):
    data = f"---\ntitle: A\ntype: catalog\nsymbols:\n  f: ''\n---\n{body}{end}".encode()
    whole, skimmed = page.read("wiki/c.md", data), page.read("wiki/c.md", data, skim=True)
    assert (skimmed.front, skimmed.lines, skimmed.first_heading, skimmed.cited, skimmed.symbols) == (whole.front, whole.lines, whole.first_heading, whole.cited, whole.symbols)
    assert [(h.level, h.text) for h in skimmed.headings] == [(h.level, h.text) for h in whole.headings]


def test_a_catalog_as_machines_write_it_is_skimmed_and_the_rest_is_asked_of_its_file():
    data = b"---\ntitle: A\ntype: catalog\nsymbols:\n  C.f: f().\n---\n# Module: [`a.py`](../a.py)\n\n## Classes\n### `C`\n- `f[T](x)` - [`L2`](../a.py#L2)\n"
    made = page.read("wiki/c.md", data, skim=True)
    assert (made.skimmed, made.cited, [h.text for h in made.headings], made.symbols) == (True, ("../a.py",), ["Module: a.py", "Classes", "C"], ("C.f",))
    kept = page.from_row(made.path, made.digest, page.to_row(made))
    assert kept.cited == ("../a.py",) and kept.title == "A"
    with pytest.raises(ValueError, match="skimmed"):
        _ = kept.links


@pytest.mark.corpora
def test_headings_and_links_of_a_real_wiki_are_those_of_markdown_it(corpora):
    differing = []
    for file in sorted((corpora / "tpu-wiki" / "wiki").rglob("*.md"))[::7]:
        text = page.text_of(file.read_bytes())
        if as_kb_reads(text) != as_markdown_it_reads("\n" + text):
            differing.append(file.name)
        skimmed, whole = (page.read("wiki/c.md", file.read_bytes(), skim=skim) for skim in (True, False))
        if (skimmed.cited, [h.text for h in skimmed.headings]) != (whole.cited, [h.text for h in whole.headings]):
            differing.append(file.name)
    assert differing == []


def read(text: str | bytes, path: str = "wiki/concepts/x.md") -> page.Page:
    return page.read(path, text.encode() if isinstance(text, str) else text)


def codes(made: page.Page) -> list[str]:
    return [f.code for f in made.findings]


def test_front_matter_keeps_raw_values_and_lines():
    made = read("---\ntitle: A page\ncreated: 2026-01-02\ntags: [a, b]\n---\n# H\n")
    assert made.title == "A page" and made.date == "2026-01-02" and made.words("tags") == ("a", "b")
    assert made.front_lines["tags"] == 4 and made.body_line == 6 and made.headings[0].line == 6


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        (b"\x00\x01\x02", "binary"),
        (b"caf\xe9\n", "encoding"),
        ("---\ntitle: x\n", "front-matter"),
        ("---\n- a\n- b\n---\n", "front-matter"),
        ("---\na: !!python/object/apply:os.system ['true']\n---\n", "front-matter"),
        ("---\na: [\n---\n", "front-matter"),
        ("---\na: 1\na: 2\n---\n", "duplicate-key"),
        ("---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
         "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n---\n", "front-matter"),
        ("---\na: &a [*a]\n---\n", "front-matter"),
        ("text\n\n```\nnever closed\n", "open-fence"),
        ("<!-- kb:auto x -->\n", "managed-block"),
        ("<!-- /kb:auto -->\n", "managed-block"),
    ],
)
def test_bad_content_is_a_finding_and_never_an_exception(text, code):
    assert code in codes(read(text))


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_can_be_read(data):
    made = read(data)
    assert page.from_row(made.path, made.digest, page.to_row(made)) == made


def test_a_huge_page_is_cut_and_said_so():
    made = read("# T\n\n" + ("word " * 15 + "\n") * 60_000)
    assert codes(made) == ["too-large"] and made.headings[0].text == "T"


@pytest.mark.parametrize(
    ("path", "front", "kind"),
    [
        ("wiki/runs/t/2026-01-02-x.md", "", "experiment"),
        ("wiki/Trials/003-x.md", "", "experiment"),
        ("wiki/Concepts/x.md", "", "concept"),
        ("wiki/notes/x.md", "type: Finding", "observation"),
        ("wiki/syntheses/x.md", "type: synthesis", "analysis"),
        ("wiki/notes/x.md", "type: entity", "concept"),
        ("wiki/notes/x.md", "type: gadget", "gadget"),
        # Notes that are a whole wiki may hold anything.
        ("notes/experiments/2026-01-01-v001-x.md", "title: X", "experiment"),
        ("notes/x.md", "title: X", "page"),
        # Folders of a wiki that is the root keep their types.
        ("adr/0001-x.md", "title: X", "analysis"),
        ("findings/x.md", "title: X", "observation"),
        ("docs/decisions/x.md", "", "analysis"),
        ("x.md", "type: moc", "index"),
        ("concepts/x.md", "", "concept"),
        ("wiki/models/bert4rec.md", "", "page"),
        ("wiki/models/x.md", "metric: tok/s", "target"),
        ("wiki/models/x.md", "type: model", "target"),
    ],
)
def test_types_and_folders_of_other_wikis_are_read(path, front, kind):
    assert read(f"---\n{front}\n---\ntext\n", path).type == kind


ODD = st.sampled_from(["", "null", "[]", "{}", "3", "-1.5", "true", "2026-01-02", "{a: {b: 1}}", '{"": 3}', "[[], [1]]", '"a\\0b"', '"\\ud800"', "x" * 5000, "9" * 400, "[" * 1000, "{a: " * 500,
                       "../../x", "/etc/passwd", "~", "!!binary aGk=", "&a [*a]", "|\n  text", "'\u202e'", '"a\\nb"', ".inf", ".nan", "0x1f", "- " * 900])


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(["title", "type", "created", "updated", "target", "variant", "verdict", "status", "metrics", "levers", "parent", "tags", "symbols", "aliases", '""']), ODD, max_size=6))
def test_any_front_matter_is_read_and_its_page_kept(fields):
    data = "---\n" + "".join(f"{key}: {value}\n" for key, value in fields.items()) + "---\n# Title\n"
    odd = page.read("wiki/experiments/t/2026-01-02-v001-x.md", data.encode("utf-8", "surrogatepass"))
    kept = page.from_row(odd.path, odd.digest, page.to_row(odd))
    assert (kept, kept.headings, kept.type, kept.date) == (odd, odd.headings, odd.type, odd.date)
    assert json.dumps(odd.front, ensure_ascii=False).encode() and "" not in odd.front
    assert all(store.is_inner(value) for key in ("target", "variant") if (value := odd.field(key)))


@pytest.mark.parametrize("value", ["x" * 5000, '"a\\0b"', "../../x", "/abs", '"a\\u202eb"'])
def test_a_target_that_names_no_folder_is_a_finding(value):
    odd = read(f"---\ntarget: {value}\ntitle: t\n---\n")
    assert codes(odd) == ["front-matter"] and odd.field("target") == "" and odd.title == "t"


def test_one_line_that_is_no_yaml_hides_no_other_field():
    made = read("---\ntitle: Tiles: a second look\ntype: experiment\nverdict: invalid: wrong seed\ntags: [a, b]\nlist:\n  - x\ncreated: 2026-01-02\n---\n")
    assert made.front == {"title": "Tiles: a second look", "type": "experiment", "verdict": "invalid: wrong seed", "tags": ["a", "b"], "created": "2026-01-02"}
    assert codes(made) == ["front-matter"]


@pytest.mark.parametrize("line", ["[" * 8000, "`" * 7999 + "[a](b)", "*a " * 4000, "[a](" * 2000, "<a " * 3000, "![" * 4000, "a <!-- " * 15_000])
def test_one_hostile_line_is_read_in_reasonable_time(line):
    assert read("# T\n\n" + line).headings[0].text == "T"


def test_links_between_comments_that_never_close_are_found():
    assert [link.href for link in read("[a](b.md) " + "<!-- " * 40 + "[c](d.md) -->\n\n[e](f.md) " + "<!-- " * 40 + "[g](h.md)").links] == ["b.md", "f.md", "h.md"]


def test_windows_newlines_and_a_byte_order_mark_change_nothing():
    plain, other = read("---\ntitle: t\n---\n# H\n\n[a](b.md)\n"), read(b"\xef\xbb\xbf---\r\ntitle: t\r\n---\r\n# H\r\n\r\n[a](b.md)\r\n")
    assert (plain.title, plain.headings, plain.links, plain.findings) == (other.title, other.headings, other.links, other.findings)


def test_code_and_comments_hold_no_links_or_headings():
    made = read("````\n```\n# no\n[a](b.md)\n```\n````\n\n`[a](b.md)`\n\n<!-- [a](b.md) -->\n\n# yes\n")
    assert [h.text for h in made.headings] == ["yes"] and made.links == ()


def test_anchors_are_githubs():
    made = read("---\nsymbols: {Foo.bar: 3}\n---\n# Hello, `World`!\n## Hello World\n## A — B_c\n<a id=\"mine\"></a>\n\n<h2>Raw head</h2>\n")
    assert {"hello-world", "hello-world-1", "a--b_c", "mine", "Foo.bar", "raw-head"} <= made.anchors


def test_sections_cover_the_body_once():
    made = read("---\ntitle: t\n---\nintro\n\n# A\ntext\n\n## B\ntext\n\n# C\n")
    assert [(s.anchor, s.start, s.end) for s in made.sections] == [("", 4, 6), ("a", 6, 9), ("b", 9, 12), ("c", 12, 13)]


@pytest.mark.parametrize(
    ("path", "front", "kind"),
    [
        ("wiki/concepts/x.md", "", "concept"),
        ("wiki/targets/x.md", "", "target"),
        ("wiki/kernels/x.md", "type: kernel", "target"),
        ("wiki/experiments/t/2026-01-02-v003-x.md", "", "experiment"),
        ("wiki/experiments/t/README.md", "", "index"),
        ("wiki/experiments/t/OBSERVATIONS.md", "", "log"),
        ("wiki/experiments/t/program.md", "", "program"),
        ("wiki/concepts/x.md", "type: gizmo", "gizmo"),
    ],
)
def test_a_page_has_the_type_it_says_or_the_one_of_its_place(path, front, kind):
    assert read(f"---\ntitle: t\n{front}\n---\n", path).type == kind


@pytest.mark.parametrize("written", ["2025-03-03", "2025-03-03T10:00:00Z", "2025/03/03", "2025.3.3", "20250303", "2025年3月3日", "03.03.2025", "3 March 2025", "Mar 3, 2025", "March 3 2025"])
def test_a_day_is_read_in_whatever_spelling(written):
    assert read(f"---\ntitle: A\ndate: {written}\n---\n").date == "2025-03-03"


@pytest.mark.parametrize("written", ["3/4/2025", "spring 2025", "2025", "31 February 2025"])
def test_what_may_be_two_days_or_none_dates_nothing(written):
    assert read(f"---\ntitle: A\ndate: {written}\n---\n").date == ""


@pytest.mark.parametrize(("kind", "status", "told", "stated"), [
    ("strategy", "rejected", "28 trades, 67.9 % won, drawdown 12 %.", "experiment"),
    ("strategy", "draft", "28 trades, 67.9 % won, drawdown 12 %.", "strategy"),
    ("policy", "rejected", "Nobody may wait for 30 days.", "policy"),
    ("claim", "supported", "It gains 4 % on one and 6 % on the other.", "claim"),
])
def test_a_thing_of_its_owners_kind_that_was_measured_and_judged_is_a_run(kind, status, told, stated):
    assert read(f"---\ntype: {kind}\nstatus: {status}\n---\n# Fade\n\n{told}\n", "wiki/strategies/fade.md").type == stated


TRIES = ("**Hypothesis:** less dispatch.\n\n**Result:** 18 % slower, reverted.\n", "**Hypothesis:** smaller values.\n\n**Result:** 4 % slower, reverted.\n")


@pytest.mark.parametrize(("body", "kind"), [
    (f"### Inline calls\n\n{TRIES[0]}", "experiment"),
    (f"### Inline calls\n\n{TRIES[0]}\n### Pools\n\n{TRIES[1]}", "page"),
    # Its parts are labels of one try.
    (f"## Hypothesis\n\n**Hypothesis:** less dispatch.\n\n## Result\n\n**Result:** 18 % slower.\n\n## Findings\n\n**Result:** the cache.\n\n## Conclusion\n\n{TRIES[0]}", "experiment"),
    ("| ID | Hypothesis | Result |\n|---|---|---|\n| 1 | pools | 4 % slower |\n| 2 | inline | 18 % slower |\n\nConclusion: rejected.\n", "page"),
    # What the page says of itself goes before what its parts say.
    ("**Verdict:** three of them, all abandoned.\n\n## Attempt 1 — crashed\n\nA ring.\n\n## Attempt 2 — no gain\n\nA line.\n", "experiment"),
    # Each may be labelled in parts, or say in its heading how it came out.
    ("## Inline calls\n\n### Hypothesis\n\nLess dispatch.\n\n### Setting\n\nTwo arms.\n\n### Result: slower\n\n## Pools\n\n### Hypothesis\n\nSmaller.\n\n### Result\n\nFlat.\n", "page"),
    ("## Inline calls — REJECTED\n\n- **Result:** 18 % slower.\n\n## Pools — no gain\n\n- **Result:** 155 MB/s before, 149 MB/s after.\n", "page"),
    # So it is of several in a table that numbers them, unless its head says how it came out, below a heading of its short form too.
    ("| # | speed | Result | what |\n|---|---|---|---|\n| 1 | 161 MB/s | rejected | pools |\n| 2 | 109 MB/s | rejected | rings |\n\nThe old one stays.\n", "page"),
    ("## TL;DR\n\n**Verdict: rejected.** 4 % slower.\n\n| # | gate | Result |\n|---|---|---|\n| 1 | 155 MB/s | failed |\n| 2 | 149 MB/s | passed |\n", "experiment"),
    ("## E1 — Inline calls\n\nIdea: less dispatch.\n\nResult: 18 % slower.\n\n## E2 — Pools\n\nIdea: smaller.\n\nResult: 4 % slower.\n", "page"),
])
def test_a_page_of_several_tries_is_no_run(body, kind):
    assert read(f"# Notes\n\n{body}", "wiki/docs/log-of-speed.md").type == kind


@pytest.mark.parametrize(("heading", "says", "kind"), [
    ("TL;DR", "**VERDICT: CLOSE NEGATIVE.** It loses ground where it matters.", "experiment"),
    ("1. Zusammenfassung (Mai)", "**Urteil: verworfen.** Es kostet mehr als es bringt.", "experiment"),
    ("Data", "**VERDICT: CLOSE NEGATIVE.** It loses ground where it matters.", "page"),
    ("TL;DR", "It is about centroids and what they cost.", "page"),
])
def test_what_a_page_says_in_short_stands_at_its_head(heading, says, kind):
    """A verdict further down may be about a part of it."""
    table = "| set | before | after |\n|---|---|---|\n| a | 4 | 3 |\n| b | 5 | 4 |\n"
    assert read(f"# Centroids with a fallback\n\n## {heading}\n\n{says}\n\n## Sets\n\n{table}", "wiki/evidence/centroids.md").type == kind


def test_a_readme_of_a_language_is_a_readme():
    assert read(f"# Notes\n\n{TRIES[0]}", "wiki/README.ko.md").type == read(f"# Notes\n\n{TRIES[0]}", "wiki/README.md").type == "index"


def test_a_note_whose_name_is_a_day_is_of_that_day_and_one_whose_name_says_more_is_dated_by_its_front_matter():
    assert read("prefetch: slower\n", "Daily/2026-05-02.md").date == "2026-05-02"
    assert read("prefetch: slower\n", "notes/2026-05-02-plan.md").date == ""
    assert read("---\ncreated: 2026-04-01\n---\nprefetch: slower\n", "notes/2026-05-02-plan.md").date == "2026-04-01"


def test_trail_order_is_date_number_path():
    names = ["2026-01-02-v010-a", "2026-01-02-v009-b", "2026-01-01-exp99-c", "2026-01-02-e4b-baseline"]
    pages = [read("---\ntype: experiment\n---\n", f"wiki/experiments/t/{n}.md") for n in names]
    assert [p.number for p in pages] == [10, 9, 99, 0]
    assert [p.stem for p in sorted(pages, key=lambda p: p.order)] == [names[2], names[3], names[1], names[0]]


def outside_blocks(data: bytes) -> bytes:
    """The bytes of a page without the insides of its managed blocks."""
    hidden = {n for _, start, end in read(data).blocks for n in range(start + 1, end)}
    return b"".join(line for n, line in enumerate(data.splitlines(keepends=True), 1) if n not in hidden)


BLOCK = "<!-- kb:auto rows -->\nold\n<!-- /kb:auto -->\n"


@settings(max_examples=100, deadline=None)
@given(before=st.text(alphabet="ab #\n\r`-é", max_size=40), after=st.text(alphabet="ab #\n\ré", max_size=40), content=st.text(alphabet="xy|\n", max_size=30))
def test_a_managed_block_is_replaced_and_every_other_byte_stays(before, after, content):
    data = (before + "\n\n" + BLOCK + after).encode()
    if [b[0] for b in read(data).blocks] != ["rows"] or codes(read(data)).count("managed-block"):
        return
    changed = edit.with_block("x.md", data, name="rows", content=content)
    assert outside_blocks(changed) == outside_blocks(data)
    assert edit.with_block("x.md", changed, name="rows", content=content) == changed


def test_a_block_that_the_page_lacks_is_added_at_its_end():
    assert edit.with_block("x.md", b"text", name="n", content="row") == b"text\n\n<!-- kb:auto n -->\nrow\n<!-- /kb:auto -->\n"


def test_a_page_of_one_word_without_an_end_is_read_at_once():
    assert reading._compares("512 → 256") and not reading._compares("2^" * 60_000)


def test_a_block_that_is_taken_away_leaves_the_page_as_it_was_and_parts_what_stands_around_it():
    fenced = b"# Old\n\n```\n\n<!-- kb:auto n -->\n<!-- /kb:auto -->\n\n```\n\nText.\n"
    for whole in (fenced, b"", b"# Old\r\n\r\nText.\r\n", b"# Old\n\n\n"):
        page = edit.with_block("x.md", whole, name="n", content="row")
        assert edit.without_block("x.md", page, name="n") == whole
    page = edit.with_block("x.md", b"Text.\n", name="n", content="row")
    assert edit.without_block("x.md", page + b"More.\n", name="n") == b"Text.\n\nMore.\n"
    assert edit.without_block("x.md", b"<!-- kb:auto n -->\n<!-- /kb:auto -->\n\n", name="n") == b"\n"


def test_a_block_text_that_would_break_the_page_is_refused():
    with pytest.raises(KbError, match="marker of its own"):
        edit.with_block("x.md", BLOCK.encode(), name="rows", content="<!-- /kb:auto -->")


def test_a_link_is_rewritten_only_where_it_is_a_link():
    data = b"[a](old.md) and old.md and `[a](old.md)`? [b](old.md#x)\r\n"
    assert edit.with_link(b"[a](old.md) and old.md\r\n", line=1, old="old.md", new="new.md") == b"[a](new.md) and old.md\r\n"
    assert edit.with_link(data, line=1, old="old.md#x", new="new.md#x").endswith(b"[b](new.md#x)\r\n")


def test_a_front_matter_value_is_set_in_place_or_added():
    data = b"---\r\ntitle: t\r\nstatus: open\r\n---\r\nbody"
    assert edit.with_field("x.md", data, key="status", value="filed") == b"---\r\ntitle: t\r\nstatus: filed\r\n---\r\nbody"
    assert edit.with_field("x.md", data, key="verdict", value="refuted") == b"---\r\ntitle: t\r\nstatus: open\r\nverdict: refuted\r\n---\r\nbody"
    with pytest.raises(KbError, match="several lines"):
        edit.with_field("x.md", b"---\ntags:\n- a\n---\n", key="tags", value="b")


MARKS = st.sampled_from(["**bold**", "*em*", "_em_", "a_b_c", "`code`", "``c`d``", "[t](u)", "![i](u)", "<b>", "<http://x>", "&amp;", " & ", " * ", "*", "**", "_", "`", "[x]", "](", "a",
                         "b c", "\\*", "\n", "é", "~~x~~", "x<y", "(", ")", "!", "\u00a0", "1*2*3", "**a**b", "foo**bar**", "***x***", "__y__", "` `", "` x `", "  \n ", "[*a](b)", "[`c`](d)", "\x01"])


@settings(max_examples=600, deadline=None)
@given(st.lists(MARKS, max_size=10).map("".join))
def test_what_a_reader_sees_is_what_markdown_it_shows(inline):
    children = []
    MARKDOWN_IT.inline.parse(inline, MARKDOWN_IT, {}, children)
    assert page.plain_text(inline).split() == shown(children).split()


FIELDS = st.sampled_from([
    "title: A plain title", 'title: "Quoted: with colon"', "title: 'single'", "t: it's", 'q: "a\\nb"', "tags: [a, b-c, d e]", "tags: []", "tags: [1, 2]", "tags: [yes, no]", "tags: [a,, b]", "tags: [a, b,]",
    "created: 2026-01-02", "created: 2026-13-45", "n: 12", "n: 012", "n: 0", "n: 1_000", "n: 1.5", "n: -3", "n: 0x1f", "flag: yes", "flag: True", "on: x", "x: null", "x: ~", "x:", "x: ", "- item", "  more",
    "text: foo: bar", "text: foo # comment", "# comment", "", "k: a, b", "k: @x", "k: *a", "k: &a b", "k: !t b", "k: |", "k: > x", "k: {a: b}", "k: a b  ", "k: caf\u00e9", "k: \u00a0x", "k: x\tb", "k:\tx", "a b: c", "k: a]b",
    "k: 'it''s'", "k: .inf", "k: y", "k: NaN", "k: 2026-01-02 x", "k: 12:30", "k: e5", "k: a - b", "k: a ? b", "? k", "k: \"a\" b", "... x", "K-1_x: z", "k: \u2028x", "k: a:b", "k: a::", "k: a#b", "k: a #b", "k: a b/`c`#",
])


@settings(max_examples=800, deadline=None)
@given(st.lists(FIELDS, max_size=6).map(lambda rows: "".join(f"{row}\n" for row in rows)))
def test_plain_fields_are_read_as_yaml_reads_them(raw):
    plain = front.plain_fields(raw)
    if plain is not None:
        assert (plain, ()) == front_yaml.yaml_values(raw, "x.md")


@pytest.mark.parametrize(
    ("body", "day"),
    [
        ("Date: 2026-01-03\nStatus: accepted\n", "2026-01-03"),
        ("- **Date:** January 3, 2026\n- Status: accepted\n", "2026-01-03"),
        ("* Datum: 3.1.2026\n\n## Context\n\nDate: 2025-01-01\n", "2026-01-03"),
        ("Date: soon\n", ""),
        ("## Context\n\nDate: 2026-01-03\n", ""),
    ],
)
def test_a_day_that_the_head_of_a_page_labels_dates_it_where_no_field_does(body, day):
    read = lambda head: page.read("wiki/decisions/0003-x.md", f"{head}# Keep it\n\n{body}".encode()).date  # noqa: E731
    assert read("") == day and read("---\ncreated: 2024-01-01\n---\n") == "2024-01-01"


TABLED = "| set | before | after |\n|---|---|---|\n| a | 4 | 3 |\n| b | 5 | 4 |\n"


@pytest.mark.parametrize(("text", "verdict"), [
    (f"# Adaptive sigma\n\n**Status:** FAILED\n\n{TABLED}", "refuted"),
    ("# Adaptive sigma\n\n**Verdict:** failed, it did not even compile\n", "crash"),
    (f"# Coarse grid first\n\n## Executive summary\n\n**SUCCESS**: 18 % less time at the same score.\n\n## Runs\n\n{TABLED}", "supported"),
    ("# A Gaussian process - ABANDONED\n\nIn place of CMA-ES.\n\nResults: 1.0410 against 1.1247.\n", "refuted"),
    ("# Analytic Jacobian\n\nStatus: NOT WORTH IT\n\nThe score went from 1.1247 to 1.1251, the code is three times as long.\n", "refuted"),
    (f"# Multi-resolution\n\n## Outcome\n\n❌ Worse than two levels: 1.1188 vs 1.1243.\n\n{TABLED}", "refuted"),
])
def test_the_summary_of_a_folder_of_an_idea_is_a_run_wherever_its_status_stands(text, verdict):
    for path in ("wiki/sigma/SUMMARY.md", "wiki/ideas/sigma/SUMMARY.md", "wiki/experiments/sigma/SUMMARY.md"):
        page = read(text, path)
        assert (page.type, read_facts(page, text).verdict.canonical, label_of(path)) == ("experiment", verdict, "sigma")


@pytest.mark.parametrize("text", ["# Cannot open display\n\nERROR: cannot open display\n", "# Naming\n\nBAD: x = 1\n\nGOOD: width = 1\n", "# Upgrade\n\n**Status:** done\n\nPython goes from 3.10 to 3.11, the pool from 2 to 4 workers.\n"])
def test_an_error_a_rule_and_a_version_make_no_run(text):
    assert read(text, "wiki/notes.md").type == "page"


def test_an_acronym_that_opens_a_page_says_no_verdict():
    assert read("# TPU notes\n\nGO: the language.\n\nWIN32: an interface.\n\n在 SM-S938U 上试过但失败的路。\n", "wiki/notes.md").type == "page"


def test_a_table_of_failures_is_no_run_however_the_page_ends():
    rows = "".join(f"| {what} | {why} |\n" for what, why in (("jemalloc", "3 % slower"), ("GPU", "slower than one core"), ("1 GB pages", "no gain"), ("MAP_POPULATE", "4 s instead of 2")))
    text = f"# Graveyard\n\n| idea | what happened |\n|---|---|\n{rows}\nMoved out of here because it works now: thread-per-core.\n"
    assert read(text, "wiki/graveyard.md").type == "page"
