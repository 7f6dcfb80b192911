"""The state of a target: put together from its trail, nothing from later, nothing that its pages do not say."""

import json
from dataclasses import replace

import pytest

from kb import KbError, page, store
from kb.build import build
from kb.trail import read_facts
from kb.trail.attempts import attempts_in
from kb.trail.facts import Facts, from_row, to_row
from kb.trail.frontier import frontier_of, frontiers_of, parents_of
from kb.trail.handles import handle, path_of
from kb.trail.state import state_of
from kb.trail.transfers import kinship_of, lessons_of, traits_of


def run(number: int, verdict: str, *, title: str, rate: float | None, target: str = "engine", body: str = "", tags: str = "[engine]", front: str = "") -> Facts:
    metrics = f"metrics: {{rate: {{value: {rate}, unit: op/s, direction: higher}}}}\n" if rate is not None else ""
    text = f"---\ntitle: Run {number} - {title}\ntype: experiment\nverdict: {verdict}\ntags: {tags}\n{front}{metrics}---\n\n# Run {number} - {title}\n\n{body}\n"
    made = page.read(f"wiki/experiments/{target}/2026-01-{number:02}-v{number:03}-run.md", text.encode())
    return read_facts(made, text)


SETUP = "## Setup\n\n- Command: `./engine --tile=64 --seqlen=2048 --threads=8`\n"
TRAIL = [
    run(1, "baseline", title="as shipped", rate=100, body=SETUP.replace("--tile=64 ", "")),
    run(2, "supported", title="tile=64", rate=110, body=SETUP + "\n## Profile\n\n| Kernel | Share | Time |\n|---|---|---|\n| matmul | 60 % | 6 ms |\n| copy | 30 % | 3 ms |\n| idle | 10 % | 1 ms |\n"),
    run(3, "refuted", title="prefetch=2", rate=105, body="## Verdict\n\nRefuted. The prefetch evicts what the tile needs.\n"),
    run(4, "refuted", title="prefetch=4", rate=99, body="## Verdict\n\nRefuted. Twice the distance evicts twice as much.\n"),
    run(5, "crash", title="tile=256", rate=None, body="## Verdict\n\nCrashed. The tile needs 40.5 GiB of memory, 8.5 GiB over the 32 GiB that the device has.\n"),
    run(6, "supported", title="long input", rate=60, body=SETUP.replace("2048", "8192")),
    run(7, "supported", title="unroll=4 on long input", rate=66, body=SETUP.replace("2048", "8192").replace("--threads", "--unroll=4 --threads")
        + "\n## Profile\n\n| Kernel | Share | Time |\n|---|---|---|\n| matmul | 70 % | 7 ms |\n| copy | 20 % | 2 ms |\n| idle | 10 % | 1 ms |\n\n## Memory\n\nPeak memory is 28.3 GiB of 32 GiB.\n"
        + "\n## Next hypotheses\n\n1. Overlap the copy of the next tile with the work on this one.\n\n## Follow-up (run 8-12)\n\n| Knob | Peak memory |\n|---|---|\n| peak with tile=512 | 31.9 GiB |\n"),
    run(8, "inconclusive", title="align=32 on long input", rate=66.1, body=SETUP.replace("2048", "8192")),
]


def texts(lines) -> str:
    return "\n".join(line.text for line in lines)


def test_the_frontier_is_where_the_loop_works_and_others_stand_beside_it():
    first, second = frontiers_of(TRAIL)
    assert (first.run.number, first.point, second.run.number, second.point) == (7, "8192", 2, "2048")
    assert frontier_of(TRAIL[:5]).run.number == 2
    standing = texts(state_of(TRAIL, target="engine").parts["standing"])
    assert standing.startswith("frontier at size 8192: v007~") and "rate 66 op/s" in standing and "best at size 2048: v002~" in standing


def test_where_nothing_is_decided_the_best_figure_stands_there_and_where_nothing_is_measured_the_last_kept():
    runs = [run(1, "baseline", title="as shipped", rate=100), *(run(n, "", title=f"step {n}", rate=100 + n) for n in (2, 4, 3))]
    standing = texts(state_of(runs, target="engine").parts["standing"])
    assert "frontier: v001~" in standing and "best that no verdict decides: v004~" in standing and "rate 104. " in standing
    decided = [run(1, "supported", title="as shipped", rate=100), run(2, "refuted", title="step", rate=90), run(3, "", title="next", rate=101)]
    assert "no verdict decides" not in texts(state_of(decided, target="engine").parts["standing"]), "one run of three waits"
    bare = [run(1, "supported", title="tile=64", rate=None), run(2, "supported", title="tile=96", rate=None)]
    standing = texts(state_of(bare, target="engine").parts["standing"])
    assert standing.startswith("kept last: v002~") and "(2026-01-02, supported): " in standing and "noise" not in standing


