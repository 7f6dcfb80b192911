"""The compiler and its laws: any history gives the same result, twice changes nothing, killed loses nothing, wiki bytes stay."""

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb import KbError, indexes, page, refuted, search, store, trail
from kb.build import _turn, build
from kb.indexes import topic_files

PAGES = {
    "wiki/index.md": "---\ntitle: Home\ntype: index\n---\n# Home\n\n- [Tiling](concepts/tiling.md)\n- [t](targets/t.md)\n",
    "wiki/concepts/tiling.md": "---\ntitle: Tiling\ntype: concept\nupdated: 2026-01-01\ntags: [tiling]\n---\n# Tiling\n\nBlocks of 64.\n\n## Limits\n\nRegisters.\n",
    "wiki/targets/t.md": "---\ntitle: T\ntype: target\ntarget: t\n---\n# T\n",
    "wiki/experiments/t/2026-01-02-v001-block-64.md": "---\ntitle: Block 64\ntype: experiment\ntarget: t\nverdict: refuted\nhypothesis: block\n---\n## Hypothesis under test\n\n"
    "**Hypothesis**: `block=64` helps [tiling](../../concepts/tiling.md).\n\n## Results\n\n| Metric | Value |\n|---|---|\n| tok/s | 12 |\n\n## Verdict\n\nRefuted: -3 %.\n",
    "wiki/experiments/t/2026-01-03-v002-block-32.md": "---\ntitle: Block 32\ntype: experiment\ntarget: t\nverdict: supported\nhypothesis: block\n---\n## Verdict\n\nSupported: +4 %.\n",
}


# Row numbers depend on the order of edits and mean nothing outside the tables.
NUMBERED = {("searched", "id"): "0", ("chunk", "id"): "0", ("card", "number"): "0", ("card_term", "card"): "(select id from card where number = card)"}


def logical(layout: store.Layout) -> dict[str, object]:
    """All that a build made: rows of every table (row numbers aside) and the bytes of indexes/."""
    db = sqlite3.connect(layout.state / "kb.db")
    names = [n for (n,) in db.execute("select name from sqlite_master where type = 'table' order by name")]
    hidden = [n for n in names if any(n != v and n.startswith(v + "_") for v in names if n != v and "virtual" in db.execute("select sql from sqlite_master where name = ?", (v,)).fetchone()[0].lower())]
    made: dict[str, object] = {}
    for name in names:
        if name in hidden or name in ("meta", "file"):
            continue
        columns = [NUMBERED.get((name, c[1]), c[1]) for c in db.execute(f"pragma table_info({name})")]
        made[name] = sorted(map(repr, db.execute(f"select {', '.join(columns)} from {name}")))
    for file in sorted(layout.indexes.rglob("*")):
        if file.is_file():
            made[file.relative_to(layout.root).as_posix()] = file.read_bytes()
    return made


def from_nothing(layout: store.Layout, where: Path) -> dict[str, object]:
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir()
    shutil.copytree(layout.wiki, where / "wiki")
    shutil.copy(layout.root / "kb.toml", where)
    fresh = store.layout_at(where)
    build(fresh)
    return logical(fresh)


EDITS = st.lists(
    st.tuples(st.sampled_from(["write", "append", "remove", "rename", "build"]), st.sampled_from([*PAGES, "wiki/concepts/new.md", "wiki/experiments/t/2026-01-04-v003-new.md"]), st.integers(0, 9)),
    min_size=1, max_size=8,
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(EDITS)
def test_any_history_of_edits_builds_what_building_from_nothing_builds(tmp_path, edits):
    root = tmp_path / f"h{random.getrandbits(60)}"
    for path, text in PAGES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / "kb.toml").write_text("")
    layout = store.layout_at(root)
    build(layout)
    for what, path, n in edits:
        file = root / path
        if what == "build":
            build(layout)
        elif what == "write":
            file.write_text(list(PAGES.values())[n % len(PAGES)])
        elif what == "append" and file.exists():
            file.write_text(file.read_text() + f"\n## More {n}\n\nSee [home](../index.md) and `flag={n}`.\n")
        elif what == "remove":
            file.unlink(missing_ok=True)
        elif what == "rename" and file.exists():
            file.rename(file.with_name(f"2026-02-0{n + 1}-v00{n}-renamed.md"))
    build(layout)
    assert logical(layout) == from_nothing(layout, tmp_path / "clean")
    assert build(layout).fresh


