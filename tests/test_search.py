"""Search: chunks by section, identifiers whole and in parts, filters, ranking that never wavers."""

import contextlib
import hashlib
import json
from pathlib import Path

import pytest

from kb import KbError, page, search, store
from kb.build import build
from kb.search.query import Query, answers, snippet_of
from kb.text import names_of, terms_of

FLAGS = """---
title: Scheduler flags
type: concept
updated: 2026-01-02
---

# Scheduler flags

What the compiler may reorder.

## Memory

Raise `scoped_vmem_limit_kib` with `--xla_tpu_x=1`; see [the kernel notes](https://example.invalid/zebra).

| flag | effect |
|---|---|
| nwarps=8 | more warps |
| TileConfig | tile sizes |
"""
RUN = "---\ntitle: {title}\ntype: experiment\nverdict: {verdict}\n---\n\n# {title}\n\n## Verdict\n\n{verdict}. The tile sizes of the kernel were {text}.\n"


@pytest.fixture
def base(make_base):
    layout = make_base({
        "wiki/concepts/flags.md": FLAGS,
        "wiki/experiments/engine/2026-01-03-v001-tiles.md": RUN.format(title="Larger tiles", verdict="refuted", text="larger and slower"),
        "wiki/experiments/engine/2026-01-09-v002-tiles.md": RUN.format(title="Smaller tiles", verdict="supported", text="smaller and faster"),
        "wiki/experiments/decoder/2026-01-05-v001-tiles.md": RUN.format(title="Decoder tiles", verdict="refuted", text="left alone"),
    })
    build(layout)
    return layout


def found(layout: store.Layout, query: str, **narrowed) -> list[str]:
    return [a.path for a in answers(store.state(layout), Query(query, **narrowed))]


def chunks(text: str) -> tuple[search.Chunk, ...]:
    return search.chunks_of(page.read("wiki/concepts/x.md", text.encode()), text)


@pytest.mark.parametrize("query", ["scoped_vmem_limit_kib", "vmem limit", "--xla_tpu_x=1", "xla_tpu_x", "nwarps=8", "nwarps", "TileConfig", "tile config", "scopedvmemlimitkib"])
def test_an_identifier_is_found_whole_and_by_its_parts(base, query):
    assert found(base, query)[0] == "wiki/concepts/flags.md"


def test_names_are_split_at_humps_and_joined_over_signs():
    assert names_of("Use NWarpsConfig, fused_bwd=2 and v6e-8.") == ["warps", "config", "fusedbwd2", "fusedbwd", "v6e8"]
    assert names_of("plain words, 1.5, 2026-01-02") == []


def test_a_question_is_asked_without_stop_words_and_repeats():
    assert terms_of("Does the tile and the TILE of [a kernel](x.md) help?") == ["tile", "kernel", "help"]


def test_addresses_of_links_are_not_searched(base):
    assert found(base, "zebra") == []
    assert found(base, "kernel notes")[0] == "wiki/concepts/flags.md"


def test_a_hit_tells_the_section_and_its_line(base):
    hit = answers(store.state(base), Query("scoped_vmem_limit_kib"))[0]
    assert (hit.anchor, hit.title) == ("memory", "Scheduler flags > Memory")
    assert FLAGS.split("\n")[hit.line - 1].startswith("Raise")
    assert "scoped_vmem_limit_kib" in hit.snippet


@pytest.mark.parametrize(("narrowed", "paths"), [
    ({"target": "engine"}, ["wiki/experiments/engine/2026-01-03-v001-tiles.md", "wiki/experiments/engine/2026-01-09-v002-tiles.md"]),
    ({"verdicts": ("refuted",)}, ["wiki/experiments/decoder/2026-01-05-v001-tiles.md", "wiki/experiments/engine/2026-01-03-v001-tiles.md"]),
    ({"verdicts": ("refuted",), "target": "engine"}, ["wiki/experiments/engine/2026-01-03-v001-tiles.md"]),
    ({"before": "2026-01-05", "types": ("experiment",)}, ["wiki/experiments/engine/2026-01-03-v001-tiles.md"]),
    ({"types": ("concept",)}, ["wiki/concepts/flags.md"]),
])
def test_filters_narrow_by_type_target_verdict_and_date(base, narrowed, paths):
    assert sorted(found(base, "tiles tile", **narrowed)) == paths


@pytest.mark.parametrize("narrowed", [{"types": ("recipe",)}, {"verdicts": ("great",)}, {"limit": 0}])
def test_a_filter_that_cannot_be_is_refused_in_words(base, narrowed):
    with pytest.raises(KbError):
        found(base, "tiles", **narrowed)


