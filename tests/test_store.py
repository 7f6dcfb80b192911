"""The room `store`: atomic writes, locks, scan, configuration."""

import contextlib
import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb import KbError, store
from kb.build import build
from kb.schema import Finding
from kb.store import walk

digests = st.dictionaries(
    st.text("abc", min_size=1, max_size=3), st.text("01", max_size=2), max_size=8
)


@given(digests, digests)
def test_a_diff_turns_what_is_there_into_what_is_wanted(wanted, have):
    change = store.diff(wanted, have)
    made = {k: v for k, v in have.items() if k not in change.removed} | {
        k: wanted[k] for k in (*change.added, *change.changed)
    }
    assert made == wanted
    assert not store.diff(wanted, wanted)


def _begin_and_wait(file: Path, begun) -> None:
    folder = os.open(file.parent, os.O_RDONLY)
    with store.files._beside(folder, file.name, b"half", mode=0o644, durable=False):
        begun.set()
        time.sleep(60)


def test_what_a_killed_writer_left_is_swept_and_nothing_else(make_base):
    layout = make_base(
        {
            "wiki/index.md": "# Index\n",
            "wiki/.page.md.kb-tmp": "mine",
            "wiki/page.md.kb-tmp": "mine",
            "wiki/sub/.notes.tmp": "mine",
        }
    )
    context = multiprocessing.get_context("fork")
    writers = []
    for name in ("dead.md", "sub/dead.md", "sub/living.md"):
        begun = context.Event()
        writers.append(context.Process(target=_begin_and_wait, args=(layout.wiki / name, begun)))
        writers[-1].start()
        assert begun.wait(10)
    for writer in writers[:2]:
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
    left = store.scan(layout).left
    assert len(left) == 3
    before = store.look_of(layout)
    build(layout)
    names = sorted(
        f.relative_to(layout.wiki).as_posix() for f in layout.wiki.rglob("*") if f.is_file()
    )
    living = [n for n in names if n.startswith("sub/.living.md.")]
    assert len(living) == 1 and set(names) - set(living) == {
        "index.md",
        ".page.md.kb-tmp",
        "page.md.kb-tmp",
        "sub/.notes.tmp",
    }
    assert (
        store.look_of(layout) != before and not store.changed_since(layout, store.state(layout))()
    )
    os.kill(writers[2].pid, signal.SIGKILL)
    writers[2].join()


def _write_for_ever(file: Path) -> None:
    for n in range(10**9):
        store.write(file, b"%d" % (n % 10) * 200_000, declared=True)


def test_a_killed_writer_leaves_the_old_bytes_or_the_new_ones(tmp_path):
    file = tmp_path / "page.md"
    for _ in range(20):
        writer = multiprocessing.get_context("fork").Process(target=_write_for_ever, args=(file,))
        writer.start()
        time.sleep(0.02)
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        if file.exists():
            data = file.read_bytes()
            assert len(data) == 200_000 and len(set(data)) == 1


def test_a_write_keeps_the_mode_of_the_file(tmp_path):
    file = tmp_path / "x.sh"
    file.write_text("old")
    file.chmod(0o750)
    store.write(file, "new", declared=True)
    assert file.stat().st_mode & 0o777 == 0o750 and file.read_text() == "new"


def test_of_two_creators_one_is_first(tmp_path):
    store.create(tmp_path / "x.md", "one", declared=True)
    with pytest.raises(FileExistsError):
        store.create(tmp_path / "x.md", "two", declared=True)
    assert (tmp_path / "x.md").read_text() == "one" and os.listdir(tmp_path) == ["x.md"]


