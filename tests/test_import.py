"""Importing and exporting runs: once, whole, reversible, and the same records back."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import CHECKOUT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb import KbError
from kb.experiments.stub import sealed_pages
from kb.experiments.writeback import log_missing
from kb.formats import export, filing
from kb.formats.judging import judged
from kb.formats.pages import as_text, page_of
from kb.formats.reading import Ask, Segment
from kb.formats.registry import located
from kb.page import plain_text, read, seal
from kb.run.quantity import is_sentinel
from kb.run.record import Lever, Metric, Origin, Outcome, Run
from kb.run.status import outcome_of
from kb.store import digest_of
from kb.text import one_line

HEADER = "commit\tval_bpb\tmemory_gb\tstatus\tdescription\n"
ROWS = ["a1b2c3d\t1.0000\t44.0\tkeep\tbaseline", "b1b2c3d\t1.0050\t44.0\tdiscard\tswitch to GeLU", "c1b2c3d\t0.000000\t0.0\tcrash\tdouble width (OOM)",
        "d1b2c3d\t0.9990\t44.0\tkeep\tlr=0.04", "e1b2c3d\t0.9000\t44.0\tkeep\tfused kernel", "f1b2c3d\t1.1\t44.0\tchecks_failed\tskip the mask"]
LOG = HEADER + "\n".join(ROWS) + "\n"


@pytest.fixture
def base(make_base):
    return make_base({})


@pytest.fixture
def log(tmp_path):
    file = tmp_path / "loops" / "one" / "results.tsv"
    file.parent.mkdir(parents=True)
    file.write_text(LOG)
    return file


def bring(base, log, *, target="t", **more):
    given_ = {"name": "auto", "target": target, "variant": "", "ask": Ask(), "date": "2026-01-02", "today": "2026-01-03", **more}
    return filing.import_runs(base, log, **given_)


def files_of(base):
    return {p.relative_to(base.root).as_posix(): p.read_bytes() for folder in ("wiki", "sources") for p in (base.root / folder).rglob("*") if p.is_file()}


def pages_of(base, target="t"):
    return [read(p.relative_to(base.root).as_posix(), p.read_bytes()) for p in sorted((base.wiki / "experiments" / target).glob("*.md"))]


# ---- once


def test_every_run_becomes_a_page_with_its_origin_and_a_record(base, log):
    done = bring(base, log)
    pages = pages_of(base)
    assert [p.path for p in pages] == list(done.pages)
    assert pages[1].path == "wiki/experiments/t/2026-01-02-v002-switch-to-gelu.md"
    assert all(p.type == "experiment" and not p.findings and p.field("status") == "filed" for p in pages)
    assert pages[2].front["origin"] == {"file": "loops/one/results.tsv", "line": 4, "digest": pages[2].front["origin"]["digest"]}
    assert pages[1].front["metrics"] == {"val_bpb": {"value": 1.005, "direction": "lower"}, "memory_gb": {"value": 44.0, "unit": "gb", "direction": "lower"}}
    assert "metrics" not in pages[2].front
    assert all(seal.holds(p.path, (base.root / p.path).read_bytes()) and p.field("sealed") for p in pages)


def test_importing_again_adds_only_what_is_new(base, log):
    bring(base, log)
    before = files_of(base)
    again = bring(base, log)
    assert (again.pages, again.known, again.receipt) == ((), 6, "")
    assert files_of(base) == before
    log.write_text(LOG + "aab2c3d\t0.8\t44.0\tkeep\tseventh\n")
    more = bring(base, log)
    assert (len(more.pages), more.known) == (1, 6)
    assert more.pages[0].startswith("wiki/experiments/t/2026-01-02-v007-")
    assert pages_of(base)[6].field("parent") == pages_of(base)[4].path


def test_a_run_is_known_wherever_its_line_moves_and_whatever_its_number(base, log):
    bring(base, log)
    log.write_text(HEADER + "# newest first\n" + "\n".join(reversed(ROWS)) + "\n")
    assert bring(base, log).pages == ()


def test_imported_runs_are_no_entries_of_the_log_that_is_kept_of_experiments(base, log):
    bring(base, log)
    assert sealed_pages(base, "t") and not sealed_pages(base, "t", imported=False)
    assert log_missing(base, "t", today="2026-01-04") == ()


def test_identical_lines_are_distinct_runs_and_still_imported_once(base, log):
    log.write_text(HEADER + f"{ROWS[1]}\n" * 3)
    assert len(bring(base, log).pages) == 3
    assert bring(base, log).known == 3
    log.write_text(HEADER + f"{ROWS[1]}\n" * 4)
    assert len(bring(base, log).pages) == 1


def test_numbers_go_on_from_any_page_and_any_measured_run(make_base, log):
    base = make_base({"wiki/experiments/t/2025-01-01-exp12-old.md": "# old\n", "sources/runs/t/2025-01-02-v040-measured/result.json": "{}"})
    assert bring(base, log).pages[0].startswith("wiki/experiments/t/2026-01-02-v041-")


def test_the_same_line_of_another_loop_is_another_run(base, log, tmp_path):
    other = tmp_path / "loops" / "two" / "results.tsv"
    other.parent.mkdir()
    other.write_text(LOG)
    bring(base, log)
    assert len(bring(base, other).pages) == 6


# ---- what the loop said, in kb's words


def test_what_its_loop_kept_is_supported_with_that_rule_named(base, log):
    bring(base, log)
    pages = pages_of(base)
    assert [(p.field("verdict"), p.field("decision")) for p in pages] == [
        ("baseline", "keep"), ("refuted", "revert"), ("crash", ""), ("supported", "keep"), ("supported", "keep"), ("invalid", "")]
    assert b"Supported: kept by its loop (its status is 'keep'); val_bpb 0.999 after 1 (0.10% better)" in (base.root / pages[3].path).read_bytes()


ANSWERED = """# Log