def test_equal_scores_are_ordered_by_path(make_base):
    layout = make_base({f"wiki/concepts/{name}.md": "# Same\n\nThe same words about warps.\n" for name in "cab"})
    build(layout)
    assert found(layout, "warps") == [f"wiki/concepts/{name}.md" for name in "abc"]


def test_a_query_of_signs_or_unknown_words_finds_nothing(base):
    assert found(base, '"*() OR NOT') == [] and found(base, "xyzzy") == [] and found(base, "") == []


def test_a_long_section_is_cut_and_every_part_of_a_table_keeps_its_header():
    rows = "\n".join(f"| lever {i} | a result that takes some room on the line, number {i} |" for i in range(80))
    parts = chunks(f"# T\n\n## Ledger\n\n| lever | result |\n|---|---|\n{rows}\n")
    assert len(parts) > 2
    assert all(p.text.startswith("| lever | result |\n|---|---|") and p.anchor == "ledger" and len(p.text) < 2000 for p in parts)
    assert sum(p.text.count("\n| lever ") for p in parts) >= 79


def test_an_endless_line_is_cut_at_words_and_loses_none():
    line = " ".join(f"word{i}" for i in range(2000))
    parts = chunks(f"# T\n\n{line}\n")
    assert " ".join(" ".join(p.text.split()) for p in parts) == line
    assert max(len(p.text) for p in parts) <= 1700


def test_chunks_hold_every_line_of_a_page_that_is_no_heading():
    kept = "\n".join(p.text for p in chunks(FLAGS))
    body = [line for line in FLAGS.split("---\n", 2)[2].split("\n") if line.strip() and not line.startswith("#")]
    assert [line for line in kept.split("\n") if line.strip()] == body


def test_after_edits_search_answers_as_after_a_fresh_build(base, make_base):
    run = base.root / "wiki/experiments/engine/2026-01-03-v001-tiles.md"
    text = run.read_text()
    run.write_text(text.replace("larger and slower", "twice as wide") + "\nA zebra crossed.\n")
    build(base)
    assert found(base, "zebra") == ["wiki/experiments/engine/2026-01-03-v001-tiles.md"]
    (base.root / "wiki/concepts/flags.md").unlink()
    run.write_text(text)
    build(base)
    fresh = make_base({p.relative_to(base.root).as_posix(): p.read_bytes() for p in base.wiki.rglob("*.md")}, name="fresh")
    build(fresh)
    assert found(base, "zebra") == [] and found(base, "scoped_vmem_limit_kib") == []
    for query in ("tiles", "kernel slower", "smaller faster decoder"):
        assert answers(store.state(base), Query(query)) == answers(store.state(fresh), Query(query))


def test_a_snippet_is_the_stretch_that_holds_most_of_the_words():
    text = "nothing here. " * 60 + "the warps and the tiles meet " + "then nothing. " * 60
    snippet = snippet_of(text, ["warps", "tiles"])
    assert "warps" in snippet and "tiles" in snippet and len(snippet) < 220


def test_the_command_prints_json_and_refuses_an_unknown_type(base, kb_command):
    listed = json.loads(kb_command("search", "scoped_vmem_limit_kib", "--format", "json", cwd=base.root).stdout)
    assert listed[0]["path"] == "wiki/concepts/flags.md" and {"anchor", "line", "type", "score", "snippet", "verdict", "target", "date"} <= listed[0].keys()
    assert "flags.md#memory" in kb_command("search", "scoped_vmem_limit_kib", cwd=base.root).stdout
    assert "no such page type" in kb_command("search", "x", "--type", "recipe", cwd=base.root, ok=(2,)).stderr


@pytest.mark.corpora
def test_every_identifier_of_a_real_wiki_finds_a_page_that_holds_it(corpora, make_base):
    folder = corpora / "tpu-wiki" / "wiki" / "observations"
    layout = make_base({f"wiki/observations/{f.name}": f.read_bytes() for f in folder.glob("*.md")})
    build(layout)
    for file in sorted(layout.wiki.rglob("*.md")):
        for name in [w for w in file.read_text().split() if w.count("_") >= 2 and w.strip("`,.").isidentifier()][:5]:
            hits = found(layout, name.strip("`,."))
            assert any(name.strip("`,.") in (layout.root / path).read_text() for path in hits), name


