"""The room `indexes`: topics out of any wiki, every line with its page, nothing of hypotheses where profiles are read."""

import json
import re
import sqlite3
from pathlib import Path

import pytest

from kb import indexes, page, store
from kb.build import build
from kb.graph import Graph, generations, graph_of, longest_chain
from kb.indexes.topics import topics_of
from kb.trail.themes import themes_of

CHECKOUT = Path(__file__).resolve().parent.parent


def experiment(target: str, number: int, verdict: str, body: str, front: str = "") -> str:
    return (f"---\ntitle: Try {number} of {target}\ntype: experiment\ntarget: {target}\nhypothesis: h{number}\nverdict: {verdict}\n{front}\n---\n"
            f"## Hypothesis under test\n\n**Hypothesis**: {body}\n\n## Verdict\n\n{verdict.capitalize()}: +{number}.5 % on the bench.\n")


BREAD = {
    # A wiki of another world: topics must come from its own words and links.
    "wiki/concepts/proofing.md": "---\ntitle: Proofing\ntype: concept\nupdated: 2026-01-01\ntags: [dough]\n---\nLetting the dough rise before it is baked, at 26 °C for 90 min.\n\n## How to see it\n\nThe dough springs back slowly when it is pressed with a finger tip.\n",
    "wiki/concepts/hydration.md": "---\ntitle: Hydration\ntype: concept\nupdated: 2026-01-01\ntags: [dough]\n---\nWater by weight of flour; 75 % gives an open crumb. See [proofing](proofing.md).\n",
    "wiki/sources/tartine.md": "---\ntitle: Tartine\ntype: source\nupdated: 2026-01-01\n---\nA book on [proofing](../concepts/proofing.md) and [hydration](../concepts/hydration.md) with many tables.\n",
    "wiki/observations/cold-kitchen.md": "---\ntitle: Cold kitchen\ntype: observation\n---\nBelow 18 °C [proofing](../concepts/proofing.md) takes twice the time that the recipe says.\n",
    **{f"wiki/experiments/loaf/2026-01-0{n}-v00{n}-x.md": experiment("loaf", n, v, f"longer [proofing](../../concepts/proofing.md) helps, {n}") for n, v in ((1, "supported"), (2, "refuted"), (3, "supported"), (4, "refuted"))},
    **{f"wiki/experiments/rye/2026-02-0{n}-v00{n}-x.md": experiment("rye", n, "refuted", f"set `salt_percent={n}` higher") for n in (1, 2, 3)},
}


def made(make_base, files=BREAD, toml: str = "") -> dict[str, bytes]:
    layout = make_base(files)
    (layout.root / "kb.toml").write_text(toml)
    build(store.layout_at(layout.root))
    return {f.relative_to(layout.indexes).as_posix(): f.read_bytes() for f in sorted(layout.indexes.rglob("*")) if f.is_file()}


def test_topics_are_the_wikis_own_concepts_with_pages_figures_and_experiments(make_base):
    topics = json.loads(made(make_base)["hypothesis.json"])["topics"]
    proofing = next(t for t in topics if t["name"] == "Proofing")
    assert {p["title"] for p in proofing["pages"]} >= {"Proofing", "Tartine", "Cold kitchen"}
    assert [e["title"] for e in proofing["experiments"]] == ["Try 4 of loaf", "Try 3 of loaf", "Try 2 of loaf", "Try 1 of loaf"]
    assert proofing["counts"] == {"supported": 2, "kept": 0, "failed": 2}
    assert any("90 min" in f["text"] for f in proofing["figures"])


def test_experiments_that_no_concept_covers_are_grouped_by_their_lever(make_base):
    topics = json.loads(made(make_base)["hypothesis.json"])["topics"]
    salt = next(t for t in topics if "salt" in t["name"])
    assert len(salt["experiments"]) == 3 and salt["counts"] == {"supported": 0, "kept": 0, "failed": 3}


METHOD = {
    **BREAD,
    "wiki/concepts/blind-tasting.md": "---\ntitle: Blind tasting\ntype: concept\nupdated: 2026-01-01\n---\nNobody who tastes knows which loaf is which.\n",
    "wiki/sources/palates.md": "---\ntitle: Palates\ntype: source\nupdated: 2026-01-01\n---\nA paper on [tasters](../concepts/blind-tasting.md) who know what they eat.\n",
    "wiki/observations/hungry-tasters.md": "---\ntitle: Hungry tasters\ntype: observation\n---\nBefore noon [tasters](../concepts/blind-tasting.md) like everything, see [a paper](../sources/palates.md).\n",
    **{p: f"{text}\n## Related\n\n- Judged by [blind tasting](../../concepts/blind-tasting.md)\n" for p, text in BREAD.items() if "/experiments/" in p},
    "wiki/experiments/loaf/2026-01-09-v009-baseline.md": experiment("loaf", 9, "baseline", "the loaf as it was, with its [proofing](../../concepts/proofing.md)"),
}


