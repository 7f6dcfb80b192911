"""The room `store`: atomic writes, locks, scan, configuration."""

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.schema import Finding
from kb import KbError, store
from kb.build import build

digests = st.dictionaries(st.text("abc", min_size=1, max_size=3), st.text("01", max_size=2), max_size=8)


@given(digests, digests)
def test_a_diff_turns_what_is_there_into_what_is_wanted(wanted, have):
    change = store.diff(wanted, have)
    made = {k: v for k, v in have.items() if k not in change.removed} | {k: wanted[k] for k in (*change.added, *change.changed)}
    assert made == wanted
    assert not store.diff(wanted, wanted)


def _begin_and_wait(file: Path, begun) -> None:
    with store.files._beside(file, b"half", mode=0o644, durable=False):
        begun.set()
        time.sleep(60)


def test_what_a_killed_writer_left_is_swept_and_nothing_else(make_base):
    layout = make_base({"wiki/index.md": "# Index\n", "wiki/.page.md.kb-tmp": "mine", "wiki/page.md.kb-tmp": "mine", "wiki/sub/.notes.tmp": "mine"})
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
    names = sorted(f.relative_to(layout.wiki).as_posix() for f in layout.wiki.rglob("*") if f.is_file())
    living = [n for n in names if n.startswith("sub/.living.md.")]
    assert len(living) == 1 and set(names) - set(living) == {"index.md", ".page.md.kb-tmp", "page.md.kb-tmp", "sub/.notes.tmp"}
    assert store.look_of(layout) != before and not store.changed_since(layout, store.state(layout))
    os.kill(writers[2].pid, signal.SIGKILL)
    writers[2].join()


def _write_for_ever(file: Path) -> None:
    for n in range(10**9):
        store.write(file, b"%d" % (n % 10) * 200_000)


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
    store.write(file, "new")
    assert file.stat().st_mode & 0o777 == 0o750 and file.read_text() == "new"


def test_of_two_creators_one_is_first(tmp_path):
    store.create(tmp_path / "x.md", "one")
    with pytest.raises(FileExistsError):
        store.create(tmp_path / "x.md", "two")
    assert (tmp_path / "x.md").read_text() == "one" and os.listdir(tmp_path) == ["x.md"]


def test_a_write_that_the_disk_refuses_says_where(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(KbError, match="file/x.md: cannot write"):
        store.write(tmp_path / "file" / "x.md", "text")


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
    with pytest.raises(KbError, match="another kb has held it"), store.lock(layout, "pages", wait_s=0.1):
        pass
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    with store.lock(layout, "pages", wait_s=5):
        pass


def test_a_tree_is_made_equal_and_other_files_stay(tmp_path):
    (tmp_path / "keep.txt").write_text("mine")
    (tmp_path / ".old.md.abcdefgh.kb-tmp").write_text("of a killed writer")
    (tmp_path / "folder.kb-tmp").mkdir()
    (tmp_path / "old.md").write_text("old")
    (tmp_path / "same.md").write_text("same")
    before = (tmp_path / "same.md").stat().st_mtime_ns
    change = store.write_tree(tmp_path, {"a/new.md": b"new", "same.md": b"same"}, suffixes=(".md",))
    assert (change.added, change.changed, change.removed) == (("a/new.md",), (), ("old.md",))
    assert sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()) == ["a/new.md", "keep.txt", "same.md"]
    assert (tmp_path / "same.md").stat().st_mtime_ns == before and (tmp_path / "folder.kb-tmp").is_dir()


def test_the_scan_takes_strange_names_and_refuses_what_leads_out(make_base, tmp_path):
    (tmp_path / "outside.md").write_text("secret")
    layout = make_base({"wiki/a b#c.md": "x", "wiki/é.md": "x", "wiki/.md": "x", "wiki/x.md": "x", "wiki/X.md": "x", "wiki/.git/x.md": "x", "wiki/notes.txt": "x"})
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
    assert set(seen.digests) == {"wiki/a b#c.md", "wiki/é.md", "wiki/.md", "wiki/x.md", "wiki/X.md", "wiki/in.md"}
    assert {f.path.rsplit("/")[-1] for f in seen.findings if f.code == "symlink"} == {"out.md", "gone.md", "self.md", "loop"}
    assert [f.code for f in seen.findings if f.code != "symlink"] == ["file-name"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[kb", "not valid TOML"),
        ("[knob]\na = 1", "no such table"),
        ("[lint]\nrule = {}", "did you mean 'rules'"),
        ("[load]\nbudget = 'much'", "takes a int"),
        ("[links]\nlocal = 'raw/'", "list of strings"),
        ("[scopes]\nkernels = 3", "list of strings"),
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
    findings = (Finding("wiki/a.md", 3, "code", "né", target="x", hint=""), Finding("wiki/b.md", 1, "c", "m"))
    assert store.value_of(store.row_of(findings), tuple[Finding, ...]) == findings
