"""The room `move`: a page goes elsewhere and every link follows."""

import pytest

from kb import KbError, move, source, store
from kb.graph import Files, graph_of, link_findings
from kb.ingest.settling import file_record
from kb.page import read

PAGES = {
    "wiki/index.md": "- [A](concepts/a.md#limits) and [again](/wiki/concepts/a.md?plain=1) and `[code](concepts/a.md)`\n\n[ref]: concepts/a.md\n\nsee [it][ref] or [it](concepts/a.md)\n",
    "wiki/concepts/a.md": "# A\r\n\r\n[b](b.md) [home](../index.md) [self](a.md#limits) [web](https://x.y/a.md)\r\n\r\n## Limits\r\n",
    "wiki/concepts/b.md": "| [A](a.md) | a.md |\n|---|---|\n| [A](./a.md#limits) | ![p](../img/p.png) |\n",
    "wiki/img/p.png": b"png",
    "wiki/experiments/t/2026-01-01-v001-x.md": "---\ntype: experiment\nparent: wiki/concepts/a.md\n---\n[A](../../concepts/a.md)\n",
}


def broken(layout) -> list[str]:
    pages = {p: read(p, store.read_bytes(layout, p)) for p in store.scan(layout).digests}
    return [f"{f.path}: {f.target}" for f in link_findings(graph_of(pages), Files(layout, pages))]


def test_every_link_follows_a_moved_page_and_its_own_links_still_lead_home(make_base):
    layout = make_base(PAGES)
    done = move.move(layout, "wiki/concepts/a.md", new="wiki/notes/deep/a new (1).md")
    assert broken(layout) == [] and done.left == ()
    assert not (layout.root / "wiki/concepts/a.md").exists()
    assert "`[code](concepts/a.md)`" in (layout.root / "wiki/index.md").read_text()
    assert "parent: wiki/notes/deep/a new (1).md" in (layout.root / "wiki/experiments/t/2026-01-01-v001-x.md").read_text()
    assert b"\r\n\r\n## Limits\r\n" in (layout.root / "wiki/notes/deep/a new (1).md").read_bytes()


def test_there_and_back_again_changes_no_byte(make_base):
    layout = make_base(PAGES)
    move.move(layout, "wiki/concepts/b.md", new="wiki/b.md")
    assert broken(layout) == []
    move.move(layout, "wiki/b.md", new="wiki/concepts/b.md")
    same = {p: c for p, c in PAGES.items() if p != "wiki/concepts/b.md"}
    assert {p: (layout.root / p).read_bytes() for p in same} == {p: c.encode() if isinstance(c, str) else c for p, c in same.items()}


def test_a_move_killed_before_its_end_is_finished_by_the_same_command(make_base):
    layout = make_base(PAGES)
    plan = move.planned(layout, "wiki/concepts/a.md", new="wiki/a.md")
    store.write(layout.root / plan.new, plan.writes[plan.new])
    move.move(layout, "wiki/concepts/a.md", new="wiki/a.md")
    assert broken(layout) == [] and not (layout.root / "wiki/concepts/a.md").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("wiki/concepts/a.md", "wiki/concepts/b.md", "another page"),
        ("wiki/concepts/zzz.md", "wiki/x.md", "no such page"),
        ("wiki/concepts/a.md", "elsewhere/a.md", "takes pages"),
        ("wiki/concepts/a.md", "wiki/concepts/a.txt", "takes pages"),
        ("wiki/concepts/a.md", "wiki/../../a.md", "takes pages"),
        ("wiki/concepts/a.md", "wiki/concepts/./a.md", "already there"),
    ],
)
def test_a_wrong_move_is_refused_and_nothing_changes(make_base, old, new, message):
    layout = make_base(PAGES)
    with pytest.raises(KbError, match=message):
        move.move(layout, old, new=new)
    assert {p: (layout.root / p).read_bytes() for p in PAGES} == {p: c.encode() if isinstance(c, str) else c for p, c in PAGES.items()}


