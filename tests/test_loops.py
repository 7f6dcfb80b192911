"""A real loop on a small C kernel: win, loss, no-op, crash, cheat, wrong result, noisy tie; each verdict right."""

import json
import shutil
from pathlib import Path

import pytest
from loops.loop import Loop

from kb.cli import main
from kb.experiments.attempt import attempts_of
from kb.experiments.stub import stub_at
from kb.page import read
from kb.page.seal import findings as seal_findings

KERNEL = Path(__file__).parent / "loops" / "kernel"
pytestmark = pytest.mark.skipif(not (shutil.which("cc") and shutil.which("git")), reason="the loop needs git and a C compiler")


@pytest.fixture
def loop(make_base, capsys, monkeypatch, tmp_path) -> Loop:
    layout = make_base({"wiki/targets/sum.md": (KERNEL / "target.md").read_text(), "wiki/index.md": "# Index\n\n[Sum](targets/sum.md)\n"})
    repository = tmp_path / "kernel"
    shutil.copytree(KERNEL, repository, ignore=shutil.ignore_patterns("target.md"))
    (repository / ".gitignore").write_text("*.o\nbench\n")
    monkeypatch.chdir(layout.root)
    made = Loop(layout, repository, capsys)
    made.git("init", "-q", "-b", "main")
    made.git("add", "-A")
    made.git("commit", "-q", "-m", "start")
    return made


def by_rows(kernel: str) -> str:
    """The win: row by row, so that a line is read once."""
    return kernel.replace("for (int column = 0; column < columns; column += 2)\n        for (int row = 0; row < rows; row++)",
                          "for (int row = 0; row < rows; row++)\n        for (int column = 0; column < columns; column += 2)")


def by_single_columns(kernel: str) -> str:
    """The loss: one column at a time."""
    return kernel.replace("column += 2", "column++").replace("i < 2", "i < 1")


def test_a_win_is_supported_and_everything_follows(loop):
    base = loop.run("open", "--baseline", "--target", "sum", "--date", "2026-05-01").stdout.strip()
    loop.run("run", base)
    assert loop.closed(base)["verdict"] == "baseline"
    change = loop.commit(by_rows)
    path = loop.open("loop order=rows", "--predict", "miss down", parent="v001")
    assert path == "wiki/experiments/sum/2026-05-02-v002-try-loop-order-rows.md"
    told = json.loads(loop.run("run", path, "--commit", change, "--format", "json").stdout)
    assert told["metrics"]["misses"]["change"] == {"middle": 1536.0, "stddev": 0.0, "n": 3}
    assert told["metrics"]["misses"]["parent"]["middle"] == 6144.0
    audit = json.loads(loop.run("audit", path, "--format", "json").stdout)
    assert audit["firing"] == "confirmed", audit
    done = loop.closed(path)
    assert (done["verdict"], done["rule"], done["decision"]) == ("supported", "supported", "keep")
    front = read(path, loop.page(path).encode()).front
    assert (front["status"], front["verdict"], front["code"], front["parent"]) == ("filed", "supported", change, base)
    assert front["metrics"]["misses"] == {"value": 1536.0, "direction": "lower", "n": 3, "stddev": 0.0}
    assert "| `misses` | 1536 ± 0 (n 3) | 6144 ± 0 (n 3) | +75.0 % | no spread |" in loop.page(path)
    assert "| `miss` | other | 74.1% |" in loop.page(path)
    log = loop.page("wiki/log.md")
    assert log.index("sum v002: supported") < log.index("sum v001: baseline")
    target = loop.page("wiki/targets/sum.md")
    assert "| [Try loop order=rows](../experiments/sum/2026-05-02-v002-try-loop-order-rows.md) | — | 1536 ± 0 | 0.00 % | supported | 2026-05-02 |" in target
    assert not seal_findings(path, loop.page(path).encode())
    assert loop.git("worktree", "list").count("\n") == 0
    listed = {e["path"]: e for e in json.loads(loop.run("list", "--format", "json").stdout)}
    assert listed[path]["verdict"]["canonical"] == "supported"


def test_a_win_whose_audit_was_forgotten_is_audited_on_closing(loop):
    path = loop.open("loop order=rows", "--predict", "miss down")
    loop.run("run", path, "--commit", loop.commit(by_rows))
    assert loop.closed(path)["verdict"] == "supported" and "Firing: confirmed." in loop.page(path)


