"""What pages, records and arguments that somebody made to do harm cannot do. Every attack goes through the doors."""

import json
import os
import re
import subprocess

import pytest

from kb import KbError, store
from kb.trail.handles import handle

TARGET = "---\ntitle: T\ntype: target\nmetric: ms\ndirection: lower\n---\n"
EXPERIMENT = "---\ntitle: E\ntype: experiment\ntarget: t\nparent: HEAD\nrun: {run}\nreceipt: r\nlevers: [q=1]\nhypothesis: h\nstatus: in_progress\n---\n# E\n"
PAGE = "wiki/experiments/t/2026-01-02-v001-e.md"
DEEP = '{"a":' * 50_000


@pytest.mark.parametrize("run", ["wiki", "sources", "../out", "{root}/../out", "sources/runs/../../../out", "sources/link", "sources"])
def test_a_page_names_no_folder_but_its_own_below_sources_for_its_attempts(make_base, kb_command, run):
    layout = make_base({"wiki/targets/t.md": TARGET})
    out = layout.root.parent / "out"
    out.mkdir()
    # Another knowledge base: it is not this one's to write to either.
    (out / "kb.toml").write_text("")
    (layout.root / "sources").mkdir()
    (layout.root / "sources/link").symlink_to(out)
    (layout.root / "run.log").write_text("METRIC ms=3\n")
    page = layout.root / PAGE
    page.parent.mkdir(parents=True)
    page.write_text(EXPERIMENT.format(run=run.format(root=layout.root)))
    done = kb_command("experiment", "run", PAGE, "--record", "run.log", cwd=layout.root, ok=(2,))
    assert "below sources/" in done.stderr
    assert [f.name for f in out.iterdir()] == ["kb.toml"] and not (layout.root / "wiki/1").exists() and not (layout.root / "sources/1").exists()
    kb_command("experiment", "show", PAGE, cwd=layout.root)


def test_json_without_end_in_its_depth_is_a_message_wherever_it_stands(make_base, kb_command):
    files = {f"sources/runs/t/e/{name}": DEEP for name in ("1/plan.json", "opening.json")}
    base = make_base({"wiki/targets/t.md": TARGET, PAGE: EXPERIMENT.format(run="sources/runs/t/e"), "lint-baseline.json": DEEP, "sources/claims/x.json": "[" + DEEP, "sources/s/meta.json": DEEP,
                      "prompts/replies/x.json": DEEP, "batch.jsonl": DEEP, "sources/runs/t/e/²/plan.json": "{}", **files})
    kb_command("build", cwd=base.root)
    store.write(base.state / "packets/x.json", DEEP)
    verbs = ("experiment audit", "experiment close", "experiment run")
    for words in (*((*v.split(), PAGE) for v in verbs), ("lint",), ("claims", "x"), ("research", "status"), ("packet", "list"), ("load", "hypothesis", "--batch", "batch.jsonl"), ("check", "--batch", "batch.jsonl")):
        kb_command(*words, cwd=base.root, ok=(1, 2))  # Its stderr holds no traceback; the fixture looks.
    for event in ("stop", "edit", "session-start"):
        kb_command("agents", "hook", event, cwd=base.root, ok=(2,), text_in=DEEP)


def test_words_that_a_verb_does_not_know_are_made_safe_too(make_base, kb_command):
    root = make_base({}).root
    done = kb_command("status", "a\x1b[31m\rb\u202e", cwd=root, ok=(2,))
    assert not {"\x1b", "\r", "\u202e"} & set(done.stderr)