def test_a_write_that_the_disk_refuses_says_where(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(KbError, match="file/x.md: cannot write"):
        store.write(tmp_path / "file" / "x.md", "text", declared=True)


def _hold(layout: store.Layout, ready) -> None:
    with store.lock(layout, "pages"):
        ready.set()
        time.sleep(60)


def test_a_lock_dies_with_its_holder(make_base):
    layout = make_base({})
    ready = multiprocessing.get_context("fork").Event()
    holder = multiprocessing.get_context("fork").Process(target=_hold, args=(layout, ready))
    holder.start()
    ready.wait(10)
    with (
        pytest.raises(KbError, match="another kb has held it"),
        store.lock(layout, "pages", wait_s=0.1),
    ):
        pass
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    with store.lock(layout, "pages", wait_s=5):
        pass


def test_a_tree_is_made_equal_and_other_peoples_files_stay(make_base):
    tmp_path = make_base({}).indexes
    store.write_tree(tmp_path, {"old.md": b"old", "same.md": b"same", "kept.md": b"as written"})
    (tmp_path / "mine.json").write_text("mine")
    (tmp_path / "kept.md").write_text("changed by hand")
    (tmp_path / ".old.md.abcdefgh.kb-tmp").write_text("of a killed writer")
    before = (tmp_path / "same.md").stat().st_mtime_ns
    change = store.write_tree(tmp_path, {"a/new.md": b"new", "same.md": b"same"})
    assert (change.added, change.changed, change.removed) == (("a/new.md",), (), ("old.md",))
    assert sorted(
        p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()
    ) == ["MANIFEST", "a/new.md", "kept.md", "mine.json", "same.md"]
    assert (tmp_path / "same.md").stat().st_mtime_ns == before
    with pytest.raises(KbError, match="mine.json: kb did not write this file"):
        store.write_tree(tmp_path, {"mine.json": b"{}", "a/new.md": b"newer"})
    assert (tmp_path / "mine.json").read_text() == "mine" and (
        tmp_path / "a/new.md"
    ).read_text() == "new"


def test_a_manifest_that_a_merge_spoiled_still_says_what_kb_wrote(make_base):
    tmp_path = make_base({}).indexes
    store.write_tree(tmp_path, {"a.md": b"one", "b.md": b"two"})
    lines = (tmp_path / "MANIFEST").read_text()
    (tmp_path / "MANIFEST").write_text(
        f"<<<<<<< ours\n{lines}=======\n{'0' * 16}  ../../etc/passwd\n>>>>>>> theirs\n"
    )
    store.write_tree(tmp_path, {"b.md": b"two", "a.md": b"three"})
    assert (tmp_path / "a.md").read_text() == "three" and (tmp_path / "MANIFEST").read_text().count(
        "\n"
    ) == 2


OUT = ["../x.md", "a/../../x.md", "/etc/x.md", "", "a\0b", "x" * 300]


@pytest.mark.parametrize("path", OUT)
def test_a_path_that_leads_out_is_neither_read_nor_written_nor_removed(make_base, path):
    layout = make_base({})
    for attempt in (
        lambda: layout.at(path),
        lambda: store.read_bytes(layout, path),
        lambda: store.write_tree(layout.indexes, {path: b"x"}),
    ):
        with pytest.raises(KbError):
            attempt()
    for outside in (layout.root / "wiki" / ".." / ".." / "x.md", layout.root.parent / "x.md"):
        with pytest.raises(KbError):
            store.write(outside, "x")


def test_a_link_on_the_way_out_is_not_followed(make_base, tmp_path):
    layout = make_base({"wiki/index.md": "# I\n"})
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.md").write_text("mine")
    layout.indexes.symlink_to(tmp_path / "notes")
    (layout.wiki / "out").symlink_to(tmp_path / "notes")
    (layout.wiki / "one.md").symlink_to(tmp_path / "notes" / "mine.md")
    for attempt in (
        lambda: build(layout),
        lambda: store.write(layout.wiki / "out" / "mine.md", "x"),
        lambda: store.create(layout.wiki / "out" / "new.md", "x"),
        lambda: store.remove(layout.wiki / "out" / "mine.md"),
        lambda: store.read_bytes(layout, "wiki/out/mine.md"),
        lambda: store.read_bytes(layout, "wiki/one.md"),
    ):
        with pytest.raises(KbError, match="link"):
            attempt()
    assert [(f.name, f.read_text()) for f in (tmp_path / "notes").iterdir()] == [
        ("mine.md", "mine")
    ]


@pytest.mark.parametrize(
    ("verb", "checks"), [("write", 2), ("write", 1), ("create", 2), ("remove", 1), ("read", 1)]
)
def test_a_folder_that_becomes_a_link_after_it_was_checked_leads_nowhere(
    make_base, tmp_path, monkeypatch, verb, checks
):
    layout = make_base({"wiki/sub/page.md": "ours"})
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "page.md").write_text("theirs")
    folder = layout.wiki / "sub"
    done = []

    def swapped(check):
        def checked(*words, **settings):
            answer = check(*words, **settings)
            done.append(check)
            if len(done) == checks:
                folder.rename(layout.wiki / "old")
                folder.symlink_to(victim)
            return answer

        return checked

    monkeypatch.setattr(store.files, "_checked", swapped(store.files._checked))
    monkeypatch.setattr(store.Layout, "at", swapped(store.Layout.at))
    page = folder / "page.md"
    attempts = {
        "write": lambda: store.write(page, "x"),
        "create": lambda: store.create(folder / "fresh.md", "x"),
        "remove": lambda: store.remove(page),
        "read": lambda: store.read_bytes(layout, "wiki/sub/page.md"),
    }
    with pytest.raises(KbError, match="lead"):
        attempts[verb]()
    assert [(f.name, f.read_text()) for f in victim.iterdir()] == [("page.md", "theirs")]