def _run(n: int, *, target: str, verdict: str, lever: str, concept: str, gain: int) -> str:
    return (
        f"---\ntitle: Try {lever} {n}\ntype: experiment\ntarget: {target}\nverdict: {verdict}\ntags: [{lever}]\n---\n# Try {lever}\n\n"
        f"**Hypothesis**: `{lever}={n}` helps [it](../../concepts/{concept}.md).\n\n## Results\n\n| Metric | Value |\n|---|---|\n| tok/s | {100 + gain} |\n\n"
        f"## Verdict\n\n{verdict.capitalize()}: {gain:+} %, for the registers are full.\n"
    )


LEVERS, VERDICTS = ("tiling", "fusion", "prefetch"), ("supported", "refuted", "inconclusive")
RUNS = {
    f"wiki/experiments/{target}/2026-03-{n + 1:02}-v{n:03}-{lever}.md": _run(n, target=target, verdict=VERDICTS[n % 3], lever=lever, concept=lever, gain=5 - 3 * (n % 3))
    for target in ("t", "u") for n, lever in enumerate(LEVERS * 2)
}
WOVEN = {
    **PAGES,
    **RUNS,
    **{f"wiki/concepts/{lever}.md": f"---\ntitle: {lever.capitalize()}\ntype: concept\ntags: [{lever}, memory]\n---\n# {lever.capitalize()}\n\nHow {lever} saves 20 % of the time.\n" for lever in LEVERS},
}


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(["link", "verdict", "lever", "target", "tag", "title", "add", "remove"]), st.sampled_from([*RUNS]), st.sampled_from(LEVERS), st.integers(0, 2)), min_size=1, max_size=5))
def test_a_build_after_each_edit_of_links_and_runs_gives_what_building_from_nothing_gives(tmp_path, edits):
    root = tmp_path / f"w{random.getrandbits(60)}"
    for path, text in {"kb.toml": "", **WOVEN}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    layout = store.layout_at(root)
    build(layout)
    for what, path, lever, n in edits:
        run, concept = root / path, root / f"wiki/concepts/{lever}.md"
        text = run.read_text() if run.exists() else next(iter(RUNS.values()))
        if what == "link":
            concept.write_text(concept.read_text() + f"\nSee [{LEVERS[n]}]({LEVERS[n]}.md) and [a run](../experiments/t/{run.name}).\n")
        elif what == "tag":
            concept.write_text(concept.read_text().replace("memory", f"memory{n}"))
        elif what == "title":
            concept.write_text(concept.read_text().replace("title: ", f"title: {LEVERS[n]} and "))
        elif what == "add":
            run.with_name(f"2026-04-0{n + 1}-v10{n}-{lever}.md").write_text(_run(n, target="u", verdict=VERDICTS[n], lever=lever, concept=lever, gain=7))
        elif what == "remove":
            run.unlink(missing_ok=True)
        else:
            old, new = {"verdict": (VERDICTS, VERDICTS[n]), "lever": (LEVERS, lever), "target": (("target: t", "target: u"), f"target: {'tu'[n % 2]}")}[what]
            for word in old:
                text = text.replace(word, new)
            run.write_text(text)
        build(layout)
        assert build(layout).fresh
    assert logical(layout) == from_nothing(layout, tmp_path / "clean")


def test_building_twice_changes_nothing_and_says_so(make_base):
    layout = make_base(PAGES)
    first = build(layout)
    before = {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in layout.root.rglob("*") if p.is_file() and ".kb" not in p.parts}
    second = build(layout)
    assert not first.fresh and second.fresh and (second.pages, second.experiments, second.cards) == (first.pages, first.experiments, first.cards)
    assert {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in layout.root.rglob("*") if p.is_file() and ".kb" not in p.parts} == before


def test_several_processes_build_what_one_builds(make_base, tmp_path, monkeypatch):
    layout = make_base({**PAGES, **{f"wiki/concepts/p{n}.md": f"# P{n}\n\n[t](tiling.md) `--n={n}`\n" for n in range(80)}})
    alone = from_nothing(layout, tmp_path / "alone")
    monkeypatch.setattr("kb.build.pages._POOL_FROM", 2)
    assert from_nothing(layout, tmp_path / "pool") == alone