def test_the_best_configuration_is_one_line_to_run_with_who_set_each():
    merged, alone, setters, *_ = [line.text for line in state_of(TRAIL, target="engine").parts["config"]]
    assert alone == "no run had another value of: --unroll=4, --threads=8"
    assert merged == "best configuration, merged: --tile=64 --seqlen=8192 --unroll=4 --threads=8"
    by_run = dict(part.split("~") for part in setters.removeprefix("set by: ").split("; "))
    assert by_run["v007"].endswith("unroll") and by_run["v006"].endswith("seqlen") and by_run["v002"].endswith("tile") and by_run["v001"].endswith("threads")


def test_of_flags_that_differ_in_their_number_alone_the_first_of_the_newest_run_is_the_setting():
    flags = "**Hypothesis**: the loop is scalar at -O1.\n\n## Setup\n\n- Command: `./engine --tile=8`\n"
    runs = [run(1, "baseline", title="scalar", rate=10, body="## Setup\n\n- Command: `./engine -O2 --tile=8`\n"), run(2, "supported", title="vectors with -O3 flags", rate=40, body=flags)]
    assert state_of(runs, target="engine").parts["config"][0].text == "best configuration, merged: --tile=8 -O3"


def test_settings_of_the_runs_that_the_frontier_stands_on_stay_and_those_of_a_worse_one_do_not():
    worse = run(8, "supported", title="another way", rate=40, body="## Setup\n\n- Command: `./engine --tile=8 --spin=9`\n")
    short = run(9, "supported", title="unroll=8", rate=70, body="## Setup\n\n- The v007 stack with `--unroll=8`, noise ±0.4 % run to run.\n")
    state = state_of([*TRAIL, worse, short], target="engine")
    assert state.parts["config"][0].text == "best configuration, merged: --unroll=8 --tile=64 --seqlen=8192 --threads=8"
    assert "noise ±0.4 % by v009~" in state.parts["standing"][0].text


def test_the_size_of_work_of_the_best_configuration_is_the_frontiers_own():
    small = run(1, "baseline", title="as shipped", rate=90, body="## Setup\n\n- Command: `./engine --seq_len=1024 --batch_size=1 --threads=8`\n")
    long = run(2, "supported", title="long input", rate=91, body="## Setup\n\n- Command: `./engine --seq_len=2048 --batch_size=1 --tile=64`\n")
    cites = "Stack on [run 1](2026-01-01-v001-run.md).\n\n"
    best = run(3, "supported", title="fused + batch=3", rate=99, body=cites)
    merged = state_of([small, long, best], target="engine").parts["config"][0].text
    assert "--batch_size=3" in merged and "--seq_len=1024" in merged and "2048" not in merged


def test_where_no_run_says_its_settings_the_kept_runs_are_what_the_frontier_stands_on():
    names = ((1, "baseline", "as shipped", 50), (2, "supported", "reuse the buffer", 60), (3, "refuted", "copy it", 55), (4, "supported", "skip the loop", 66))
    runs = [run(n, verdict, title=title, rate=rate, body="") for n, verdict, title, rate in names]
    text = state_of(runs, target="engine").parts["config"][0].text
    assert text.startswith("stands on: v004~") and "+10.0 %: skip the loop; v002~" in text and "+20.0 %: reuse the buffer" in text and "copy it" not in text


def test_declared_levers_of_kept_runs_are_configuration_and_commands_of_checks_are_not():
    text = "---\ntitle: Run 2\ntype: experiment\nverdict: supported\nlevers: [loop order=ikj]\nmetrics: {rate: {value: 190, unit: op/s, direction: higher}}\n---\n\n# Run 2\n\n## Setup\n\n- checks: `./bench --check --size=4`\n- benchmark: `./bench --num=64`\n"
    made = page.read("wiki/experiments/engine/2026-01-02-v002-run.md", text.encode())
    merged = state_of([TRAIL[0], read_facts(made, text)], target="engine").parts["config"][0].text
    assert "loop order=ikj" in merged and "--num=64" in merged and "--check" not in merged and "--size" not in merged