def test_a_sparse_page_of_terabytes_is_a_finding_and_all_others_are_read(make_base, kb_command):
    layout = make_base(
        {
            "wiki/one.md": "# One\n\nwords\n",
            "wiki/targets/t.md": "---\ntitle: T\ntype: target\n---\n",
            "wiki/big.md": "",
        }
    )
    os.truncate(layout.wiki / "big.md", 1 << 40)
    kb_command("build", cwd=layout.root)
    (unread,) = store.scan(layout).findings
    assert (unread.message, unread.hint) == ("too large; kb reads 256 MB at most", "")
    assert "too large" in kb_command("lint", "--all", cwd=layout.root, ok=(0, 1)).stdout
    assert "one.md" in kb_command("search", "words", cwd=layout.root).stdout
    for name in ("wiki/targets/t.md", "indexes/blueprint.md"):
        os.truncate(layout.root / name, 1 << 40)
        kb_command("build", cwd=layout.root, ok=(0, 2))
        kb_command("load", "hypothesis", "--target", "t", cwd=layout.root, ok=(0, 2))


def test_state_that_is_another_programs_is_refused(make_base, tmp_path):
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as db:
        db.execute("create table precious (x)")
    layout = make_base({"wiki/index.md": "# I\n"})
    layout.state.mkdir()
    (layout.state / "kb.db").symlink_to(other)
    with pytest.raises(KbError, match="is a link"):
        build(layout)
    (layout.state / "kb.db").unlink()
    shutil.copy(other, layout.state / "kb.db")
    with pytest.raises(KbError, match="another program's tables"):
        build(layout)
    shutil.rmtree(layout.state)
    layout.state.symlink_to(tmp_path)
    with pytest.raises(KbError, match="is a link"):
        build(layout)
    with sqlite3.connect(other) as db:
        assert db.execute("select count(*) from precious").fetchone() == (0,)


def test_pipes_where_kb_looks_for_files_hold_nobody_up(make_base, kb_command):
    layout = make_base({"wiki/a.md": "# A\n"})
    for path in (
        "indexes/MANIFEST",
        "indexes/catalog.md",
        "sources/notes/hypothesis.json",
        "sources/x/meta.json",
        "wiki/p.md",
        "wiki/log.md",
        ".gitmodules",
    ):
        (layout.root / path).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(layout.root / path)
    for words in (("build",), ("lint",), ("search", "a"), ("load", "hypothesis"), ("check", "-")):
        kb_command(*words, cwd=layout.root, ok=(0, 1, 3), text_in="a=1")
    assert "wiki/a.md" in (layout.indexes / "catalog.md").read_text()


def test_a_wiki_that_is_not_there_empties_nothing(make_base):
    layout = make_base({"wiki/index.md": "# I\n"})
    build(layout)
    layout.wiki.rename(layout.root / "away")
    with pytest.raises(KbError, match="not here"):
        build(layout)
    assert store.state(layout).execute("select count(*) from page").fetchone() == (1,)