def test_an_edit_that_says_nothing_to_the_indexes_leaves_them_and_any_other_renews_them(make_base, tmp_path):
    layout = make_base(PAGES)
    build(layout)
    hypothesis, page = layout.indexes / "hypothesis.md", layout.wiki / "concepts" / "tiling.md"
    before = hypothesis.stat().st_mtime_ns
    page.write_text(page.read_text() + "\nOne more sentence.\n")
    assert build(layout).changed == 1 and hypothesis.stat().st_mtime_ns == before
    assert logical(layout) == from_nothing(layout, tmp_path / "prose")
    hypothesis.write_text("by hand")
    page.write_text(page.read_text() + "\nAnother one.\n")
    build(layout)
    assert logical(layout) == from_nothing(layout, tmp_path / "by-hand")
    page.write_text(page.read_text().replace("# Tiling", "# Blocking").replace("title: Tiling", "title: Blocking"))
    build(layout)
    assert "Blocking" in (layout.indexes / "catalog.md").read_text() and logical(layout) == from_nothing(layout, tmp_path / "title")


def test_a_sentence_more_on_an_experiment_compiles_no_trail_and_whatever_trail_and_cards_come_from_does(make_base, tmp_path, monkeypatch):
    layout = make_base({**PAGES, "wiki/hypotheses/block.md": "---\ntitle: Block\ntype: hypothesis\ncreated: 2026-01-01\nstatus: retired\n---\n# Block\n\n## Dead ends\n\n- `tile=128`: refuted, slower by 5 %\n"})
    run, target, hypothesis = (layout.wiki / p for p in ("experiments/t/2026-01-03-v002-block-32.md", "targets/t.md", "hypotheses/block.md"))
    run.write_text(run.read_text() + "\n## See also\n\nNothing.\n")
    build(layout)
    with monkeypatch.context() as patched:
        patched.setattr("kb.build._compiled", None)
        run.write_text(run.read_text() + "\nOne more sentence.\n")
        assert build(layout).changed == 1
    assert logical(layout) == from_nothing(layout, tmp_path / "sentence")
    for n, (file, old, new) in enumerate((
        (target, "target: t\n", "target: t\nmetric: tok/s\n"),
        (hypothesis, "2026-01-01", "2026-02-02"),
        (hypothesis, "tile=128", "tile=256"),
        (run, "+4 %", "+5 % by `block=32`"),
        (run, "target: t\n", "target: u\n"),
    )):
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))
        build(layout)
        assert logical(layout) == from_nothing(layout, tmp_path / f"edit{n}")


def test_a_page_that_a_build_skims_says_no_less_of_runs_and_dead_ends_than_lint_reads():
    data = b"---\ntype: catalog\nsymbols: {f: L1}\n---\n# Module\n\n## Dead ends\n\n- tile=128: refuted, slower by 5 %\n\n## Verdict\n\nrefuted, -3 %\n"
    for path in ("wiki/experiments/t/2026-01-01-v001-x.md", "wiki/codebases/x.md", "wiki/x.md", "wiki/log.md"):
        compiled = []
        for skim in (True, False):
            made = page.read(path, data, skim=skim)
            facts = trail.facts_of(made, data.decode(), {})
            compiled.append((facts, refuted.statements_of(made, data.decode(), facts=facts), indexes.notes_of(made, data.decode()), search.chunks_of(made, data.decode())))
        assert compiled[0] == compiled[1]


def test_a_first_build_is_no_edit_of_a_wiki_that_is_the_root(make_base):
    layout = make_base({"a.md": "# A\n", "kb.toml": '[kb]\nwiki = "."\n'})
    build(layout)
    with contextlib.closing(store.state(layout)) as db:
        assert not store.changed_since(layout, db)()
        (layout.root / "b.md").write_text("# B\n")
        assert store.changed_since(layout, db)()


def test_after_a_first_build_readers_need_not_wait_for_a_writer(make_base):
    layout = make_base(PAGES)
    build(layout)
    with contextlib.closing(store.state(layout)) as db, contextlib.closing(store.state(layout, writable=True)) as writing:
        writing.execute("begin exclusive")
        assert db.execute("select count(*) from page").fetchone() == (5,)
        assert db.execute("pragma journal_mode").fetchone() == ("wal",)