def test_a_verdict_is_no_lead():
    body = ("## Verdict\n\nInvalid. This run tested the wiring of the queue alone. The next minimal correction is to unwrap the pair of outputs in the wrapper.\n\n"
            "## Next\n\n- This ties the best worker but does not improve the durable frontier.\n- Stop trying the third queue as a knob.\n")
    leads = texts(state_of([*TRAIL[:4], run(5, "invalid", title="wiring", rate=None, body=body)], target="engine").parts["leads"])
    assert "unwrap the pair" in leads and "Invalid" not in leads and "ties" not in leads and "Stop" not in leads


def test_rows_of_a_table_are_tries_of_their_own():
    table = "## Follow-ups\n\n| Exp | Change | Result | Notes |\n|---|---|---|---|\n"
    rows = ["| 7b | `--lanes=4` | rate 68 (+3.0 %) | accepted |", "| 7c | `--lanes=9` | rate 60 (-9.0 %) | refuted; spills |", "| 7d | `--pages=2` | OOM by 3 GiB | |"]
    body = table + "\n".join(rows)
    frontier = run(8, "supported", title="unroll=4 again on", rate=67, body=body)
    dead = texts(state_of([*TRAIL, frontier], target="engine").parts["dead"])
    assert "--lanes=9: rate 60 (-9.0 %); refuted; spills" in dead and "OOM by 3 GiB" in dead and "--lanes=4" not in dead
    lessons = [w for w in lessons_of([run(1, "supported", title="tile=64 on", rate=100, target="motor", body=body)])]
    gains = {w.subject: w.size for w in lessons}
    assert gains["Exp 7b; --lanes=4"] == 0.03 and "Exp 7d; --pages=2" not in gains
    lines = texts(state_of(TRAIL, lessons, {"motor": 1.0}, target="engine").parts["transfers"])
    assert "--lanes=4" in lines and "--lanes=9" not in lines


def test_buckets_are_the_frontiers_with_what_moved_since_the_table_before():
    parts = state_of(TRAIL, target="engine").parts
    assert "matmul · 70 % · 7 ms" in texts(parts["profile"])
    assert "matmul 70 % (+233 %, +54 %; 60 % before)" in texts(parts["standing"])
    assert "copy 20 % (+25 %, +11 %; 30 % before; lead v007~" in texts(parts["standing"])


def test_memory_tells_the_peak_and_the_last_overshoot():
    memory = texts(state_of(TRAIL, target="engine").parts["memory"])
    assert "28.3 GiB of 32 GiB" in memory and "8.5 GiB over" in memory


def test_dead_levers_stand_by_family_with_tally_results_and_the_newest_reason():
    dead = next(line.text for line in state_of(TRAIL, target="engine").parts["dead"] if "prefetch" in line.text)
    assert dead.startswith("prefetch (0 of 2 won): v004~") and "Twice the distance" in dead and "v003~" in dead
    won = [*TRAIL, run(9, "supported", title="prefetch=1", rate=70)]
    assert "prefetch (1 of 3 won)" in texts(state_of(won, target="engine").parts["dead"])


def test_a_run_that_kb_left_open_is_not_dead():
    open_runs = [run(n, "inconclusive", title=f"swizzle={n}", rate=60, body=f"## Verdict\n\nInconclusive: {why}. Rule: `{rule}`.\n")
                 for n, why, rule in ((9, "the interval lies across the line", "criterion-open"), (10, "the change is a no-op", "no-op"), (11, "criterion is met by all of it", "falsified"))]
    dead = texts(state_of([*TRAIL, *open_runs], target="engine").parts["dead"])
    assert "swizzle=11" in dead and "swizzle=9" not in dead and "swizzle=10" not in dead


def test_of_what_kb_measured_only_what_speaks_against_a_lever_is_dead():
    """Neither what misuse made invalid nor what stayed inconclusive failed; what broke in its checks did, and a tie is decided."""
    outcomes = (("invalid", "protected-file"), ("invalid", "checks-failed"), ("inconclusive", "not-fired"), ("inconclusive", "tie"), ("refuted", "falsified"))
    runs = [run(n, verdict, title=f"swizzle={n}", rate=None, front=f"decision: revert\nrule: {rule}\nmeasured: 1:a\n") for n, (verdict, rule) in enumerate(outcomes, 9)]
    dead = texts(state_of([*TRAIL, *runs], target="engine").parts["dead"])
    assert [n for n in range(9, 14) if f"v{n:03}~" in dead] == [10, 12, 13]
    assert [r.failed for r in runs] == [False, True, False, False, True]


