"""Replay: past pages put again, without links, numbers or anything from later; gate and yardsticks beside the loader."""

import json

import pytest

from kb import replay, store
from kb.build import build
from kb.replay.picture import to_svg, to_text
from kb.slices import Loader


def long(number: int) -> str:
    return " ".join(f"fact{number}x{i} of the loop" for i in range(20)) + "."


def run_page(number: int, verdict: str, text: str, levers: str) -> str:
    return (f"---\ntitle: Run {number}\ntype: experiment\nverdict: {verdict}\nlevers: [\"{levers}\"]\ncreated: 2026-01-{number:02}\n---\n\n# Run {number}\n\n## Hypothesis under test\n\n{text}\n\n"
            f"## Verdict\n\n{verdict.capitalize()}. {long(number)}\n\nSee [later](2026-01-09-v009-run.md) and [tiles](../../concepts/tiles.md).\n")


@pytest.fixture
def base(make_base):
    layout = make_base({
        "wiki/experiments/engine/2026-01-01-v001-run.md": run_page(1, "baseline", f"The engine as it is, to compare with. {long(1)}", "none"),
        "wiki/experiments/engine/2026-01-02-v002-run.md": run_page(2, "refuted", f"Larger tile sizes help the inner loop. {long(2)}", "tile=64"),
        "wiki/experiments/engine/2026-01-03-v003-run.md": run_page(3, "refuted", "After [exp 2](2026-01-02-v002-run.md) a tile of 64 again, by [caches](../../concepts/caches.md): v002 was odd, since the loop waits for memory.", "tile=64"),
        "wiki/experiments/engine/2026-01-09-v009-run.md": run_page(9, "supported", "Prefetch the rows of the next tile, as the [first run](2026-01-01-v001-run.md) lost time there.", "prefetch=1"),
        "wiki/concepts/tiles.md": f"---\ntitle: Tiles\ntype: concept\ncreated: 2026-01-01\n---\n\n# Tiles\n\nCut loops so that the cache holds them. {long(21)}\n",
        "wiki/concepts/caches.md": f"---\ntitle: Caches\ntype: concept\ncreated: 2026-01-01\n---\n\n# Caches\n\nA tile that fits is read once. {long(22)}\n",
        "wiki/index.md": "# Index\n\n- [tiles](concepts/tiles.md)\n",
    })
    build(layout)
    return layout


def test_a_question_has_no_links_no_numbers_and_asks_for_what_was_cited_before_the_outcome(base):
    asked = {q.path[-11:]: q for q in replay.questions(store.state(base))}
    third = asked["v003-run.md"]
    assert third.cited == {"wiki/experiments/engine/2026-01-02-v002-run.md", "wiki/concepts/caches.md"}
    assert "exp 2" not in third.text and "v002" not in third.text and "caches" not in third.text and "tile of 64" in third.text
    assert asked["v009-run.md"].cited == {"wiki/experiments/engine/2026-01-01-v001-run.md"}
    assert "v002-run.md" not in asked and "v001-run.md" not in asked


def test_the_loader_is_measured_beside_its_yardsticks(base):
    report = replay.replay(Loader(store.state(base)))
    by = {(r.method, r.budget): r for r in report.overall}
    assert by["full read", 0].recall == 1.0
    assert by["kb load", 8000].recall == 1.0 and by["kb load", 8000].tokens <= 8000
    assert {m for m, _ in by} == {"kb load", "BM25 heads", "BM25 pages", "last three runs", "full read"}
    assert {r.group for r in report.by_cited} == {"experiment", "concept"} and {r.group for r in report.by_target} == {"engine"}
    assert replay.replay(Loader(store.state(base))) == report


def test_a_page_that_tells_of_a_later_run_leaks_nothing_and_what_leaks_is_counted(base):
    runs = {9: "12345.5", 3: "777.25"}
    for number, rate in runs.items():
        path = base.at(f"wiki/experiments/engine/2026-01-{number:02}-v{number:03}-run.md")
        path.write_text(path.read_text().replace("verdict:", f"metrics: {{rate: {{value: {rate}, unit: op/s, direction: higher}}}}\nverdict:", 1))
    page = base.at("wiki/concepts/caches.md")
    page.write_text(page.read_text() + "\nPrefetching rows of the next tile as in [v009](../experiments/engine/2026-01-09-v009-run.md) brought 12,345.5 op/s where the loop lost time.\n")
    build(base)
    assert replay.replay(Loader(store.state(base))).leaks == 0
    page.write_text(page.read_text().replace("A tile that fits", "The loop waits for memory with a tile of 64, at 777.25 op/s, since v002 was odd. A tile that fits"))
    build(base)
    assert replay.replay(Loader(store.state(base))).leaks == 1


def test_the_gate_is_measured_by_what_became_of_the_runs(base):
    gate = replay.replay(Loader(store.state(base))).gate
    assert (gate.runs, gate.repeats, gate.supported) == (4, 1, 1)
    assert gate.caught <= gate.repeats and gate.false_alarms == 0 and sum(gate.called.values()) == gate.runs


def test_a_sample_asks_fewer_questions_and_a_target_only_its_own(base):
    assert replay.replay(Loader(store.state(base)), sample=1, budgets=(2000,)).overall[0].questions == 1
    assert replay.replay(Loader(store.state(base)), target="nobody").overall == ()


def test_a_wiki_without_a_trail_says_that_there_is_nothing_to_replay(make_base, kb_command):
    layout = make_base({"wiki/concepts/x.md": "# X\n\nNothing was tried.\n"})
    assert "nothing to replay yet" in kb_command("replay", cwd=layout.root).stdout
    assert "no target 'y'" in kb_command("replay", "--target", "y", cwd=layout.root, ok=(2,)).stderr


def test_the_command_prints_a_table_json_and_a_picture(base, kb_command):
    report = replay.replay(Loader(store.state(base)))
    assert kb_command("replay", cwd=base.root).stdout == to_text(report)
    assert json.loads(kb_command("replay", "--format", "json", cwd=base.root).stdout)["overall"][0]["method"] == "kb load"
    svg = kb_command("replay", "--format", "svg", cwd=base.root).stdout
    assert svg == to_svg(report) and svg.startswith("<svg") and "http" not in svg.replace("http://www.w3.org/2000/svg", "") and "<script" not in svg