def test_indexes_that_went_away_come_back(make_base):
    layout = make_base(PAGES)
    build(layout)
    made = logical(layout)
    shutil.rmtree(layout.indexes)
    build(layout)
    assert logical(layout) == made


def test_damaged_tables_are_built_anew(make_base):
    layout = make_base(PAGES)
    build(layout)
    made = logical(layout)
    for name in ("kb.db-wal", "kb.db-shm"):
        (layout.state / name).unlink(missing_ok=True)
    (layout.state / "kb.db").write_bytes(b"no database at all" * 1000)
    said = []
    build(layout, note=said.append)
    assert logical(layout) == made and "damaged" in said[0]


STRANGE: dict[str, str | bytes] = {
    "wiki/empty.md": "", "wiki/binary.md": bytes(range(256)) * 40, "wiki/line.md": "x" * 8000, "wiki/open.md": "```\nnever closed", "wiki/crlf.md": "# A\r\n\r\ntext\r\n",
    "wiki/bom.md": b"\xef\xbb\xbf# B\n", "wiki/latin.md": b"caf\xe9", "wiki/twice.md": "---\na: 1\na: 2\n---\n", "wiki/list.md": "---\n- a\n---\n",
    "wiki/tag.md": "---\na: !!python/object/apply:os.system [\"touch hacked\"]\n---\n", "wiki/.md": "# nameless", "wiki/a b#c.md": "# spaced", "wiki/é/ü.md": "# accents",
    "wiki/Case.md": "# one", "wiki/case.md": "# two", "wiki/big.md": "# Big\n\n" + "word " * 600_000, "wiki/deep.md": ">" * 3000 + " x", "wiki/html.md": "<h1>Raw</h1>\n<script>alert(1)</script>\n",
}


def test_strange_pages_are_built_beside_the_good_ones(make_base, kb_command):
    layout = make_base({**PAGES, **STRANGE})
    done = kb_command("build", cwd=layout.root)
    assert f"{len(PAGES) + len(STRANGE)} pages" in done.stdout
    assert not (layout.root / "hacked").exists()
    assert {p: (layout.root / p).read_bytes() for p in STRANGE} == {p: t.encode() if isinstance(t, str) else t for p, t in STRANGE.items()}


def test_two_builds_at_once_and_a_folder_that_vanishes(make_base):
    layout = make_base({**PAGES, **{f"wiki/concepts/gone/p{n}.md": f"# P{n}\n" for n in range(300)}})
    code = "import sys; from kb.build import build; from kb import store; from pathlib import Path; build(store.layout_at(Path(sys.argv[1])))"
    running = [subprocess.Popen([sys.executable, "-c", code, os.fspath(layout.root)], stderr=subprocess.PIPE) for _ in range(3)]
    shutil.rmtree(layout.wiki / "concepts" / "gone")
    assert [(p.wait(60), p.stderr.read()) for p in running] == [(0, b"")] * 3
    build(layout)
    assert build(layout).pages == len(PAGES)


def test_of_many_that_wait_for_a_build_one_builds_for_all(make_base, monkeypatch):
    layout = make_base(PAGES)
    build(layout)
    turns = []
    monkeypatch.setattr("kb.build._turn", lambda at, look=_turn: turns.append(look(at)) or turns[-1])
    with ThreadPoolExecutor(5) as pool:
        with store.lock(layout, "build"):
            for n in range(5):
                (layout.wiki / f"concepts/c{n}.md").write_text(f"# C{n}\n\n[t](tiling.md)\n")
            waiting = [pool.submit(build, layout) for _ in range(5)]
            while len(turns) < 5:
                time.sleep(0.01)
        reports = [one.result() for one in waiting]
    assert sorted((r.fresh, r.added) for r in reports) == [(False, 5), *[(True, 0)] * 4]
    assert build(layout).fresh


