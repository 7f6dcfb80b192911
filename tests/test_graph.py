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
    assert graph.status_of(page.links[0], page, files)[0] is status


def test_a_wikilink_and_a_reference_without_definition_are_findings(make_base):
    whole, files = built(make_base({"wiki/x.md": "see [[y|label]] and [text][nowhere], not `[[code]]` or `a[i][j]` or m[0][1], m_[0][1]; but _[so][nor this]_\n", "wiki/y.md": ""}))
    found = [(f.code, f.target, f.hint) for f in graph.link_findings(whole, files)]
    assert found == [("unresolved-reference", "nowhere", "add a line [nowhere]: path.md"), ("unresolved-reference", "nor this", "add a line [nor this]: path.md"), ("wikilink", "y|label", "write [y|label](y.md)")]


def test_a_moved_page_with_one_candidate_is_named(make_base):
    whole, files = built(make_base({"wiki/concepts/x.md": "[y](../old/y.md)", "wiki/new/y.md": ""}))
    finding, = graph.link_findings(whole, files)
    assert finding.fixable and "../new/y.md" in finding.hint


def test_backlinks_reachability_and_rank(make_base):
    whole, _ = built(make_base({"wiki/index.md": "[a](a.md)", "wiki/a.md": "[b](sub/)", "wiki/sub/README.md": "[a](../a.md)", "wiki/alone.md": "[a](a.md)"}))
    assert whole.backlinks["wiki/a.md"] == ("wiki/alone.md", "wiki/index.md", "wiki/sub/README.md")
    assert whole.reachable(["wiki/index.md"]) == {"wiki/index.md", "wiki/a.md", "wiki/sub/README.md"}
    assert abs(sum(whole.rank.values()) - 1) < 1e-9 and whole.rank["wiki/a.md"] > whole.rank["wiki/alone.md"]


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
