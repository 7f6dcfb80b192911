"""One page with many experiments: each heading is a run of the trail, a page that only sorts plans by the same words is none."""

import json

import pytest

from kb import page, store, trail
from kb.build import build
from kb.trail.handles import handle, label_of

NOTES = """# Tuning notes

Everything in one place; times are p50.

## Applied

### Bigger arena
Fewer refills: 12.1 ms → 9.4 ms.

### Inline the hash
9.4 ms → 9.1 ms, and the profile has no call left.

## Rejected

### Huge pages
Start-up doubles; 9.1 ms → 9.8 ms. Not worth it.

### Prefetch=4
Evicts what the next row needs, 9.1 ms → 10.2 ms.

## Ideas

### Sort by key
Would need a second pass.
"""
WORKLOG = """# Worklog

## Run 1: baseline

**Status**: baseline

212 req/s.

## Run 2: pool of 64

**Status**: kept

212 → 305 req/s.

## Run 3: keep-alive off

**Status**: reverted

305 → 140 req/s, every request opens a socket.

## Run 4: bigger buffers

Not started.
"""


def verdicts(text: str, path: str = "wiki/notes.md") -> list[tuple[str, str]]:
    runs = trail.parts_of(page.read(path, text.encode()), text)
    facts = [trail.facts_in(run.facts) for run in runs]
    return [(e.path.partition("#")[2], str(e.verdict.canonical)) for e in facts]


def test_headings_below_applied_and_rejected_are_runs_and_ideas_are_none():
    assert verdicts(NOTES) == [
        ("bigger-arena", "supported"),
        ("inline-the-hash", "supported"),
        ("huge-pages", "refuted"),
        ("prefetch4", "refuted"),
    ]


def test_headings_that_name_runs_with_a_status_each_are_runs():
    assert verdicts(WORKLOG) == [
        ("run-1-baseline", "baseline"),
        ("run-2-pool-of-64", "supported"),
        ("run-3-keep-alive-off", "refuted"),
    ]


def test_a_page_that_sorts_plans_by_the_same_words_holds_no_runs():
    assert not verdicts(NOTES.replace("→", "or").replace(" ms", ""))
    assert not verdicts(NOTES.split("## Rejected")[0])
    assert not verdicts(NOTES, "wiki/sources/notes.md")


def test_runs_of_a_page_stand_in_trail_slice_and_gate_and_open_by_their_heading(make_base, kb_command):
    layout = make_base({"wiki/tuning.md": NOTES})
    build(layout)
    db = store.state(layout)
    runs = {e.path: e for e in trail.experiments(db, target="tuning")}
    assert len(runs) == 4 and "Evicts" in runs["wiki/tuning.md#prefetch4"].because
    assert "4 runs" in kb_command("status", cwd=layout.root).stdout
    slice_ = kb_command("load", "hypothesis", "--target", "tuning", cwd=layout.root).stdout
    assert "Evicts what the next row needs" in slice_
    state = (layout.root / "indexes/state/tuning.md").read_text()
    assert "](../../wiki/tuning.md#prefetch4)" in state and "%23" not in state
    opened = kb_command("open", handle("wiki/tuning.md#prefetch4"), cwd=layout.root).stdout
    assert label_of("wiki/tuning.md#prefetch4") == "prefetch4" and opened.startswith("### Prefetch=4") and "Huge" not in opened
    asked = kb_command("check", "-", "--format", "json", cwd=layout.root, ok=(3,), text_in="Set prefetch=4 for the next row")
    match = json.loads(asked.stdout)["matches"][0]
    assert (match["path"], match["anchor"], match["verdict"]) == ("wiki/tuning.md", "prefetch4", "refuted")
    (layout.root / "wiki/tuning.md").write_text(NOTES.replace("Prefetch=4", "Prefetch=8"))
    build(layout)
    assert "wiki/tuning.md#prefetch8" in {e.path for e in trail.experiments(store.state(layout))}


def test_sections_below_one_heading_that_sorts_are_runs_where_each_labels_its_outcome():
    tries = "".join(f"### {name}\n\n**Hypothesis:** less work.\n\n**Result:** {result}\n\n" for name, result in (("Inline calls", "18 % slower."), ("Value pools", "slower everywhere."), ("Cached names", "no gain.")))
    page = f"# Optimization log\n\n## Completed work\n\nMaps are 4 times faster.\n\n## Experiments that didn't work\n\n{tries}"
    assert [verdict for _, verdict in verdicts(page)] == ["refuted"] * 3
    assert not verdicts(page.replace("**Result:**", "Perhaps"))