def test_a_second_build_of_a_command_looks_where_something_was_filed_since(make_base, tmp_path, monkeypatch):
    layout = make_base(PAGES)
    monkeypatch.setattr(store.walk, "_MOST_LOOKED_AT", 0)
    scans = []
    monkeypatch.setattr(store, "scan", lambda *a, scan=store.scan, **k: scans.append(k["since"]) or scan(*a, **k))
    build(layout)
    store.create(layout.wiki / "concepts/new.md", b"# New\n\n[t](tiling.md)\n")
    assert build(layout, again=True).added == 1 and scans[-1]
    assert logical(layout) == from_nothing(layout, tmp_path / "again")
    # What another process built in between this one's scan does not know of.
    (layout.wiki / "concepts/new.md").write_text("# Newer\n")
    subprocess.run([sys.executable, "-m", "kb", "build"], cwd=layout.root, check=True, capture_output=True)
    (layout.wiki / "concepts/new.md").write_text("# Newest\n")
    assert build(layout, again=True).changed == 1 and not scans[-1]


def test_a_page_that_comes_renders_no_list_of_another_type_and_moves_no_rank_of_others(make_base, monkeypatch):
    layout = make_base(PAGES | {f"wiki/concepts/c{n}.md": f"# C{n}\n\n[t](tiling.md)\n" for n in range(200)})
    build(layout)
    listed, written = [], []
    part, rows = topic_files._catalog_part, store.tables.replace_rows

    def replaced(db, table, wanted):
        before = db.total_changes
        rows(db, table, wanted)
        written.append((table, db.total_changes - before))

    def numbered() -> set[tuple[int, str]]:
        with contextlib.closing(store.state(layout)) as db:
            return set(db.execute("select rowid, path from neighbours"))

    monkeypatch.setattr(topic_files, "_catalog_part", lambda name, pages: listed.append(name) or part(name, pages))
    monkeypatch.setattr(store, "replace_rows", replaced)
    (layout.wiki / "targets/u.md").write_text("---\ntype: target\n---\n# U\n\n[t](../concepts/tiling.md)\n")
    before = numbered()
    build(layout)
    assert listed == ["target"]
    # Its own row, and that of the page whose rank it raises; with the link the rows of both ends.
    assert dict(written)["standing"] <= 4 and len(numbered() - before) == 2


def test_a_build_killed_at_any_instant_loses_nothing(make_base, tmp_path):
    layout = make_base({**PAGES, **{f"wiki/concepts/p{n}.md": f"# P{n}\n\n[t](tiling.md)\n" for n in range(250)}})
    code = "import sys; from kb.build import build; from kb import store; from pathlib import Path; build(store.layout_at(Path(sys.argv[1])))"
    for n in range(12):
        if n % 3 == 0:
            shutil.rmtree(layout.state, ignore_errors=True)
        running = subprocess.Popen([sys.executable, "-c", code, os.fspath(layout.root)], start_new_session=True, stderr=subprocess.DEVNULL)
        time.sleep(0.05 + 0.07 * n)
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    build(layout)
    assert logical(layout) == from_nothing(layout, tmp_path / "clean")
    assert not list(layout.indexes.rglob("*.kb-tmp"))


def _in_small_disk(script: str, *args: str) -> subprocess.CompletedProcess:
    if not shutil.which("unshare") or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("needs the right to mount a small disk")
    return subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", sys.executable, *args], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.getcwd()})


def test_a_full_disk_is_a_clear_message_and_the_wiki_stays(make_base, tmp_path):
    layout = make_base({**PAGES, **{f"wiki/concepts/p{n}.md": "# P\n\n" + "words of a page " * 2000 for n in range(40)}})
    disk = tmp_path / "disk"
    disk.mkdir()
    done = _in_small_disk("mount -t tmpfs -o size=2m tmpfs \"$2\" && cp -r \"$3\"/. \"$2\" && cd \"$2\" && \"$1\" -m kb build; echo code=$?; find wiki -name '*.md' | wc -l", os.fspath(disk), os.fspath(layout.root))
    assert "Traceback" not in done.stderr and "code=2" in done.stdout, done
    assert "full" in done.stderr and done.stdout.split()[-1] == str(len(PAGES) + 40)