def test_a_win_that_nothing_can_be_audited_by_is_asked_about_and_never_sealed_as_less(loop):
    path = loop.open("loop order=rows")
    loop.run("run", path, "--commit", loop.commit(by_rows))
    asked = loop.run("close", path, ok=(2,)).stderr
    assert "+75.0 % would be supported" in asked and "--expect PATTERN" in asked
    assert "status: in_progress" in loop.page(path)
    assert loop.closed(path, "--predict", "miss down", "--because", "a line is read once", "--reopen-if", "lines get shorter")["verdict"] == "supported"
    front = read(path, loop.page(path).encode()).front
    assert (front["because"], front["reopen_if"]) == ("a line is read once", "lines get shorter")
    assert "**Because**: a line is read once" in loop.page(path)


def test_a_loss_is_refuted_and_then_known_to_the_gate(loop):
    change = loop.commit(by_single_columns)
    path = loop.open("column block=1", falsification="misses >= 6144")
    loop.run("run", path, "--commit", change)
    done = loop.closed(path)
    assert (done["verdict"], done["rule"], done["decision"]) == ("refuted", "falsified", "revert")
    refused = loop.run("open", "--lever", "column block=1", "--hypothesis", "column block=1 makes fewer misses", "--mechanism", "lines are used whole before they are evicted",
                       "--predicted", "misses fall", "--falsification", "gain < 2%", "--parent", "main", "--target", "sum", "--title", "Try column block=1", ok=(3,))
    assert path in refused.stderr and "--differs" in refused.stderr


def test_a_change_that_builds_the_same_bytes_is_a_no_op(loop):
    change = loop.commit(lambda text: text.replace("two columns at a time", "two columns at once, prefetched"))
    path = loop.open("prefetch", falsification="misses > 7000")
    loop.run("run", path, "--commit", change)
    assert "no-op" in loop.run("audit", path, "--expect", "prefetch", ok=(1,)).stdout
    done = loop.closed(path)
    assert (done["verdict"], done["rule"]) == ("inconclusive", "no-op")
    assert not attempts_of(loop.layout, stub_at(loop.layout, path))[0].of("bench", "change")


def test_artifacts_that_no_file_matches_are_told_and_a_page_says_how_often_was_measured(loop):
    target = loop.layout.wiki / "targets" / "sum.md"
    target.write_text(target.read_text().replace("[kernel.o]", "[no.such]"))
    path = loop.open("prefetch", falsification="misses > 7000")
    run = loop.run("run", path, "--commit", loop.commit(inner_order_down), "--bench", "sh autoresearch.sh || exit 1")
    assert "no file matches `artifacts: no.such`" in run.stderr
    loop.closed(path)
    assert "measured 3 times by turns" in loop.page(path) and "`sh autoresearch.sh || exit 1`" in loop.page(path)


def test_a_no_op_is_seen_through_the_folder_names_that_a_debug_build_records(loop):
    change = loop.commit(lambda text: text.replace("two columns at a time", "two columns at once"))
    path = loop.open("prefetch", falsification="misses > 7000")
    loop.run("run", path, "--commit", change, "--bench", 'cc -g -O1 -c "$PWD/kernel.c" -o kernel.o && cc -O1 bench.c kernel.o -o bench && ./bench')
    assert loop.closed(path)["rule"] == "no-op"


def test_a_crash_that_exits_with_zero_is_a_crash(loop):
    change = loop.commit(lambda text: text.replace("column < columns", "column <= columns"))
    path = loop.open("bound=inclusive")
    assert "printed no `METRIC misses" in loop.run("run", path, "--commit", change, ok=(1,)).stderr
    done = loop.closed(path)
    assert (done["verdict"], done["gain"]) == ("crash", None)
    assert "No figures are reported" in loop.page(path)


def test_a_change_of_the_benchmark_is_invalid_and_nothing_is_measured(loop):
    change = loop.commit(lambda text: text.replace("misses++", "misses += 0"), file="bench.c")
    path = loop.open("cheat")
    assert "bench.c" in loop.run("run", path, "--commit", change, ok=(1,)).stderr
    done = loop.closed(path)
    assert (done["verdict"], done["rule"], done["gain"]) == ("invalid", "protected-file", None)
    assert "%" not in loop.page(path).split("## Results")[1].split("## Profile")[0]
    assert not list((loop.layout.root / "sources" / "runs").rglob("*bench*"))


def test_files_outside_the_allowed_paths_make_a_run_invalid(loop):
    change = loop.commit(lambda text: "all: bench\n", file="rules.mk")
    path = loop.open("rules")
    loop.run("run", path, "--commit", change, ok=(1,))
    done = loop.closed(path)
    assert (done["verdict"], done["rule"]) == ("invalid", "outside-allowed") and "rules.mk" in done["reason"]


