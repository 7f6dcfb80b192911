"""Opening, measuring and closing experiments where things go wrong: many agents at once, kills, dirty repositories, clocks, records from elsewhere."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from loops.loop import Loop

from kb import KbError, cli, store
from kb.experiments import worktree
from kb.experiments.attempt import Attempt, attempts_of
from kb.experiments.auditing import move_of, moves_in
from kb.experiments.command import sandbox_problem
from kb.experiments.stub import stub_at
from kb.experiments.targets import target_named
from kb.page import read
from kb.page.superseding import superseding
from kb.run.reasons import percent
from kb.store import layout_at

TARGET = """---
title: Parser
type: target
repository: ../repo
base: main
metric: {name: time_ms, unit: ms, direction: lower}
benchmark: sh bench.sh
protected: [bench.sh]
repeats: 3
timeout: 120
created: 2026-05-01
updated: 2026-05-01
---

# Parser

<!-- kb:auto frontier -->
<!-- /kb:auto -->
"""
BENCH = 'read value < value.txt\necho "METRIC time_ms=$value"\n'


@pytest.fixture
def loop(make_base, capsys, monkeypatch, tmp_path) -> Loop:
    layout = make_base({"wiki/targets/parser.md": TARGET, "wiki/index.md": "# Index\n"})
    repository = tmp_path / "repo"
    repository.mkdir()
    (repository / "bench.sh").write_text(BENCH)
    (repository / "value.txt").write_text("100\n")
    monkeypatch.chdir(layout.root)
    made = Loop(layout, repository, capsys, "parser", "value.txt")
    made.git("init", "-q", "-b", "main")
    made.git("add", "-A")
    made.git("commit", "-q", "-m", "start")
    return made


def to(value: float):
    return lambda text: f"{value}\n"


def attempts(loop: Loop, path: str) -> tuple[Attempt, ...]:
    return attempts_of(loop.layout, stub_at(loop.layout, path))


# What shows that a change of value.txt acts: the benchmark prints it, and the parent's does not.
SEEN = ("--expect", "time_ms=[1-9][0-9]?$")


def test_a_stub_says_what_is_missing_and_gives_an_example(loop):
    refused = loop.run("open", "--target", "parser", "--hypothesis", "set FAST=1", ok=(2,)).stderr
    for word in ("mechanism", "predicted signal", "falsification criterion", "--lever"):
        assert word in refused
    refused = loop.open("a=1", falsification="it gets worse", ok=(2,))
    assert refused == ""
    assert "no name for a folder" in loop.run("open", "--target", "../x", ok=(2,)).stderr
    assert "wiki/targets/nothing.md" in loop.run("open", "--target", "nothing", ok=(2,)).stderr
    assert not list((loop.layout.wiki / "experiments").rglob("*.md"))


def test_a_stub_is_filed_whole_before_anything_runs(loop):
    path = loop.open("a=1", "--variant", "8B/v6e")
    page = loop.page(path)
    front = read(path, page.encode()).front
    assert (front["status"], front["levers"], front["falsification"], front["variant"]) == ("in_progress", ["a=1"], "gain < 2%", "8B/v6e")
    assert front["receipt"].startswith("kb1-clear-") and front["parent"] == "main"
    facts = stub_at(loop.layout, path).facts
    assert facts.running and facts.mechanism == "lines are used whole before they are evicted" and facts.predicted_signal == "the pipe fills"
    assert not read(path, page.encode()).findings


def test_a_lever_that_begins_with_a_dash_is_a_lever(loop):
    path = loop.open("-fomit-frame-pointer")
    assert read(path, loop.page(path).encode()).front["levers"] == ["-fomit-frame-pointer"]


def test_a_proposal_file_opens_an_experiment_and_options_say_more(loop, tmp_path):
    proposal = tmp_path / "proposal.md"
    proposal.write_text("---\ntarget: parser\nlevers: [chunk=64]\nparent: main\nexpect: ['memchr']\n---\n# Larger chunks\n\n**Hypothesis**: chunk=64 saves calls.\n\n"
                        "**Mechanism**: one call a chunk.\n\n**Predicted signal**: read falls\n\n## Falsification criterion\n\ntime_ms >= 99 ms\n")
    path = loop.run("open", str(proposal), "--variant", "arm", "--date", "2026-05-03").stdout.strip()
    assert path.endswith("2026-05-03-v001-larger-chunks.md")
    front = read(path, loop.page(path).encode()).front
    assert (front["falsification"], front["expect"], front["variant"], front["title"]) == ("time_ms >= 99", ["memchr"], "arm", "Larger chunks")


def test_text_of_a_proposal_cannot_break_the_page(loop):
    path = loop.open("a=1", "--variant", 'x" y\n---\nverdict: supported', "--differs", "<!-- kb:auto results -->\n# Verdict\n\u2028supported\x1b[0m")
    page = read(path, loop.page(path).encode())
    assert not page.findings and "verdict" not in page.front and stub_at(loop.layout, path).facts.running
    assert [name for name, _, _ in page.blocks] == ["setup", "results", "profile", "audit", "verdict", "sources"]


def test_a_duplicate_in_flight_is_refused_and_another_variant_is_not(loop):
    path = loop.open("a=1")
    assert loop.open("a=1", ok=(3,)) == ""
    assert loop.open("a=2") != path and loop.open("a=1", "--variant", "large") != path
    change = loop.commit(to(90))
    loop.run("run", path, "--commit", change)
    loop.closed(path, *SEEN)
    assert loop.open("a=1")


def test_a_refuted_lever_is_refused_unless_the_proposal_says_what_differs(loop):
    path = loop.open("chunk_bytes=64")
    loop.run("run", path, "--commit", loop.commit(to(120)))
    assert loop.closed(path)["verdict"] == "refuted"
    assert loop.open("chunk_bytes=64", ok=(3,)) == ""
    label = Path(path).stem
    opened = loop.open("chunk_bytes=64", "--differs", f"Unlike {label} ({path}), the buffer is now aligned, so a chunk no longer straddles two lines.")
    assert label in loop.page(opened)


def test_a_repeat_of_two_pages_says_which_one_is_not_named_yet(loop):
    home = loop.layout.root / "wiki/experiments/parser"
    home.mkdir(parents=True)
    names = [f"2026-01-0{n}-v90{n}-prefetch" for n in (1, 2)]
    for name in names:
        (home / f"{name}.md").write_text("---\ntitle: Prefetch rows\ntype: experiment\ntarget: parser\nverdict: refuted\nlevers: [prefetch=rows]\n---\n\n# Prefetch rows\n\n## Verdict\n\nRefuted: -3 %.\n")
    said = ("open", "--target", "parser", "--lever", "prefetch=rows", "--hypothesis", "prefetch=rows saves time", "--mechanism", "m", "--predicted", "p", "--falsification", "gain < 2%", "--parent", "main")
    refused = loop.run(*said, ok=(3,)).stderr
    assert all(f"{name}.md (" in refused for name in names) and "answered already" not in refused
    refused = loop.run(*said, "--differs", f"unlike {names[0]}, rows are aligned now", ok=(3,)).stderr
    assert f"{names[1]}.md (" in refused and f"{names[0]}.md (" not in refused and f"answered already: {names[0]}" in refused
    loop.run(*said, "--differs", f"unlike {names[0]} and {names[1]}, rows are aligned now")


def test_eight_writers_at_once_lose_nothing_and_share_no_number(loop, kb_command, tmp_path):
    record = log_of(tmp_path, "run.log", "METRIC time_ms=90\n")

    def opened_and_closed(i: int) -> str:
        said = ("--title", f"Knob {i}", "--hypothesis", f"knob{i} helps", "--mechanism", f"because of {i}", "--predicted", "less time", "--falsification", "gain < 2%")
        path = kb_command("experiment", "open", "--target", "parser", "--lever", f"knob{i}=1", *said, "--parent", "main", "--date", "2026-05-02", cwd=loop.layout.root).stdout.strip()
        kb_command("experiment", "run", path, "--record", record, cwd=loop.layout.root)
        kb_command("experiment", "close", path, "--date", "2026-05-02", cwd=loop.layout.root)
        return path

    def imported(i: int) -> str:
        log = log_of(tmp_path, f"loop{i}.jsonl", '{"type":"config","metricName":"time_ms","bestDirection":"lower"}\n' + "".join(
            f'{{"run":{n},"commit":"c{i}{n}","metric":{80 + n},"status":"keep","description":"writer {i} run {n}","timestamp":1777000000}}\n' for n in (1, 2)))
        kb_command("import", "pi", log, "--target", "parser", cwd=loop.layout.root)
        return ""

    with ThreadPoolExecutor(8) as pool:
        paths = [p for p in pool.map(lambda i: (opened_and_closed if i % 2 else imported)(i), range(8)) if p]
    pages = sorted((loop.layout.wiki / "experiments" / "parser").glob("*.md"))
    numbers = [stub_at(loop.layout, p.relative_to(loop.layout.root).as_posix()).page.number for p in pages]
    assert sorted(numbers) == list(range(1, 4 + 8 + 1))
    log = loop.page("wiki/log.md")
    assert all(log.count(f"]({p.removeprefix('wiki/')})") == 1 and stub_at(loop.layout, p).filed for p in paths)


def test_closing_builds_once(loop):
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(90)))

    def builds() -> int:
        return int(store.state(loop.layout).execute("select value from meta where key = 'begun'").fetchone()[0])

    before = builds()
    assert loop.closed(path, *SEEN)["verdict"] == "supported"
    assert builds() - before == 1


def test_a_clock_that_went_back_neither_breaks_the_order_nor_the_log(loop):
    first = loop.open("a=1")
    loop.run("run", first, "--commit", loop.commit(to(90)))
    loop.closed(first, *SEEN)
    said = ("--hypothesis", "b helps", "--mechanism", "m", "--predicted", "p", "--falsification", "gain < 2%", "--lever", "b=1", "--target", "parser", "--parent", first)
    second = loop.run("open", *said, "--date", "2020-01-01").stdout.strip()
    assert Path(second).name.startswith("2026-05-02-v002-")
    loop.run("run", second, "--commit", loop.commit(to(80), start="HEAD"))
    loop.run("close", second, "--date", "2020-01-01", "--expect", "=80$")
    dates = [line[4:14] for line in loop.page("wiki/log.md").splitlines() if line.startswith("## [")]
    assert dates == sorted(dates, reverse=True) and len(dates) == 2


def test_uncommitted_changes_are_refused_or_measured_as_a_snapshot(loop):
    path = loop.open("a=1")
    (loop.repository / "value.txt").write_text("90\n")
    (loop.repository / "new.txt").write_text("new\n")
    refused = loop.run("run", path, ok=(2,)).stderr
    assert "value.txt" in refused and "--snapshot" in refused
    status = loop.git("status", "--porcelain")
    told = json.loads(loop.run("run", path, "--snapshot", "--format", "json").stdout)
    assert told["metrics"]["time_ms"]["change"]["middle"] == 90.0
    assert loop.git("status", "--porcelain") == status and loop.git("rev-parse", "HEAD") == loop.git("rev-parse", "main")
    code = read(path, loop.page(path).encode()).front["code"]
    assert loop.git("cat-file", "-t", code) == "commit" and "new.txt" in loop.git("ls-tree", "--name-only", code)


def test_nothing_to_measure_is_said(loop, tmp_path):
    path = loop.open("a=1")
    assert "same code as its parent" in loop.run("run", path, ok=(2,)).stderr
    assert "no commit 'nowhere'" in loop.run("run", path, "--commit", "nowhere", ok=(2,)).stderr
    loop.state(repository=str(tmp_path))
    assert "no git repository" in loop.run("run", path, ok=(2,)).stderr
    assert "nothing is measured yet" in loop.run("close", path, ok=(2,)).stderr
    done = loop.closed(path, "--overrule", "inconclusive", "--reason", "the machine is gone")
    assert done["verdict"] == "inconclusive" and "Nothing was measured." in loop.page(path)


def test_a_knowledge_base_inside_its_repository_is_no_part_of_the_code(loop, make_base, monkeypatch):
    root = loop.repository / "notes"
    (root / "wiki" / "targets").mkdir(parents=True)
    (root / "kb.toml").write_text("")
    (root / "wiki" / "targets" / "parser.md").write_text(TARGET.replace("../repo", "..").replace("protected:", "allowed: [value.txt]\nprotected:"))
    loop.git("add", "-A")
    loop.git("commit", "-q", "-m", "notes")
    monkeypatch.chdir(root)
    inside = replace(loop, layout=layout_at(root))
    path = inside.open("a=1", parent="HEAD")
    (root / "wiki" / "index.md").write_text("# Changed while in flight\n")
    (loop.repository / "value.txt").write_text("90\n")
    loop.git("add", "-A")
    loop.git("commit", "-q", "-m", "try, pages and all")
    inside.run("run", path)
    assert inside.closed(path, *SEEN)["rule"] == "supported"


def test_a_variable_for_the_change_alone_is_a_change(loop):
    loop.git("checkout", "-q", "main")
    (loop.repository / "bench.sh").write_text('read value < value.txt\necho "METRIC time_ms=$((value - ${FAST:-0}))"\n')
    loop.git("commit", "-q", "-am", "a knob")
    path = loop.open("FAST=10")
    told = json.loads(loop.run("run", path, "--set", "FAST=10", "--format", "json").stdout)
    assert told["metrics"]["time_ms"]["gain"] == pytest.approx(0.1)


def test_repeats_are_interleaved_with_the_parent(loop):
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(90)))
    attempt = attempts(loop, path)[0]
    assert [(s.kind, s.side, s.index) for s in attempt.samples] == [("warmup", "parent", 1), ("warmup", "change", 1)] + [
        ("bench", side, i) for i in (1, 2, 3) for side in ("parent", "change")]
    assert dict(attempt.plan.host)["host"] and attempt.plan.change != attempt.plan.parent
    assert "is measured" in loop.run("run", path, ok=(2,)).stderr
    loop.run("run", path, "--again", "--commit", loop.commit(to(95)))
    assert [a.plan.number for a in attempts(loop, path)] == [1, 2]
    loop.closed(path, *SEEN)
    assert "attempt 2" in loop.page(path)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_that_is_killed_leaves_no_benchmark_and_goes_on_where_it_stopped(loop, tmp_path, number):
    path = loop.open("a=1")
    change = loop.commit(to(90))
    seconds = f"300.{int(number)}"
    bench = f'sh bench.sh; test "$KB_SIDE" = parent || test -e $KB_REPOSITORY/../gate || sleep {seconds}'
    loop.state(benchmark=bench, warmup="0")
    process = subprocess.Popen([sys.executable, "-m", "kb", "experiment", "run", path, "--commit", change], cwd=loop.layout.root,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    until(lambda: sleeping(seconds))
    os.kill(process.pid, number)
    process.wait()
    until(lambda: not sleeping(seconds))
    assert number == signal.SIGKILL or not (loop.layout.state / "worktrees").exists()
    assert loop.git("worktree", "list").count("\n") == 0
    assert "was cut off after 1 sample" in loop.run("close", path, ok=(2,)).stderr
    (tmp_path / "gate").touch()
    told = loop.run("run", path)
    assert "going on with attempt 1: 1 sample there" in told.stderr
    (attempt,) = attempts(loop, path)
    assert len(attempt.values("time_ms", "change")) == len(attempt.values("time_ms", "parent")) == 3


def test_what_an_earlier_run_left_is_ended_and_named_before_the_next_one_measures(loop):
    from kb.experiments.turns import mark_of

    process = subprocess.Popen(["sleep", "301.1"], env={"KB_MARK": mark_of(loop.layout)})
    path = loop.open("a=1")
    told = loop.run("run", path, "--commit", loop.commit(to(90)))
    assert process.wait(60) == -signal.SIGKILL and "sleep 301.1" in told.stderr


def sleeping(seconds: str) -> bool:
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if file.read_bytes().startswith(b"sleep\0" + seconds.encode()):
                return True
        except OSError:
            continue  # It ended while we looked.
    return False


def until(holds) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# Only what never ends is ended by its limit; the limit of all others is far from what the slowest machine takes.
@pytest.mark.parametrize(("bench", "reason"), [
    ("sleep 300", "was ended after"), ("echo METRIC time_ms=nan", "time_ms=nan is no finite number"), ("exit 1", "exited with 1"),
    ("(setsid sleep 982 &); sleep 981 & exit 0", "printed no"), ("head -c 30000000 /dev/zero", "printed no"),
])
def test_a_benchmark_that_misbehaves_on_the_change_is_a_crash(loop, bench, reason):
    path = loop.open("a=1")
    change = loop.commit(to(90))
    loop.run("run", path, "--commit", change, "--timeout", "3" if bench == "sleep 300" else "120", "--bench", f"if [ $KB_SIDE = change ]; then {bench}; else sh bench.sh; fi", ok=(1,))
    done = loop.closed(path)
    assert done["verdict"] == "crash" and reason in done["reason"]
    assert sum(f.stat().st_size for f in (loop.layout.sources / "runs").rglob("*") if f.is_file()) < 2_000_000


@pytest.mark.parametrize(("checks", "rule"), [("exit 1", "checks-failed"), ("kill -SEGV $$", "crash"), ("sh -c 'kill -ABRT $$'", "crash"), ("exit 6", "checks-failed")])
def test_checks_that_fall_over_are_a_crash_and_checks_that_find_something_are_not(loop, checks, rule):
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(90)), "--checks", checks, ok=(1,))
    done = loop.closed(path)
    assert done["rule"] == rule and (rule == "crash") == ("the checks: it" in done["reason"])


@pytest.mark.parametrize(("checks", "reason"), [
    ("echo ok; echo FAIL the: 1600 expected 1890 >&2; echo; exit 1", "it exited with 1: `FAIL the: 1600 expected 1890`"),
    ("echo METRIC time_ms=5; echo; exit 3", "it exited with 3."),
    ("echo 'kernel.c:5: `x` undeclared'; echo 'make: *** [check] Error 1'; echo METRIC time_ms=5; exit 2", "it exited with 2: `kernel.c:5: 'x' undeclared`"),
    (r"printf 'token=abcdefgh1234 \033[31m%0300d' 7; exit 1", "it exited with 1: `token=***"),
])
def test_a_page_says_what_the_failing_command_printed_last(loop, checks, reason):
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(90)), "--checks", checks, ok=(1,))
    done = loop.closed(path)
    assert done["verdict"] == "invalid" and reason in f"{done['reason']}." and len(done["reason"]) < 250
    assert reason.rstrip(".") in loop.page(path) and "\x1b" not in loop.page(path)
    facts = stub_at(loop.layout, path).facts
    assert reason.rstrip(".").replace("`", "") in facts.because.replace("`", "") and not facts.metrics


def test_a_parent_that_crashes_is_not_the_changes_fault(loop):
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(90)), "--bench", "if [ $KB_SIDE = parent ]; then exit 9; fi; sh bench.sh")
    done = loop.closed(path)
    assert (done["verdict"], done["rule"]) == ("inconclusive", "parent-unmeasured")


def test_an_artifact_or_sample_changed_after_the_run_is_noticed(loop):
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(90)))
    samples = next((loop.layout.sources / "runs").rglob("samples.jsonl"))
    samples.write_text(samples.read_text().replace("90", "50"))
    assert "changed since it was measured" in loop.run("close", path, ok=(2,)).stderr


def test_a_dump_that_was_changed_after_the_run_is_noticed(loop):
    path = loop.open("a=1", *SEEN)
    loop.run("run", path, "--commit", loop.commit(to(90)), "--bench", "sh bench.sh; echo fused > $KB_OUT/dump.txt")
    file = next((loop.layout.sources / "runs").rglob("dump-change/dump.txt"))
    file.write_text("split")
    assert "dump-change/dump.txt changed since the run was measured" in loop.run("close", path, ok=(2,)).stderr
    file.write_text("fused\n")
    assert loop.closed(path)["verdict"] == "supported"


def test_a_last_word_changed_by_hand_is_noticed(loop):
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(90)))
    file = next((loop.layout.sources / "runs").rglob("measured.json"))
    file.write_text(file.read_text().replace('"checks": ""', '"checks": "passed"'))
    assert "changed since the run was measured" in loop.run("close", path, ok=(2,)).stderr


def test_what_an_audit_was_told_to_look_for_is_kept_on_the_page_until_it_is_filed(loop):
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(90)))
    loop.run("audit", path, "--expect", "vectorized", ok=(1,))
    loop.run("audit", path, "--predict", "time_ms down", ok=(0,))
    assert 'expect: ["vectorized"]' in loop.page(path) and 'predict: ["time_ms down"]' in loop.page(path)
    assert loop.closed(path)["rule"] == "not-fired"


def test_a_page_without_its_receipt_is_not_closed(loop):
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(90)))
    file = loop.layout.root / path
    file.write_text("".join(line for line in file.read_text().splitlines(keepends=True) if not line.startswith("receipt:")))
    assert "receipt" in loop.run("close", path, ok=(2,)).stderr


def log_of(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def recorded(loop, tmp_path, change: list[str], parent: list[str], *more: str, ok=(0,)) -> str:
    path = loop.open("a=1", *more)
    words = [w for i, text in enumerate(change) for w in ("--record", log_of(tmp_path, f"c{i}.log", text))]
    words += [w for i, text in enumerate(parent) for w in ("--record-parent", log_of(tmp_path, f"p{i}.log", text))]
    loop.run("run", path, *words, ok=ok)
    return path


def test_results_measured_elsewhere_are_judged_by_the_same_rules(loop, tmp_path):
    path = recorded(loop, tmp_path, [f"METRIC time_ms={v}\nCHECKS_STATUS: passed\nEXPERIMENT_STATUS: done\n" for v in (90, 90.2, 90.1)],
                    [f"METRIC time_ms={v}\n" for v in (100, 100.1, 100.3)])
    assert "nothing says how its mechanism shows" in loop.run("close", path, ok=(2,)).stderr
    done = loop.closed(path, "--expect", "EXPERIMENT_STATUS")
    assert (done["verdict"], done["rule"]) == ("supported", "supported")
    assert done["gain"] == pytest.approx(0.1, abs=0.002)


def test_a_stated_spread_of_one_record_counts_and_the_published_claim_fails(loop, tmp_path):
    record = json.dumps({"metrics": {"time_ms": {"value": 47.62, "stddev": 0.59, "n": 10}}, "checks": "passed", "commit": "abc"})
    parent = json.dumps({"metrics": {"time_ms": {"value": 54.8, "stddev": 19.24, "n": 10}}})
    done = loop.closed(recorded(loop, tmp_path, [record], [parent]))
    assert (done["verdict"], done["rule"]) == ("inconclusive", "criterion-open") and done["more"]


def test_a_record_without_its_parents_is_not_judged_by_a_figure_of_another_day(loop, tmp_path):
    path = recorded(loop, tmp_path, [f"METRIC time_ms={v}\n" for v in (80.1, 80.2, 80.3)], [])
    assert "--record-parent FILE" in loop.run("close", path, "--dry-run").stdout
    assert loop.closed(path)["rule"] == "parent-unmeasured"


def test_a_crash_elsewhere_is_a_crash_and_a_failed_check_invalid(loop, tmp_path):
    crashed = recorded(loop, tmp_path, ["EXPERIMENT_STATUS: crash\nEXPERIMENT_ERROR: out of memory\n"], [], ok=(1,))
    done = loop.closed(crashed)
    assert done["verdict"] == "crash" and "out of memory" in done["reason"]
    failed = recorded(loop, tmp_path, ["METRIC time_ms=50\nCHECKS_STATUS: failed (exit 1)\n"], ["METRIC time_ms=100\n"], "--variant", "other", "--differs", f"{crashed} ran out of memory; the other variant is half as large", ok=(1,))
    done = loop.closed(failed)
    assert (done["verdict"], done["rule"]) == ("invalid", "checks-failed")


def test_one_value_without_repeats_supports_nothing(loop, tmp_path):
    done = loop.closed(recorded(loop, tmp_path, ["METRIC time_ms=90\n"], ["METRIC time_ms=100\n"]))
    assert (done["verdict"], done["rule"], done["more"]) == ("inconclusive", "noise-unknown", 2)


@pytest.mark.parametrize("text", ["", "nothing here\n", '{"runs": 3}', "[1, 2]", "{broken"])
def test_a_record_that_holds_no_run_is_refused(loop, tmp_path, text):
    recorded(loop, tmp_path, [text], [], ok=(2,))


def test_a_predicted_move_is_read_or_refused():
    assert move_of("copy down") == ("copy", "down", 0.0)
    assert move_of("matmul -10%") == ("matmul", "down", 0.1)
    assert move_of("flash attention up by 5 %") == ("flash attention", "up", 0.05)
    for size in ("30 % or more", "30 % or better", "at least 30 %", "more than 30 %", "no less than 30%"):
        assert move_of(f"time_ms falls by {size}") == ("time_ms", "down", 0.3)
    for text in ("copy", "down", " down", "copy sideways", "copy 10%", "copy falls by 30 % or less", "copy falls by a third or more", "copy no more"):
        with pytest.raises(KbError, match="copy down"):
            move_of(text)


def test_a_predicted_signal_that_names_a_metric_and_a_way_is_what_an_audit_looks_for():
    metrics = ("time_ms", "cache-misses", "tok/s")
    assert moves_in("Time falls by half, and cache misses drop; tokens are the same.", metrics) == (("time_ms", "down", 0.0), ("cache-misses", "down", 0.0))
    assert moves_in("tok/s ↑", metrics) == (("tok/s", "up", 0.0),)
    assert not moves_in("sometimes it falls; the time is right", metrics)
    assert not moves_in("time falls", ("延迟", "%"))
    sizes = ("peak_gb", "peak_MB", "peakGiB", "peak_b", "peak (MiB)", "peakMiB")
    assert [name for name, _, _ in moves_in("peak falls", sizes)] == [s.lower() for s in sizes]


@pytest.mark.parametrize(("text", "ways"), [
    ("time_ms falls by a third or more.", "down"), ("time_ms falls by 30 % or better", "down"), ("time_ms falls by more than half", "down"),
    ("time_ms is more than 30 % lower", "down"), ("time_ms falls by no less than 5 %", "down"), ("no less than a third lower time_ms", "down"),
    ("time_ms rises by 3 % or less", "up"), ("time_ms is less than 90", "down"), ("more threads; fewer tiles make time_ms rise", "up"),
    ("time_ms falls while tok/s rises", "down up"), ("tok/s is higher with fewer misses, time_ms is lower than with more", "up down"),
    ("time_ms no more than 90", ""), ("time_ms does not fall", ""),
])
def test_a_word_that_bounds_how_far_a_metric_moves_turns_no_prediction(text, ways):
    assert " ".join(way for _, way, _ in moves_in(text, ("time_ms", "tok/s"))) == ways


@pytest.mark.parametrize("words", [("--predicted", "time_ms falls by a third or more."), ("--predicted", "faster", "--predict", "time_ms falls by 30 % or more")])
def test_how_a_prediction_is_read_is_told_before_anything_runs_and_is_what_the_audit_tests(loop, words):
    stated = ("open", "--target", "parser", "--lever", "a=1", "--hypothesis", "a=1 helps", "--mechanism", "m", "--falsification", "gain < 2%", "--date", "2026-05-02")
    result = loop.run(*stated, *words)
    assert f"predicted: time_ms down{' by 30 %' if '--predict' in words else ''}\n" in result.stderr
    path = result.stdout.split()[0]
    loop.run("run", path, "--commit", loop.commit(to(50)))
    assert loop.run("audit", path, ok=(0, 1)).stdout.splitlines()[0] == "not tested", "it fell as was predicted, and is the aim itself"
    assert loop.closed(path)["verdict"] == "supported"


@pytest.mark.parametrize(("line", "said"), [
    ("benchmark: [a, b]", "one shell command"), ("protected: [/etc/passwd]", "inside the repository"), ("allowed: [../x]", "inside the repository"),
    ("repeats: many", "must be a number"), ("min_effect: much", "a share such as 2 %"), ("noise_limit: 2", "a share such as 2 %"), ("artifact_folder: wiki/x", "a folder of its own"), ("bounds: ['it is the same']", "takes comparisons"),
])
def test_a_target_page_that_cannot_be_used_says_which_field(make_base, line, said):
    layout = make_base({"wiki/targets/t.md": f"---\ntitle: T\ntype: target\n{line}\n---\n\n# T\n"})
    with pytest.raises(KbError, match=said):
        target_named(layout, "t")


def opened_baseline(loop, *more: str) -> str:
    return loop.run("open", "--baseline", "--target", "parser", "--date", "2026-05-01", *more).stdout.strip()


def test_a_build_file_is_protected_unless_the_proposal_names_it(loop):
    loop.commit(lambda _: "all:\n", file="Makefile")
    loop.git("branch", "-f", "main", "HEAD")
    change = loop.commit(lambda text: text + "\ttrue\n", file="Makefile")
    path = loop.open("a=1")
    loop.run("run", path, "--commit", change, ok=(0, 1))
    done = loop.closed(path)
    assert (done["verdict"], done["rule"]) == ("invalid", "protected-file") and "Makefile" in done["reason"]
    named = loop.open("b=1", "--differs", "the Makefile is what this one changes")
    loop.run("run", named, "--commit", change)
    assert loop.closed(named)["rule"] == "falsified"
    page = loop.layout.root / "wiki/targets/parser.md"
    page.write_text(page.read_text().replace("repeats: 3", "repeats: 3\nallowed: [Makefile, value.txt]"))
    allowed = loop.open("c=1", "--variant", "other", "--differs", "c is set nowhere else")
    loop.run("run", allowed, "--commit", change)
    assert loop.closed(allowed)["rule"] == "falsified"


@pytest.mark.parametrize(("edit", "rule"), [("VERSION = 1.3", "falsified"), ("microbench.o: fast", "falsified"), ("\tcc -obench.o x.c", "protected-file"), ("\tcp x ./bench.sh", "protected-file")])
def test_lines_of_a_build_file_that_name_the_benchmark_name_it_whole(loop, edit, rule):
    page = loop.layout.root / "wiki/targets/parser.md"
    page.write_text(page.read_text().replace("[bench.sh]", "[bench.sh, data/1.txt]"))
    (loop.repository / "data").mkdir()
    (loop.repository / "data/1.txt").write_text("1\n")
    loop.commit(lambda _: "VERSION = 1.2\nmicrobench.o: slow\n", file="Makefile")
    loop.git("branch", "-f", "main", "HEAD")
    path = loop.open("a=1", "--differs", "the Makefile is what this one changes")
    loop.run("run", path, "--commit", loop.commit(lambda text: f"{text}{edit}\n", file="Makefile"), ok=(0, 1))
    assert loop.closed(path)["rule"] == rule


def test_repeats_of_another_machine_are_not_added(loop, monkeypatch):
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(90)))
    monkeypatch.setattr("kb.experiments.planning.host_facts", lambda: (("host", "another"),))
    assert "begun on another machine" in loop.run("run", path, "--more", "2", ok=(2,)).stderr
    assert len(attempts(loop, path)[0].values("time_ms", "change")) == 3


@pytest.mark.parametrize(("lines", "least"), [
    ("", 0.01), ("noise: 3 %", 0.03), ("noise: ± 5", 0.05), ("min_effect: 2 %", 0.02), ("min_effect: 2 %\nnoise: 1 %", 0.02), ("min_effect: 1\nnoise: 4 %", 0.04),
])
def test_the_least_effect_is_no_less_than_the_band_of_noise(make_base, lines, least):
    layout = make_base({"wiki/targets/parser.md": TARGET.replace("repeats: 3", f"repeats: 3\n{lines}".rstrip())})
    target = target_named(layout, "parser")
    assert target.least_effect("time_ms", 100.0) == pytest.approx(least) and target.least_effect("val_loss", 2.0) == 0.0001


def test_a_sealed_page_is_filed_whatever_its_status_was_made_into(loop):
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(120)))
    loop.closed(path)
    file = loop.layout.root / path
    file.write_text(file.read_text().replace("status: filed", "status: in_progress"))
    assert "is filed already" in loop.run("run", path, "--again", ok=(2,)).stderr
    assert loop.closed(path)["again"]


def test_both_measured_commits_outlive_their_branches(loop):
    path = loop.open("a=1")
    parent, change = loop.git("rev-parse", "main"), loop.commit(to(90))
    loop.run("run", path, "--commit", change)
    assert {*loop.git("for-each-ref", "--format=%(objectname)", "refs/kb").split()} == {parent, change}


def test_a_baseline_with_another_benchmark_than_the_base_is_invalid(loop):
    cheat = loop.commit(lambda text: "echo METRIC time_ms=1\n", file="bench.sh")
    path = opened_baseline(loop)
    assert "bench.sh" in loop.run("run", path, "--commit", cheat, ok=(1,)).stderr
    closing = loop.run("close", path, "--dry-run", ok=(0, 1)).stdout
    assert "rule protected-file" in closing and "named in the proposal's text" in closing
    assert loop.closed(path)["rule"] == "protected-file"
    assert "Nothing is kept yet" in loop.page("wiki/targets/parser.md")


def test_a_baseline_that_rewrites_its_benchmark_while_it_runs_is_invalid(loop):
    path = opened_baseline(loop)
    loop.run("run", path, "--bench", "sh bench.sh; echo echo METRIC time_ms=1 > bench.sh; echo x > new.log", ok=(1,))
    assert loop.closed(path)["rule"] == "protected-file"


def files_of(root: Path) -> dict[str, bytes]:
    return {str(f.relative_to(root)): f.read_bytes() for name in ("wiki", "sources", "indexes") for f in sorted((root / name).rglob("*")) if f.is_file()}


def test_closing_can_be_tried_without_writing_anything(loop):
    path = loop.open("a=1")
    assert "nothing is measured yet" in loop.run("close", path, "--dry-run", ok=(2,)).stderr
    loop.run("run", path, "--commit", loop.commit(to(90)))
    before = files_of(loop.layout.root)
    told = loop.run("close", path, "--dry-run", *SEEN).stdout
    said = json.loads(loop.run("close", path, "--dry-run", "--format", "json", *SEEN).stdout)
    assert files_of(loop.layout.root) == before
    assert told.startswith("supported, keep\nrule supported: ") and "nothing was written" in told
    done = loop.closed(path, *SEEN)
    assert (said["verdict"], said["rule"], said["reason"]) == (done["verdict"], done["rule"], done["reason"])
    assert "was filed before" in loop.run("close", path, "--dry-run").stdout


# A benchmark whose runs are off by the next of these, in whichever tree: the count is kept in the folder for dumps.
NOISY = 'read value < value.txt; n=$(cat $KB_OUT/n 2>/dev/null || echo 0); echo $((n + 1)) > $KB_OUT/n; echo METRIC time_ms=$((value + (n * 7 + $(echo $KB_SIDE | wc -c)) % 11))'


def test_repeats_are_doubled_until_the_verdict_is_decided_or_as_many_are_there_as_may_be(loop):
    loop.commit(lambda text: NOISY + "\n", file="bench.sh")
    loop.git("branch", "-f", "main", "HEAD")
    path = loop.open("a=1", falsification="gain < -50%")
    loop.run("run", path, "--commit", loop.commit(to(50), start="HEAD"))
    assert len(attempts(loop, path)[0].values("time_ms", "change")) == 3
    tie = loop.open("b=1", falsification="gain < -50%")
    told = loop.run("run", tie, "--commit", loop.commit(lambda text: "100 \n", start="main"), "--most", "7")
    assert len(attempts(loop, tie)[0].values("time_ms", "change")) == 7 and "more samples of each side" in told.stdout
    done = loop.closed(tie)
    assert done["rule"] == "undecided" and done["more"] and f"About {done['more']} more samples" in loop.page(tie)


def test_repeats_that_leave_a_filed_verdict_open_are_told_by_page_list_and_what_would_settle_it(loop):
    loop.commit(lambda text: NOISY + "\n", file="bench.sh")
    loop.git("branch", "-f", "main", "HEAD")
    path = loop.open("a=1", falsification="gain < -50%")
    loop.run("run", path, "--commit", loop.commit(lambda text: "100 \n"), "--most", "4")
    done = loop.closed(path)
    filed = loop.page(path)
    assert done["rule"] == "undecided" and f"About {done['more']} more" in filed
    told = loop.run("run", path, "--more", "1").stdout
    assert f"kb experiment close {path}" in told and loop.page(path) == filed
    again = loop.closed(path)
    assert (again["verdict"], again["superseded"]) == ("inconclusive", "inconclusive") and again["more"] != done["more"]
    note = loop.page(path).removeprefix(filed.rstrip()).strip()
    newest = f"5 runs of each side; about {again['more']} more samples of each side would decide"
    assert note.startswith("> 2026-05-02 supersedes verdict: inconclusive, because") and newest in note and cli.main(["lint"]) == 0
    value = re.search(r"time_ms is ([\d.]+) ", again["reason"])[1]
    assert loop.run("list").stdout.rstrip().endswith(f"time_ms {value} ({percent(again['gain'])})") and f"is {value} " not in filed
    state = loop.page("indexes/state/parser.md")
    assert f"{100 * again['gain']:+.1f} %" in state and stub_at(loop.layout, path).facts.metric("time_ms").value == float(value)
    loop.capsys.readouterr()
    (loop.layout.root / "p.md").write_text("---\ntarget: parser\nlevers: [a=1]\n---\n**Hypothesis**: a=1 makes fewer misses\n")
    cli.main(["check", str(loop.layout.root / "p.md")])
    shown = loop.capsys.readouterr().out
    assert f"about {again['more']} more samples" in shown and f"About {done['more']} more" not in shown
    assert loop.closed(path)["written"] == [] and loop.page(path).count("supersedes verdict") == 1


def test_repeats_are_added_to_an_attempt_by_turns_and_the_earlier_ones_count(loop):
    path = loop.open("a=1")
    assert "nothing to add repeats to" in loop.run("run", path, "--more", "2", ok=(2,)).stderr
    loop.run("run", path, "--commit", loop.commit(to(101)))
    assert "without --commit" in loop.run("run", path, "--more", "2", "--commit", "main", ok=(2,)).stderr
    folder = attempts(loop, path)[0].folder
    first = {f.name: f.read_bytes() for f in folder.iterdir()}
    loop.run("run", path, "--more", "2")
    assert {name: (folder / name).read_bytes()[: len(data)] for name, data in first.items()} == first
    (attempt,) = attempts(loop, path)
    assert [(s.kind, s.side, s.index) for s in attempt.samples[8:]] == [(kind, side, i) for kind, i in (("warmup", 2), ("bench", 4), ("bench", 5)) for side in ("parent", "change")]
    assert attempt.measurement and attempt.looks == 2 and len(attempt.values("time_ms", "change")) == 5
    assert "measured 5 times" in loop.page(path) and "repeats added 1 times" in loop.page(path) and "measured-002.json" in loop.page(path)
    assert loop.closed(path)["rule"] == "falsified"


def test_adding_repeats_that_is_cut_off_goes_on_and_a_forged_sample_is_noticed(loop):
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(90)))
    folder = attempts(loop, path)[0].folder
    (folder / "more-002.json").write_text('{"repeats": 5, "started": "2026-05-02T10:00:00+00:00", "before": 3}')
    assert "was cut off after 8 samples" in loop.run("close", path, ok=(2,)).stderr
    assert "going on with attempt 1: 8 samples" in loop.run("run", path).stderr
    assert len(attempts(loop, path)[0].values("time_ms", "change")) == 5
    samples = folder / "samples.jsonl"
    samples.write_text(samples.read_text().replace('"index":4', '"index":6'))
    assert "changed since" in loop.run("close", path, ok=(2,)).stderr
    assert "changed since" in loop.run("run", path, "--more", "1", ok=(2,)).stderr


def test_a_build_that_fails_when_repeats_are_added_is_no_verdict_on_the_change(loop, tmp_path):
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(90)), "--build", "test ! -e $KB_REPOSITORY/../broken", "--checks", "true")
    (tmp_path / "broken").touch()
    assert "went well before and fails now" in loop.run("run", path, "--more", "2", ok=(2,)).stderr
    assert "was cut off" in loop.run("close", path, "--dry-run", ok=(2,)).stderr
    (tmp_path / "broken").unlink()
    loop.run("run", path)
    assert loop.closed(path, *SEEN)["verdict"] == "supported"


def test_a_first_measurement_that_crashes_says_what_it_printed_and_warns_nobody(loop):
    path = opened_baseline(loop)
    talk = loop.run("run", path, "--bench", "echo no such model >&2; exit 2", ok=(1,)).stderr
    assert "it exited with 2" in talk and "> no such model" in talk and "samples.jsonl" in talk
    assert loop.closed(path)["verdict"] == "crash"
    assert cli.main(["build"]) == 0
    assert not list((loop.layout.root / "indexes" / "refuted").glob("parser.*"))
    assert cli.main(["lint"]) == 0 and "missing-" not in loop.capsys.readouterr().out


def test_a_first_measurement_that_measured_nothing_stays_open_until_the_benchmark_is_mended(loop):
    bench = loop.repository / "bench.sh"
    bench.write_text('echo "time: 100 ms"\n')
    loop.git("commit", "-qam", "prints no metric")
    for _ in range(2):
        refused = loop.run("try", "--baseline", "--target", "parser", ok=(2,)).stderr
        assert "stays open, for nothing was measured" in refused and "`time: 100 ms`" in refused and "a line such as `METRIC" in refused
    bench.write_text(BENCH)
    loop.git("commit", "-qam", "prints it")
    assert loop.run("try", "--baseline", "--target", "parser").stdout.startswith("baseline, keep")
    (path,) = pages(loop)
    assert [a.plan.number for a in attempts(loop, path)] == [1, 2, 3] and loop.page("wiki/log.md").count("## [") == 1


def test_a_first_measurement_whose_checks_fail_asks_for_the_checks_to_be_mended(loop):
    loop.state(checks="sh checks.sh")
    (loop.repository / "checks.sh").write_text("echo 20769 words; exit 1\n")
    loop.git("add", "-A")
    loop.git("commit", "-qm", "check")
    refused = loop.run("try", "--baseline", "--target", "parser", ok=(2,)).stderr
    assert "the checks did not pass: it exited with 1: `20769 words`. Mend that, and commit it; the same command" in refused and "METRIC" not in refused


@pytest.mark.parametrize(("stated", "noted"), [({}, False), ({"protected": []}, False), ({"protected": [], "benchmark": "read value < value.txt; echo METRIC time_ms=$value"}, True)])
def test_that_nothing_of_what_measures_is_protected_is_said_at_the_first_measurement(loop, stated, noted):
    loop.state(**stated)
    path = opened_baseline(loop)
    assert ("nothing of what measures is protected" in loop.run("run", path).stderr) == noted


def test_code_of_a_no_op_is_not_to_be_repeated_and_its_verdict_stands_once(loop, tmp_path):
    loop.state(build="true", artifacts=["bench.sh"])
    (loop.repository / "value.txt").write_text("90\n")
    assert loop.run("try", proposed(tmp_path, "a=1")).stdout.startswith("inconclusive, revert\nrule no-op")
    refused = loop.run("try", proposed(tmp_path, "b=1"), ok=(3,)).stderr
    assert "(inconclusive: the change is a no-op" in refused and "--more" not in refused and "or say what differs" in refused


def test_a_label_that_no_page_has_is_answered_with_the_newest_page(loop):
    path = loop.open("a=1")
    assert path in loop.run("run", "v044", ok=(2,)).stderr


def test_a_profile_that_reads_as_no_table_is_named_on_the_page(loop):
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(80)), "--profile", "echo all in words > $KB_OUT/profile.txt")
    assert "lies with the run record: `profile-change/profile.txt`." in loop.page(path)


def test_the_costs_of_an_invalid_run_are_withheld(loop):
    page = loop.layout.root / "wiki/targets/parser.md"
    profile = """profile: 'printf "main;fused 90\\nmain;copy 10\\n" > $KB_OUT/profile.folded'"""
    page.write_text(page.read_text().replace("repeats: 3", f"repeats: 3\nbounds: [psnr >= 60]\n{profile}"))
    bench = "sh bench.sh; test $KB_SIDE = parent && echo METRIC psnr=70 || echo METRIC psnr=$PSNR"
    for number, (psnr, rule) in enumerate((("70", "not-fired"), ("10", "parity-broken"))):
        path = loop.open(f"a={number}", "--expect", "no-such-thing")
        loop.run("run", path, "--commit", loop.commit(to(90)), "--bench", bench, "--set", f"PSNR={psnr}", ok=(0, 1))
        assert loop.closed(path)["rule"] == rule
        assert ("Top operations:" in loop.page(path)) == (rule == "not-fired"), rule


def test_a_gain_that_meets_its_criterion_is_told_in_percent(loop):
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(150)))
    assert "is met: gain is -50 %" in loop.closed(path)["reason"]


def test_a_filed_verdict_whose_evidence_is_completed_gets_a_note_below_the_sealed_text(loop):
    path = loop.open("a=1", falsification="gain < -50%")
    loop.run("run", path, "--commit", loop.commit(to(90)), "--repeats", "2", "--most", "2")
    assert loop.closed(path)["rule"] == "noise-unknown"
    filed = loop.page(path)
    assert loop.closed(path)["again"] and loop.page(path) == filed
    loop.run("run", path, "--more", "3")
    assert loop.page(path) == filed
    assert "nothing says how its mechanism shows" in loop.run("close", path, ok=(2,)).stderr
    done = loop.closed(path, *SEEN)
    assert (done["superseded"], done["verdict"]) == ("inconclusive", "supported")
    note = loop.page(path).removeprefix(filed.rstrip()).strip()
    assert note.startswith("> 2026-05-02 supersedes verdict: supported, because time_ms is 90") and "receipt kb1-note-" in note
    seal = read(path, filed.encode()).front["sealed"]
    assert [n.verdict for n in superseding(loop.page(path), seal=seal)] == ["supported"]
    assert not superseding(loop.page(path).replace("supported, because", "refuted, because"), seal=seal)
    assert cli.main(["lint"]) == 0 and loop.page("wiki/log.md").count("parser v001: supported") == 1
    assert json.loads(loop.run("list", "--format", "json").stdout)[0]["verdict"] == {"canonical": "supported", "raw": "supported", "source": "note"}
    assert loop.closed(path)["written"] == []


def test_what_was_wrongly_expected_is_taken_back_with_the_day_before_and_after_filing(loop):
    change = loop.commit(to(90))
    path = loop.open("a=1", "--expect", "vectorized", "--expect", "time_ms=90")
    loop.run("run", path, "--commit", change)
    audited = loop.run("audit", path, ok=(1, 0)).stdout
    assert audited.startswith("partial") and "expected `vectorized` not found" in audited
    loop.run("audit", path, *SEEN)
    page = loop.page(path)
    assert "expect: [\"time_ms=[1-9][0-9]?$\"]" in page and re.search(r"- taken back \d{4}-\d{2}-\d{2}: expect `vectorized`", page)
    assert loop.closed(path)["verdict"] == "supported" and "taken back" in loop.page(path)

    filed = loop.open("b=1", "--expect", "vectorized", "--predict", "time_ms down", parent="main")
    loop.run("run", filed, "--commit", change, "--again")
    done = loop.closed(filed)
    assert done["rule"] == "not-fired" and "expected `vectorized` not found" in done["reason"] and "--expect PATTERN" in done["hint"]
    before = loop.page(filed)
    told = loop.run("close", filed, "--expect", "unrolled", "--date", "2026-05-03").stdout
    assert "expected `unrolled` not found" in told and "> 2026-05-03 supersedes verdict: inconclusive" in loop.page(filed)
    told = loop.run("close", filed, *SEEN, "--because", "it is", "--reopen-if", "it is not", "--date", "2026-05-03").stdout
    assert told.startswith("supported supersedes inconclusive")
    note = loop.page(filed).splitlines()[-1]
    assert "because it is; audited by expect `time_ms=[1-9][0-9]?$` in place of expect `unrolled`; reopen if it is not (" in note
    assert loop.page(filed).startswith(before.rstrip()) and cli.main(["lint"]) == 0
    again = loop.page(filed)
    assert "was filed before: supported" in loop.run("close", filed).stdout and "was filed before" in loop.run("close", filed, *SEEN).stdout
    assert loop.page(filed) == again
    loop.run("run", filed, "--more", "2")
    assert loop.closed(filed)["verdict"] == "supported", "what is measured later is audited by what stands"
    withdrawn = loop.run("close", filed, "--expect", "", "--date", "2026-05-04").stdout
    assert withdrawn.startswith("supported as before") and "audited by nothing new in place of expect" in loop.page(filed).splitlines()[-1]


def test_no_word_to_a_filed_page_is_dropped_in_silence(loop):
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(120)))
    assert "--overrule VERDICT --reason TEXT; what was learnt is --because TEXT" in loop.run("close", path, "--reason", "it is hot", ok=(2,)).stderr
    loop.closed(path)
    assert "stands in a note below it" in loop.run("close", path, "--decision", "keep", ok=(2,)).stderr
    page = loop.page(path)
    for _ in "ab":
        assert loop.run("close", path, "--decision", "revert").stdout.startswith(f"{path} was filed before") and loop.page(path) == page
    for _ in "ab":
        loop.run("close", path, "--overrule", "refuted", "--reason", "it is so on every machine", "--date", "2026-05-03")
        assert loop.page(path).count("because it is so on every machine") == 1 and cli.main(["lint"]) == 0
    other = loop.open("b=1", "--differs", f"unlike {Path(path).stem}, b is set")
    loop.closed(other, "--overrule", "inconclusive", "--reason", "nobody measures it")
    assert "its verdict is a person's, so no audit turns it" in loop.run("close", other, *SEEN, ok=(2,)).stderr
    given = loop.page(other)
    loop.closed(other, "--overrule", "inconclusive", "--reason", "nobody measures it")
    assert loop.page(other) == given
    assert loop.closed(other, "--overrule", "invalid", "--reason", "the code is gone")["superseded"] == "inconclusive"


def test_a_line_that_supersedes_a_verdict_without_a_receipt_is_a_finding_and_nobody_believes_it(loop, tmp_path):
    path = loop.open("a=1", falsification="gain < -50%")
    loop.run("run", path, "--commit", loop.commit(to(90)), "--repeats", "2", "--most", "2")
    loop.closed(path)
    loop.run("run", path, "--more", "3")
    loop.closed(path, *SEEN)
    loop.closed(path, "--overrule", "inconclusive", "--reason", "the machine was hot")
    whole = loop.page(path)
    assert cli.main(["lint"]) == 0
    won, cooled = (line for line in whole.splitlines() if line.startswith("> "))
    bare = "> 2026-05-03 supersedes verdict: supported, because I say so"
    for forged in (bare, won, cooled.replace("2026-05-02", "2026-05-03"), f"{bare} (evidence 1:ab, receipt kb1-note-0123456789abcdef)"):
        (loop.layout.root / path).write_text(f"{whole}\n{forged}\n")
        loop.capsys.readouterr()
        assert cli.main(["lint", "--all"]) == 1
        line = len(whole.splitlines()) + 2
        assert f"{line}  error  filed-changed         a line that takes the verdict's place without a receipt of its own" in loop.capsys.readouterr().out, forged
        assert stub_at(loop.layout, path).facts.verdict.canonical == "inconclusive", forged
    for below in ("## Verdict\n\nSupported.", "Supported after all."):
        (loop.layout.root / path).write_text(f"{whole}\n{below}\n")
        assert cli.main(["lint"]) == 1
    (loop.layout.root / path).write_text(f"{whole}\n## Note 2026-05-04\n\nA remark.\n")
    assert cli.main(["lint"]) == 0


def test_a_lesson_of_a_page_that_is_filed_is_kept_as_a_note_below_it(loop):
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(120)))
    loop.closed(path)
    filed = loop.page(path)
    told = loop.run("close", path, "--because", "one compare a byte is slower than 32 an instruction.", "--reopen-if", "lines fit", "--date", "2026-05-03").stdout
    assert told.startswith("refuted as before, with a note below the sealed text") and "one compare a byte" in told
    note = loop.page(path).removeprefix(filed.rstrip()).strip()
    assert note.startswith("> 2026-05-03 supersedes verdict: refuted, because one compare a byte is slower than 32 an instruction; reopen if lines fit (evidence 1:")
    facts = stub_at(loop.layout, path).facts
    assert facts.verdict.canonical == "refuted" and facts.decision == "revert"
    assert facts.because.startswith("one compare a byte") and "gain < 2%" in facts.because
    cards = (loop.layout.root / "indexes/refuted/parser.md").read_text()
    because = next(line for line in cards.splitlines() if "because: one compare a byte is slower than 32 an instruction" in line)
    assert "reopen if" not in because and "  - reopen if lines fit\n" in cards and "(refuted, 2026-05-02, -20.0 %)" in cards
    again = loop.page(path)
    assert "was filed before" in loop.run("close", path, "--because", "one compare a byte is slower than 32 an instruction", "--reopen-if", "lines fit").stdout
    assert loop.page(path) == again and cli.main(["lint"]) == 0
    whole = loop.open("c=1", "--differs", f"unlike {Path(path).stem}, c is set")
    loop.run("run", whole, "--commit", loop.commit(to(120)))
    for _ in "ab":
        assert not loop.closed(whole, "--because", "a walk is slow.", "--reopen-if", "lines fit")["superseded"]
    left = loop.open("b=1", "--differs", f"unlike {Path(path).stem}, b is set")
    loop.closed(left, "--overrule", "inconclusive", "--reason", "the machine is gone")
    assert loop.closed(left, "--because", "it was sold")["reason"] == "it was sold" and stub_at(loop.layout, left).facts.because.startswith("it was sold")
    page = loop.layout.root / "wiki/experiments/parser/2026-05-01-v900-by-hand.md"
    page.write_text("---\ntitle: By hand\ntype: experiment\ntarget: parser\nverdict: refuted\n---\n\n# By hand\n")
    assert "was filed by hand" in loop.run("close", "v900", "--because", "x", ok=(2,)).stderr


def test_one_command_tries_a_proposal_from_the_edit_to_the_sealed_page(loop, tmp_path):
    proposal = tmp_path / "p.md"
    proposal.write_text("---\ntarget: parser\nlevers: [chunk=64]\nexpect: ['=90$']\n---\n# Larger chunks\n\n**Hypothesis**: chunk=64 saves calls.\n\n"
                        "**Mechanism**: one call a chunk.\n\n**Predicted signal**: read falls\n\n**Falsification criterion**: gain < 2%\n")
    (loop.repository / "value.txt").write_text("90\n")
    told = json.loads(loop.run("try", str(proposal), "--because", "a call costs", "--date", "2026-05-02", "--format", "json").stdout)
    assert (told["verdict"], told["rule"], told["outcome"]) == ("supported", "supported", "clear")
    front = read(told["path"], loop.page(told["path"]).encode()).front
    assert front["status"] == "filed" and front["because"] == "a call costs"
    assert loop.git("cat-file", "-t", f"refs/kb/{front['code']}") == "commit" and loop.git("status", "--porcelain") == "M value.txt"
    (loop.repository / "value.txt").write_text("80\n")
    again = loop.run("try", str(proposal), "--lever", "chunk=128", "--date", "2026-05-02", "--expect", "=80$").stdout
    assert again.startswith("supported, keep") and "2026-05-02-v002" in again
    code = read(pages(loop)[1], loop.page(pages(loop)[1]).encode()).front["code"]
    assert again.rstrip().endswith(f"keep it: `git -C ../repo commit -a` commits edits that are not; `git -C ../repo merge {code[:12]}` brings it back later (pinned under refs/kb/)")
    loop.git("checkout", "-q", "value.txt")
    loop.git("merge", "-q", code[:12])
    assert (loop.repository / "value.txt").read_text() == "80\n" and not loop.git("status", "--porcelain")
    lines = loop.run("list").stdout.splitlines()
    assert [line.split()[:3] for line in lines] == [["2026-05-02", "parser/v001", "supported"], ["2026-05-02", "parser/v002", "supported"]]
    assert lines[1].endswith("time_ms 80 (+11.1 %)") and "chunk=128" in lines[1]
    assert loop.run("list", "--lever", "128", "--verdict", "supported", "--since", "2026-05-02", "--target", "parser").stdout.split()[1] == "v002"
    assert loop.run("list", "--text", "nowhere").stdout.strip() == ""
    shown = loop.run("diff", "parser/v001", "v002").stdout
    assert "levers:       chunk=64  →  chunk=128" in shown and "(+11.1 %)" in shown and "code:" in shown


def test_a_proposal_that_was_cut_off_is_gone_on_with_by_trying_it_again(loop, tmp_path):
    path = loop.open("a=1", "--expect", "=90$")
    (loop.repository / "value.txt").write_text("90\n")
    proposal = tmp_path / "p.md"
    proposal.write_text("---\ntarget: parser\nlevers: [a=1]\n---\n**Hypothesis**: a=1 makes fewer misses\n\n**Mechanism**: m\n\n**Predicted signal**: s\n\n"
                        "**Falsification criterion**: gain < 2%\n")
    told = loop.run("try", str(proposal))
    assert f"going on with {path}" in told.stderr and told.stdout.startswith("supported")


def proposed(tmp_path: Path, lever: str, *, mechanism: str = "m") -> str:
    proposal = tmp_path / f"{lever}.md"
    proposal.write_text(f"---\ntarget: parser\nlevers: [{lever}]\n---\n**Hypothesis**: {lever} makes fewer misses\n\n**Mechanism**: {mechanism}\n\n"
                        "**Predicted signal**: s\n\n**Falsification criterion**: gain < 2%\n")
    return str(proposal)


def pages(loop: Loop) -> list[str]:
    return sorted(f.relative_to(loop.layout.root).as_posix() for f in (loop.layout.wiki / "experiments").rglob("*.md"))


def test_a_file_that_the_change_names_and_git_does_not_know_is_asked_for_before_a_page_is_filed(loop, tmp_path):
    (loop.repository / "fast.h").write_text("90\n")
    (loop.repository / "notes.txt").write_text("mine\n")
    (loop.repository / "bench2.sh").write_text("true\n")
    (loop.repository / "value.txt").write_text('#include "fast.h"\n')
    refused = loop.run("try", proposed(tmp_path, "a=1"), ok=(2,)).stderr
    assert "names fast.h, which git does not know" in refused and not pages(loop)
    (loop.repository / "fast.py").write_text("90\n")
    for line in ("from fast import walk", "import fast", 'sh "$HERE"/bench2.sh', "cc $SRC/fast.h", "see ./notes.txt."):
        (loop.repository / "value.txt").write_text(f"{line}\n")
        assert "which git does not know" in loop.run("try", proposed(tmp_path, "a=1"), ok=(2,)).stderr, line
    for name in ("a.c", "other/value.txt", "js.txt", "bench", "a", "main.py"):
        (loop.repository / name).parent.mkdir(exist_ok=True)
        (loop.repository / name).write_text("mine\n")
    (loop.repository / "value.txt").write_text("50\n# data.c, import json, a bench of lib/main.py\n")
    assert "10 untracked files" in loop.run("try", proposed(tmp_path, "a=1"), *SEEN).stderr and len(pages(loop)) == 1


def test_trying_without_an_edit_files_no_page_and_goes_on_with_an_open_one_as_it_was_filed(loop, tmp_path):
    refused = loop.run("try", proposed(tmp_path, "a=1"), ok=(2,)).stderr
    assert "same code as its parent" in refused and "no page was filed" in refused and not pages(loop)
    (loop.repository / "value.txt").write_text("90\n")
    refused = loop.run("try", proposed(tmp_path, "a=1"), "--set", "FAST", ok=(2,)).stderr
    assert "write NAME=VALUE" in refused and not pages(loop)
    loop.git("checkout", "-q", "value.txt")
    path = loop.open("a=1")
    refused = loop.run("try", proposed(tmp_path, "a=1", mechanism="another"), "--expect", "=90$", ok=(2,)).stderr
    assert "stays as it was filed" in refused
    assert f"close {path} --overrule inconclusive" in refused.split("same code as its parent")[1]
    (loop.repository / "value.txt").write_text("90\n")
    assert loop.run("try", proposed(tmp_path, "b=1"), "--expect", "=90$").stdout.startswith("supported")


def test_a_reason_given_before_the_run_is_no_lesson_of_a_run_that_came_out_otherwise(loop, tmp_path):
    (loop.repository / "value.txt").write_text("120\n")
    assert "take it back: `git -C ../repo restore .`" in loop.run("try", proposed(tmp_path, "a=1"), "--because", "a call costs").stdout
    (path,) = pages(loop)
    facts = stub_at(loop.layout, path).facts
    assert facts.verdict.canonical == "refuted" and "because" not in read(path, loop.page(path).encode()).front
    assert "**Because**" not in loop.page(path) and "Expected before it ran, and not what came out: a call costs" in loop.page(path)


def test_checks_that_did_not_run_are_not_said_to_be_missing(loop):
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(lambda text: "100 \n"), "--checks", "true", "--build", "cp bench.sh built")
    assert "Checks passed." in loop.page(path)
    page = loop.layout.root / "wiki/targets/parser.md"
    page.write_text(page.read_text().replace("repeats: 3", "repeats: 3\nartifacts: [built]"))
    path = loop.open("b=1")
    loop.run("run", path, "--commit", loop.commit(lambda text: "100  \n"), "--checks", "true", "--build", "cp bench.sh built")
    assert loop.closed(path)["rule"] == "no-op"
    assert "The checks were not run." in loop.page(path) and "no checks command" not in loop.page(path)


def test_a_receipt_is_what_the_check_printed_and_no_other(loop, tmp_path):
    assert loop.open("a=1", "--receipt", "kb1-clear-0123456789abcdef", ok=(2,)) == ""
    proposal = tmp_path / "p.md"
    proposal.write_text("---\ntarget: parser\nlevers: [c=1]\nparent: main\n---\n**Hypothesis**: c=1 helps\n\n**Mechanism**: m\n\n**Predicted signal**: s\n\n"
                        "**Falsification criterion**: gain < 2%\n")
    for more in ((), ("--target", "parser")):
        assert cli.main(["build"]) == 0 and loop.capsys.readouterr() and cli.main(["check", str(proposal), *more]) == 0
        receipt = loop.capsys.readouterr().out.split()[1]
        opened = loop.run("open", str(proposal), "--variant", str(len(more)), "--receipt", receipt).stdout.strip()
        assert read(opened, loop.page(opened).encode()).front["receipt"] == receipt
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(90)))
    file = loop.layout.root / path
    honest = file.read_text()
    for forged in ("kb1-clear-0123456789abcdef", "baseline", "x"):
        file.write_text("".join(f'receipt: "{forged}"\n' if line.startswith("receipt:") else line for line in honest.splitlines(keepends=True)))
        assert "receipt" in loop.run("close", path, *SEEN, ok=(2,)).stderr
    file.write_text(honest)
    assert loop.closed(path, *SEEN)["verdict"] == "supported"


def test_an_opening_whose_question_was_swapped_for_an_easier_one_is_not_closed(loop):
    page = loop.layout.root / "wiki/experiments/parser/2026-01-02-v900-prefetch.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("---\ntitle: Prefetch rows\ntype: experiment\ntarget: parser\nverdict: refuted\nlevers: [prefetch=rows]\n---\n\n# Prefetch rows\n\n## Verdict\n\nRefuted: -3 %.\n")
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(90)))
    opening = next((loop.layout.sources / "runs").rglob("opening.json"))
    asked = json.loads(opening.read_text())
    opening.write_text(json.dumps({**asked, "text": "Levers: prefetch=rows\n\nHypothesis: prefetch rows"}))
    assert "call it a repeat of wiki/experiments/parser/2026-01-02-v900" in loop.run("close", path, *SEEN, ok=(2,)).stderr
    opening.write_text(json.dumps(asked))
    assert loop.closed(path, *SEEN)["verdict"] == "supported"


def test_what_a_run_leaves_is_kept_within_limits_and_named(loop):
    path = loop.open("a=1")
    bench = r'sh bench.sh; printf x > "$KB_OUT/a$(printf "\377").txt"; truncate -s 40G $KB_OUT/b; head -c 100000 /dev/zero > $KB_OUT/c; for i in $(seq 520); do : > $KB_OUT/d$i; done'
    loop.run("run", path, "--commit", loop.commit(to(90)), "--bench", bench, "--warmup", "0")
    done = attempts(loop, path)[0].measurement
    assert any("\\xff" in k.path for k in done.kept) and any("40 GB" in text or "more files" in text for text in done.left_out)
    assert sum(f.stat().st_size for f in (loop.layout.sources / "runs").rglob("*") if f.is_file()) < 400_000
    assert (loop.layout.root / "artifacts" / ".gitignore").read_text() == "*\n"
    loop.closed(path, *SEEN)
    page = loop.page(path)
    assert "left out:" in page and "`artifacts`" in page
    import shutil

    shutil.rmtree(loop.layout.root / "artifacts")
    assert cli.main(["lint"]) == 0


@pytest.mark.parametrize(("line", "reason"), [("METRIC time_ms=0", "is no measurement"), ("METRIC time_ms=-90", "is no measurement"),
                                              ("i=0; while [ $i -lt 300 ]; do echo METRIC m$i=1; i=$((i+1)); done; sh bench.sh", "200 names or more")])
def test_a_figure_that_no_benchmark_means_is_a_crash(loop, line, reason):
    path = loop.open("a=1")
    bench = f"if [ $KB_SIDE = change ]; then {'echo ' if line.startswith('METRIC') else ''}{line}; else sh bench.sh; fi"
    loop.run("run", path, "--commit", loop.commit(to(90)), "--bench", bench, ok=(1,))
    assert reason in loop.closed(path)["reason"]


@pytest.mark.parametrize(("before", "after", "where"), [
    ("", "# fast\necho METRIC time_ms=9; exit\n", "part.sh:2"), ("echo METRIC n=1\n", "echo METRIC n=1\ntrue\necho METRIC n=1\n", "part.sh:3"),
    ("echo METRIC n=1\n", "if true; then\n    echo METRIC n=1\nfi\n", ""), ("", "METRICS=9\n", ""),
])
def test_a_line_of_the_change_that_names_metric_prints_the_measure_itself(loop, before, after, where):
    (loop.repository / "bench.sh").write_text(". ./part.sh\n" + BENCH)
    (loop.repository / "part.sh").write_text(before)
    (loop.repository / ".gitattributes").write_text("*.sh binary\n")
    loop.git("add", "-A")
    loop.git("commit", "-q", "-m", "of two parts")
    path = loop.open("a=1", "--expect", "time_ms=[1-9][0-9]?$")
    (loop.repository / "value.txt").write_text("90\n")
    loop.run("run", path, "--commit", loop.commit(lambda text: after, file="part.sh"), ok=(0, 1))
    done = loop.closed(path)
    assert (done["rule"] == "forged-metric" and f"{where}, which the change adds, names METRIC" in done["reason"]) if where else done["rule"] == "supported"
    assert bool(where) == (not attempts(loop, path)[-1].samples)


def test_a_change_that_does_not_stand_on_its_parent_is_not_measured(loop):
    won = loop.open("a=1", *SEEN)
    (loop.repository / "value.txt").write_text("50\n")
    loop.run("run", won, "--snapshot")
    assert loop.closed(won)["verdict"] == "supported"
    said = ("try", "--target", "parser", "--lever", "b=1", "--hypothesis", "b saves time", "--mechanism", "m", "--predicted", "p", "--falsification", "gain < 2%", "--parent", won, "--expect", "=4[0-9]$")
    loop.git("checkout", "-q", ".")
    (loop.repository / "other.txt").write_text("95\n")
    refused = loop.run(*said, "--snapshot", ok=(2,)).stderr
    assert "does not hold its parent" in refused and "git checkout" in refused and "--parent REF" in refused and "no page was filed" in refused
    assert [f.name for f in (loop.layout.wiki / "experiments/parser").iterdir()] == [Path(won).name]
    path = loop.open("c=1", parent=won)
    assert "does not hold its parent" in loop.run("run", path, "--commit", loop.commit(to(45), start="main"), ok=(2,)).stderr
    # Edits upon edits that are not committed hold the parent's.
    (loop.repository / "other.txt").unlink(missing_ok=True)
    loop.git("checkout", "-q", "main")
    (loop.repository / "value.txt").write_text("48\n")
    assert json.loads(loop.run(*said, "--format", "json").stdout)["verdict"] == "supported"
    loop.git("checkout", "-q", ".")
    # The snapshot that won is committed, which makes another commit of the same code.
    loop.commit(to(50), start="main")
    loop.git("commit", "-q", "--allow-empty", "-m", "on top")
    loop.run("run", path, "--commit", loop.commit(to(44), start="HEAD"))


def test_an_export_gives_the_verdict_that_took_the_place_of_the_filed_one(loop):
    path = loop.open("a=1", *SEEN)
    loop.run("run", path, "--commit", loop.commit(to(90)))
    assert loop.closed(path)["verdict"] == "supported"
    assert cli.main(["export", "leaderboard", "--target", "parser"]) == 0
    assert "rule supported had said: time_ms is 90" in loop.run("close", path, "--dry-run", "--overrule", "invalid", "--reason", "the input was cut").stdout
    loop.closed(path, "--overrule", "invalid", "--reason", "the input was cut")
    loop.capsys.readouterr()
    assert cli.main(["export", "leaderboard", "--target", "parser"]) == 2 and "nothing was kept" in loop.capsys.readouterr().err
    assert cli.main(["export", "log", "--target", "parser"]) == 0 and "| checks_failed | the input was cut |" in loop.capsys.readouterr().out
    loop.closed(path, "--overrule", "supported", "--reason", "it was whole")
    loop.capsys.readouterr()
    assert cli.main(["export", "leaderboard", "--target", "parser"]) == 0 and "| 1 | 1 | 90.0 |" in loop.capsys.readouterr().out


def test_a_first_measurement_of_another_variant_is_no_gain_over_the_others_and_its_own_frontier(loop):
    path = loop.open("a=1", *SEEN)
    loop.run("run", path, "--commit", loop.commit(to(90)))
    loop.closed(path)
    base = loop.run("open", "--target", "parser", "--baseline", "--variant", "small", "--date", "2026-05-03").stdout.strip()
    loop.run("run", base, "--commit", loop.commit(to(40)))
    assert loop.closed(base)["verdict"] == "baseline"

    def frontier(*words: str) -> str:
        loop.capsys.readouterr()
        assert cli.main(["load", *words, "--target", "parser"]) == 0
        return next(line for line in loop.capsys.readouterr().out.splitlines() if "> frontier" in line)

    assert "v001 (" in frontier("resume") and "+10.0 % over its parent" in frontier("resume")
    small = frontier("hypothesis", "--variant", "small", "--query", "save time")
    assert "frontier small: v002 (" in small and "over" not in small
    other = loop.open("b=1", "--expect", "=80$", parent=path)
    loop.run("run", other, "--commit", loop.commit(to(80), start=stub_at(loop.layout, path).page.field("code")))
    loop.closed(other)
    assert "v002 (" in frontier("hypothesis", "--variant", "small", "--query", "save time") and "v003 (" in frontier("resume")


def test_a_gain_in_times_is_no_percentage(loop):
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(8600)))
    assert loop.closed(path)["verdict"] == "refuted" and 'gain: "-85 times' in loop.page(path)
    assert loop.run("list").stdout.rstrip().endswith("time_ms 8600 (-85 times)")
    assert stub_at(loop.layout, path).facts.gain == -85.0 and "-8500.0 %" in loop.page("indexes/state/parser.md")


def test_a_page_on_another_branch_is_said_to_be_there(loop, monkeypatch):
    root = loop.repository / "notes"
    (root / "wiki" / "targets").mkdir(parents=True)
    (root / "kb.toml").write_text("")
    (root / "wiki" / "targets" / "parser.md").write_text(TARGET.replace("../repo", ".."))
    monkeypatch.chdir(root)
    inside = replace(loop, layout=layout_at(root))
    path = inside.open("a=1", parent="main")
    loop.git("checkout", "-q", "-b", "notes")
    loop.git("add", "-A")
    loop.git("commit", "-q", "-m", "a page")
    loop.git("checkout", "-q", "main")
    (root / "wiki" / "targets").mkdir(parents=True)
    (root / "kb.toml").write_text("")
    (root / "wiki" / "targets" / "parser.md").write_text(TARGET.replace("../repo", ".."))
    assert "'notes'" in inside.run("run", path, ok=(2,)).stderr
    assert "'notes'" in inside.run("run", "v001", ok=(2,)).stderr


def test_a_plan_names_its_repository_from_the_knowledge_base_and_no_folder_of_the_machine(loop, tmp_path):
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(90)))
    assert attempts(loop, path)[-1].plan.repository == "../repo"
    assert str(tmp_path) not in (loop.layout.root / attempts(loop, path)[-1].folder / "plan.json").read_text()


def test_a_signal_that_names_what_earlier_runs_printed_is_not_doubted(loop):
    words = ("open", "--target", "parser", "--mechanism", "m", "--falsification", "gain < 2%", "--date", "2026-05-02")
    signal = ("--predicted", "misses fall")
    first = loop.run(*words, *signal, "--lever", "a=1", "--hypothesis", "a=1 helps")
    assert "names no metric" in first.stderr
    bench = loop.commit(lambda text: text + "echo METRIC misses=7\n", file="bench.sh")
    loop.git("branch", "-f", "main", bench)
    base = opened_baseline(loop)
    loop.run("run", base, "--commit", bench)
    assert loop.closed(base)["verdict"] == "baseline"
    assert "names no metric" not in loop.run(*words, *signal, "--lever", "b=1", "--hypothesis", "b=1 helps").stderr


def test_a_forbidden_pattern_that_the_parent_shows_too_says_so(loop):
    path = loop.open("a=1", "--forbid", "time_ms")
    loop.run("run", path, "--commit", loop.commit(to(90)))
    assert "the parent has it too" in loop.run("audit", path, ok=(1,)).stdout


def test_a_page_that_names_the_folder_of_another_experiment_is_not_run_or_closed(loop):
    won = loop.open("a=1", *SEEN)
    loop.run("run", won, "--commit", loop.commit(to(50)))
    other = loop.open("b=1", *SEEN)
    fields = {line.partition(":")[0]: line for line in loop.page(won).splitlines() if line.startswith(("run:", "receipt:"))}
    file = loop.layout.root / other
    file.write_text("\n".join(fields.get(line.partition(":")[0], line) for line in loop.page(other).splitlines()) + "\n")
    for words in (("run", other, "--commit", "main"), ("close", other), ("run", other, "--more", "2")):
        assert "a folder of this page alone" in loop.run(*words, ok=(2,)).stderr
    assert loop.closed(won)["verdict"] == "supported"


def test_a_pattern_that_never_comes_to_its_end_is_no_evidence_and_ends(loop, monkeypatch):
    from kb.experiments import searching

    # The other pattern repeats nothing, so no clock is set to it.
    monkeypatch.setattr(searching, "PATIENCE_S", 0.5)
    path = loop.open("a=1", "--expect", "(m+)+$", "--expect", "time_ms=90$")
    bench = "sh bench.sh; printf 'm%.0s' $(seq 60); echo !"
    loop.run("run", path, "--commit", loop.commit(to(90)), "--bench", bench)
    told = loop.run("audit", path).stdout
    assert "did not end within" in told and told.startswith("not tested")
    assert loop.closed(path)["verdict"] == "supported"
    assert "501 characters of at most 500" in loop.run("audit", path, "--expect", "a" * 501, ok=(2,)).stderr
    assert "no regular expression" in loop.run("audit", path, "--expect", "(" * 400, ok=(2,)).stderr


def test_nothing_that_the_configuration_of_the_measured_repository_names_is_run(loop, tmp_path):
    ran = tmp_path / "ran"
    loop.commit(lambda text: "* filter=evil diff=evil\n", file=".gitattributes")
    loop.git("branch", "-f", "main", "HEAD")
    loop.git("checkout", "-q", "main")
    inner = loop.repository / "inner"
    inner.mkdir()
    git_inside = ("git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", "-C", str(inner))
    (inner / "file").write_text("* filter=evil\n")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "start"], ["config", "filter.evil.clean", f"touch {ran}; cat"]):
        subprocess.run([*git_inside, *words], check=True)
    loop.git("add", "inner")
    loop.git("commit", "-qm", "a repository in this one")
    (inner / ".git/info/attributes").write_text("* filter=evil\n")
    (inner / "file").write_text("dirty\n")
    for key in ("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.command", "diff.evil.textconv", "core.fsmonitor"):
        loop.git("config", key, f"touch {ran}; cat")
    loop.git("config", "filter.evil.required", "true")
    (loop.repository / "value.txt").write_text("90\n")
    path = loop.open("a=1", "--expect", "=90$")
    loop.run("run", path, "--snapshot")
    assert loop.closed(path)["verdict"] == "supported"
    other = loop.open("b=1", parent=path, falsification="gain < -90%")
    (loop.repository / "value.txt").write_text("80\n")
    loop.run("run", other, "--edited")
    loop.closed(other, "--expect", "=80$")
    assert "code:" in loop.run("diff", path, other).stdout
    assert not ran.exists()


# A benchmark that looks a protected file up while the change's own part of it may still do something.
SLOW = "sh work.sh\nsleep 0.3\nsh checks/verify.sh || exit 1\nread value < value.txt\necho METRIC time_ms=$value\n"


@pytest.mark.parametrize("swap", [
    "cp checks/verify.sh x; echo true > checks/verify.sh; (sleep 0.6; cat x > checks/verify.sh; rm x) &",
    "cd checks; cp verify.sh x; mv verify.sh y; echo true > verify.sh; (sleep 0.6; mv y verify.sh) &",
    "mv checks y && mkdir checks && echo true > checks/verify.sh && (sleep 0.6; rm -r checks; mv y checks) &",
    "cp -r . ../other; echo true > ../other/checks/verify.sh; mv ../tree ../x; mv ../other ../tree; cd ../tree; (sleep 0.6; mv ../tree ../other; mv ../x ../tree) &",
])
def test_a_protected_file_that_is_swapped_and_put_back_within_one_command_is_noticed(loop, swap):
    if swap.startswith("mv checks") and sandbox_problem():
        pytest.skip(f"a folder is held in place by a mount: {sandbox_problem()}")
    page = loop.layout.root / "wiki/targets/parser.md"
    page.write_text(page.read_text().replace("[bench.sh]", "[bench.sh, checks]"))
    files = {"checks/verify.sh": "test -e right\n", "work.sh": "touch right\n", "bench.sh": f"{SLOW}sleep 0.6\n"}
    (loop.repository / "checks").mkdir()
    for name, text in files.items():
        (loop.repository / name).write_text(text)
    loop.git("add", "-A")
    loop.git("commit", "-qm", "verify")
    start = loop.git("rev-parse", "HEAD")
    path = loop.open("a=1", *SEEN, parent=start)
    faster = loop.commit(to(50), start=start)
    loop.run("run", path, "--commit", loop.commit(lambda text: f"{swap}\n", file="work.sh", start=faster), ok=(0, 1))
    assert loop.closed(path)["verdict"] in ("invalid", "crash")


@pytest.mark.parametrize("sandbox", ["", "sandbox: off\n"])
def test_a_folder_of_a_run_that_becomes_a_link_is_neither_read_nor_written_through(loop, tmp_path, sandbox):
    page = loop.layout.root / "wiki/targets/parser.md"
    page.write_text(page.read_text().replace("repeats: 3", f"repeats: 3\n{sandbox}artifacts: ['*']".replace("\n\n", "\n")))
    loop.git("checkout", "-q", "main")
    (loop.repository / "bench.sh").write_text(f"{BENCH}test -e work.sh && sh work.sh || true\n")
    loop.git("commit", "-qam", "more work")
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "secret").write_text("words of the victim\n")
    for number, folder in enumerate(("tree", "out", "tmp")):
        path = loop.open(f"a{number}=1", *SEEN, "--differs", "another folder")
        work = f"mv ../{folder} ../x; ln -s {victim} ../{folder}; echo x > /tmp/file\n"
        loop.run("run", path, "--commit", loop.commit(lambda _, work=work: work, file="work.sh", start=loop.commit(to(90 - number))), ok=(0, 1))
        assert loop.closed(path)["verdict"] == "invalid"
    assert [f.name for f in victim.iterdir()] == ["secret"]
    assert not any("victim" in f.read_text(errors="replace") for f in loop.layout.sources.rglob("*/secret"))


def test_a_link_in_place_of_a_folder_is_cleared_and_what_it_leads_to_keeps_its_modes(tmp_path):
    (tmp_path / "kept").mkdir(mode=0o500)
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    worktree.clear(tmp_path / "link")
    assert not (tmp_path / "link").is_symlink() and (tmp_path / "kept").stat().st_mode & 0o777 == 0o500


def test_folders_too_deep_for_python_are_cleared_and_stop_no_run(loop):
    loop.git("checkout", "-q", "main")
    (loop.repository / "deep.py").write_text(
        "import os\nfor place in ('.', os.environ['KB_OUT']):\n    os.chdir(place)\n    for _ in range(1200):\n        os.mkdir('d')\n        os.chdir('d')\n    os.chdir(os.environ['TOP'])\n"
    )
    (loop.repository / "bench.sh").write_text(f"{BENCH}export TOP=$PWD; rm -rf d\n{sys.executable} deep.py 2>/dev/null || true\n")
    loop.git("add", "-A")
    loop.git("commit", "-qm", "deep")
    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(90)), ok=(0, 1))
    # A machine that is too busy for its deadline has a crash; what is asked is that the run ends and leaves nothing.
    assert loop.closed(path, *SEEN)["verdict"] in ("supported", "crash") and not (loop.layout.state / "worktrees").exists()


def test_a_page_names_no_machine(loop):
    import platform

    path = loop.open("a=1")
    loop.run("run", path, "--commit", loop.commit(to(90)))
    loop.closed(path, *SEEN)
    kept = [f.read_text() for f in (loop.layout.sources / "runs").rglob("*.json")]
    assert platform.release() in loop.page(path)
    assert not any(re.search(rf"\b{re.escape(platform.node())}\b", text) for text in (loop.page(path), *kept))


# Runs that differ from turn to turn, with a rate that is the time turned over and a count that is not.
TURNS = """read value < value.txt; n=$(cat $KB_OUT/n 2>/dev/null || echo 0); echo $((n + 1)) > $KB_OUT/n; t=$((100 * value + n % 4))
awk "BEGIN {print \\"METRIC time_ms=$t\\"; printf \\"METRIC rate=%.6f\\\\nMETRIC misses=$((value / 2 + n % 3))\\\\n\\", 1e9 / $t}" """


@pytest.mark.parametrize(("more", "predicted", "firing"), [
    ((), "time falls", "not tested"), ((), "rate rises", "not tested"), ((), "misses fall", "confirmed"), ((), "misses fall and rate rises", "confirmed"),
    (("--forbid", "spill"), "time falls", "not tested"), (("--forbid", "spill"), "it is faster", "partial"),
    (("--forbid", "misses=5"), "it is faster", "confirmed"), (("--expect", "time_ms=50"), "it is faster", "not tested"),
    (("--expect", "misses=2"), "it is faster", "confirmed"), (("--expect", "rate=199"), "time falls", "not tested"),
])
def test_a_signal_that_is_the_gain_itself_under_any_name_tests_no_mechanism(loop, more, predicted, firing):
    path = loop.open("a=1", "--predicted", predicted, *more)
    loop.run("run", path, "--commit", loop.commit(to(50)), "--bench", TURNS, "--repeats", "5")
    assert loop.run("audit", path, ok=(0, 1)).stdout.splitlines()[0] == firing
    reason = loop.closed(path)["reason"]
    assert ("mechanism not tested, for nothing was predicted but time_ms itself" in reason) == (firing == "not tested"), reason


def test_an_outlier_moves_no_figure_of_a_side(loop):
    path = loop.open("a=1", "--predict", "misses down")
    bench = TURNS.replace("t=$((", "t=$((n == 3 ? 90000 : ")
    loop.run("run", path, "--commit", loop.commit(to(50)), "--bench", bench, "--repeats", "6")
    assert loop.closed(path)["verdict"] == "supported"
    assert read(path, loop.page(path).encode()).front["metrics"]["time_ms"]["value"] == 5001.5
    assert "Outliers of the change: run 3 (90000)" in loop.page(path)


def test_what_a_win_leaves_open_of_the_tracked_metrics_is_said(loop):
    page = loop.layout.root / "wiki/targets/parser.md"
    page.write_text(page.read_text().replace("repeats: 3", "repeats: 3\ntracked: [peak_gb, swaps, misses]"))
    path = loop.open("a=1", "--predict", "misses down")
    bench = f'{TURNS}; echo METRIC peak_gb=$((10 + n % 3)).$(echo $KB_SIDE | wc -c)'
    loop.run("run", path, "--commit", loop.commit(to(50)), "--bench", bench, "--repeats", "5")
    done = loop.closed(path)
    assert done["verdict"] == "supported" and "misses" not in done["reason"]
    assert "of what is tracked, peak_gb may be worse (95 % interval" in done["reason"] and "swaps was not measured" in done["reason"]


def test_artifacts_that_are_gone_are_named_and_neither_their_lack_nor_their_silence_decides(loop):
    built = "(cat value.txt; head -c 9 /dev/zero) > built.bin\ngrep -q 100 value.txt && printf slow >> built.bin || printf fast >> built.bin\n"
    start = loop.commit(lambda text: built, file="build.sh")
    loop.state(artifacts=["built.bin"], build="sh build.sh")
    path = loop.open("a=1", "--expect", "fast", "--forbid", "slow", parent=start)
    loop.run("run", path, "--commit", loop.commit(to(90), start=start))
    assert loop.run("audit", path).stdout.startswith("confirmed")
    copies = {side: next((loop.layout.root / "artifacts").rglob(f"artifact-{side}/built.bin")) for side in ("change", "parent")}
    for side, lines in (("change", ("?  expected `fast` is in no output", "?  forbidden `slow` is in no output")), ("parent", ("?  expected `fast` found at",))):
        kept = copies[side].read_bytes()
        copies[side].unlink()
        told = loop.run("audit", path, ok=(0, 1)).stdout
        assert all(line in told for line in lines) and f"`artifacts/parser/{Path(path).stem}/1/artifact-{side}/built.bin` is no longer here" in told, told
        assert "objdump" not in told and "--again" in told and "artifacts" in loop.page(path)
        copies[side].write_bytes(kept)
    assert loop.run("audit", path).stdout.startswith("confirmed")


@pytest.mark.parametrize("words", [("--repeats", "-3"), ("--repeats", "0"), ("--most", "0"), ("--repeats", "10001")])
def test_a_count_that_is_none_is_refused_before_a_page_is_filed(loop, tmp_path, words):
    (loop.repository / "value.txt").write_text("90\n")
    assert f"{' '.join(words)}: give a whole number from 1 to 10000" in loop.run("try", proposed(tmp_path, "a=1"), *words, ok=(2,)).stderr
    assert not list((loop.layout.wiki / "experiments").rglob("*.md"))


def test_what_to_do_with_the_change_is_said_also_where_a_kill_kept_its_commit_from_the_page(loop):
    path = loop.open("a=1")
    change = loop.commit(to(120))
    loop.run("run", path, "--commit", change)
    page = loop.layout.root / path
    page.write_text(re.sub(r"(?m)^code: .*\n", "", page.read_text()))
    assert f"take it back: `git -C ../repo restore .` drops edits that are not committed, `git -C ../repo revert` a commit; {change[:12]}" in loop.run("close", path).stdout


def test_what_stands_in_the_patch_alone_confirms_nothing(loop):
    path = loop.open("a=1", "--expect", "vectorized")
    notes = loop.commit(lambda text: "vectorized\n", file="notes.txt")
    loop.run("run", path, "--commit", loop.commit(to(90), start=notes))
    assert loop.closed(path)["rule"] == "not-fired" and "written there, not seen to run" in loop.page(path)


@pytest.mark.skipif(bool(sandbox_problem()) or not shutil.which("objdump"), reason="programs are disassembled in the sandbox alone")
def test_what_was_built_is_disassembled_and_what_nobody_could_read_is_asked_for(loop, monkeypatch):
    from kb.experiments import auditing, command

    start = loop.commit(lambda text: "int main(void) { return 0; }\n", file="prog.c")
    page = loop.layout.root / "wiki/targets/parser.md"
    page.write_text(page.read_text().replace("repeats: 3", "repeats: 3\nartifacts: [prog]\nbuild: make prog"))
    change = loop.commit(lambda text: f"int fast_path(void) {{ return 1; }}\n{text}", file="prog.c", start=start)
    path = loop.open("a=1", "--expect", "<fast_path>:", parent=start)
    loop.run("run", path, "--commit", loop.commit(to(90), start=change))
    found = loop.run("audit", path).stdout
    assert found.startswith("confirmed") and re.search(r"artifact-change/prog disassembled:\d+: `\w+ <fast_path>:`", found)
    missed = loop.run("audit", path, "--expect", "<fast_path>:", "--expect", "<slow_path>:").stdout
    assert missed.startswith("partial") and "not found in any dump, disassembly, output or patch" in missed
    reads, runs = auditing.disassembled, []
    reads.cache_clear()
    monkeypatch.setattr(auditing, "run_command", lambda *words, **more: runs.append(words) or command.run_command(*words, **more))
    loop.run("audit", path, "--expect", "<fast_path>:", "--expect", "<main>:", "--expect", "<slow_path>:")
    assert len(runs) == 2
    monkeypatch.setattr(auditing, "disassembled", lambda place, digest: reads(place, digest) * ("parent" not in place.parts[-2]))
    assert "<fast_path>:`, and nobody has read all that was built" in loop.run("audit", path, ok=(1,)).stdout
    monkeypatch.setattr(auditing, "disassembled", lambda place, digest: reads(place, digest) * ("parent" in place.parts[-2]))
    assert "  ?  forbidden `<main>:` is in no output, and nobody has read all" in loop.run("audit", path, "--forbid", "<main>:", ok=(0, 1)).stdout
    with monkeypatch.context() as hurry:
        hurry.setattr(auditing, "_MOST_S", 0.0)
        hurry.setattr(auditing, "disassembled", reads)
        assert "  ?  expected `<slow_path>:` is in no output, and nobody" in loop.run("audit", path, "--expect", "<slow_path>:", ok=(0, 1)).stdout
    reads.cache_clear()
    monkeypatch.setattr(auditing, "_MOST_CODE", 100)
    monkeypatch.setattr(auditing, "disassembled", reads)
    assert "  ?  expected `<slow_path>:` is in no output, and nobody" in loop.run("audit", path, "--expect", "<slow_path>:", ok=(0, 1)).stdout
    monkeypatch.setattr(auditing, "disassembled", lambda place, digest: b"")
    other = loop.open("b=1", "--expect", "<fast_path>:", parent=start)
    loop.run("run", other, "--commit", loop.git("rev-parse", "HEAD"))
    unread = loop.run("audit", other, ok=(1,)).stdout
    assert "  ?  expected `<fast_path>:` is in no output, and nobody has read all that was built" in unread
    refused = loop.run("close", other, ok=(2,)).stderr
    assert "+10.0 % would be supported, but expected `<fast_path>:` is in no output" in refused and "$KB_OUT/code.txt" in refused
    loop.run("run", other, "--again", "--commit", loop.git("rev-parse", "HEAD"), "--build", "make prog; objdump -d prog > $KB_OUT/code.txt")
    assert loop.closed(other)["verdict"] == "supported" and "code.txt" in loop.page(other)


def test_a_target_that_states_a_limit_of_noise_is_held_to_it(loop):
    page = loop.layout.root / "wiki/targets/parser.md"
    page.write_text(page.read_text().replace("repeats: 3", "repeats: 3\nnoise_limit: 2 %"))
    path = loop.open("a=1", "--expect", "METRIC", falsification="gain < -90%")
    loop.run("run", path, "--commit", loop.commit(to(50)), "--bench", NOISY, "--most", "3")
    assert loop.closed(path)["rule"] == "noise-wide"


def test_code_that_a_decided_run_measured_is_not_measured_again_without_a_word(loop, tmp_path):
    (loop.repository / "value.txt").write_text("120\n")
    assert loop.run("try", proposed(tmp_path, "a=1")).stdout.startswith("refuted")
    (first,) = pages(loop)
    again = proposed(tmp_path, "zeta=3", mechanism="another idea that edits the same line")
    refused = loop.run("try", again, ok=(3,)).stderr
    assert f"holds the code that {first} measured (refuted: " in refused and f"--differs 'unlike {Path(first).stem}" in refused
    assert "no page was filed" in refused and pages(loop) == [first]
    # Committed on another branch, after other work that was taken back, it is the same tree.
    loop.git("checkout", "-q", "-b", "other")
    loop.git("commit", "-q", "-a", "-m", "the same once more")
    assert f"holds the code that {first}" in loop.run("try", again, "--commit", "other", ok=(3,)).stderr
    path = loop.open("zeta=3")
    refused = loop.run("run", path, "--commit", "other", ok=(3,)).stderr
    assert f"holds the code that {first}" in refused and f"`kb experiment run {path} --again` measures it all the same" in refused
    loop.run("run", path, "--commit", "other", "--again")
    assert loop.closed(path)["verdict"] == "refuted"
    said = ("--differs", f"unlike {Path(path).stem} and v001, the machine is another one")
    assert loop.run("try", proposed(tmp_path, "b=1"), "--commit", "other", *said).stdout.startswith("refuted") and len(pages(loop)) == 3


def test_code_of_a_run_that_is_open_gets_more_repeats_and_no_second_page(loop, tmp_path):
    loop.commit(lambda text: NOISY + "\n", file="bench.sh")
    loop.git("branch", "-f", "main", "HEAD")
    path = loop.open("a=1", falsification="gain < -50%")
    loop.run("run", path, "--commit", loop.commit(lambda text: "100 \n"), "--most", "4")
    assert loop.closed(path)["rule"] == "undecided"
    refused = loop.run("try", proposed(tmp_path, "zeta=3", mechanism="another idea"), ok=(3,)).stderr
    assert f"`kb experiment run {path} --more N` adds repeats to that run, which may decide it" in refused and pages(loop) == [path]


def test_the_same_code_is_another_measurement_at_another_variant_under_other_variables_or_by_another_benchmark(loop, tmp_path):
    (loop.repository / "value.txt").write_text("120\n")

    def tried(lever: str, why: str, *more: str, ok: tuple[int, ...] = (0,)) -> str:
        return loop.run("try", proposed(tmp_path, lever, mechanism=why), *more, ok=ok).stderr

    tried("a=1", "m")
    tried("rows=pairs", "two lines are walked side by side in one pass", "--variant", "large")
    tried("tail=folded", "the remainder joins its neighbour before anything else", "--set", "FAST=1")
    assert "holds the code that" in tried("zeta=3", "an idea that edits this very line", "--set", "FAST=1", ok=(3,))
    loop.state(benchmark="sh bench.sh && true")
    tried("zeta=3", "an idea that edits this very line")
    assert len(pages(loop)) == 4
    # What git does not hold compares with nothing.
    for path in pages(loop):
        file = loop.layout.root / path
        file.write_text(re.sub(r"(?m)^code: .*", f'code: "{"0" * 40}"', file.read_text()))
    tried("blank=skipped", "empty cells never reach the inner part of that function")


@pytest.mark.parametrize(("name", "head"), [("retro.md", "type: retrospective\ncommit: CODE"), ("v009-x.md", "verdict: refuted\ncommit: x\u2028y"), ("v009-x.md", "verdict: refuted\ncommit: HEAD")])
def test_a_page_that_is_no_run_and_a_name_that_moves_on_measured_no_code(loop, tmp_path, name, head):
    loop.commit(to(120))
    folder = loop.layout.wiki / "experiments" / "parser"
    folder.mkdir(parents=True)
    (folder / name).write_text(f"---\n{head.replace('CODE', loop.git('rev-parse', 'HEAD'))}\n---\n# What was learnt\n")
    assert loop.run("try", proposed(tmp_path, "a=1"), "--commit", "HEAD").stdout.startswith("refuted")


def test_pages_of_a_knowledge_base_in_the_repository_make_the_same_code_no_other(loop, monkeypatch):
    root = loop.repository / "notes"
    (root / "wiki" / "targets").mkdir(parents=True)
    (root / "kb.toml").write_text("")
    (root / "wiki" / "targets" / "parser.md").write_text(TARGET.replace("../repo", ".."))
    loop.git("add", "-A")
    loop.git("commit", "-q", "-m", "notes")
    monkeypatch.chdir(root)
    inside = replace(loop, layout=layout_at(root))
    path = inside.open("a=1", parent="HEAD")
    inside.run("run", path, "--commit", inside.commit(to(120)))
    inside.closed(path)
    inside.git("add", "-A")
    inside.git("commit", "-q", "-m", "what was learnt")
    page = inside.open("zeta=3", "--hypothesis", "zeta")
    assert f"holds the code that {path}" in inside.run("run", page, "--commit", "HEAD", ok=(3,)).stderr