def test_lists_of_the_front_matter_and_wikilinks_follow_and_one_that_may_mean_another_page_is_left_to_its_writer(make_base, kb_command):
    listing = "---\nevidence: [wiki/concepts/a.md, x/wiki/concepts/a.md]\nsources:\n  - wiki/concepts/a.md\n  - wiki/concepts/a.md.bak\n---\n[[a#limits|A]] and [[concepts/A]] and [[b]]\n"
    layout = make_base(PAGES | {"wiki/see.md": listing})
    done = move.move(layout, "wiki/concepts/a.md", new="wiki/concepts/c.md")
    assert not done.left
    text = (layout.root / "wiki/see.md").read_text()
    assert text.startswith("---\nevidence: [wiki/concepts/c.md, x/wiki/concepts/a.md]\nsources:\n  - wiki/concepts/c.md\n  - wiki/concepts/a.md.bak\n---\n")
    assert text.endswith("---\n[[c#limits|A]] and [[concepts/c]] and [[b]]\n")
    assert not move.planned(layout, "wiki/concepts/c.md", new="wiki/c.md").left
    (layout.root / "wiki/c.md").write_text("# Another\n")
    assert [href for *_, href in move.planned(layout, "wiki/concepts/c.md", new="wiki/concepts/d.md").left] == ["[[c#limits|A]]"]


def test_wikilinks_of_a_table_and_embeds_follow_and_what_reads_like_one_in_code_is_left(make_base):
    text = "# See\n\n[x](concepts/a.md) and ![[a]]\n\n| x |\n|---|\n| [[a\\|lab]] |\n\n`[[a]]` and [[a]]\n"
    layout = make_base(PAGES | {"wiki/see.md": text})
    done = move.move(layout, "wiki/concepts/a.md", new="wiki/observations/c.md")
    assert done.left == (("wiki/see.md", 9, "[[a]]"),)
    assert (layout.root / "wiki/see.md").read_text() == text.replace("concepts/a.md", "observations/c.md").replace("[[a", "[[c", 2)


def test_records_follow_their_pages_and_hold_for_what_kb_mended(make_base):
    page, cited = "wiki/experiments/t/2026-01-01-v001-x.md", "wiki/experiments/t/2026-01-02-v002-y.md"
    layout = make_base(PAGES | {cited: "# Y\n\n[x](2026-01-01-v001-x.md)\n"})
    record = source.PageRecord(verdict="refuted", verdict_quote="", levers=())
    for path in (page, cited):
        file_record(layout, path, record)
    stale = file_record(layout, "wiki/concepts/b.md", record)
    store.write(layout.root / "wiki/concepts/b.md", "# B\n\n[x](../experiments/t/2026-01-01-v001-x.md)\n")
    move.move(layout, page, new="wiki/experiments/u/2026-01-01-v001-x.md")
    for path in ("wiki/experiments/u/2026-01-01-v001-x.md", cited):
        assert source.record_of(layout, path, store.file_digest(layout.root / path)) == record
    assert not (layout.root / source.path_of_record(page)).exists()
    assert store.from_json((layout.root / stale).read_bytes(), source.FiledRecord).digest != store.file_digest(layout.root / "wiki/concepts/b.md")


def test_a_dry_run_changes_nothing(make_base, kb_command):
    layout = make_base(PAGES)
    assert "would move" in kb_command("mv", "wiki/concepts/a.md", "wiki/a.md", "--dry-run", cwd=layout.root).stdout
    assert (layout.root / "wiki/concepts/a.md").exists()


@pytest.mark.parametrize("new", ["wiki/.hidden/a.md", "wiki/out/a.md", "wiki/in/a.md", "wiki/.a.md", "../a.md", "wiki/../../a.md"])
def test_a_page_is_moved_to_no_place_where_it_is_not_read(make_base, tmp_path, new):
    layout = make_base({"wiki/a.md": "# A\n", "wiki/sub/b.md": "[a](../a.md)\n"})
    (layout.wiki / "out").symlink_to(tmp_path)
    (layout.wiki / "in").symlink_to(layout.wiki / "sub")
    with pytest.raises(KbError):
        move.move(layout, "wiki/a.md", new=new)
    assert (layout.wiki / "a.md").read_text() == "# A\n" and not (tmp_path / "a.md").exists()