def test_a_wrong_result_is_invalid_and_reports_no_gain(loop):
    change = loop.commit(lambda text: by_rows(text).replace("return total;", "return total + 1;"))
    path = loop.open("loop order=rows")
    loop.run("run", path, "--commit", change, ok=(1,))
    done = loop.closed(path)
    assert (done["verdict"], done["rule"], done["gain"]) == ("invalid", "checks-failed", None)
    assert "1536" not in loop.page(path) and "metrics" not in read(path, loop.page(path).encode()).front
    assert "1536" not in loop.page("wiki/log.md") + loop.page("wiki/targets/sum.md")


def busy_host(offs: str) -> str:
    """The benchmark on a host that other tenants share: run after run of a side is off by the next of its percentages."""
    parent, change = offs.split("/")
    turn = f'if [ $KB_SIDE = parent ]; then set -- {parent}; else set -- {change}; fi'
    return f"n=$(cat $KB_OUT/n 2>/dev/null || echo 0); echo $((n + 1)) > $KB_OUT/n; {turn}; shift $((n % $#)); BENCH_OFF=$1 sh autoresearch.sh"


def inner_order_down(kernel: str) -> str:
    """The tie: other code, the same misses."""
    return kernel.replace("for (int i = 0; i < 2; i++)", "for (int i = 1; i >= 0; i--)")


@pytest.mark.parametrize("offs", ["-14 12 3 -9 15 / 9 -6 -11 8 0", "-6 14 -8 0 12 / 6 12 -10 8 4"])
def test_a_noisy_tie_is_inconclusive_and_says_how_many_more_samples_would_decide(loop, offs):
    path = loop.open("inner order=down", falsification="gain < -50%")
    bench = busy_host(offs)
    loop.run("run", path, "--commit", loop.commit(inner_order_down), "--bench", bench, "--repeats", "5", "--most", "5")
    done = loop.closed(path)
    assert (done["verdict"], done["rule"]) == ("inconclusive", "undecided"), done
    assert done["more"] > 20


def test_a_win_in_wide_noise_is_supported_with_enough_samples(loop):
    path = loop.open("loop order=rows", "--predict", "miss down")
    bench = busy_host("-20 12 3 -9 25 / 9 -16 -11 18 0")
    loop.run("run", path, "--commit", loop.commit(by_rows), "--bench", bench, "--repeats", "5")
    done = loop.closed(path)
    assert (done["verdict"], done["rule"]) == ("supported", "supported"), done


def test_a_loss_that_is_clear_of_wide_noise_is_refuted(loop):
    path = loop.open("column block=1", falsification="gain < -200%")
    bench = busy_host("-6 4 -8 0 2 / 6 12 10 8 4")
    loop.run("run", path, "--commit", loop.commit(by_single_columns), "--bench", bench, "--repeats", "5")
    done = loop.closed(path)
    assert (done["verdict"], done["rule"]) == ("refuted", "regression"), done


def test_a_person_may_overrule_with_a_reason_that_stays(loop):
    change = loop.commit(by_rows)
    path = loop.open("loop order=rows")
    loop.run("run", path, "--commit", change)
    assert "--reason" in loop.run("close", path, "--overrule", "supported", ok=(2,)).stderr
    done = loop.closed(path, "--overrule", "supported", "--reason", "the annotated assembly was read by eye")
    assert done["verdict"] == "supported" and done["overruled"]
    page = loop.page(path)
    assert "overruled by hand: the annotated assembly was read by eye." in page and "The rule `not-fired` had said: inconclusive" in page


def test_a_filed_page_is_sealed_but_for_dated_notes_and_managed_blocks(loop):
    change = loop.commit(by_rows)
    path = loop.open("loop order=rows")
    loop.run("run", path, "--commit", change)
    loop.closed(path, "--expect", "misses=1536")
    data = loop.page(path).encode()
    assert not seal_findings(path, data)
    assert not seal_findings(path, data + b"\n## Note 2026-06-01\n\nA later reading.\n")
    assert not seal_findings(path, data + b"\n<!-- kb:auto cited -->\nx\n<!-- /kb:auto -->\n")
    for old, new in ((b"1536", b"1535"), (b"verdict: supported", b"verdict: refuted"), (b"## Verdict", b"## Note 2026-06-01\n\n## Verdict")):
        assert [f.code for f in seal_findings(path, data.replace(old, new, 1))] == ["filed-changed"], old
    assert "is filed already" in loop.run("run", path, ok=(2,)).stderr
    assert main(["mv", "wiki/targets/sum.md", "wiki/targets/matrix/sum.md"]) == 0
    moved = loop.page(path).encode()
    assert b"](../../targets/matrix/sum.md)" in moved and not seal_findings(path, moved)
    assert main(["mv", "wiki/targets/matrix/sum.md", "wiki/targets/sum.md"]) == 0
    assert loop.page(path).encode() == data
    again = loop.closed(path)
    assert again["again"] and again["written"] == [] and loop.page(path).encode() == data