def test_the_wiki_may_stand_elsewhere_below_the_root(make_base, tmp_path):
    layout = make_base({"docs/a.md": "# A\n", "kb.toml": '[kb]\nwiki = "docs"\n'})
    assert set(store.scan(layout).digests) == {"docs/a.md"}
    layout = make_base(
        {
            "a.md": "# A\n",
            "sub/b.md": "x",
            "sources/c.md": "x",
            ".git/d.md": "x",
            "kb.toml": '[kb]\nwiki = "."\n',
        },
        "dot",
    )
    assert set(store.scan(layout).digests) == {"a.md", "sub/b.md"}


def test_a_wiki_link_counts_once_it_was_confirmed(make_base, tmp_path):
    layout = make_base({})
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "a.md").write_text("# A\n")
    layout.wiki.rmdir()
    layout.wiki.symlink_to(tmp_path / "vault")
    with pytest.raises(KbError, match="confirms"):
        store.scan(layout)
    layout.state.mkdir()
    (layout.state / ".gitignore").write_text("*\n")
    (layout.state / "made-here").write_text(f"0\n{os.path.realpath(layout.wiki)}")
    with pytest.raises(KbError, match="confirms"):  # As a stranger would ship it.
        store.scan(layout)
    store.make_state(layout.state, confirmed=os.path.realpath(layout.wiki))
    assert (
        set(store.scan(layout).digests) == {"wiki/a.md"}
        and store.read_bytes(layout, "wiki/a.md") == b"# A\n"
    )
    store.write(layout.wiki / "b.md", "x")


def test_the_scan_takes_strange_names_and_refuses_what_leads_out(make_base, tmp_path):
    (tmp_path / "outside.md").write_text("secret")
    layout = make_base(
        {
            "wiki/a b#c.md": "x",
            "wiki/é.md": "x",
            "wiki/.md": "x",
            "wiki/x.md": "x",
            "wiki/X.md": "x",
            "wiki/.git/x.md": "x",
            "wiki/a\nb.md": "x",
            "wiki/a\u202eb.md": "x",
            "wiki/notes.txt": "x",
        }
    )
    wiki = layout.wiki
    (wiki / "out.md").symlink_to(tmp_path / "outside.md")
    (wiki / "in.md").symlink_to(wiki / "x.md")
    (wiki / "gone.md").symlink_to(wiki / "nothing.md")
    (wiki / "self.md").symlink_to("self.md")
    (wiki / "self").symlink_to("self")
    (wiki / "loop").symlink_to(wiki)
    with open(os.fsencode(wiki) + b"/\xff.md", "wb") as file:
        file.write(b"x")
    seen = store.scan(layout)
    assert set(seen.digests) == {
        "wiki/a b#c.md",
        "wiki/é.md",
        "wiki/.md",
        "wiki/x.md",
        "wiki/X.md",
        "wiki/in.md",
    }
    assert {f.path.rsplit("/")[-1] for f in seen.findings if f.code == "symlink"} == {
        "out.md",
        "gone.md",
        "self.md",
        "loop",
    }
    assert [f.code for f in seen.findings if f.code != "symlink"] == ["file-name"] * 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[kb", "not valid TOML"),
        ("[knob]\na = 1", "no such table"),
        ("[lint]\nrule = {}", "did you mean 'rules'"),
        ("[load]\nbudget = 'much'", "takes a int"),
        ("[links]\nlocal = 'raw/'", "list of strings"),
        ("[scopes]\nkernels = 3", "list of strings"),
        ('[scopes]\n"../../precious" = ["*"]', "no name of an index"),
        ('[scopes]\n"/abs" = ["*"]', "no name of an index"),
        ('[scopes]\n"a\\u0000b" = ["*"]', "no name of an index"),
        ('[scopes]\n"state/t" = ["*"]', "no name of an index"),
        ('[scopes]\ncatalog = ["*"]', "no name of an index"),
        ('[kb]\nwiki = "indexes/"', "no folder below"),
        ('[scopes]\na = ["\\u0000"]', "NUL"),
        ('[kb]\nwiki = "../x"', "no folder below"),
        ("[kb]\nname = " + "[" * 5000, "nested too deeply"),
    ],
)
def test_a_wrong_setting_is_named(text, message):
    with pytest.raises(KbError, match=message):
        store.config_from(text)