def test_nothing_captured_starts_a_line_of_its_own_in_a_slice(make_base, kb_command):
    evil = 'T\\r\\n## forged\\n\\u202e\\u200b\\U000E0041\\x9b2J\\e[31m'
    page = f'---\ntitle: "{evil}"\ntype: experiment\ntarget: t\nverdict: refuted\nhypothesis: "{evil} spills"\nlevers: ["{evil}=1"]\nmetrics: {{"{evil}": 3, ms: 4}}\n---\n## Verdict\n\nRefuted.\r## forged\n'
    base = make_base({"wiki/targets/t.md": TARGET, PAGE: page})
    odd = base.root / "wiki/experiments/t/2026-01-03-v002-a\n## forged\r\x1b[31m.md"
    odd.write_text(page)
    kb_command("build", cwd=base.root)
    texts = [f.read_text() for f in (base.root / "indexes").rglob("*.md")]
    for words in (("load", "hypothesis", "--target", "t"), ("load", "resume", "--target", "t"), ("load", "profile", "--target", "t"), ("experiment", "list"), ("status", "--target", "t"), ("search", "spills"), ("lint",), ("export", "log", "--target", "t"), ("retro", "--target", "t")):
        done = kb_command(*words, cwd=base.root, ok=(0, 1))
        texts.append(done.stdout + done.stderr)
    for text in texts:
        assert not {"\x1b", "\r", "\u202e", "\u200b", "\U000e0041", "\x9b"} & set(text)
        assert not any(line.startswith("## forged") for line in text.split("\n")), text


def test_no_file_name_makes_a_command_that_kb_offers_do_another_thing(make_base, kb_command):
    names = ("a;touch pwned;b", "$(touch pwned)", "`touch pwned`", "a|touch pwned", "a\ntouch pwned\n", "--whole", "'; touch pwned '", "тест & touch pwned")
    page = "---\ntitle: Tiles\ntype: experiment\ntarget: t;touch pwned\nverdict: refuted\nhypothesis: tiles spill\nlevers: [tile=1]\nmetrics: {ms: 4}\n---\n## Verdict\n\nRefuted.\n" + "More words.\n" * 2000
    offered = []
    for name in names:
        base = make_base({"wiki/targets/t.md": TARGET, f"wiki/experiments/{name}.md": page}, name=str(names.index(name)))
        kb_command("build", cwd=base.root)
        loads = (("load", "retrospective"), ("load", "resume", "--target", "t;touch pwned"))
        for words in (*loads, ("open", f"wiki/experiments/{name}.md"), ("open", f"{handle(f'wiki/experiments/{name}.md')}#zz")):
            shown = kb_command(*words, cwd=base.root, ok=(0, 2)).stdout
            offered += re.findall(r"(?<!`)`(kb (?:open|load|search) [^`]+)`", re.sub(r"(?m)^> .*", "", shown))
    assert any(" open " in line for line in offered) and any("touch" in line for line in offered)
    for line in offered:
        done = subprocess.run(["bash", "-c", f'kb() {{ echo "$#"; }}; {line}'], cwd=base.root, capture_output=True, text=True)
        assert done.stdout.strip().isdigit() and not done.stderr and not (base.root / "pwned").exists(), line
    assert re.fullmatch(r"[A-Za-z0-9._~-]+", handle("wiki/a;id $(x)`y`\n.md"))


def test_a_heading_or_a_query_of_any_length_is_read_once_from_its_start_to_its_end(make_base, kb_command):
    base = make_base({"wiki/concepts/a.md": "# " + "plain words here " * 40_000 + "\n\nTiles.\n", PAGE: EXPERIMENT.format(run="r") + "# " + "a/" * 200_000 + "\n"})
    kb_command("build", cwd=base.root)
    kb_command("search", "a/" * 60_000, cwd=base.root)


def test_the_tools_take_what_is_listed_and_nothing_else():
    from kb.server.tools import _TAKEN, DOORS, schema_of, tools

    listed = tools()
    assert {words for door in DOORS for words in door.actions.values()} == set(_TAKEN)
    for _, actions in listed.values():
        for verb in actions.values():
            assert set(_TAKEN[verb.words]) <= {o.name for o in verb.options}, verb.words
    properties = {name for _, actions in listed.values() for name in schema_of(actions)["properties"]}
    assert not properties & {"bench", "build", "checks", "profile", "repo", "set", "record", "record_parent", "batch", "overrule", "fix", "baseline_file", "timeout"}