SCRIPTS = {
    "wiki/zh.md": "# 报告\n\n我们做了编程模型对比，结果很好。\n", "wiki/ja.md": "# 記録\n\n大規模言語モデルの推論を速くする。\n", "wiki/ko.md": "# 기록\n\n행렬곱셈커널을 최적화했다.\n",
    "wiki/pl.md": "# Łódź\n\nWiększy bufor nic nie dał, kæmpe øge.\n", "wiki/ru.md": "# Ёлка\n\nПлитки ускоряют умножение.\n", "wiki/de.md": "# Größe\n\nÜber die Blockgröße.\n", "wiki/en.md": "# English\n\nNothing of the kind here, block sizes apart.\n",
}


@pytest.mark.parametrize(("query", "path"), [("编程模型对比", "zh"), ("模型", "zh"), ("编", "zh"), ("言語モデル", "ja"), ("행렬곱셈", "ko"), ("ёлка", "ru"), ("ЕЛКА", "ru"), ("плитки", "ru"), ("grosse", "de"), ("GRÖSSE", "de"), ("blockgröße", "de"), ("lodz", "pl"), ("ŁÓDŹ", "pl"), ("kaempe", "pl"), ("øge", "pl")])
def test_every_script_is_found_by_its_words(make_base, query, path):
    layout = make_base(SCRIPTS)
    build(layout)
    found = answers(store.state(layout), Query(query))
    assert [a.path for a in found] == [f"wiki/{path}.md"] and found[0].snippet


def captured_source(root: Path, id: str, text: str, title: str) -> None:
    (root / "sources" / id).mkdir(parents=True, exist_ok=True)
    (root / f"sources/{id}/text.md").write_text(text, encoding="utf-8")
    data = text.encode()
    file = {"name": "text.md", "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data), "media_type": "text/markdown"}
    meta = {"origin": "https://example.org", "title": title, "text": "text.md", "files": [file]}
    (root / f"sources/{id}/meta.json").write_text(json.dumps(meta), encoding="utf-8")


def test_captured_text_is_found_as_quoted_material_and_follows_its_source(base, make_base, kb_command):
    captured_source(base.root, "paper", "# Paper\n\n## Method\n\nThe quokkafuse pass \u202e hides\u200b and runs.\n", "A paper")
    found = json.loads(kb_command("search", "quokkafuse", "--format", "json", cwd=base.root).stdout)
    assert [(a["path"], a["anchor"], a["type"]) for a in found] == [("sources/paper/text.md", "method", "captured")]
    assert "\u202e" not in found[0]["snippet"] and "\u200b" not in found[0]["snippet"]
    shown = kb_command("search", "quokkafuse", cwd=base.root).stdout
    assert "(captured, quoted)\n    > The quokkafuse pass" in shown
    assert kb_command("search", "quokkafuse", "--type", "concept", cwd=base.root).stdout.strip() == "nothing found"
    assert kb_command("search", "vmem", "--type", "captured", cwd=base.root).stdout.strip() == "nothing found"
    captured_source(base.root, "paper", "# Paper\n\nAbout wombats alone.\n", "A paper")
    assert "quokkafuse" not in kb_command("search", "quokkafuse", cwd=base.root).stdout
    assert "sources/paper" in kb_command("search", "wombats", cwd=base.root).stdout
    (base.root / "sources/paper/meta.json").unlink()
    assert "sources/paper" not in kb_command("search", "wombats", cwd=base.root).stdout


def test_captured_material_never_takes_more_than_a_quarter_of_the_places(base, kb_command):
    for n in range(9):
        captured_source(base.root, f"p{n}", "memory memory scoped_vmem_limit_kib\n", f"Memory {n}")
    paths = [a["path"] for a in json.loads(kb_command("search", "memory", "--limit", "4", "--format", "json", cwd=base.root).stdout)]
    assert [p.startswith("sources/") for p in paths].count(True) == max(1, 4 - len([p for p in paths if p.startswith("wiki/")]))
    assert paths == sorted(paths, key=lambda p: p.startswith("sources/")), "the wiki's own pages come first"


def test_words_that_stand_everywhere_are_sought_on_the_best_pages(make_base, monkeypatch):
    pages = {f"wiki/concepts/c{n}.md": f"# C{n}\n\n## One\n\ntile block {'tile block ' * (n == 7)}\n\n## Two\n\nother words\n" for n in range(30)}
    layout = make_base(pages)
    build(layout)
    with contextlib.closing(store.state(layout)) as db:
        whole = search.find(db, "tile block", limit=40)
        monkeypatch.setattr(search, "_CROWD", 10)
        monkeypatch.setattr(search, "_BEST_PAGES", 5)
        few = search.find(db, "tile block", limit=40)
    assert few[0].chunk == whole[0].chunk and (few[0].type, few[0].page_title) == (whole[0].type, whole[0].page_title)
    assert len(whole) == 30 and len(few) == 5
