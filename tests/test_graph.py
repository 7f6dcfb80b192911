"""The room `graph`: what every link leads to, and what follows from the links."""

import pytest

from kb import graph, store
from kb.graph import LinkStatus


def built(layout: store.Layout):
    from kb import page

    pages = {p: page.read(p, store.read_bytes(layout, p)) for p in store.scan(layout).digests}
    return graph.graph_of(pages), graph.Files(layout, pages)


@pytest.mark.parametrize(
    ("href", "status"),
    [
        ("y.md", LinkStatus.OK),
        ("y.md?plain=1#a-b", LinkStatus.OK),
        ("y.md#L12", LinkStatus.OK),
        ("y.md#L3-L9", LinkStatus.OK),
        ("y.md#Cls.f", LinkStatus.OK),
        ("y.md#mark", LinkStatus.OK),
        ("y.md#A-B", LinkStatus.BROKEN_ANCHOR),
        ("#here", LinkStatus.OK),
        ("#there", LinkStatus.BROKEN_ANCHOR),
        ("/wiki/concepts/y.md", LinkStatus.OK),
        ("/wiki/nothing.md", LinkStatus.BROKEN),
        ("../concepts/", LinkStatus.OK),
        ("../code/run.py#L4", LinkStatus.OK),
        ("a%20b%23c.md", LinkStatus.OK),
        ("z.md", LinkStatus.BROKEN),
        ("../../../etc/passwd", LinkStatus.BROKEN),
        ("file:///etc/passwd", LinkStatus.BROKEN),
        ("https://example.org/y.md", LinkStatus.EXTERNAL),
        ("mailto:a@b.c", LinkStatus.EXTERNAL),
        ("//example.org", LinkStatus.EXTERNAL),
        ("../../raw/code/sub/x.py", LinkStatus.UNVERIFIABLE),
        ("../../raw/profiles/p/", LinkStatus.UNVERIFIABLE),
        ("../../notes.md#top-head", LinkStatus.OK),
        ("../../notes.md#none", LinkStatus.BROKEN_ANCHOR),
    ],
)
def test_the_status_of_a_link(make_base, href, status):
    layout = make_base({
        "wiki/concepts/x.md": f"# Here\n\n[t]({href})\n",
        "wiki/concepts/y.md": "---\nsymbols: {Cls.f: 1}\n---\n# A b\n<a name='mark'></a>\n",
        "wiki/concepts/a b#c.md": "",
        "wiki/code/run.py": "",
        "notes.md": "# Top head\n",
        ".gitmodules": "[submodule \"raw/code/sub\"]\n\tpath = raw/code/sub\n\turl = https://example.org/sub\n",
    })
    whole, files = built(layout)
    page = whole.pages["wiki/concepts/x.md"]
    assert graph.place_of(page.links[0], page, files).status is status


def test_a_wikilink_and_a_reference_without_definition_are_findings(make_base):
    whole, files = built(make_base({"wiki/x.md": "see [[y|label]] and [text][nowhere], not `[[code]]` or `a[i][j]` or m[0][1], m_[0][1]; but _[so][nor this]_\n", "wiki/y.md": "[x](x.md)"}))
    found = [(f.code, f.target, f.hint) for f in graph.link_findings(whole, files)]
    assert found == [("unresolved-reference", "nowhere", "add a line [nowhere]: path.md"), ("unresolved-reference", "nor this", "add a line [nor this]: path.md"), ("wikilink", "y|label", "write [label](y.md)")]