def test_a_run_measures_where_it_gives_a_figure_with_a_unit():
    page = "# Experiments\n\n## 2026-02-01: merges\nAfter: 520 MB/s.\nResult: kept.\n\n## 2026-02-03: hash\nAfter: 505 MB/s.\nResult: reverted.\n\n## 2026-02-04: mmap\nAfter: 521 MB/s.\nResult: no change.\n"
    assert [verdict for _, verdict in verdicts(page)] == ["supported", "refuted", "inconclusive"]
    assert not verdicts(page.replace(" MB/s", ""))


def test_a_diary_of_two_dated_runs_takes_what_each_says_of_itself_and_a_run_its_sub_headings():
    diary = "# Tuning\n\n## 2026-02-01: buffers\n520 MB/s after, 500 MB/s before. Result: kept.\n\n## 2026-02-03: mmap\n### Change\nMap the file.\n### What came of it\n430 MB/s, so we took it out again.\n"
    assert [verdict for _, verdict in verdicts(diary)] == ["supported", "refuted"]
    day = "# Log\n\n## 2026-02-01\n\n### Pin the threads\n**Result**: reverted, 12 ms against 9 ms\n\n### Huge pages\n**Result**: kept, 8 ms\n"
    assert verdicts(day) == [("pin-the-threads", "refuted"), ("huge-pages", "supported")]
    chapters = "# Guide\n\n## 1. Install\nTakes 5 MB.\n\n## 2. Run\nNeeds 8 MB.\n\n## 3. Tune\nWe dropped it, 4 MB.\n"
    assert not verdicts(chapters)


def test_the_owners_own_words_say_how_the_days_of_a_diary_came_out():
    diary = "# Kernel diary\n\n## 2026-01-03 unroll by four — WIN\n12.1 ms → 9.4 ms.\n\n## 2026-01-04 prefetch 8 — NADA\n9.4 ms → 9.9 ms.\n"
    words = {"win": "supported", "NADA": "refuted"}
    runs = trail.parts_of(page.read("wiki/diary.md", diary.encode()), diary, words)
    assert [trail.facts_in(run.facts).verdict.canonical for run in runs] == ["supported", "refuted"]
    assert not verdicts(diary.replace("WIN", "YAY"), "wiki/diary.md")


def run(text: str, path: str) -> tuple[str, str]:
    read = page.read(path, text.encode())
    facts = trail.read_facts(read, text) if read.type == "experiment" else None
    return read.type, str(facts.verdict.canonical) if facts else ""


def test_a_readme_in_a_folder_of_runs_is_one_by_its_status_or_by_what_it_says_in_the_end():
    path = "wiki/experiments/prefetch/README.md"
    assert run("# Prefetch\n\n**Status:** Kept\n\nFour blocks ahead.\n", path) == ("experiment", "supported")
    assert run("# Prefetch\n\nIt went from 155 MB/s to 131 MB/s, so we turned it off again.\n", path) == ("experiment", "refuted")
    assert run("# Prefetch\n\nFour blocks ahead, see the [sweep](sweep.md).\n", path)[0] == "index"


def test_front_matter_that_gives_a_verdict_makes_a_run_where_no_folder_does_and_a_status_only_with_figures():
    assert run("---\nverdict: REJECTED\n---\n# Takeoff rate\n\nNothing.\n", "wiki/a.md") == ("experiment", "refuted")
    status = "---\nstatus: rejected\n---\n# Trust zones\n\n"
    assert run(f"{status}Too much to maintain.\n", "wiki/a.md")[0] == "page"
    supposed = "Hypothesis: it fades the noise.\n\n- Sharpe: 0.3\n- Trades: 41\n"
    assert run(status + supposed, "wiki/a.md") == ("experiment", "refuted")
    assert run("---\nverdict: rejected\n---\n# No\n", "wiki/concepts/a.md")[0] == "concept"


