"""The computed part of a retrospective: a mechanism tree and a lineage out of any trail, with tags and levers or with titles alone."""

import json

LOG = [
    ("0", "", "baseline", "Stock build"),
    ("1", "0", "keep", "Tokenizer without regex"),
    ("2", "1", "discard", "Tokenizer split in two"),
    ("3", "1", "keep", "Smaller tokenizer state"),
    ("4", "3", "discard", "set CHUNK_SIZE=4096"),
    ("5", "3", "keep", "set CHUNK_SIZE=8192"),
    ("6", "5", "discard", "Replace 3 lines with 9 lines"),
    ("7", "5", "discard", "Replace 4 lines with 5 lines"),
    ("8", "5", "discard", "Replace 8 lines with 8 lines"),
    ("9", "0", "discard", "Quite another idea"),
]


def retro(make_base, kb_command) -> dict:
    name = "wiki/experiments/engine/2026-01-{:0>2}-v0{:0>2}-x.md"
    verdicts = {"keep": "inconclusive", "discard": "refuted", "baseline": "baseline"}
    pages = {
        name.format(int(n) + 1, n): f"---\ntitle: {title}\ntype: experiment\ntarget: engine\nverdict: {verdicts[decision]}\ndecision: {decision}\n"
        + (f"parent: {name.format(int(parent) + 1, parent)}\n" if parent else "") + f"---\n# {title}\n"
        for n, parent, decision, title in LOG
    }
    layout = make_base(pages)
    (layout.root / "kb.toml").write_text("")
    kb_command("build", cwd=layout.root)
    assert "## Lineage" in kb_command("retro", "--date", "2026-02-01", cwd=layout.root).stdout
    return json.loads(kb_command("retro", "--format", "json", cwd=layout.root).stdout)


def numbers(paths) -> str:
    return " ".join(str(int(path.rsplit("-v0", 1)[1][:2])) for path in paths)


def test_the_mechanism_tree_holds_every_run_once_whatever_the_trail_says_of_itself(make_base, kb_command):
    made = retro(make_base, kb_command)
    assert {t["name"]: numbers(t["paths"]) for t in made["tree"]} == {
        "tokenizer": "1 2 3", "CHUNK_SIZE": "4 5", "variations of 2026-01-06-v005-x": "6 7 8"
    }
    assert numbers(made["alone"]) == "0 9"
    assert sorted([*made["alone"], *(p for t in made["tree"] for p in t["paths"])]) == [row["path"] for row in made["ledger"]]


def test_the_lineage_tells_what_was_built_on_what(make_base, kb_command):
    lineage = retro(make_base, kb_command)["lineage"]
    assert (lineage["runs"], lineage["generations"], numbers(lineage["line"])) == (9, 5, "0 1 3 5")
    assert [(numbers([path]), count) for path, count in lineage["parents"]] == [("5", 3), ("0", 2), ("1", 2), ("3", 2)]