@pytest.mark.parametrize(
    ("wikilink", "hint"),
    [
        ("tile-size", "write [tile-size](concepts/tile-size.md)"),
        ("Tile-Size|tiles", "write [tiles](concepts/tile-size.md)"),
        ("tile-size.md#What it is", "write [tile-size.md#What it is](concepts/tile-size.md#what-it-is)"),
        ("#Here", "write [#Here](#here)"),
        ("a/twin", "write [a/twin](a/twin.md)"),
        ("two words", "write [two words](two%20words.md)"),
        ("Tile size", "did you mean concepts/tile-size.md?"),
        ("blocking", "write [blocking](concepts/tile-size.md)"),
        ("tile-size#gone", "link to a heading that is there"),
        ("twin", "write its folder too: a/twin.md, b/twin.md"),
        ("nowhere", "write the page, or [text](path.md)"),
    ],
)
def test_a_wikilink_is_told_as_the_link_it_stands_for(make_base, wikilink, hint):
    whole, files = built(make_base({"wiki/x.md": f"# Here\n\n[[{wikilink}]]\n", "wiki/concepts/tile-size.md": "---\naliases: [blocking]\n---\n## What it is\n",
                                    "wiki/a/twin.md": "[x](../x.md)", "wiki/b/twin.md": "", "wiki/two words.md": ""}))
    found, = graph.link_findings(whole, files)
    assert (found.target, found.hint, found.fixable) == (wikilink, hint, hint.startswith("write ["))


VAULT = {
    "wiki/Notes/Tile Size.md": "---\naliases: [Blocking]\n---\n# Tile Size\n\n## What it is\n\ntext ^b1\n",
    "wiki/Notes/Deep/Tile.md": "", "wiki/a/Twin.md": "", "wiki/b/Twin.md": "", "wiki/编程.md": "", "wiki/files/plot.png": "", "wiki/files/paper.v2.pdf": "",
}


@pytest.mark.parametrize(
    ("wikilink", "leads"),
    [
        ("[[tile size]]", "wiki/Notes/Tile Size.md"), ("[[Tile Size|tiles]]", "wiki/Notes/Tile Size.md"), ("[[Tile Size#What it is]]", "wiki/Notes/Tile Size.md"),
        ("[[Tile Size#^b1]]", "wiki/Notes/Tile Size.md"), ("[[Blocking]]", "wiki/Notes/Tile Size.md"), ("[[Deep/Tile]]", "wiki/Notes/Deep/Tile.md"), ("[[Notes/Deep/Tile.md]]", "wiki/Notes/Deep/Tile.md"),
        ("[[编程]]", "wiki/编程.md"), ("![[plot.png]]", "wiki/files/plot.png"), ("[[paper.v2.pdf#page=3]]", "wiki/files/paper.v2.pdf"), ("![[files/plot.png|300]]", "wiki/files/plot.png"),
        ("| a |\n|---|\n| [[Tile Size\\|t]] |", "wiki/Notes/Tile Size.md"), ("[[a/Twin]]", "wiki/a/Twin.md"),
        ("[[Twin]]", None), ("[[Nothing]]", None), ("[[Tile Size#Gone]]", None), ("[[gone.png]]", None),
    ],
)
def test_wikilinks_lead_where_a_vault_leads_them(make_base, wikilink, leads):
    whole, files = built(make_base({**VAULT, "wiki/x.md": wikilink}))
    link, = whole.pages["wiki/x.md"].links
    status, path, _ = graph.place_of(link, whole.pages["wiki/x.md"], files)
    assert (status is LinkStatus.OK) == bool(leads) and (path == leads or not leads)
    assert [f.code for f in graph.link_findings(whole, files)] == ([] if leads else ["broken-anchor" if "#" in wikilink else "wikilink"])
    if leads and leads.endswith(".md"):
        assert whole.outlinks["wiki/x.md"] == (leads,) and whole.backlinks[leads] == ("wiki/x.md",)


def test_of_two_pages_of_a_name_the_one_beside_is_meant(make_base):
    whole, _ = built(make_base({**VAULT, "wiki/b/x.md": "[[Twin]]"}))
    assert whole.outlinks == {"wiki/b/x.md": ("wiki/b/Twin.md",)}


def test_mathematics_is_no_link(make_base):
    whole, files = built(make_base({"wiki/x.md": "$A[i][j] + [[x]]$ and $$[[B]]$$, but [[gone]] costs $5 or $6\n"}))
    assert [f.target for f in graph.link_findings(whole, files)] == ["gone"]