def test_a_lead_says_who_asked_until_a_run_takes_it_up():
    lead = state_of(TRAIL, target="engine").parts["leads"][0].text
    assert lead.startswith("v007~") and "Overlap the copy of the next tile" in lead
    later = [*TRAIL, run(9, "refuted", title="overlap copy of next tile with work", rate=60)]
    assert "Overlap the copy" not in texts(state_of(later, target="engine").parts["leads"])


def test_leads_of_one_thing_are_one_and_a_short_name_of_it_takes_it_up():
    asks = "## Next\n\n- {}.\n"
    ideas = ("Selective rematerialization of the inner tiles", "Selective rematerialization of inner tiles revisited at twice the batch", "Prefetch distance of the outer loop")
    runs = [run(n, "refuted", title=f"spin={n}", rate=50, body=asks.format(idea)) for n, idea in enumerate(ideas, 8)]
    leads = texts(state_of([*TRAIL, *runs], target="engine").parts["leads"])
    assert leads.count("rematerialization") == 1 and "Prefetch distance" in leads
    later = [*TRAIL, *runs, run(11, "refuted", title="selective remat of tiles", rate=50)]
    leads = texts(state_of(later, target="engine").parts["leads"])
    assert "rematerialization" not in leads and "Prefetch distance" in leads


def test_a_lead_of_prose_is_told_before_what_it_rests_on_and_one_of_a_heading_by_its_newest_page():
    prose = "## Verdict\n\nRefuted. The writer waits for its own flush. The next probe should batch the flushes of the writer.\n"
    asks = "## Next\n\n- Split reduction (rows) — {}.\n"
    runs = [run(8, "refuted", title="spin=3", rate=50, body=prose), run(9, "refuted", title="spin=4", rate=50, body=asks.format("over both memory channels")), run(10, "refuted", title="spin=5", rate=50, body=asks.format("it removes the second pass"))]
    leads = texts(state_of([*TRAIL, *runs], target="engine").parts["leads"])
    assert "v008~" in leads and ": The next probe should batch the flushes of the writer. [The writer waits for its own flush.]" in leads
    assert "removes the second pass" in leads and "both memory channels" not in leads


def test_text_that_names_later_runs_was_not_there_before_them():
    frontier = TRAIL[6]
    assert "31.9 GiB" in " ".join(n.text for n in frontier.account.memory)
    assert "31.9 GiB" not in " ".join(n.text for n in frontier.account.as_of(7).memory)
    assert frontier.account.as_of(7).leads == frontier.account.leads


def _kin(runs):
    return kinship_of({target: traits_of([e for e in runs if e.target == target]) for target in {e.target for e in runs}})


def test_wins_of_sister_targets_that_are_new_here_come_with_their_gain():
    sister = [run(1, "baseline", title="as shipped", rate=50, target="motor"),
              run(2, "supported", title="huge_pages=on (ACCEPTED, +12 %)", rate=56, target="motor", body="## Verdict\n\nSupported. The `huge_pages` setting brings +12 % by fewer misses.\n"),
              run(3, "supported", title="tile=64", rate=57, target="motor"), run(4, "refuted", title="spin=on", rate=40, target="motor")]
    kin = {other: near for (one, other), near in _kin([*TRAIL, *sister]).items() if one == "engine"}
    lines = state_of(TRAIL, lessons_of(sister), kin, target="engine").parts["transfers"]
    assert lines[0].path == sister[1].path and "+12 %" in lines[0].text and not any("spin" in line.text for line in lines)


def test_a_transfer_says_whether_its_size_of_work_holds_here_and_ports_are_none():
    won = run(2, "supported", title="huge_pages=on (ACCEPTED, +12 %)", rate=56, target="motor", body=SETUP)
    other = run(4, "supported", title="pin_cores=8 (ACCEPTED, +8 %)", rate=60, target="motor", body=SETUP.replace("2048", "8192"))
    port = run(3, "supported", title="port of the spin_loop from the engine (+9 %)", rate=60, target="motor")
    lines = [line.text for line in state_of(TRAIL, lessons_of([won, port, other]), {"motor": 1.0}, target="engine").parts["transfers"]]
    assert len(lines) == 2 and any("huge_pages" in t and ", size 2048 (here 8192): " in t for t in lines) and any("pin_cores" in t and ", size 8192: " in t for t in lines)