def test_every_setting_has_a_default():
    assert store.config_from("") == store.Config()


def test_outside_a_knowledge_base_the_message_says_what_to_do(tmp_path):
    with pytest.raises(KbError, match="kb init"):
        store.root_of(tmp_path)


def test_a_row_gives_back_the_value_that_it_was_made_of():
    findings = (
        Finding("wiki/a.md", 3, "code", "né", target="x", hint=""),
        Finding("wiki/b.md", 1, "c", "m"),
    )
    assert store.value_of(store.row_of(findings), tuple[Finding, ...]) == findings


def test_a_file_that_a_scan_knows_is_read_again_after_any_writing(make_base):
    layout = make_base({"wiki/a.md": "# A\n", "wiki/b.md": "# B\n"})
    layout.state.mkdir(exist_ok=True)
    for name in ("a", "b"):
        os.utime(layout.wiki / f"{name}.md", (1_000_000_000, 1_000_000_000))
    first = store.scan(layout, known={})
    assert {stat for stat, _ in first.known.values()} == {
        ""
    }  # Their change was but now: the disk may not tell the next one apart.
    entry = next(e for e in os.scandir(layout.wiki) if e.name == "a.md")
    known = {"wiki/a.md": (walk._stat_of(entry, 1 << 62), "kept"), "wiki/b.md": ("", "unsure")}
    later = 10_000_000_000 + time.time_ns()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk, "_moment", lambda _: later)
        again = store.scan(layout, known=known)
        assert (
            again.digests["wiki/a.md"] == "kept"
            and again.digests["wiki/b.md"] == first.digests["wiki/b.md"]
        )
        before = os.stat(layout.wiki / "a.md")
        (layout.wiki / "a.md").write_text("# Z\n")
        os.utime(layout.wiki / "a.md", ns=(before.st_atime_ns, before.st_mtime_ns))
        assert store.scan(layout, known=known).digests["wiki/a.md"] == store.digest_of("# Z\n")


def test_a_scan_hands_on_no_more_bytes_than_a_host_holds(make_base, monkeypatch):
    layout = make_base({f"wiki/{name}.md": "x" * 40 for name in "abc"})
    for most, held in ((100, 2), (39, 0), (walk._MOST_HELD, 3)):
        monkeypatch.setattr(walk, "_MOST_HELD", most)
        contents: dict[str, bytes] = {}
        assert len(store.scan(layout, contents=contents).digests) == 3 and len(contents) == held


def test_a_second_look_at_folders_that_were_written_sees_what_a_first_one_would(make_base, monkeypatch):
    pages = {f"wiki/{place}.md": f"# {place}\n" for place in ("a", "left/b", "left/deep/c", "still/d", "still/deep/e", "gone/f")}
    layout = make_base(pages | {"wiki/only/deep/g.md": "# G\n", "wiki/still/deep/twin.md": "# D\n"})
    layout.state.mkdir(exist_ok=True)
    later = 10_000_000_000 + time.time_ns()
    monkeypatch.setattr(walk, "_moment", lambda _: later)
    os.mkfifo(layout.wiki / "still" / "odd.md")
    (layout.wiki / "still/link.md").symlink_to("/etc/hosts")
    first = store.scan(layout, known={})
    store.write(layout.root / "wiki/left/b.md", b"# Written over\n")
    store.create(layout.root / "wiki/only/deep/new.md", b"# New\n")
    (layout.wiki / "left/fresh/inner").mkdir(parents=True)
    (layout.wiki / "left/fresh/inner/h.md").write_text("# H\n")
    shutil.rmtree(layout.wiki / "gone")
    (layout.wiki / "a.md").rename(layout.wiki / "left" / "a.md")
    looked = []
    monkeypatch.setattr(walk, "_stat_of", lambda entry, at, stat=walk._stat_of: looked.append(entry.name) or stat(entry, at))
    second = store.scan(layout, known=first.known, since=first)
    assert not {"d.md", "e.md", "c.md"} & {*looked}
    third = store.scan(layout, known=first.known)
    assert second == third and third.digests["wiki/left/b.md"] == store.digest_of("# Written over\n") and len(third.findings) == 1
    # Without the look at each page what was written in its place waits for the next scan.
    (layout.wiki / "still/d.md").write_text("# In its place\n")
    assert store.scan(layout, known=second.known, since=second).digests == second.digests != store.scan(layout, known=second.known).digests