def test_links_from_the_root_lead_from_where_a_setting_says(make_base):
    layout = make_base({"kb.toml": '[links]\nroot = "wiki"\n', "wiki/x.md": "[a](/concepts/y/) [b](/concepts/y.md#head) [c](/z/)\n", "wiki/concepts/y.md": "# Head\n", "wiki/z/index.md": ""})
    from kb import page

    pages = {p: page.read(p, store.read_bytes(layout, p)) for p in store.scan(layout).digests}
    whole = graph.graph_of(pages, link_root=layout.config.link_root)
    assert whole.outlinks == {"wiki/x.md": ("wiki/concepts/y.md", "wiki/z/index.md")} and graph.link_findings(whole, graph.Files(layout, pages)) == []


def test_a_moved_page_with_one_candidate_is_named(make_base):
    whole, files = built(make_base({"wiki/concepts/x.md": "[y](../old/y.md)", "wiki/new/y.md": ""}))
    finding, = graph.link_findings(whole, files)
    assert finding.fixable and "../new/y.md" in finding.hint


@pytest.mark.parametrize(("href", "hint"), [("y", "did you mean y.md?"), ("Y.MD#a-b", "did you mean y.md?"), ("../wiki/Sub/Z", "did you mean sub/z.md?"), ("w", "write the page, or remove the link")])
def test_a_link_without_its_ending_or_in_another_case_names_the_page(make_base, href, hint):
    whole, files = built(make_base({"wiki/x.md": f"[t]({href})\n", "wiki/y.md": "# A b\n", "wiki/sub/z.md": "", "wiki/w/README.txt": ""} if href != "w" else {"wiki/x.md": "[t](w)"}))
    finding, = graph.link_findings(whole, files)
    assert (finding.code, finding.target, finding.hint) == ("broken-link", href, hint)


def test_backlinks_reachability_and_rank(make_base):
    whole, _ = built(make_base({"wiki/index.md": "[a](a.md)", "wiki/a.md": "[b](sub/)", "wiki/sub/README.md": "[a](../a.md)", "wiki/alone.md": "[a](a.md)"}))
    assert whole.backlinks["wiki/a.md"] == ("wiki/alone.md", "wiki/index.md", "wiki/sub/README.md")
    assert whole.reachable(["wiki/index.md"]) == {"wiki/index.md", "wiki/a.md", "wiki/sub/README.md"}
    assert abs(sum(whole.rank.values()) - 1) < 1e-9 and whole.rank["wiki/a.md"] > whole.rank["wiki/alone.md"]


@pytest.mark.parametrize("definition", ["", "\n\n[r]: x.md\n"])
def test_references_and_wikilinks_are_told_as_written_whatever_else_the_page_holds(make_base, definition):
    body = "[`C.f`][lib.C.f], [`C.g`][], [**bold**][gone] [![i](https://h/p.png)][ci] [[a|**b**]] [[`c`]]; \\[[x]] \\[y][z] `[a][b]` [x](https://h)[y]"
    whole, files = built(make_base({"wiki/x.md": body + definition}))
    assert sorted((f.code, f.target) for f in graph.link_findings(whole, files)) == [
        ("unresolved-reference", "`C.g`"), ("unresolved-reference", "ci"), ("unresolved-reference", "gone"), ("unresolved-reference", "lib.C.f"),
        ("wikilink", "`c`"), ("wikilink", "a|**b**")]


def test_a_heading_of_reference_links_has_the_anchor_of_the_text_that_is_seen(make_base):
    whole, files = built(make_base({"wiki/x.md": "[a](#runt-u) [b](#runtut)\n\n## run<[T][type], [U]>\n\n[type]: #runt-u\n[u]: #runt-u\n"}))
    assert [(f.code, f.target) for f in graph.link_findings(whole, files)] == [("broken-anchor", "#runtut")]


@pytest.mark.corpora
def test_broken_links_of_a_real_wiki_agree_with_the_oracle(corpora):
    import collections
    import csv

    layout = store.Layout(corpora / "tpu-wiki", store.Config())
    whole, files = built(layout)
    got = collections.Counter((f.path, f.target) for f in graph.link_findings(whole, files))
    with open(corpora / "tpu-wiki-truth" / "broken_links.tsv", encoding="utf-8") as rows:
        want = collections.Counter((r["src"], r["href"]) for r in csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE))
    shared = sum((got & want).values())
    assert shared >= 0.99 * sum(got.values()) and shared >= 0.99 * sum(want.values())
