"""The room `indexes`: topics out of any wiki, every line with its page, nothing of hypotheses where profiles are read."""

import json
import re
from pathlib import Path

import pytest

from kb import indexes, page, store
from kb.build import build
from kb.graph import Graph, Memo, generations, graph_of, longest_chain

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
    assert proofing["counts"] == {"supported": 2, "failed": 2}
    assert any("90 min" in f["text"] for f in proofing["figures"])


def test_experiments_that_no_concept_covers_are_grouped_by_their_lever(make_base):
    topics = json.loads(made(make_base)["hypothesis.json"])["topics"]
    salt = next(t for t in topics if "salt" in t["name"])
    assert len(salt["experiments"]) == 3 and salt["counts"] == {"supported": 0, "failed": 3}


def test_every_link_of_every_index_resolves(make_base, tmp_path):
    made(make_base)
    layout = store.layout_at(tmp_path / "base")
    from kb.graph import Files, LinkStatus, status_of

    pages = {p: page.read(p, store.read_bytes(layout, p)) for p in store.scan(layout).digests}
    for file in sorted(layout.indexes.rglob("*.md")):
        path = file.relative_to(layout.root).as_posix()
        index = page.read(path, file.read_bytes())
        statuses = {link.href: status_of(link, index, Files(layout, {**pages, path: index}))[0] for link in index.links}
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


def test_a_scope_of_kb_toml_makes_an_index_of_its_pages(make_base):
    files = made(make_base, toml='[scopes]\nrye = ["wiki/experiments/rye/*"]\n')
    names = {e["path"] for t in json.loads(files["rye.json"])["topics"] for e in t["experiments"]}
    assert names and all(n.startswith("wiki/experiments/rye/") for n in names)


def test_the_blueprint_tells_every_supported_experiment_once_and_names_traps(make_base):
    twin = json.loads(made(make_base)["blueprint.json"])
    told = [p for phase in twin["phases"] for t in phase["topics"] for p in t["supported"]]
    assert sorted(told) == ["wiki/experiments/loaf/2026-01-01-v001-x.md", "wiki/experiments/loaf/2026-01-03-v003-x.md"]
    assert any(t["failed"] == 3 for t in twin["traps"])


def test_what_pays_first_comes_first_and_circles_share_a_phase():
    memo = Memo()
    assert generations({("a", "b"): 2, ("b", "c"): 1, ("a", "c"): 1}, memo=memo) == [["a"], ["b"], ["c"]]
    assert generations({("a", "b"): 1, ("b", "c"): 1, ("c", "a"): 1}, memo=memo) == [["a", "b", "c"]]
    assert longest_chain([("a", "b"), ("b", "c"), ("a", "c"), ("c", "a")], memo=memo) == ["a", "b", "c"]


def test_a_result_is_computed_once_for_the_same_inputs():
    first = Memo()
    assert first.value("x", [1], lambda: "made") == "made"
    assert Memo(first.used).value("x", [1], lambda: pytest.fail("computed again")) == "made"
    assert Memo(first.used).value("x", [2], lambda: "other") == "other"


def test_an_empty_wiki_has_empty_indexes(make_base):
    files = made(make_base, {"wiki/index.md": "# Empty\n"})
    assert json.loads(files["hypothesis.json"])["topics"] == [] and b"# Blueprint" in files["blueprint.md"]


def test_notes_skip_code_tables_of_contents_and_apparatus():
    made_page = page.read("wiki/concepts/x.md", b"---\ntitle: X\ntype: concept\n---\n# X\n\n```\nfake 9 ms\n```\n\n> quoted 8 ms here\n\nReal text that explains what X is, measured at 7.5 ms a call.\n\n## See also profile\n\n- [y](y.md) is a page about the profile of something else entirely\n")
    notes = indexes.notes.from_row(indexes.notes_of(made_page, page.text_of(b"---\ntitle: X\ntype: concept\n---\n# X\n\n```\nfake 9 ms\n```\n\n> quoted 8 ms here\n\nReal text that explains what X is, measured at 7.5 ms a call.\n\n## See also profile\n\n- [y](y.md) is a page about the profile of something else entirely\n")))
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

    rows = [(p, row) for p, made_page in pages.items() if (row := facts_of(made_page, BREAD[p]))]
    forward = graph_of(pages)
    backward = Graph(dict(reversed(pages.items())), dict(reversed(forward.outlinks.items())))
    assert indexes.topics_of(forward, trail_of(rows, forward)) == indexes.topics_of(backward, trail_of(rows[::-1], backward))