def test_a_reference_tells_its_figures_and_what_its_command_takes():
    body = "## Setup\n\n- Model: layer_count: 42 head_dim: 256 mlp_dim: 10240 vocab_size: 262144 emb_dim: 2560\n- Command: `./motor --tile=96`\n\n## Results\n\n| Metric | Value |\n|---|---|\n| step time | 5 ms |\n| throughput | 150 tok/s |\n"
    (lesson,) = lessons_of([run(1, "baseline", title="the motor as its makers ship it", rate=None, target="motor", body=body)])
    assert "150" in lesson.text and "5 ms" in lesson.text and "--tile=96" in lesson.quote and "mlp_dim" not in lesson.quote
    trail = [run(1, "baseline", title="start", rate=100, target="motor"), *(run(n, "supported", title=f"lever_{n}=1", rate=90 - n, target="motor", body=f"It made the `cache_{n}` 30 % hotter, which is +30 % of `heat_{n}=3`.\n") for n in (2, 3, 4))]
    # What measured worse was kept for something else: what its page says grew is no gain of it.
    assert all(w.size <= 0.01 for w in lessons_of(trail))


def test_a_target_in_the_same_folder_is_nearer_than_one_of_the_same_tags():
    traits = {t: traits_of([run(1, "baseline", title="start", rate=1, target=t, tags=tags)]) for t, tags in (("engine/old", "[a, b]"), ("engine/new", "[c, d]"), ("motor/big", "[a, b]"))}
    kin = kinship_of(traits)
    assert kin["engine/old", "engine/new"] > kin["engine/old", "motor/big"]


def test_a_target_that_shares_nothing_gives_no_transfers():
    text = "---\ntitle: hash inlined (ACCEPTED, +40 %)\ntype: experiment\nverdict: supported\ntags: [text]\nmetrics: {time_us: {value: 4, unit: us, direction: lower}}\n---\n"
    path = "wiki/experiments/words/2026-01-02-v002-run.md"
    stranger = read_facts(page.read(path, text.encode()), text)
    assert ("engine", "words") not in _kin([*TRAIL, stranger])
    related = text.replace("[text]", "[engine]")
    assert ("engine", "words") in _kin([*TRAIL, read_facts(page.read(path, related.encode()), related)])
    assert not state_of(TRAIL, lessons_of([stranger]), {}, target="engine").parts["transfers"]


def test_a_setting_that_won_and_lost_is_disputed():
    won = run(9, "supported", title="pin_cores=8 on long input", rate=68, body=SETUP.replace("2048", "8192"))
    lost = run(10, "refuted", title="pin_cores=8 with align", rate=60, body=SETUP.replace("2048", "8192"))
    disputed = texts(state_of([*TRAIL, won, lost], target="engine").parts["disputed"])
    assert disputed.startswith("pin_cores=8: v009~") and "but v010~" in disputed and not state_of([*TRAIL, won], target="engine").parts["disputed"]


def test_facts_come_back_from_their_row_as_they_were():
    assert from_row(to_row(TRAIL[6])) == TRAIL[6]


def test_a_handle_opens_its_page_and_says_so_where_it_cannot(make_base, kb_command):
    path = "wiki/experiments/engine/2026-01-01-v001-run.md"
    layout = make_base({path: "# Run\n\n## Verdict\n\nKept.\n", "wiki/experiments/motor/2026-01-01-v001-run.md": "# Other\n"})
    assert path_of(f"0123abcd:{handle(path)}", [path, "wiki/experiments/motor/2026-01-01-v001-run.md"]) == path
    assert kb_command("open", f"{handle(path)}#verdict", cwd=layout.root).stdout.startswith("## Verdict")
    with pytest.raises(KbError, match="no page has the handle"):
        path_of("v009~zz", [path])


def test_the_page_of_a_state_links_its_runs(make_base):
    pages = {f"wiki/experiments/engine/2026-01-{n:02}-v{n:03}-run.md": f"---\ntitle: Run {n} tile={n}\nverdict: {v}\nmetrics: {{rate: {{value: {100 + n}, unit: op/s, direction: higher}}}}\n---\n\n# Run {n}\n"
             for n, v in enumerate(("baseline", "supported", "refuted"), 1)}
    layout = make_base(pages)
    build(layout)
    text = (layout.indexes / "state/engine.md").read_text()
    assert "[v002](../../wiki/experiments/engine/2026-01-02-v002-run.md)" in text and "## Levers that failed, by family" in text
    twin = json.loads((layout.indexes / "state/engine.json").read_text())
    assert twin["dead"][0]["path"].endswith("v003-run.md") and store.digest_of(text)