def test_results_are_kept_piece_by_piece_and_what_nobody_asked_for_goes():
    db = sqlite3.connect(":memory:")
    db.execute(store.Kept.TABLE)
    made: list[str] = []

    def length(key: str) -> int:
        made.append(key)
        return len(key)

    for inputs, wanted in (
        ({"a": "1", "bb": "1"}, ["a", "bb"]),
        ({"a": "1", "bb": "2"}, ["bb"]),
        ({"a": "1"}, []),
    ):
        made.clear()
        kept = store.Kept(db)
        assert kept.each("length", inputs, int, length) == {key: len(key) for key in inputs}
        kept.close()
        assert made == wanted
    assert [name for (name,) in db.execute("select name from kept")] == ["length/0"]
    kept = store.Kept(db)
    assert (
        kept.of(
            "whole",
            1,
            int,
            lambda: sum(kept.each("length", {"a": "1"}, int, length).values()),
            within=["length"],
        )
        == 1
    )
    kept.close()
    again = store.Kept(db)
    assert again.of("whole", 1, int, lambda: 1 / 0, within=["length"]) == 1
    again.close()
    assert [name for (name,) in db.execute("select name from kept")] == ["length/0", "whole"]


def test_of_a_table_only_rows_that_differ_are_written():
    db = sqlite3.connect(":memory:")
    db.execute("create table t (a text, b integer, c text, primary key (a, b)) without rowid")
    rows = [("x", 1, "one"), ("x", 2, "two"), ("y", 1, "three")]
    store.replace_rows(db, "t", rows)
    before = db.total_changes
    store.replace_rows(db, "t", [*rows[:1], ("x", 2, "TWO"), ("z", 1, "four")])
    assert db.execute("select * from t").fetchall() == [
        ("x", 1, "one"),
        ("x", 2, "TWO"),
        ("z", 1, "four"),
    ]
    assert db.total_changes - before == 4  # Two rows go, two come.
    store.replace_rows(db, "t", [])
    assert not db.execute("select * from t").fetchall()


@pytest.mark.parametrize(
    "carry",
    [
        shutil.copytree,
        lambda a, b: subprocess.run(["cp", "-a", a, b], check=True),
        lambda a, b: shutil.unpack_archive(shutil.make_archive(os.fspath(b), "tar", a), b),
    ],
)
def test_state_that_a_copy_carries_is_set_aside_and_made_anew(
    make_base, kb_command, tmp_path, carry
):
    layout = make_base({"wiki/index.md": "# Home\n\nTiles of registers.\n"})
    build(layout)
    with contextlib.closing(store.state(layout, writable=True)) as db:
        db.execute("update searched set head = 'Forged'")
    assert (
        "Forged" in kb_command("search", "registers", cwd=layout.root).stdout
    )  # Tables that kb made here are believed.
    carry(layout.root, tmp_path / "other")
    done = kb_command("search", "registers", cwd=tmp_path / "other")
    assert (
        "Forged" not in done.stdout
        and "Home" in done.stdout
        and "set aside as .kb-foreign/" in done.stderr
    )
    assert "set aside" not in kb_command("search", "registers", cwd=tmp_path / "other").stderr
    (tmp_path / "other").rename(tmp_path / "moved")  # Its own owner moves it: nothing is lost.
    assert "set aside" not in kb_command("search", "registers", cwd=tmp_path / "moved").stderr


def test_a_shipped_folder_confirms_no_link_and_a_person_does(make_base, kb_command, tmp_path):
    layout = make_base({})
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "a.md").write_text("# A\n")
    layout.wiki.rmdir()
    layout.wiki.symlink_to(tmp_path / "precious")
    layout.state.mkdir()
    target = os.path.realpath(layout.wiki)
    for name, text in {
        ".gitignore": "*\n",
        "made-here": f"{os.stat(tmp_path).st_ctime_ns // 1_000_000 - 60_000}\n{target}",
        "wiki-link": target,
    }.items():
        (layout.state / name).write_text(text)
    assert "kb init --adopt" in kb_command("build", cwd=layout.root, ok=(2,)).stderr
    assert target in kb_command("init", "--adopt", cwd=layout.root).stdout
    assert "1 page " in kb_command("build", cwd=layout.root).stdout
    assert "here already" in kb_command("init", "--adopt", cwd=layout.root, ok=(2,)).stderr