def test_what_every_run_links_and_none_speaks_of_is_known_and_not_tried(make_base):
    files = made(make_base, METHOD)
    topics = {t["name"]: t for t in json.loads(files["hypothesis.json"])["topics"]}
    assert topics["Blind tasting"]["experiments"] == [] and len(topics["Proofing"]["experiments"]) == 4
    known = files["hypothesis.md"].decode().partition("what no run says it changes:")[2]
    assert "[Blind tasting](#blind-tasting): " in known and "7 runs link it" in known
    assert "Blind tasting" not in files["blueprint.md"].decode()


@pytest.mark.parametrize("said", ["通过内核融合减少访存", "одно ядро вместо двух, [смотри](../../concepts/fusion.md)"])
def test_topics_come_out_of_a_wiki_in_any_script(make_base, said):
    runs = {f"wiki/experiments/nuclei/2026-01-0{n}-v00{n}-x.md": experiment("nuclei", n, "supported", said) for n in (1, 2, 3, 4)}
    concept = "---\ntitle: 内核融合\ntype: concept\n---\n把几个内核合并成一个。\n"
    [topic] = json.loads(made(make_base, {"wiki/concepts/fusion.md": concept, **runs})["hypothesis.json"])["topics"]
    assert topic["name"] == "内核融合" and len(topic["experiments"]) == 4


def test_topics_of_pages_that_share_a_file_name_have_an_anchor_each(make_base):
    concept = "---\ntitle: {}\ntype: concept\n---\nA way to do it.\n"
    names = {"wiki/concepts/a/tiling.md": "Tiling of heads", "wiki/concepts/b/tiling.md": "Batch rows", "wiki/concepts/tiling-2.md": "Warp shapes"}
    runs = {f"wiki/experiments/mill/2026-01-{i + 1:02d}-v{i + 1:03d}-x.md": experiment("mill", i, "supported", f"{said.lower()} help in step {i}")
            for i, said in enumerate([*names.values()] * 3)}
    topics = json.loads(made(make_base, {**{p: concept.format(n) for p, n in names.items()}, **runs})["hypothesis.json"])["topics"]
    assert {t["name"] for t in topics} == set(names.values()) and len({t["anchor"] for t in topics}) == 3


def test_a_baseline_is_no_try(make_base):
    told = [e["path"] for t in json.loads(made(make_base, METHOD)["hypothesis.json"])["topics"] for e in t["experiments"]]
    assert told and not any("baseline" in path for path in told)


def test_a_concept_that_runs_measure_is_a_goal_and_no_mechanism(make_base):
    named = {p: text.replace("helps,", "raises the crumb score,").replace("verdict:", "metrics: {crumb_score: 7}\nverdict:") for p, text in BREAD.items()}
    goal = "---\ntitle: Crumb score\ntype: concept\nupdated: 2026-01-01\n---\nHow open the crumb is, from [proofing](proofing.md) and [hydration](hydration.md); see [a book](../sources/tartine.md).\n"
    topics = json.loads(made(make_base, {**named, "wiki/concepts/crumb-score.md": goal})["hypothesis.json"])["topics"]
    assert not any(t["experiments"] for t in topics if t["name"] == "Crumb score")


def test_what_every_run_of_a_target_states_is_no_lever_of_one(make_base):
    runs = {f"wiki/experiments/rye/2026-02-0{n}-v00{n}-x.md": experiment("rye", n, "refuted", "another try", f"levers: [oven_degrees=230, {'steam_ml' if n > 3 else 'salt_grams'}={n}]") for n in range(1, 7)}
    names = {t["name"] for t in json.loads(made(make_base, runs)["hypothesis.json"])["topics"]}
    assert names == {"steam_ml", "salt_grams"}


def test_runs_without_tags_and_levers_are_grouped_by_what_their_titles_share():
    titles = ["Rewrite the tokenizer loop", "Skip blanks in the tokenizer", "Tokenizer: no gain", "Cache parsed filters", "Reuse parsed filters",
              "Share parsed filters between renders", "Faster render", "Discard the cache"]
    found = themes_of([(str(n), title) for n, title in enumerate(titles)])
    assert found == [("parsed filters", ("3", "4", "5")), ("tokenizer", ("0", "1", "2"))]