def test_what_was_built_is_read_on_a_full_disk(make_base, tmp_path):
    layout = make_base({**PAGES, "sources/s/meta.json": '{"id": "s", "title": "S", "text": "s.md"}', "sources/s/s.md": "Words.\n"})
    build(layout)
    disk = tmp_path / "disk"
    disk.mkdir()
    asks = " && ".join(f'"$1" -m kb {words}' for words in ("check words", "load resume", "search words", "lint", "status", "open wiki/index.md"))
    script = f'mount -t tmpfs -o size=8m tmpfs "$2" && cp -r "$3"/. "$2" && cd "$2" && rm -rf .kb && "$1" -m kb build && (cat /dev/zero > fill || :) 2>/dev/null; {asks}; echo code=$?'
    done = _in_small_disk(script, os.fspath(disk), os.fspath(layout.root))
    assert "code=0" in done.stdout and "# Home" in done.stdout and not any(word in done.stderr for word in ("Traceback", "damaged", "cannot write")), done


def test_a_read_only_tree_is_a_clear_message_for_build_and_readable_for_the_rest(make_base, tmp_path):
    layout = make_base(PAGES)
    build(layout)
    script = "mount --bind \"$2\" \"$2\" && mount -o remount,bind,ro \"$2\" && cd \"$2\" && \"$1\" -m kb open wiki/index.md && \"$1\" -m kb build; echo code=$?"
    done = _in_small_disk(script, os.fspath(layout.root))
    assert "Traceback" not in done.stderr and "# Home" in done.stdout and "code=2" in done.stdout, done
    assert "read-only" in done.stderr.lower()


def test_without_a_wiki_or_a_kb_toml_the_message_says_what_to_do(tmp_path, kb_command):
    assert "kb init" in kb_command("build", cwd=tmp_path, ok=(2,)).stderr
    assert "no wiki/" in kb_command("init", "--adopt", cwd=tmp_path, ok=(2,)).stderr


def test_a_first_build_that_did_not_end_is_no_answer(make_base, kb_command):
    layout = make_base(PAGES)
    build(layout)
    db = sqlite3.connect(layout.state / "kb.db")
    with db:
        db.execute("delete from meta where key = 'inputs'")
    db.close()
    assert "no build has come to its end" in kb_command("search", "registers", cwd=layout.root).stderr


def test_open_reads_pages_of_the_knowledge_base_only(make_base, kb_command, tmp_path):
    (tmp_path / "secret.md").write_text("# Secret")
    layout = make_base({**PAGES, "wiki/concepts/c#.md": "# C sharp"})
    (layout.wiki / "out.md").symlink_to(tmp_path / "secret.md")
    for path in ("../secret.md", str(tmp_path / "secret.md"), "wiki/../../secret.md", "wiki/out.md"):
        refused = kb_command("open", path, cwd=layout.root, ok=(2,))
        assert "the knowledge base" in refused.stderr and not refused.stdout
    assert "Registers" in kb_command("open", "wiki/concepts/tiling.md#limits", cwd=layout.wiki).stdout
    assert "C sharp" in kb_command("open", "c#.md", cwd=layout.wiki / "concepts").stdout


@pytest.mark.parametrize("damage", ["drop table chunk", "delete from chunk", "delete from standing", "update page set row = 'x'", "delete from page where path like '%tiling%'"])
def test_tables_that_somebody_changed_are_made_anew(make_base, tmp_path, damage):
    layout = make_base(PAGES)
    build(layout)
    # What no build writes into a row the table itself refuses.
    with contextlib.closing(sqlite3.connect(layout.state / "kb.db")) as db, contextlib.suppress(sqlite3.IntegrityError):
        db.execute(damage)
        db.commit()
    build(layout)
    assert logical(layout) == from_nothing(layout, tmp_path / "again")


ODD = ["", "[]", "{a: {b: 1}}", '{"": 3}', '"a\\0b"', '"\\ud800"', "x" * 5000, "9" * 400, "[" * 1000, "../../x", "&a [*a]", "!!binary aGk=", ".nan"]