def test_what_the_next_page_restates_is_asked_of_its_slice(make_base, kb_command):
    setup = "## Setup\n\n- Command: `./engine --tile={t} --threads=8`\n"
    pages = {f"wiki/experiments/engine/2026-01-{n:02}-v{n:03}-run.md": f"---\ntitle: Run {n} tile={n}\nverdict: supported\nmetrics: {{rate: {{value: {1000 + n}, unit: op/s, direction: higher}}}}\n---\n\n# Run {n}\n\n{setup.format(t=n)}\n## Hypothesis\n\nBetter than {999 + n} op/s.\n"
             for n in range(1, 8)}
    layout = make_base(pages)
    build(layout)
    report = json.loads(kb_command("replay", "--facts", "--budget", "2000", "--format", "json", cwd=layout.root).stdout)
    shares = {s["kind"]: s for s in report["shares"]}
    assert shares["configuration"]["share"] == 1.0 and shares["metric"]["facts"] == 3 and report["pages"] == 3


def test_a_loop_counts_anew_only_where_it_decided_to_keep_a_worse_run():
    worse = replace(run(3, "supported", title="other workload", rate=50), decision="")
    runs = [run(1, "baseline", title="as shipped", rate=100), run(2, "supported", title="tile=64", rate=110), worse]
    assert not any("since" in f.point for f in frontiers_of(runs))
    assert "since v003" in {f.point for f in frontiers_of([*runs[:2], replace(worse, decision="keep")])}


def test_a_run_builds_on_the_parent_that_it_declares_and_else_on_the_last_kept_one_that_it_links():
    runs = [run(n, verdict, title=f"tile={n}", rate=100 + n) for n, verdict in ((1, "supported"), (2, "supported"), (3, "refuted"), (4, "supported"))]
    linked = replace(runs[3], cites=tuple(e.path for e in runs[:3]))
    assert parents_of([*runs[:3], linked]) == {linked.path: runs[1].path}
    assert parents_of([*runs[:3], replace(linked, parent=runs[0].path)]) == {linked.path: runs[0].path}


def test_a_rerun_of_a_win_is_no_win_of_its_own():
    won = run(2, "supported", title="huge_pages=on (ACCEPTED, +12 %)", rate=56, target="motor")
    again = run(3, "supported", title="rerun of huge_pages=on (+12 %)", rate=56, target="motor")
    assert [w.path for w in lessons_of([won, again])] == [won.path]


def test_a_lead_is_settled_by_the_run_that_has_its_number_its_heading_or_its_title():
    asks = ("\n## Next hypotheses\n\n1. Exp 2 — double the rows: launched at once, 4.3 GiB are free.\n2. Huge pages for the arena: cuts misses of the second level by half.\n"
            "3. Pin every worker to its core.\n4. Split reduction over channels.\n")
    tries = [(2, "rows at twice the count"), (3, "huge pages in the arena"), (5, "split reduction over channels")]
    runs = [run(1, "supported", title="tile=64", rate=100, body=asks), *(run(n, "refuted", title=title, rate=90) for n, title in tries)]
    (lead,) = state_of(runs, target="engine").parts["leads"]
    assert "Pin every worker" in lead.text


def test_a_declared_gain_is_the_one_that_a_state_tells():
    won = run(9, "supported", title="swizzle=9", rate=90, body=SETUP.replace("2048", "8192").replace("--threads", "--swizzle=9 --threads"), front='gain: "+31.5 % (+20 % to +40 %)"\n')
    state = state_of([*TRAIL, won], target="engine")
    told = texts(state.parts["standing"]) + texts(state.parts["config"])
    assert "+31.5 % over its parent" in told and "v009~" in told and told.count("+31.5 %") == 2


def test_a_quoted_reason_is_told_without_what_heads_it():
    lost = run(9, "refuted", title="spin=on", rate=40, body="## Verdict\n\nThe loop's reason (quoted):\n\nSpinning burns the time of the tile beside it.\n")
    dead = texts(state_of([*TRAIL, lost], target="engine").parts["dead"])
    assert "; Spinning burns the time" in dead and "quoted" not in dead


def test_tries_that_differ_by_figures_alone_are_one():
    lost = [run(n, "refuted", title=f"swizzle={n} of the tile", rate=50 - n) for n in (9, 10, 11)]
    line = next(x.text for x in state_of([*TRAIL, *lost], target="engine").parts["dead"] if "swizzle" in x.text)
    assert line.count("of the tile") == 1 and "(also v010~" in line and "v009~" in line