def test_every_link_of_every_index_resolves(make_base, tmp_path):
    made(make_base)
    layout = store.layout_at(tmp_path / "base")
    from kb.graph import Files, LinkStatus, place_of

    pages = {p: page.read(p, store.read_bytes(layout, p)) for p in store.scan(layout).digests}
    for file in sorted(layout.indexes.rglob("*.md")):
        path = file.relative_to(layout.root).as_posix()
        index = page.read(path, file.read_bytes())
        statuses = {link.href: place_of(link, index, Files(layout, {**pages, path: index}))[0] for link in index.links}
        assert set(statuses.values()) <= {LinkStatus.OK}, (path, [h for h, s in statuses.items() if s is not LinkStatus.OK])


def test_every_figure_stands_on_the_page_that_it_cites(make_base):
    files = made(make_base)
    for topic in json.loads(files["hypothesis.json"])["topics"]:
        for figure in topic["figures"]:
            text = BREAD[figure["path"]].replace("\n", " ")
            assert all(number in text for number in re.findall(r"\d+(?:\.\d+)?", figure["text"]))


def test_the_profile_index_holds_no_experiment_and_no_hypothesis(make_base):
    files = made(make_base, {**BREAD, "wiki/hypotheses/steam.md": "---\ntitle: Steam\ntype: hypothesis\nstatus: open\n---\n## How to see it\n\nTry more steam, it should help a lot with the crust.\n"})
    text = files["profile.md"].decode()
    assert "springs back slowly" in text and "steam" not in text.lower() and "wiki/experiments/" not in text and "wiki/hypotheses/" not in text


def test_the_title_of_an_observation_is_a_sentence_and_does_not_make_all_of_it_a_reading(make_base):
    page = "## What was seen\n\nThe apprentices skipped the folding whenever nobody looked at them.\n\n## How to see it\n\nLook for loaves without any layers in their crumb.\n"
    files = made(make_base, {**BREAD, "wiki/observations/steps.md": f"---\ntitle: Skipped steps leave no trace\ntype: observation\n---\n{page}",
                             "wiki/concepts/oven-trace.md": f"---\ntitle: Oven trace\ntype: concept\n---\n{page}\n## Connections\n\nSee the [book](../sources/tartine.md) on ovens and their many traces.\n"})
    told = {(r["path"].split("/")[1], r["section"]) for t in json.loads(files["profile.json"])["topics"] for r in t["readings"]}
    assert told >= {("observations", "How to see it"), ("concepts", "What was seen")}
    assert not told & {("observations", "What was seen"), ("concepts", "Connections")}


def test_a_scope_of_kb_toml_makes_an_index_of_its_pages(make_base):
    files = made(make_base, toml='[scopes]\nrye = ["wiki/experiments/rye/*"]\n')
    names = {e["path"] for t in json.loads(files["rye.json"])["topics"] for e in t["experiments"]}
    assert names and all(n.startswith("wiki/experiments/rye/") for n in names)


def test_the_blueprint_tells_every_supported_experiment_once_and_names_traps(make_base):
    twin = json.loads(made(make_base)["blueprint.json"])
    told = [p for phase in twin["phases"] for t in phase["topics"] for p in t["supported"]]
    assert sorted(told) == ["wiki/experiments/loaf/2026-01-01-v001-x.md", "wiki/experiments/loaf/2026-01-03-v003-x.md"]
    assert any(t["failed"] == 3 for t in twin["traps"])


def test_the_blueprint_tells_what_a_loop_kept_without_a_verdict_and_how_its_gains_built_on_each_other(make_base):
    def kept(n: int, minutes: float) -> str:
        front = f"decision: keep\nparent: wiki/experiments/loaf/2026-03-0{n - 1}-v00{n - 1}-x.md\nmetrics: {{minutes: {{value: {minutes}, unit: min, direction: lower}}}}"
        return experiment("loaf", n, "inconclusive", "longer [proofing](../../concepts/proofing.md)", front).replace("+", "plus ")

    runs = {f"wiki/experiments/loaf/2026-03-0{n}-v00{n}-x.md": kept(n, 90 / n) for n in (1, 2, 3, 4)}
    files = made(make_base, {**{p: t for p, t in BREAD.items() if "/experiments/" not in p}, **runs})
    twin = json.loads(files["blueprint.json"])
    [state] = [t for phase in twin["phases"] for t in phase["topics"]]
    assert state["supported"] == [] and len(state["kept"]) == 4 and state["best"] == "wiki/experiments/loaf/2026-03-02-v002-x.md"
    assert twin["compounds"] == [{"target": "loaf", "chain": sorted(runs)}]
    assert "minutes 90 → 45 min" in files["blueprint.md"].decode()


