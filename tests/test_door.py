"""The door `cli`: what a user's terminal, mistake or full disk does to a command."""

import os
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
PAGES = {
    "wiki/concepts/kachel.md": "---\ntitle: Kachelgröße\ntype: concept\nupdated: 2026-01-01\n---\n# Kachelgröße\n\nWer zu groß kachelt, wird die Register überlasten → langsamer.\n",
    "wiki/experiments/t/2026-01-02-v001-x.md": "---\ntitle: Kachel 64\ntype: experiment\ntarget: t\nverdict: refuted\nhypothesis: h\n---\n## Verdict\n\nRefuted: −3 %.\n",
}


def kb(root: Path, *words: str, **env: str) -> subprocess.CompletedProcess:
    done = subprocess.run([sys.executable, "-m", "kb", *words], cwd=root, capture_output=True, env={**os.environ, "PYTHONPATH": os.fspath(CHECKOUT), **env})
    assert b"Traceback" not in done.stderr, done.stderr.decode(errors="replace")
    return done


def test_words_with_accents_are_found_with_and_without_them(make_base):
    root = make_base(PAGES).root
    for words in ("Kachelgröße", "kachelgroße", "überlasten", "uberlasten"):
        assert b"kachel.md" in kb(root, "search", words).stdout, words


def test_a_terminal_that_cannot_show_a_character_ends_no_command(make_base):
    root = make_base(PAGES).root
    for words in (["search", "Register"], ["open", "wiki/concepts/kachel.md"], ["load", "hypothesis", "--query", "Kachel"], ["experiment", "list"], ["lint"]):
        assert kb(root, *words, PYTHONIOENCODING="ascii").returncode in (0, 1), words


def test_damaged_tables_are_built_anew_by_whoever_reads_them(make_base):
    root = make_base(PAGES).root
    kb(root, "build")
    (root / ".kb" / "kb.db").write_bytes(b"no database " * 500)
    done = kb(root, "search", "Register")
    assert b"kachel.md" in done.stdout and b"damaged" in done.stderr


def test_a_reader_says_where_pages_were_changed_since_the_build(make_base):
    root = make_base(PAGES).root
    kb(root, "build")
    assert b"since the last build" not in kb(root, "search", "Register").stderr
    page = root / "wiki/concepts/kachel.md"
    page.write_text(page.read_text() + "\nMehr.\n")
    assert b"since the last build" in kb(root, "search", "Register").stderr
    kb(root, "build")
    assert b"since the last build" not in kb(root, "load", "hypothesis", "--query", "Kachel").stderr


def test_a_closed_reader_and_a_full_disk_end_a_command_quietly(make_base):
    root = make_base(PAGES).root
    kb(root, "build")
    script = f"{sys.executable} -m kb search Register | head -c 1; {sys.executable} -m kb search Register > /dev/full; echo code=$?"
    done = subprocess.run(["sh", "-c", script], cwd=root, capture_output=True, env={**os.environ, "PYTHONPATH": os.fspath(CHECKOUT)})
    assert b"Traceback" not in done.stderr and b"code=2" in done.stdout


def test_help_and_lists_end_quietly_where_nobody_reads_them(make_base):
    root = make_base(PAGES).root
    kb(root, "build")
    for words in (["--help"], ["load", "--help"], ["--version"], ["experiment", "list"], ["search", "Register", "--format", "json"]):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([sys.executable, "-m", "kb", *words], cwd=root, stdout=writer, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": os.fspath(CHECKOUT)})
        os.close(writer)
        assert (done.returncode, done.stderr) == (0, b""), words


def test_a_binary_file_is_no_proposal(make_base):
    root = make_base({**PAGES, "tool": b"\x7fELF\x02\x00\x00"}).root
    for words in (["check", "tool"], ["load", "hypothesis", "--proposal", "tool"], ["load", "--batch", "tool"], ["check", "--batch", "tool"]):
        done = kb(root, *words)
        assert done.returncode == 2 and b"tool: is a binary file" in done.stderr, words


def test_a_page_is_named_as_it_is_seen_from_the_current_folder(make_base):
    root = make_base(PAGES).root
    kb(root, "build")
    here = root / "wiki/experiments/t"
    for words in (["load", "hypothesis", "--before"], ["check", "../../concepts/kachel.md", "--before"], ["experiment", "show"], ["open"]):
        assert kb(here, *words, "2026-01-02-v001-x.md").returncode in (0, 3), words
        assert kb(here, *words, "wiki/experiments/t/2026-01-02-v001-x.md").returncode in (0, 3), words


def test_a_proposal_is_said_in_words_but_a_mistyped_path_is_none(make_base):
    root = make_base(PAGES).root
    assert kb(root, "check", "Kachel 64 noch einmal versuchen").returncode in (0, 3)
    assert kb(root, "check", "tile=64").returncode in (0, 3)
    (root / "kachel").mkdir()
    long = "Kachel 64 noch einmal versuchen " * 20
    for words in (["kachel"], ["Kachel", "64", "noch"], ["ms", "and", "MB/s"], [long], ["tile=a/b"]):
        assert kb(root, "check", *words).returncode in (0, 3), words
    for path in ("my next proposal.md", "proposals/next", "next.txt"):
        done = kb(root, "check", path)
        assert done.returncode == 2 and b"cannot be read" in done.stderr, path


def test_a_target_without_a_page_is_answered_with_a_page_to_start_from(make_base):
    root = make_base(PAGES).root
    done = kb(root, "experiment", "open", "--baseline", "--target", "fresh")
    assert done.returncode == 2 and b"wiki/targets/fresh.md" in done.stderr and b"METRIC time_ms=VALUE" in done.stderr
    page = done.stderr.split(b"`")[1]
    (root / "wiki/targets").mkdir(exist_ok=True)
    (root / "wiki/targets/fresh.md").write_bytes(b"---\n" + page + b"\n---\n# Fresh\n")
    kb(root, "build")
    assert b"metric: name time_ms, direction lower; benchmark: ./bench" in kb(root, "load", "hypothesis", "--target", "fresh").stdout


def test_what_was_mistyped_is_answered_in_one_line_with_what_was_meant(make_base):
    root = make_base({}).root
    for words, meant in (
        (("experiment", "try", "--tagret", "t"), "no such option '--tagret'; did you mean '--target'?"),
        (("experiment", "tyr"), "no such action 'tyr'; did you mean 'try'?"),
        (("serach", "x"), "no such verb 'serach'; did you mean 'search'?"),
        (("init", "."), "one word too many: '.'; `kb init --help`"),
        (("init", "--adopt", ".."), "one word too many: '..'; kb works on the folder that it is called in: `cd ..` first; `kb init --help`"),
        (("experiment", "try", "--zzz"), "no such option '--zzz'; `kb experiment try --help`"),
    ):
        done = kb(root, *words)
        assert done.returncode == 2 and meant in done.stderr.decode() and done.stderr.count(b"\n") == 1, done.stderr


def test_a_value_that_begins_with_a_dash_is_taken_and_an_option_is_no_value(make_base):
    root = make_base(PAGES).root
    assert kb(root, "check", "x y", "--lever", "-fomit-frame-pointer").returncode in (0, 3)
    for words in (["--target", "--format", "json"], ["--target", "--help"], ["--lever", "--target", "t"]):
        done = kb(root, "check", "x y", *words)
        assert b"expected one argument" in done.stderr or b"usage" in done.stdout, words