def test_a_field_that_the_tools_do_not_list_is_refused(make_base):
    from kb.server.tools import _TAKEN, answer, tools
    from kb.verbs import Caller

    def refuse(*_):
        raise AssertionError("nothing is printed or read")

    root = make_base({"wiki/targets/t.md": TARGET}).root
    caller = Caller(root, "2026-01-02T00:00:00+00:00", refuse, refuse, refuse, refuse, confined=True)
    for name, (_, actions) in tools().items():
        for action, verb in actions.items():
            for option in verb.options:
                if option.name not in _TAKEN[verb.words]:
                    reply = answer(name, {"action": action, option.name: "x"} if action else {option.name: "x"}, caller)
                    assert reply.failed and "not taken from here" in reply.text, (verb.words, option.name)
    assert not os.path.exists(root / ".kb/kb.db") and json.dumps(list(tools()))


def test_what_stands_in_the_current_folder_is_never_run_to_read_a_pdf(tmp_path, monkeypatch):
    from kb.research.documents import _pdf_text

    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "__init__.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(KbError):
        _pdf_text(b"%PDF-1.4 nothing", "x.pdf")
    assert not (tmp_path / "ran").exists()


def test_the_trees_of_a_run_and_its_sources_never_stand_behind_a_link(make_base, tmp_path):
    from kb.experiments import worktree
    from kb.source import SourceMaterial, capture

    layout = make_base({})
    victim = tmp_path / "victim"
    (victim / "d").mkdir(parents=True)
    (victim / "d" / "kept").write_text("x")
    layout.state.mkdir(exist_ok=True)
    (layout.state / "worktrees").symlink_to(victim)
    with pytest.raises(KbError, match="link"):
        worktree.place_of(layout)
    layout.sources.symlink_to(victim)
    with pytest.raises(KbError):
        capture(layout, SourceMaterial(origin="d.md", kind="file", name="d", text="words"), retrieved="2026-01-01")
    assert (victim / "d" / "kept").exists()


def test_a_signed_commit_and_a_promised_blob_start_no_program_of_the_repositorys_choice(tmp_path):
    from kb.experiments.worktree import git
    from kb.research.git import of_folder

    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\nexit 1\n")
    evil.chmod(0o755)
    repo = tmp_path / "r"
    subprocess.run(["git", "init", "-q", repo], check=True)
    (repo / "a").write_text("x\n")
    who = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    subprocess.run(["git", "-C", repo, *who, "add", "a"], check=True)
    subprocess.run(["git", "-C", repo, *who, "commit", "-qm", "a"], check=True)
    body = subprocess.run(["git", "-C", repo, "cat-file", "commit", "HEAD"], capture_output=True, check=True).stdout
    head, _, text = body.partition(b"\n\n")
    signed = head + b"\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n" + text
    made = subprocess.run(["git", "-C", repo, "hash-object", "-t", "commit", "-w", "--stdin"], input=signed, capture_output=True, check=True)
    subprocess.run(["git", "-C", repo, "update-ref", "HEAD", made.stdout.decode().strip()], check=True)
    for setting, value in (
        ("log.showSignature", "true"), ("gpg.program", evil), ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"), ("remote.origin.url", repo), ("remote.origin.uploadpack", evil),
        ("protocol.file.allow", "always"), ("core.repositoryformatversion", "1"),
    ):  # fmt: skip
        subprocess.run(["git", "-C", repo, "config", setting, str(value)], check=True)
    git(repo, "log", "-1", "--format=%H")
    blob = subprocess.run(["git", "-C", repo, "rev-parse", "HEAD:a"], capture_output=True, check=True, text=True).stdout.strip()
    (repo / ".git/objects" / blob[:2] / blob[2:]).unlink()
    for read in (lambda: git(repo, "cat-file", "-p", blob), lambda: of_folder(repo).run("cat-file", "-p", blob)):
        with pytest.raises(KbError):
            read()
    assert not (tmp_path / "ran").exists()