def test_of_a_form_the_ticked_box_counts_a_mark_behind_the_figures_and_nothing_that_is_still_to_come():
    path = "wiki/experiments/2026-02-01-inline.md"
    assert run("# Inline\n\nStatus: [ ] kept [x] reverted\n", path)[1] == "refuted"
    assert run("# Inline\n\n## Results\n\n- accuracy = 53.73 % ❌\n", path)[1] == "refuted"
    assert run("# Inline\n\n## Results\n\n- accuracy = 53.73 % ❌\n- speed = 12 ms ✅\n", path)[1] != "refuted"
    assert run("# Inline\n\nStatus: **DRAFT / SCREEN PENDING**\n\nA loss is rejected at once.\n", path)[1] not in ("refuted", "supported")


def test_headings_that_call_themselves_runs_are_by_their_figures_whatever_they_say_of_them():
    text = "# Kernel diary\n\n## EXP-11 wider tiles\n1.99 ms before, 1.92 ms after.\nVerdict: in.\n\n## EXP-12 split k\n2.40 ms, 1.92 ms before.\nVerdict: out.\n\n## EXP-13 cp.async\n1.92 ms before, 1.71 ms after.\nVerdict: in. (EXP-12 was rejected, remember.)\n"
    assert [name for name, _ in verdicts(text)] == ["exp-11-wider-tiles", "exp-12-split-k", "exp-13-cpasync"]
    assert "refuted" not in dict(verdicts(text)).values()


def test_a_form_that_names_what_may_be_said_says_nothing():
    assert run("# Template\n\n**Status:** Refuted | Supported | Inconclusive\n", "wiki/experiments/2026-01-01-template.md")[1] not in ("refuted", "supported")


@pytest.mark.parametrize(
    "text",
    [
        "---\noutcome: approved\n---\n# Meeting\n\nTook 20 min of 60 min.\n",
        "---\nresult: failed\n---\n# Bug 12\n\nTwo of 14 tests.\n",
        "---\nstatus: live\n---\n# Service\n\nAnswers in 20 ms, at most 900 ms.\n",
        "# Install\n\nNeeds 2 GB of memory and 12 GB of disk.\n\n## Result\n\nIt is installed. The old one was removed.\n",
        "# Pancakes\n\n2 eggs\n\n300 ml milk\n\n## Result\n\nGood.\n",
        "# Changes\n\n## v1.0.0\n\n12 ms faster start, merged.\n\n## v1.1.0\n\n### Removed\n\nThe pool of 4 MB was removed.\n",
    ],
)
def test_minutes_guides_and_release_notes_are_no_runs(text):
    assert run(text, "wiki/a.md")[0] == "page" and not verdicts(text)


@pytest.mark.parametrize(
    "text, verdict",
    [
        ("Result: new-style arenas cost 3 %.\n\nWe reverted it.", "refuted"),
        ("Result: none, the arenas cost the same.\n\nWe reverted it.", "refuted"),
        ("Status: open (PR 12)\n\nReverted: 3 % slower.", "refuted"),
        ("Verdict: refuted, as index a[x] stays cold", "refuted"),
        ("It is 12 % faster. We quote their verdict: rejected for old chips.\n\nMerged.", "supported"),
        ("## Results\n\nlatency 10 ms, was 12 ms; without the flag 13 ms ❌", ""),
        ("Verdict: disapproved", "refuted"),
        ("Verdict: waiting for approvals", ""),
    ],
)
def test_a_verdict_is_of_the_page_and_of_what_it_tried(text, verdict):
    known = run(f"# Arenas\n\n{text}\n", "wiki/experiments/2026-02-01-arenas.md")[1]
    assert known == verdict if verdict else known not in ("supported", "refuted", "crash")


def test_what_a_heading_calls_failed_was_refuted_and_did_not_crash(make_base):
    tries = "\n".join(f"### Try {n}\n\nTook {9 + n} ms, 9 ms before.\n" for n in (1, 2))
    page = f"# Report\n\n## Failed experiments\n\n{tries}\n## Successful experiments\n\n### Try 3\n\nTook 7 ms, 9 ms before.\n"
    layout = make_base({"wiki/docs/report.md": page})
    build(layout)
    assert [e.verdict.canonical for e in trail.experiments(store.state(layout), target="")] == ["refuted", "refuted", "supported"]