def test_what_takes_the_time_and_what_is_at_most_to_be_won_there_stand_beside_the_frontier():
    standing = texts(state_of(TRAIL, target="engine").parts["standing"])
    assert "time goes to, by v007~" in standing and "idle 10 % (+11 %, +5 %)" in standing
    table = "\n## Profile\n\n| Op | Run 1 time (ms) | Run 2 time (ms) | Δ |\n|---|---|---|---|\n| matmul | 10 | 30 | +20 |\n| copy | 10 | 15 (25 %) | +5 |\n| sort | 1 | 9 | +8 |\n| hash | 1 | 6 | +5 |\n"
    timed = [TRAIL[0], run(2, "supported", title="tile=64", rate=110, body=SETUP + table)]
    standing = texts(state_of(timed, target="engine").parts["standing"])
    assert "it): matmul 50 % (+100 %, +33 %), copy 25 % (+33 %, +14 %), sort 15 %" in standing


def test_runs_that_name_a_bucket_stand_beside_it_with_what_the_best_brought():
    aimed = [run(9, "supported", title="tile=96 to cut the mat-mul", rate=70, body=SETUP.replace("2048", "8192")), run(10, "refuted", title="swap operands of matmul", rate=69, body=SETUP.replace("2048", "8192"))]
    standing = texts(state_of([*TRAIL, *aimed[1:]], target="engine").parts["standing"])
    assert "matmul 70 % (+233 %, +54 %; 60 % before; 0/1 won)" in standing
    aimed[0] = replace(aimed[0], title="tile=96 to cut the matmul")
    standing = texts(state_of([*TRAIL, *aimed], target="engine").parts["standing"])
    assert "60 % before; 1/2 won; best v009~" in standing and "+6.1 %" in standing


def test_time_in_which_a_device_waits_is_a_bucket_beside_those_of_the_time_that_it_is_busy():
    profile = "\n## Profile\n\n| Kernel | Share |\n|---|---|\n| matmul | 40 % |\n| copy | 30 % |\n| sort | 28 % |\n\nThe device is idle for 38 % of 14.9 ms.\n"
    trail = [run(1, "baseline", title="as shipped", rate=100, body=SETUP + profile)]
    standing = texts(state_of(trail, target="engine").parts["standing"])
    assert "matmul 40 % (+33 %, +14 %), idle beside them 38 % (+61 %, +23 %), copy 30 % (+23 %, +10 %)" in standing
    used = run(1, "baseline", title="as shipped", rate=100, body=SETUP + profile.replace("is idle for 38 % of 14.9 ms", "has MXU util 38 %, tc_idle 3.8 ms"))
    assert "idle" not in texts(state_of([used], target="engine").parts["standing"]), "the share is of what it does"
    # Shares that come to all of the time with it are of all of the time.
    counted = trail[0].account.buckets[:1] + tuple(replace(n, text=n.text.replace("28 %", "2 %").replace("30 %", "20 %")) for n in trail[0].account.buckets[1:])
    whole = [replace(trail[0], account=replace(trail[0].account, buckets=counted))]
    assert "matmul 40 % (+67 %, +25 %), copy 20 %" in texts(state_of(whole, target="engine").parts["standing"])


@pytest.mark.parametrize(
    "listing",
    [
        "Top of a step: matmul 49.3%, custom-call 23.8%, loop\nfusion 18.0 %, rest 4.1%.",
        "Top buckets:\n\n- matmul: 49.3%.\n- custom-call: 23.8%.\n- loop fusion: 18.0 %.\n- rest: 4.1%.",
    ],
)
def test_where_time_goes_may_stand_in_a_sentence_or_a_list(listing):
    body = f"{SETUP}\n## Profile\n\n- Utilization of the unit: 56.8%.\n\n{listing}\n\nThe unit is used to 50 %, the bus to 12 %, memory to 33 %, of what they give.\n"
    own = run(2, "supported", title="tile=64", rate=110, body=body)
    rows = [n.text for n in own.account.buckets]
    assert rows == ["bucket · share", "matmul · 49.3%", "custom-call · 23.8%", "loop fusion · 18.0 %", "rest · 4.1%"]
    assert not any("custom-call" in n.text for n in own.account.profile)