def test_the_phases_of_the_blueprint_follow_the_order_in_which_things_paid(make_base):
    concepts = {f"wiki/concepts/{n}.md": f"---\ntitle: {n.title()}\ntype: concept\nupdated: 2026-01-01\n---\nWhat {n} does to a loaf, by the [book](../sources/tartine.md).\n" for n in ("kneading", "folding", "steaming")}
    runs = {f"wiki/experiments/{t}/2026-01-0{d}-v00{d}-x.md": experiment(t, d, "supported", f"more [{n}](../../concepts/{n}.md) helps") for t in ("loaf", "rye") for d, n in ((1, "steaming"), (2, "steaming"), (3, "folding"), (4, "folding"), (5, "kneading"))}
    twin = json.loads(made(make_base, {**concepts, **runs, "wiki/sources/tartine.md": BREAD["wiki/sources/tartine.md"]})["blueprint.json"])
    assert [t["topic"] for phase in twin["phases"] for t in phase["topics"]] == ["Steaming", "Folding", "Kneading"]


def test_what_pays_first_comes_first_and_circles_share_a_phase():
    assert generations([("a", "b"), ("b", "c"), ("a", "c")]) == [["a"], ["b"], ["c"]]
    assert generations([("a", "b"), ("b", "c"), ("c", "a")]) == [["a", "b", "c"]]
    assert longest_chain([("a", "b"), ("b", "c"), ("a", "c"), ("c", "a")]) == ["a", "b", "c"]


def test_an_empty_wiki_has_empty_indexes(make_base):
    files = made(make_base, {"wiki/index.md": "# Empty\n"})
    assert json.loads(files["hypothesis.json"])["topics"] == [] and b"# Blueprint" in files["blueprint.md"]


def test_notes_skip_code_tables_of_contents_and_apparatus():
    made_page = page.read("wiki/concepts/x.md", b"---\ntitle: X\ntype: concept\n---\n# X\n\n```\nfake 9 ms\n```\n\n> quoted 8 ms here\n\nReal text that explains what X is, measured at 7.5 ms a call.\n\n## See also profile\n\n- [y](y.md) is a page about the profile of something else entirely\n")
    notes = store.value_of(indexes.notes_of(made_page, page.text_of(b"---\ntitle: X\ntype: concept\n---\n# X\n\n```\nfake 9 ms\n```\n\n> quoted 8 ms here\n\nReal text that explains what X is, measured at 7.5 ms a call.\n\n## See also profile\n\n- [y](y.md) is a page about the profile of something else entirely\n")), indexes.notes.Notes)
    assert notes.gist.startswith("Real text") and not any("fake" in f.text for f in notes.figures) and notes.readings == ()


def test_the_committed_indexes_are_what_a_build_makes(tmp_path):
    import shutil

    for name in ("wiki", "sources"):
        shutil.copytree(CHECKOUT / name, tmp_path / name)
    shutil.copy(CHECKOUT / "kb.toml", tmp_path)
    layout = store.layout_at(tmp_path)
    build(layout)
    wanted = {f.relative_to(layout.indexes).as_posix(): f.read_bytes() for f in layout.indexes.rglob("*") if f.is_file()}
    have = {f.relative_to(CHECKOUT / "indexes").as_posix(): f.read_bytes() for f in (CHECKOUT / "indexes").rglob("*") if f.is_file()}
    assert wanted.keys() == have.keys() and all(wanted[k] == have[k] for k in wanted), "run `kb build` and commit indexes/"


def test_topics_do_not_depend_on_the_order_of_pages():
    pages = {p: page.read(p, text.encode()) for p, text in BREAD.items()}
    from kb.trail import facts_of, trail_of

    rows = [(p, row) for p, made_page in pages.items() if (row := facts_of(made_page, BREAD[p], {}))]
    forward = graph_of(pages)
    backward = Graph(dict(reversed(pages.items())), dict(reversed(forward.outlinks.items())))
    kept = []
    for _ in "ab":
        db = sqlite3.connect(":memory:")
        db.execute(store.Kept.TABLE)
        kept.append(store.Kept(db))
    first, second = (topics_of(g, trail_of(r, g), k) for g, r, k in zip((forward, backward), (rows, rows[::-1]), kept, strict=True))
    assert first == second


def test_what_a_target_is_made_of_names_no_topic(make_base):
    """Runs on a program that counts words speak of words, whatever they change; the few that speak of prefetching change that."""
    titles = ["Prefetch the next node", "Prefetch two nodes", "Prefetch by hand", "Hash words twice", "Shorter words first", "Words of eight letters", "Pack the table", "Wider rows", "Inline the loop", "Count down"]
    pages = {
        f"wiki/experiments/count/2026-01-{n:02}-v{n:03}-run.md": f"---\ntitle: {title}\ntype: experiment\ntarget: count\nverdict: supported\n---\n# {title}\n\n**Hypothesis**: {title}, since each word waits for memory.\n"
        for n, title in enumerate(titles, 1)
    }
    layout = make_base(pages)
    build(layout)
    topics = json.loads((layout.indexes / "hypothesis.json").read_text())["topics"]
    assert [t["name"] for t in topics] == ["prefetch"]