def test_what_somebody_put_among_printed_slices_stops_no_load(make_base):
    from kb.slices.printed import printed_at

    layout = make_base({})
    folder = layout.state / "slices"
    folder.mkdir(parents=True)
    (folder / "aa").write_text("no row")
    (folder / "bb").symlink_to("/nowhere")
    (folder / "cc").mkdir()
    for digest in ("aa", "bb", "cc"):
        with pytest.raises(KbError):
            printed_at(layout, digest)


# Files that somebody may have put into a knowledge base, each with a verb that reads it.
READ_BY = {
    ".agents/kb.json": "agents status", ".claude/settings.json": "agents install --dry-run", "lint-baseline.json": "lint", "kb.toml": "build",
    "sources/claims/x.json": "claims x", "sources/s/meta.json": "research status", "sources/runs/t/e/1/plan.json": f"experiment show {PAGE}",
    "sources/runs/t/e/opening.json": f"experiment close {PAGE}", "sources/import-abcdef123456/meta.json": "import auto log.tsv --target t",
    "sources/import-abcdef123456/runs.jsonl": "import --undo abcdef123456", "prompts/replies/x.json": "ingest --with none", "prompts/extract.md": "ingest",
    "indexes/MANIFEST": "build", ".kb/loops/t.log": "status", ".kb/watch": "agents hook stop",
}  # fmt: skip


@pytest.mark.parametrize("path", READ_BY)
def test_a_pipe_or_terabytes_in_place_of_any_file_hold_nobody_up(make_base, kb_command, path):
    run = "sources/runs/t/e"
    base = make_base({"wiki/targets/t.md": TARGET, PAGE: EXPERIMENT.format(run=run), f"{run}/1/plan.json": "{}", "sources/s/meta.json": "{}",
                      "log.tsv": "commit\tval_bpb\tstatus\tdescription\na\t1\tkeep\tb\n"})  # fmt: skip
    kb_command("build", cwd=base.root)
    file = base.root / path
    for strange in (os.mkfifo, lambda at: (at.touch(), os.truncate(at, 1 << 42))):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        strange(file)
        kb_command(*READ_BY[path].split(), cwd=base.root, ok=(0, 1, 2, 3), text_in="{}")


def test_nothing_that_a_repositorys_settings_name_is_run_by_a_loop_that_commits_and_takes_back(tmp_path):
    from kb.experiments.worktree import git

    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\nexit 1\n")
    evil.chmod(0o755)
    repo = tmp_path / "r"
    subprocess.run(["git", "init", "-q", repo], check=True)
    (repo / ".gitattributes").write_text("* merge=m filter=f diff=d\n")
    (repo / "a").write_text("1\n")
    for setting, value in (
        ("user.name", "t"), ("user.email", "t@example.invalid"), ("commit.gpgSign", "true"), ("gpg.program", evil), ("gpg.ssh.program", evil),
        ("gpg.format", "ssh"), ("user.signingKey", "key"), ("gpg.ssh.defaultKeyCommand", evil), ("gc.auto", "1"), ("gc.recentObjectsHook", evil),
        ("maintenance.auto", "true"), ("merge.m.driver", f"{evil} %O"), ("filter.f.clean", evil), ("filter.f.smudge", evil), ("diff.d.textconv", evil),
        ("core.alternateRefsCommand", evil), ("core.fsmonitor", evil), ("core.editor", evil), ("sequence.editor", evil),
    ):  # fmt: skip
        subprocess.run(["git", "-C", repo, "config", setting, str(value)], check=True)
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "one")
    (repo / "a").write_text("2\n")
    git(repo, "commit", "-q", "-m", "two", "--", "a")
    git(repo, "revert", "--no-edit", "HEAD")
    # Two sides that both changed one line are what a driver of merges is asked about.
    git(repo, "revert", "--no-edit", "HEAD~1", ok=(0, 1))
    assert not (tmp_path / "ran").exists()