def test_a_run_that_lost_to_one_without_a_page_tells_where_the_frontier_is():
    against = "## Hypothesis\n\n**Hypothesis**: A {0} tile beats run 41.\n\n**Falsification criterion**: At or below run 41's 130 op/s.\n\n"
    lost = [run(n, "refuted", title=f"tile={tile}", rate=rate, body=against.format(tile) + SETUP.replace("2048", "8192 --fast").replace("64", str(tile))) for n, tile, rate in ((9, 32, 120), (10, 16, 118))]
    state = state_of([*TRAIL, *lost], target="engine")
    standing = state.parts["standing"][0].text
    assert standing.startswith("frontier at size 8192: v009~") and "next to a run without a page here: At or below run 41's 130 op/s;" in standing
    assert state.frontiers[0].run.path == lost[0].path and lost[0].account.as_of(10, {41}) == lost[0].account
    # What it lost by is no setting of the frontier; what it shares with the others is.
    config = state.parts["config"][0].text
    assert "--fast" in config and "--tile=32" not in config
    # One of a page, or a loss that measured no better, moves nothing.
    known = state_of([*TRAIL, *lost, run(41, "supported", title="tile=48", rate=130, body=SETUP.replace("2048", "8192"))], target="engine")
    assert "-v041-" in known.frontiers[0].run.path
    assert "-v007-" in state_of([*TRAIL, replace(lost[0], falsification="It is slower.")], target="engine").frontiers[0].run.path


def test_where_the_time_goes_is_told_of_the_page_that_states_it():
    table = "\n## Profile\n\n| Op | Share |\n|---|---|\n| matmul | 60 % |\n| copy | 30 % |\n| idle | 10 % |\n"
    trail = [run(1, "baseline", title="as shipped", rate=100, body=SETUP + table), run(2, "supported", title="tile=64", rate=110, body=SETUP)]
    (line,) = (x for x in state_of(trail, target="engine").parts["standing"] if "time goes to" in x.text)
    assert "-v001-" in line.path


def test_a_clause_that_names_the_run_itself_says_how_it_was_set():
    body = "## Setup\n\n- Blocks: production was block_kv=512 + fused=False; run 9 uses block_kv=1024 + fused=True.\n"
    assert {v.name: v.value for v in run(9, "supported", title="blocks", rate=1, body=body).settings}["block_kv"] == "1024"


def test_what_did_not_fit_is_one_line_and_what_was_expected_of_memory_is_none():
    oom = "## Hypothesis\n\n**Predicted signal**: Peak memory stays under 31.7 GiB.\n\n## Verdict\n\nOut of memory: it needs 34 GiB, 2 GiB over.\n"
    memory = texts(state_of([*TRAIL, run(9, "crash", title="batch=9", rate=None, body=oom)], target="engine").parts["memory"])
    assert "did not fit: v009~" in memory and "31.7" not in memory and memory.count("8.5 GiB over") == 1


def test_memory_left_is_counted():
    parts = state_of(TRAIL, target="engine").parts
    assert parts["memory"][0].text.endswith("leaves 3.7 of 32 GiB free")


def test_far_targets_tell_few_wins():
    sister = [run(n, "supported", title=f"lever_{chr(96 + n)}=1", rate=50 * 1.1**n, target="motor") for n in range(1, 9)]
    lessons = list(lessons_of(sister))
    near, far = (state_of(TRAIL, lessons, {"motor": kin}, target="engine").parts["transfers"] for kin in (1.5, 0.6))
    assert len(near) > 4 and len(far) == 3


def test_a_flag_that_a_page_takes_back_is_no_setting():
    note = "\n> [!note] Correction: the planned flag `--unroll=4` is **invalid on this build** and was not in the command.\n"
    taken = [*TRAIL, run(9, "inconclusive", title="align=64 on long input", rate=66.1, body=SETUP.replace("2048", "8192") + note)]
    merged = [state_of(runs, target="engine").parts["config"][0].text for runs in (TRAIL, taken)]
    assert "--unroll=4" in merged[0] and "--unroll" not in merged[1] and "--tile=64" in merged[1]


def test_beside_rows_named_as_runs_a_row_of_another_name_is_what_they_are_held_against():
    rows = [["run", "set", "tok/s"], ["v035", "none", "6030"], ["v039", "exact", "5630"], ["v036", "wrong", "4908"], ["MaxText", "pipelined", "6942"]]
    assert [t.subject.partition(";")[0] for t in attempts_in(rows, ["Results"])] == ["run v039", "run v036"]
    assert "run MaxText" in [t.subject.partition(";")[0] for t in attempts_in([rows[0], *([f"arm {r[0][1:]}", *r[1:]] for r in rows[1:4]), rows[4]], ["Results"])]