def test_a_folder_or_a_pipe_in_place_of_tables_stops_no_search(make_base, kb_command):
    layout = make_base(
        {"wiki/index.md": "# Home\n\nTiles of registers.\n", "sources/a/meta.json": "{}"}
    )
    build(layout)
    for name in ("captured.db", "kb.db", "lint.db"):
        for make in (Path.mkdir, os.mkfifo):
            (layout.state / name).unlink(missing_ok=True)
            make(layout.state / name)
            assert "Home" in kb_command("search", "registers", cwd=layout.root).stdout
            kb_command("lint", cwd=layout.root)


def test_two_that_begin_at_once_set_one_folder_aside(make_base, tmp_path):
    layout = make_base({"wiki/index.md": "# Home\n"})
    build(layout)
    shutil.copytree(layout.root, tmp_path / "other")
    begun = [
        subprocess.Popen([sys.executable, "-m", "kb", "build"], cwd=tmp_path / "other")
        for _ in range(4)
    ]
    assert [one.wait() for one in begun] == [0] * 4
    assert sorted(p.name for p in (tmp_path / "other").iterdir() if p.name.startswith(".kb")) == [
        ".kb",
        ".kb-foreign",
    ]


@pytest.mark.parametrize(
    "strange",
    [
        os.mkfifo,
        lambda at: at.write_text("x"),
        lambda at: (at / "made-here").mkdir(parents=True),
        lambda at: (at.mkdir(), os.mkfifo(at / "made-here"), os.mkfifo(at / ".gitignore")),
    ],
)
def test_whatever_stands_in_place_of_the_state_folder_stops_nobody(make_base, kb_command, strange):
    layout = make_base({"wiki/index.md": "# Home\n"})
    strange(layout.state)
    (layout.root / "kb.toml").unlink()
    kb_command("init", "--adopt", cwd=layout.root)
    assert "set aside" not in kb_command("build", cwd=layout.root).stderr
    assert "nothing changed" in kb_command("build", cwd=layout.root).stdout


@pytest.mark.parametrize("aside", (False, True))
def test_a_process_that_looked_before_notices_every_edit(make_base, monkeypatch, aside):
    monkeypatch.setattr("kb.store.walk._LOOKERS", [])
    if aside:
        store.look_aside()
    layout = make_base({"wiki/a.md": "# A\n", "wiki/empty/note.txt": "x"})
    build(layout)
    page, other, db = layout.wiki / "a.md", layout.wiki / "empty" / "b.md", store.state(layout)
    kept, then = page.stat().st_mtime_ns, 10**18
    for change, undo in (
        (lambda: os.utime(page, ns=(then, then)), lambda: os.utime(page, ns=(kept, kept))),
        (lambda: other.write_text("# B\n"), other.unlink),
    ):
        folder = other.parent.stat().st_mtime_ns
        assert not store.changed_since(layout, db)() and not store.changed_since(layout, db)()
        change()
        assert store.changed_since(layout, db)() and store.changed_since(layout, db)()
        undo()
        os.utime(other.parent, ns=(folder, folder))
    assert not store.changed_since(layout, db)()
    # Where whoever looks aside is gone, before or after the question, this process looks itself.
    changed = store.changed_since(layout, db)
    for looker in multiprocessing.active_children() if aside else ():
        looker.kill()
        looker.join()
    page.write_text("# C\n")
    assert (
        changed() in (False, True)
        and store.changed_since(layout, db)()
        and store.changed_since(layout, db)()
    )


def test_tables_that_were_current_and_were_changed_by_hand_are_so_no_longer(make_base):
    layout = make_base({"wiki/a.md": "# A\n"})
    build(layout)
    assert store.is_current(store.state(layout)) and store.is_current(store.state(layout))
    with sqlite3.connect(layout.state / "kb.db") as hand:
        hand.execute("delete from page")
    hand.close()
    assert not store.is_current(store.state(layout))