def test_no_page_stops_the_rest_whatever_its_front_matter_says(make_base, kb_command):
    fields = ("target", "variant", "metrics", "verdict", "status", "parent", "levers", "created", "type", "title", "run", "hypothesis", "aliases", "tags")
    odd = {f"wiki/experiments/t/2026-01-{n % 28 + 1:02d}-v{n:03d}-odd.md": f"---\ntitle: Odd {n}\n{fields[n % len(fields)]}: {value}\n---\n# Odd\n" for n, value in enumerate(ODD * 4)}
    layout = make_base({**PAGES, **odd})
    for words in (["build"], ["search", "odd"], ["lint"], ["experiment", "list"], ["load", "hypothesis", "--target", "t"], ["status"], ["check", "-", "--target", "t"]):
        kb_command(*words, cwd=layout.root, ok=(0, 1, 3), text_in="set block=64")
    pages = {p for (p,) in store.state(layout).execute("select path from page")}
    assert pages == {p for p in (*PAGES, *odd) if p.endswith(".md") and p.startswith("wiki/")}


def test_init_starts_an_empty_base_and_adopt_touches_no_page(tmp_path, kb_command):
    kb_command("init", cwd=tmp_path)
    assert "1 page " in kb_command("build", cwd=tmp_path).stdout
    assert "here already" in kb_command("init", cwd=tmp_path, ok=(2,)).stderr
    other = tmp_path / "other"
    (other / "wiki").mkdir(parents=True)
    (other / "wiki" / "x.md").write_text("# X")
    kb_command("init", "--adopt", cwd=other)
    assert sorted(p.relative_to(other).as_posix() for p in other.rglob("*")) == [".kb", ".kb/.gitignore", ".kb/made-here", "kb.toml", "wiki", "wiki/x.md"]


@pytest.mark.parametrize(("files", "words", "wiki"), [
    (["docs/a.md", "docs/b/c.md", "README.md"], [], "docs"),
    (["a.md", "Projects/b.md", "Daily/c.md"], [], "."),
    (["notes/a.md", "docs/b.md", "docs/c.md"], ["--wiki", "notes"], "notes"),
    ([".obsidian/app.json", "Notes/a.md", "Notes/b.md"], [], "."),
])
def test_a_wiki_is_adopted_where_its_pages_are(tmp_path, kb_command, files, words, wiki):
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"# {name}\n")
    said = kb_command("init", "--adopt", *words, cwd=tmp_path).stdout
    assert store.layout_at(tmp_path).config.wiki == wiki and (f'wiki = "{wiki}"' in said) != bool(words)
    count = sum(name.endswith(".md") and name.startswith(wiki.removeprefix(".")) for name in files)
    assert kb_command("build", cwd=tmp_path).stdout.startswith(f"{count} page{'s' * (count != 1)} (")
    assert "no such" not in kb_command("search", "md", cwd=tmp_path).stderr


def test_a_page_that_raises_a_bad_setting_is_refused_before_anything_is_written(make_base):
    layout = make_base(PAGES)
    (layout.root / "kb.toml").write_text("[load]\nbudget = 'x'\n")
    with pytest.raises(KbError):
        store.layout_at(layout.root)


def test_neither_tables_nor_slices_depend_on_the_process(make_base, tmp_path):
    seen = []
    for seed in ("1", "2", "77"):
        layout = make_base(PAGES, name=f"seed{seed}")
        said = []
        for words in (["build"], ["load", "hypothesis", "--target", "t", "--query", "tiling block size", "--format", "json"], ["search", "tiling block", "--format", "json"],
                      ["check", "-", "--target", "t", "--format", "json"], ["lint", "--format", "json"]):
            done = subprocess.run([sys.executable, "-m", "kb", *words], cwd=layout.root, capture_output=True, text=True, input="set block=64 for tiling",
                                  env={**os.environ, "PYTHONPATH": os.getcwd(), "PYTHONHASHSEED": seed})
            assert done.returncode in (0, 1, 3), done.stderr
            said.append(done.stdout)
        seen.append((logical(layout), said))
    assert seen[0] == seen[1] == seen[2]


def test_a_build_that_was_killed_before_its_manifest_is_completed_by_the_next(make_base):
    layout = make_base({"wiki/a.md": "# A\n"})
    build(layout)
    manifest = layout.indexes / "MANIFEST"
    whole = manifest.read_bytes()
    manifest.write_bytes(whole.replace(whole[:16], b"0" * 16))
    (layout.indexes / ".MANIFEST.52e49bdf.kb-tmp").write_bytes(whole)
    build(layout)
    assert manifest.read_bytes() == whole and not list(layout.indexes.glob(".MANIFEST*"))