# Real cheats on a metric without noise, the word METRIC in two pieces, for a line that names it ends the run before. The honest benchmark prints what stands in `value`; the parent's is 100.
CHEATS = {
    "the build swaps the benchmark and the profile restores it": (
        {"build.sh": "n=bench; cp $n.sh saved; echo 'echo METR\"\"IC time_ms=1' > $n.sh\n", "profile.sh": "test ! -e saved || cp saved bench.sh; echo METR\"\"IC x=1\n"},
        "protected-file"),
    "the build makes the parent slow": ({"build.sh": "for d in ../../*/tree ../parent; do test ! -e $d/value || echo 900 > $d/value; done\n"}, None),
    "the run edits the filed samples of the parent": (
        {"run.sh": "find $KB_REPOSITORY/.. -name samples.jsonl 2>/dev/null | while read f; do sed -i 's/100/900/g' $f; done; cat value\n"}, None),
    "the build file edits whatever is like the benchmark": ({"Makefile": "all:\n\tsed -i 's/=.*/=1/' b*h.sh\n"}, "protected-file"),
    "the build file edits the benchmark": ({"Makefile": "all:\n\tsed -i 's/=.*/=1/' bench.sh\n"}, "protected-file"),
    "the program prints the metric before the benchmark does": ({"run.sh": "echo METR\"\"IC time_ms=1 >&2; cat value\n"}, "forged-metric"),
    "another process prints the metric after the benchmark did": (
        {"run.sh": "(sleep 0.05; echo METR\"\"IC time_ms=1 >&2) & cat value\n"}, "forged-metric"),
    "the benchmark itself is edited": ({"bench.sh": "echo METRIC time_ms=1\n"}, "protected-file"),
    "the records of kb are written to": ({"run.sh": "for f in $KB_REPOSITORY/../base/wiki/targets/*.md; do echo 'noise: 0' >> $f; done; cat value\n"}, None),
}
HONEST = {"bench.sh": 't=$(sh run.sh); echo "METRIC time_ms=$t"; sleep 0.1\n', "run.sh": "cat value\n", "value": "100\n", "build.sh": "true\n", "profile.sh": "true\n",
          "Makefile": "all:\n\ttrue\n"}


@pytest.mark.parametrize("name", CHEATS)
@pytest.mark.parametrize("sandbox", ["", "off"])
def test_a_cheat_on_a_metric_without_noise_is_never_supported(name, sandbox, make_base, capsys, monkeypatch, tmp_path):
    edits, rule = CHEATS[name]
    # The proposal of a change to a build file names it, so what it does is seen, not that it was edited.
    title = "Try " + " ".join(edits)
    page = ("---\ntitle: T\ntype: target\nrepository: ../repo\nbase: main\nmetric: {name: time_ms, unit: ms, direction: lower}\nbuild: sh build.sh && make -s\n"
            f"benchmark: sh bench.sh\nprofile: sh profile.sh\nrepeats: 3\nsandbox: '{sandbox}'\n---\n\n# T\n")
    layout = make_base({"wiki/targets/t.md": page, "wiki/index.md": "# Index\n"})
    repository = tmp_path / "repo"
    repository.mkdir()
    for file, text in HONEST.items():
        (repository / file).write_text(text)
    monkeypatch.chdir(layout.root)
    loop = Loop(layout, repository, capsys, "t", "value")
    loop.git("init", "-q", "-b", "main")
    loop.git("add", "-A")
    loop.git("commit", "-q", "-m", "start")
    loop.git("checkout", "-q", "--detach")
    for file, text in edits.items():
        (repository / file).write_text(text)
    loop.git("commit", "-q", "-am", "cheat")
    said = ("--hypothesis", title, "--mechanism", "m", "--predicted", "p", "--falsification", "time_ms > 500", "--parent", "main", "--target", "t", "--title", title)
    path = loop.run("open", "--lever", "cheat", *said).stdout.strip()
    before = loop.page("wiki/targets/t.md")
    loop.run("run", path, ok=(0, 1))
    done = json.loads(loop.run("close", path, "--format", "json", "--expect", "METRIC").stdout)
    assert done["verdict"] != "supported", done
    if sandbox or rule:
        assert done["rule"] == rule or rule is None and done["verdict"] in ("invalid", "inconclusive"), done
    if not sandbox:
        assert loop.page("wiki/targets/t.md") == before and "sandbox: user namespaces" in loop.page(path)