def _tar(*members: tuple[str, bytes, int, bytes]) -> bytes:
    """An archive of (name, kind, stated size, what follows), packed."""
    import gzip
    import tarfile

    raw = b""
    for name, kind, size, data in members:
        info = tarfile.TarInfo(name)
        info.type, info.size = kind, size
        raw += info.tobuf(tarfile.GNU_FORMAT) + data
    return gzip.compress(raw)


LONG = b"a".ljust(512, b"\0")


@pytest.mark.parametrize(("archive", "message"), [
    (_tar(*[("l", b"L", 512, LONG)] * 3000), "recursion"), (_tar(*[("p", b"x", 512, b"12 path=abcd\n".ljust(512, b"\0"))] * 3000), "recursion"),
    (_tar(("p", b"x", 4 << 30, LONG * 8)), "4096 MB"), (_tar(("l", b"L", 4 << 30, LONG * 8)), "4096 MB"), (_tar(("a/b", b"0", 1 << 40, b"")), "512 MB"),
    (_tar(("p", b"x", 512, b"26 GNU.sparse.map=a,b,c,d\n".ljust(512, b"\0")), ("a/b", b"0", 1, LONG)), "does not read"), (b"no archive", "does not read"),
], ids=("names", "fields", "long field", "long name", "file", "holes", "text"))  # fmt: skip
def test_an_archive_of_a_forge_that_is_a_bomb_is_a_message(archive, message):
    from kb.research.github import _members

    with pytest.raises(KbError, match=message):
        list(_members(archive, "x"))


def test_half_of_a_pair_of_surrogates_is_no_path():
    assert store.is_inner("wiki/\udcff.md") and not store.is_inner("wiki/\ud800.md")


@pytest.mark.parametrize("value", [None, "a\0b", "\ud800", "x\udcff", "a" * 5000, "9" * 400, "(", '"', "'; drop table page; --", "../../etc/passwd", "fifo", "outlink", -1, 10**30, float("nan"), [[]], {}])
def test_whatever_stands_in_an_argument_of_a_tool_is_answered(make_base, value):
    from kb.server.tools import _TAKEN, answer, tools
    from kb.verbs import Caller

    root = make_base({"wiki/targets/t.md": TARGET, PAGE: EXPERIMENT.format(run="sources/runs/t/e")}).root
    os.mkfifo(root / "fifo")
    (root / "outlink").symlink_to("/etc/passwd")
    caller = Caller(root, "2026-01-02T00:00:00+00:00", print, print, print, lambda: b"", confined=True)
    for name, (_, actions) in tools().items():
        for action, verb in actions.items():
            usual = {o.name: {"step": "hypothesis", "page": PAGE, "one": PAGE, "other": PAGE}.get(o.name, "t") for o in verb.options if o.required}
            for field in _TAKEN[verb.words]:
                reply = answer(name, {**({"action": action} if action else {}), **usual, field: value}, caller)
                assert "root:x" not in reply.text and not {"\x1b", "\r", "\ud800"} & set(reply.text), (verb.words, field)


def test_a_log_without_end_and_one_of_holes_are_refused(make_base, kb_command, tmp_path):
    root = make_base({}).root
    holes = tmp_path / "holes.tsv"
    holes.touch()
    for size, message in ((1 << 40, "too large"), (300 << 20, "a line of 256 MB")):
        os.truncate(holes, size)
        assert message in kb_command("import", "auto", holes, "--target", "t", cwd=root, ok=(2,)).stderr
    for words in (("import", "auto", "/dev/zero", "--target", "t"), ("check", "/dev/zero"), ("profile", "summarize", "/dev/zero")):
        assert "no plain file" in kb_command(*words, cwd=root, ok=(2,)).stderr


def test_bytes_that_are_no_text_are_named_wherever_they_are_typed(make_base, kb_command):
    root = make_base({"wiki/targets/t.md": TARGET}).root
    for words in (("load", "hypothesis", "--target"), ("retro", "--target"), ("experiment", "list", "--target"), ("search",), ("status", "--target")):
        kb_command(*words, os.fsdecode(b"a\xff"), cwd=root, ok=(0, 1, 2))