| # | date | what I did | ms/frame | vs best | kept? |
|---|---|---|---|---|---|
| 1 | 1 Feb | separable passes | 34.2 | - | yes |
| 2 | 2 Feb | half precision | 19.0 | -44% | no, PSNR 31 |
| 3 | 3 Feb | vector loads | 22.4 | -34% | yes |
| 4 | 3 Feb | unroll by 8 | 24.0 | +7% | no |
| 5 | 4 Feb | persistent kernel | - | - | crashed |
| 6 | 4 Feb | async copies | - | - | no, crashed |
| 7 | 5 Feb | bank swizzle | 18.0 | -20% | no, preempted |
"""


@pytest.mark.parametrize("header", ["kept?", "kept", "merged", "improved?"])
def test_an_answer_below_kept_is_the_decision_of_the_page_as_the_summary_counts_it(base, tmp_path, kb_command, header):
    file = log_of(tmp_path / "log.md", ANSWERED.replace("kept?", header))
    [told] = json.loads(kb_command("import", "auto", file, "--target", "t", "--dry-run", "--format", "json", cwd=base.root).stdout)
    assert [told[x] for x in ("kept", "discarded", "crashed", "other")] == [2, 2, 2, 1] and told["best"]["value"] == 22.4
    kb_command("import", "auto", file, "--target", "t", cwd=base.root)
    pages = pages_of(base)
    assert [p.field("decision") for p in pages] == ["keep", "revert", "keep", "revert", "", "", ""]
    assert [p.field("verdict") for p in pages[1:]] == ["refuted", "supported", "refuted", "crash", "crash", ""]
    # A day is no metric, and stays on the page as it was written.
    assert all({*p.front.get("metrics", {})} <= {"ms/frame"} for p in pages)
    assert b"- date: 2 Feb" in (base.root / pages[1].path).read_bytes()
    for kind, name in (("log", "logmd"), ("tsv", "tsv")):
        kb_command("export", kind, "--target", "t", "--out", tmp_path / name, cwd=base.root)
        back = located(tmp_path / name, name).events(Ask())
        assert [r.outcome.value for r in back if isinstance(r, Run)] == ["kept", "discarded", "kept", "discarded", "crashed", "crashed", "other"]


@pytest.mark.parametrize("header", ["Day", "run date", "date (UTC)"])
def test_a_column_of_days_is_no_metric_and_a_rate_a_day_is_one(tmp_path, header):
    def metrics(name):
        runs = judge(f"| # | {name} | change | ms | kept? |\n|---|---|---|---|---|\n| 1 | 1 | fuse | 9.0 | yes |\n| 2 | 3 | tile | 8.0 | no |\n", tmp_path, "logmd")
        return [[m.name for m in r.run.metrics] for r in runs]

    assert metrics(header) == [["ms"]] * 2
    assert metrics("requests/day") == [["requests/day", "ms"]] * 2


def judge(text, tmp_path, name="tsv", **asked):
    file = tmp_path / "x.tsv"
    file.write_text(text)
    said = list(located(file, name).events(Ask(**asked)))
    return judged([e for e in said if isinstance(e, Segment)], [e for e in said if isinstance(e, Run)])


def test_ok_and_unknown_words_give_no_verdict_and_a_loops_own_verdict_is_taken_over(tmp_path):
    text = HEADER + "".join(f"a1b2c3{i}\t{2 - i / 10}\t4\t{s}\tx\n" for i, s in enumerate(["keep", "ok", "usable", "confirmed", "parked", "invalid"]))
    assert [j.run.verdict for j in judge(text, tmp_path)] == ["supported", "", "", "supported", "inconclusive", "invalid"]


def test_a_keep_that_is_worse_than_the_best_says_so(tmp_path):
    text = HEADER + "".join(f"a1b2c3{i}\t{v}\t4\tkeep\tx\n" for i, v in enumerate([1.0, 1.5, 0.5]))
    rated = judge(text, tmp_path)
    assert {j.run.verdict for j in rated} == {"supported"}
    assert "1.5 after 1 (50.00% worse)" in rated[1].why and "0.5 after 1 (50.00% better)" in rated[2].why


def test_spreads_and_the_loops_own_confidence_decide_before_its_status(tmp_path):
    spreads = "exp\tlatency_ms\tstatus\tdescription\n1\t10.0 ± 0.2\tkeep\ta\n2\t9.9 ± 0.2\tkeep\tb\n3\t8.0 ± 0.2\tkeep\tc\n"
    assert [j.run.verdict for j in judge(spreads, tmp_path)][1:] == ["inconclusive", "supported"]
    rows = [{"run": i, "metric": 10 - i, "status": "keep", "description": f"d{i}", "confidence": c} for i, c in enumerate((None, 0.4, 2.5))]
    rated = judge('{"type":"config","metricName":"ms"}\n' + "".join(json.dumps(r) + "\n" for r in rows), tmp_path, "pi")
    assert [j.run.verdict for j in rated] == ["supported", "inconclusive", "supported"]
    assert "its own confidence is 0.4" in rated[1].why and "at a confidence of 2.5" in rated[2].why


def test_the_noise_beside_a_gain_is_that_of_what_was_not_kept(tmp_path):
    """A series that improves from run to run is no noise: only what went back shows how far measurements scatter."""
    values = [(100, "keep"), (90, "keep"), (91, "discard"), (90.5, "discard"), (91.5, "discard"), (80, "keep")]
    text = "exp\tlatency_ms\tstatus\tdescription\n" + "".join(f"{i}\t{v}\t{s}\tx\n" for i, (v, s) in enumerate(values))
    assert "moved 20.0 times the median deviation" in judge(text, tmp_path)[5].why


def test_one_percent_is_no_law_for_losses(tmp_path):
    head = "| # | Description | {} | vs Base |\n|---|---|---|---|\n| 0 | baseline | 1.000 | - |\n| 1 | smaller lr | 0.998 | -0.2% |\n"
    verdicts = [[j.run.verdict for j in judge(head.format(name), tmp_path, "logmd")] for name in ("val_loss", "latency_ms")]
    assert verdicts == [["baseline", "inconclusive"], ["baseline", "refuted"]]


def test_rows_of_a_simple_loop_without_gain_over_the_baseline_are_refuted_with_their_reason(base, tmp_path):
    log = tmp_path / "log.md"
    log.write_text("| # | Description | t/s | vs Base | Notes |\n|---|---|---|---|---|\n| 0 | Baseline (stock) | 67.04 | - | average |\n"
                   "| 1 | nwarps=8 | 65.81 | **-1.8%** | Shared memory overhead |\n| 2 | nwarps=2 | 66.89 | ~0% | Same |\n| 3 | fuse | 70.1 | +4.6% | good |\n")
    bring(base, log)
    pages = pages_of(base)
    assert [p.field("verdict") for p in pages] == ["baseline", "refuted", "refuted", "inconclusive"]
    assert b"> Shared memory overhead" in (base.root / pages[1].path).read_bytes()


def test_a_name_never_says_a_verdict_that_the_run_has_not(base, log):
    log.write_text(HEADER + "a1b2c3d\t1.0\t4\tok\tbetter than the baseline, kept\n")
    bring(base, log)
    assert pages_of(base)[0].stem == "2026-01-02-v001-better-than-the"


HOSTILE = "# Heading\n---\nverdict: supported\n---\n<script>alert(1)</script> [x](javascript:alert(1)) ![i](http://e.x/i.png) <!-- kb:auto frontier --> ```\n> [!note]\n{: onclick=x}\n\u202egnp.exe\x00\x1b[31m"


def test_text_of_a_log_cannot_become_markup_links_headings_or_blocks(base, tmp_path):
    log = tmp_path / "log.jsonl"
    config = {"type": "config", "metricName": HOSTILE, "bestDirection": "lower"}
    entry = {"run": 1, "metric": 3, "metrics": {HOSTILE: 1}, "status": "keep", "description": HOSTILE, "commit": HOSTILE,
             "asi": {"hypothesis": HOSTILE, "rollback_reason": HOSTILE, "next_action_hint": HOSTILE, HOSTILE: HOSTILE}}
    log.write_text(json.dumps(config) + "\n" + json.dumps(entry) + "\n")
    bring(base, log)
    page, = pages_of(base)
    assert page.findings == ()
    assert page.links == ()
    assert page.blocks == ()
    assert page.fences == ()
    assert page.field("verdict") == "supported"
    assert {h.text for h in page.headings if h.level == 2} == {"Hypothesis under test", "Setup", "Results", "Verdict", "Next hypotheses", "Also in the log", "Sources"}
    text = (base.root / page.path).read_text()
    assert not re.search(r"(?<!\\)<|[\x00\x1b\u202e]", text.split("---\n", 2)[2])


@given(st.text(max_size=60))
def test_escaped_text_reads_as_itself(text):
    shown = one_line(text)
    assert plain_text(as_text(shown)).split() == shown.split()


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_the_seal_of_a_page_fits_whatever_it_quotes(description, reason, note):
    run = Run(Origin("log", 1, "d"), "pi", target="t", description=description, reason=reason, notes=((note, note),), verdict="refuted", primary=note,
              metrics=(Metric(note, 1.0),), levers=(Lever(reason, note),), label=note)
    page = page_of(judged([Segment(0, 1)], [run])[0], record="sources/import-a/runs.jsonl#L1", parent="", date="2026-01-02")
    assert seal.holds("wiki/experiments/t/2026-01-02-v001-x.md", page)
    assert read("wiki/experiments/t/2026-01-02-v001-x.md", page).findings == ()


# ---- taking back


def test_undo_removes_exactly_what_the_import_created(base, log, tmp_path):
    bring(base, log)
    before = files_of(base)
    other = tmp_path / "o.tsv"
    other.write_text(LOG.replace("GeLU", "ReLU"))
    done = bring(base, other)
    undone = filing.undo(base, done.receipt)
    assert sorted(undone.removed) == sorted(done.pages)
    assert files_of(base) == before
    assert len(bring(base, other).pages) == 6


def test_undo_refuses_where_a_page_was_changed_and_says_which(base, log):
    done = bring(base, log)
    changed = base.root / done.pages[2]
    changed.write_text(changed.read_text() + "\n## Note 2026-02-02\n\nmine\n")
    before = files_of(base)
    with pytest.raises(KbError, match=re.escape(done.pages[2])):
        filing.undo(base, done.receipt)
    assert files_of(base) == before


def test_undo_refuses_where_a_page_was_moved(base, log, kb_command):
    done = bring(base, log)
    kb_command("mv", done.pages[1], "wiki/experiments/u/2026-01-02-v001-moved.md", cwd=base.root)
    before = files_of(base)
    with pytest.raises(KbError, match="v001-moved"):
        filing.undo(base, done.receipt)
    assert files_of(base) == before
    assert bring(base, log).pages == ()


def test_undo_of_pages_that_are_gone_and_of_no_import(base, log):
    done = bring(base, log)
    (base.root / done.pages[0]).unlink()
    assert filing.undo(base, done.receipt).gone == (done.pages[0],)
    for wrong in (done.receipt, "abcdef", "../..", ""):
        with pytest.raises(KbError, match="no import"):
            filing.undo(base, wrong)


def test_a_page_that_was_deleted_on_purpose_does_not_come_back(base, log):
    done = bring(base, log)
    (base.root / done.pages[0]).unlink()
    assert bring(base, log).pages == ()


def test_an_import_that_was_cut_off_is_taken_back_before_the_next_one(base, log):
    done = bring(base, log)
    whole = files_of(base)
    (base.sources / f"import-{done.receipt}" / "meta.json").unlink()
    (base.root / done.pages[5]).unlink()
    (base.root / done.pages[4]).write_bytes(b"")
    again = bring(base, log)
    assert again.mended == (done.receipt,)
    assert files_of(base) == whole


def test_a_ledger_that_came_from_elsewhere_takes_no_page_away(base, log, make_base):
    done = bring(base, log)
    own = (base.root / done.pages[0]).read_bytes()
    victim = base.wiki / "concepts" / "victim.md"
    victim.parent.mkdir()
    victim.write_text("# Victim\n")
    foreign = base.sources / "import-abcdef123456" / "runs.jsonl"
    foreign.parent.mkdir()
    lines = (base.sources / f"import-{done.receipt}" / "runs.jsonl").read_text().splitlines()
    forged = [{**json.loads(lines[0]), "page": "wiki/concepts/victim.md", "digest": digest_of(victim.read_bytes())},
              {**json.loads(lines[0]), "page": done.pages[0], "digest": digest_of(own)}]
    foreign.write_text("".join(json.dumps(f) + "\n" for f in forged))
    assert bring(base, log).mended == ("abcdef123456",)
    assert victim.is_file() and (base.root / done.pages[0]).read_bytes() == own


# ---- killed, and many at once


def start(*words, cwd):
    return subprocess.Popen([sys.executable, "-m", "kb", *map(os.fspath, words)], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "PYTHONPATH": os.fspath(CHECKOUT)})


def test_killed_at_any_instant_no_page_is_half_written_and_the_next_import_is_whole(make_base, tmp_path):
    log = tmp_path / "results.tsv"
    log.write_text(HEADER + "".join(f"{i:07x}\t{1 + i / 1000}\t4\tdiscard\tchange number {i}\n" for i in range(400)))
    clean, killed = make_base({}, "clean"), make_base({}, "killed")
    process = start("import", "tsv", log, "--target", "t", "--date", "2026-01-02", cwd=clean.root)
    assert process.wait() == 0
    cut = 0
    for step in range(10):
        process = start("import", "tsv", log, "--target", "t", "--date", "2026-01-02", cwd=killed.root)
        while process.poll() is None and not any((killed.wiki / "experiments").rglob("*.md")):
            time.sleep(0.001)
        time.sleep(0.006 * step)
        process.send_signal(signal.SIGKILL)
        process.wait()
        finished = list(killed.sources.glob("import-*/meta.json"))
        cut += not finished
        for page in (killed.wiki / "experiments").rglob("*.md"):
            assert seal.holds("x.md", page.read_bytes()), page
            assert page.read_bytes().endswith(b"\n")
        for receipt in finished:
            filing.undo(killed, receipt.parent.name.removeprefix("import-"))
    assert cut
    process = start("import", "tsv", log, "--target", "t", "--date", "2026-01-02", cwd=killed.root)
    assert process.wait() == 0
    assert files_of(killed) == files_of(clean)


def test_eight_importers_at_once_lose_nothing_and_give_no_number_twice(base, tmp_path):
    logs = []
    for n in range(8):
        logs.append(tmp_path / f"loop{n}" / "results.tsv")
        logs[-1].parent.mkdir()
        logs[-1].write_text(HEADER + "".join(f"{n}{i:06x}\t{1 + i / 1000}\t4\tdiscard\tloop {n} change {i}\n" for i in range(15)))
    for process in [start("import", "auto", log, "--target", "t", cwd=base.root) for log in logs]:
        out, err = process.communicate(timeout=100)
        assert process.returncode == 0, out + err
    pages = pages_of(base)
    assert sorted(p.number for p in pages) == list(range(1, 121))
    assert len({(p.front["origin"]["file"], p.front["origin"]["line"]) for p in pages}) == 120
    assert len(list(base.sources.glob("import-*/meta.json"))) == 8


# ---- the door


def test_the_door_tells_files_takes_back_and_refuses(base, log, kb_command):
    told = json.loads(kb_command("import", "auto", log, "--target", "t", "--dry-run", "--format", "json", cwd=base.root).stdout)
    assert (len(told), told[0]["runs"], told[0]["best"]) == (1, 6, {"value": 0.9, "line": 6})
    assert not (base.wiki / "experiments").exists()
    done = json.loads(kb_command("import", "auto", log, "--target", "t", "--format", "json", cwd=base.root).stdout)
    assert (done["added"], done["known"], len(done["pages"])) == (6, 0, 6)
    assert "6 pages removed" in kb_command("import", "--undo", done["receipt"], cwd=base.root).stdout
    for words in (["auto", log], ["auto", log, "--target", "../x"], ["auto", log, "--target", "t", "--date", "today"], ["auto", base.root / "none", "--target", "t"],
                  ["nonsense", log, "--target", "t"], ["--undo", "123456"], []):
        assert kb_command("import", *words, cwd=base.root, ok=(2,)).stderr.startswith("kb import:")


# ---- and back


METRIC = st.builds(Metric, st.sampled_from(["tok/s", "latency_ms", "val_bpb"]), st.floats(0.001, 1e9), st.just(""), st.none())
PLAIN = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=30).map(lambda t: " ".join(t.split()))


@st.composite
def trails(draw):
    runs = []
    for i in range(draw(st.integers(1, 6))):
        status = draw(st.sampled_from(["keep", "discard", "crash", "checks_failed", "ok", "KEEP"]))
        value = draw(st.floats(0.001, 1e9).filter(lambda v: not is_sentinel(v, outcome=Outcome.CRASHED, direction="lower", counted=False)))
        metric = Metric("latency_ms", value, "ms", "lower")
        runs.append(Run(Origin("loop/log.jsonl", i + 1, f"d{i}"), "pi", label=str(i + 1), target="t", status=status, outcome=outcome_of(status),
                        description="x " + draw(PLAIN), primary="latency_ms", metrics=(metric, Metric("peak_mb", i + 1.0, "mb", "lower")),
                        created=draw(st.sampled_from(["2026-01-02", "2026-01-02T03:04:05Z"])), code=f"abc123{i}", reason=draw(PLAIN),
                        notes=tuple(draw(st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9)), max_size=2)))))
    return runs


def again(text, name, tmp_path_factory):
    file = tmp_path_factory.mktemp("export") / ("x.jsonl" if name == "pi" else "x.tsv" if name == "tsv" else "x.md")
    file.write_text(text, encoding="utf-8")
    return [e for e in located(file, name).events(Ask()) if isinstance(e, Run)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(runs=trails())
def test_an_export_as_jsonl_imports_as_the_same_records(runs, tmp_path_factory):
    assert again(export.exported(runs, "jsonl"), "pi", tmp_path_factory) == runs


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(runs=trails())
def test_an_export_as_tsv_imports_as_the_same_columns(runs, tmp_path_factory):
    def columns(run):
        return run.label, run.code, run.status, run.outcome, " ".join(run.description.split()), run.primary, [(m.name, m.value) for m in run.metrics], run.created

    assert list(map(columns, again(export.exported(runs, "tsv"), "tsv", tmp_path_factory))) == list(map(columns, runs))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(runs=trails())
def test_a_log_and_a_leaderboard_import_as_what_they_show(runs, tmp_path_factory):
    def shown(run):
        return run.label, " ".join(run.description.split()), run.value

    assert list(map(shown, again(export.exported(runs, "log"), "logmd", tmp_path_factory))) == list(map(shown, runs))
    kept = [r for r in runs if r.outcome is Outcome.KEPT]
    if kept:
        assert sorted(map(shown, again(export.exported(runs, "leaderboard"), "leaderboard", tmp_path_factory))) == sorted(map(shown, kept))


def test_an_export_is_known_where_it_came_from_and_new_elsewhere(base, log, make_base, kb_command, tmp_path):
    bring(base, log)
    out = tmp_path / "out.jsonl"
    kb_command("export", "jsonl", "--target", "t", "--out", out, cwd=base.root)
    assert bring(base, out).known == 6
    other = make_base({}, "other")
    assert len(bring(other, out, target="u").pages) == 6
    first, second = export.runs_of_target(base, "t"), export.runs_of_target(other, "u")
    assert [(r.description, r.metrics, r.origin) for r in first] == [(r.description, r.metrics, r.origin) for r in second]
    kb_command("export", "jsonl", "--target", "t", "--out", out, cwd=base.root, ok=(2,))
    kb_command("export", "tsv", "--target", "none", cwd=base.root, ok=(2,))


def test_pages_that_were_not_imported_are_exported_from_what_they_state(make_base):
    page = ("---\ntitle: Tile the loop\ntype: experiment\ntarget: t\nverdict: refuted\ndecision: revert\nlevers: [tile=8]\n"
            "metrics: {latency_ms: {value: 3.5, stddev: 0.1, n: 5}}\ncreated: 2026-02-03\n---\n\n# Tile the loop\n")
    base = make_base({"wiki/experiments/t/2026-02-03-v004-tile.md": page})
    run, = export.runs_of_target(base, "t")
    assert (run.label, run.status, run.value, run.levers) == ("4", "discard", 3.5, (Lever("tile", "8"),))
    assert "2026-02-03\t4\t\t3.5\tdiscard\tTile the loop" in export.exported([run], "tsv")


def test_an_export_keeps_commits_and_ranks_each_variant_alone(make_base):
    def page(number, variant, value):
        head = f"---\ntitle: Run {number}\ntype: experiment\ntarget: t\nvariant: {variant}\nverdict: supported\ndecision: keep\ncode: abc123{number}\n"
        return head + f"metrics: {{latency_ms: {{value: {value}}}}}\ncreated: 2026-02-03\n---\n\n# Run {number}\n"

    base = make_base({f"wiki/experiments/t/2026-02-03-v00{n}-x.md": page(n, v, m) for n, v, m in ((1, "h100", 3.5), (2, "a100", 9.5), (3, "h100", 3.0))})
    runs = export.runs_of_target(base, "t")
    assert [r.code for r in runs] == ["abc1231", "abc1232", "abc1233"]
    assert export.exported(runs, "tsv").count("exp_id") == 1 and "abc1232" in export.exported(runs, "tsv")
    board = export.exported(runs, "leaderboard").split("## ")[1:]
    assert [b.splitlines()[0] for b in board] == ["a100", "h100"]
    assert [line.split(" | ")[1:3] for line in board[1].splitlines()[4:6]] == [["3", "3.0"], ["1", "3.5"]]


def test_runs_without_a_date_take_the_day_of_the_run_before_them_in_the_log(base, tmp_path):
    file = tmp_path / "dated.tsv"
    said = "date\tval_loss\tstatus\tdescription\n-\t3.0\tkeep\tstart\n2026-01-02\t2.9\tkeep\tfirst\n\t2.8\tdiscard\tsecond\n2026-01-04\t2.7\tkeep\tthird\n"
    file.write_text(said)
    done = bring(base, file, date="2026-06-06", today="2026-06-06")
    assert [Path(p).name[:10] for p in done.pages] == ["2026-01-02", "2026-01-02", "2026-01-02", "2026-01-04"]


def log_of(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


@pytest.mark.parametrize("text", [
    "a\tb\tc\nfoo\tbar\tbaz\n1\t2\t3\n", "name\temail\tage\nann\ta@x\t3\nbob\tb@x\t4\n", "<p>\t<b>\t</p>\n<a>\t<b>\t<c>\n", "list:\n\t- a\n\t- b\n",
])
def test_lines_that_nothing_says_are_runs_are_not_filed(base, tmp_path, text, kb_command):
    log = log_of(tmp_path / "things.tsv", text)
    before = files_of(base)
    with pytest.raises(KbError, match=r"things\.tsv: nothing says that its lines are runs.*nothing was filed"):
        bring(base, log, name="tsv")
    assert files_of(base) == before
    assert "an import files none of them" in kb_command("import", "tsv", log, "--dry-run", cwd=base.root).stdout


def test_a_table_without_header_is_filed_where_a_status_tells_that_its_lines_are_runs(base, tmp_path):
    log = log_of(tmp_path / "runs.tsv", "abc1234\t0.99\t40\tkeep\tbaseline\ndef5678\t0.98\t40\tdiscard\tlr up\n")
    assert len(bring(base, log).pages) == 2
    assert len(bring(base, log_of(tmp_path / "sweep.tsv", "time_ms\tlr\n12.5\t0.1\n12.1\t0.2\n")).pages) == 2


def test_records_of_an_export_keep_their_segments_whatever_the_file_counts(tmp_path):
    runs = [Run(Origin("x.jsonl", i, f"d{i}"), "pi", segment=segment, status="keep", outcome=Outcome.KEPT, description=f"run {i}", primary="ms",
                metrics=(Metric("ms", 5.0 - i, "ms", "lower"),)) for i, segment in enumerate((3, 3, 0, 0))]
    log = tmp_path / "log.jsonl"
    log.write_text(export.exported(runs, "jsonl"))
    told = list(located(log, "pi").events(Ask()))
    rated = judged([e for e in told if isinstance(e, Segment)], [e for e in told if isinstance(e, Run)])
    assert [x.run.segment for x in rated] == [3, 3, 0, 0] and [x.parent for x in rated][2:] == [-1, 2]


def test_what_an_import_could_not_read_is_said_when_it_is_filed_as_when_it_is_tried(base, tmp_path, kb_command):
    log = tmp_path / "runs.jsonl"
    log.write_text('{"id": 1, "fizz": 3, "status": "keep"}\n{broken\n[4]\n{"id": 2, "fizz": 2, "status": "discard"}\n')
    dry = re.findall(r"warning: (.+)", kb_command("import", "auto", os.fspath(log), "--dry-run", cwd=base.root).stdout)
    filed = kb_command("import", "auto", os.fspath(log), "--target", "t", cwd=base.root).stderr
    assert any("skipped" in warning for warning in dry) and any("is better is not said" in warning for warning in dry)
    assert all(warning in filed for warning in dry), (dry, filed)


def test_an_import_that_the_disk_refuses_leaves_nothing(base, log):
    script = f'ulimit -f 0; "{sys.executable}" -m kb import auto "{log}" --target t; echo code=$?'
    done = subprocess.run(["bash", "-c", script], cwd=base.root, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.fspath(CHECKOUT)})
    assert "code=2" in done.stdout and "cannot write" in done.stderr and "Traceback" not in done.stderr, done
    assert not list((base.root / "sources").glob("import-*")) and not list((base.root / "wiki").rglob("*.md"))
