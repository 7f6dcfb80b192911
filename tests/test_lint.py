"""Every rule shown failing by a case of tests/lint, every fix to the byte; what lint survives, sets aside and prints."""

import ast
import json
import re
import shutil
from pathlib import Path

import pytest

import kb
from kb import KbError, claims, lint, source, store
from kb.build import build
from kb.page import seal

CASES = sorted((Path(__file__).parent / "lint").glob("*.md"))
# These need bytes, links, permissions or digests that a markdown case cannot show; they have tests of their own below.
TESTED_IN_INGEST = {"stale-reading", "quote-gone", "unreadable-reading"}
TESTED_BELOW = TESTED_IN_INGEST | {"disputed-quantity", "claim-without-source", "unreadable-claims", "unreadable", "vanished", "symlink", "file-name", "binary", "too-large", "encoding", "filed-changed"}
TODAY = "2026-06-01"
HEAD = "---\ntitle: {0}\ntype: concept\nupdated: 2026-01-01\n---\n\n"
FILED = "---\ntitle: E\ntype: experiment\nhypothesis: h\ncreated: 2026-01-02\nupdated: 2026-01-02\ncommit: abc\nverdict: refuted\n---\n\n"


def case_of(file: Path) -> tuple[dict[str, str], list[str]]:
    """Pages and expected findings (`path:line target`) of a case file."""
    text = file.read_text(encoding="utf-8")
    pages = {m[1]: m[2] + "\n" for m in re.finditer(r"^## (\S.*?)\n\n````markdown\n(.*?)\n````$", text, re.DOTALL | re.MULTILINE)}
    return pages, re.findall(r"^- `(.+)`$", text.partition("\n## Finds\n")[2], re.MULTILINE)


def matter_at(layout: store.Layout) -> lint.Matter:
    return lint.matter_of(layout, rows={}, today=TODAY)


def found(layout: store.Layout, code: str) -> list[str]:
    return [f"{f.path}:{f.line} {f.target}".strip() for f in lint.lint(matter_at(layout)).findings if f.code == code]


def mended(layout: store.Layout, *asked: str) -> dict[str, bytes]:
    matter = matter_at(layout)
    return {m.path: m.after for m in lint.write(layout, lint.mends_of(matter, lint.lint(matter).findings, wanted=asked))}


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_a_rule_finds_what_its_case_says_and_no_more(file, make_base):
    pages, wanted = case_of(file)
    assert wanted, "a case must show its rule failing"
    assert sorted(found(make_base(pages), file.stem)) == sorted(wanted)


def test_every_rule_has_a_case():
    assert {file.stem for file in CASES} | TESTED_BELOW == set(lint.all_rules())


def test_every_code_that_a_room_states_is_a_rule():
    stated = set()
    for file in sorted(Path(kb.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            said = []
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Finding", "find"):
                given = [v for arg in node.args for v in (arg.value.elts if isinstance(arg, ast.Starred) else [arg])]
                # `find` of a page being read: the line, then the code.
                said = given[2:3] if node.func.id == "Finding" else given[1:2]
            stated |= {v.value for v in said if isinstance(v, ast.Constant) and isinstance(v.value, str) and re.fullmatch(r"[a-z]+(-[a-z]+)*", v.value)}
    assert {"binary", "front-matter", "orphan", "filed-changed"} <= stated
    assert stated | {"broken-link", "broken-anchor", "unresolved-reference", "wikilink"} <= set(lint.all_rules())


def test_the_reference_page_of_the_rules_is_current():
    page = Path(__file__).parent.parent / "docs" / "rules.md"
    assert page.read_text(encoding="utf-8") == lint.rule_table(), "write it anew: kb lint --rules > docs/rules.md"


def test_hostile_files_become_findings(make_base, tmp_path):
    (tmp_path / "secret.md").write_text("outside")
    layout = make_base({"wiki/a.md": b"\0\1\2", "wiki/b.md": b"caf\xe9\n", "wiki/c.md": b"# c\n" + b"word " * 600_000, "wiki/d.md": "[a](a.md) " * 40_000})
    (layout.wiki / "out.md").symlink_to(tmp_path / "secret.md")
    (layout.wiki / "loop").symlink_to(layout.wiki)
    (layout.wiki / "gone.md").symlink_to("nowhere.md")
    (layout.root / "wiki" / "x\udcff.md").write_text("x")
    by_path = {(f.path, f.code) for f in lint.lint(matter_at(layout)).findings}
    assert {("wiki/a.md", "binary"), ("wiki/b.md", "encoding"), ("wiki/c.md", "too-large"), ("wiki/out.md", "symlink"), ("wiki/loop", "symlink"),
            ("wiki/gone.md", "symlink")} <= by_path
    assert any(code == "file-name" for _, code in by_path)
    assert not any(path == "wiki/d.md" and code == "broken-link" for path, code in by_path)


def test_a_page_that_cannot_be_read_or_goes_away_is_reported_and_the_rest_is_linted(make_base, monkeypatch):
    layout = make_base({"wiki/concepts/a.md": HEAD.format("A") + "[x](gone.md)\n", "wiki/concepts/b.md": HEAD.format("B"), "wiki/concepts/c.md": HEAD.format("C")})
    read = store.walk._content

    def failing(where, path):
        if path.endswith("b.md"):
            raise PermissionError(13, "Permission denied")
        if path.endswith("c.md"):
            raise FileNotFoundError(2, "gone")
        return read(where, path)

    monkeypatch.setattr(store.walk, "_content", failing)
    codes = {(f.path, f.code) for f in lint.lint(matter_at(layout)).findings}
    assert {("wiki/concepts/b.md", "unreadable"), ("wiki/concepts/c.md", "vanished"), ("wiki/concepts/a.md", "broken-link")} <= codes


def test_a_filed_page_that_was_changed_is_found_and_a_dated_note_is_not(make_base):
    path = "wiki/experiments/t/2026-01-02-v001-e.md"
    data = seal.sealed(path, (FILED + "## Verdict\n\nRefuted: slower.\n").encode())
    layout = make_base({path: data})
    assert found(layout, "filed-changed") == []
    (layout.root / path).write_bytes(data + b"\n## Note 2026-02-02\n\nStill so.\n")
    assert found(layout, "filed-changed") == []
    (layout.root / path).write_bytes(data.replace(b"slower", b"faster"))
    assert found(layout, "filed-changed") == [f"{path}:9 sealed"]
    # What kb measured and filed has a seal; without one somebody took it away.
    bare = b"\n".join(line for line in data.split(b"\n") if not line.startswith(b"sealed:"))
    (layout.root / path).write_bytes(bare.replace(b"---\n", b"---\nmeasured: 1:ab\nverdict: supported\n", 1))
    assert [f.rpartition(" ")[2] for f in found(layout, "filed-changed")] == ["sealed"]


@pytest.mark.parametrize(("newline", "bom", "end"), [("\n", b"", "\n"), ("\r\n", b"", "\r\n"), ("\n", b"\xef\xbb\xbf", ""), ("\r\n", b"\xef\xbb\xbf", "")])
def test_fix_changes_these_bytes_and_no_others(make_base, newline, bom, end):
    def bytes_of(text: str) -> bytes:
        return bom + (text.replace("\n", newline) + end).encode()

    head = HEAD.format("A  # odd   spacing")
    before = head + "See [b](../old/moved-page-here.md#part \"T\") and `[b](../other.md)`.  \n- one\n- two\n\n## Pages (3)\n* [b](../concepts/moved-page-here.md)\n*   [a](a.md)\n\ttab"
    after = head + "See [b](../concepts/moved-page-here.md#part \"T\") and `[b](../other.md)`.  \n- one\n- two\n\n## Pages (2)\n* [b](../concepts/moved-page-here.md)\n*   [a](a.md)\n\ttab"
    layout = make_base({"wiki/sources/a.md": bytes_of(before), "wiki/concepts/moved-page-here.md": HEAD.format("B") + "## Part\n"})
    assert mended(layout) == {"wiki/sources/a.md": bytes_of(after)}
    assert (layout.root / "wiki/sources/a.md").read_bytes() == bytes_of(after)
    assert mended(layout) == {}


def test_fix_gives_a_link_its_ending_its_case_and_its_root(make_base):
    text = "[x](b?v=1#part) [y](B.md) [z](B#gone) `[x](b)` [here](.) [w](/concepts/b.md)\n"
    layout = make_base({"wiki/concepts/a.md": HEAD.format("A") + text, "wiki/concepts/b.md": HEAD.format("B") + "## Part\n"})
    assert mended(layout) == {"wiki/concepts/a.md": (HEAD.format("A") + "[x](b.md?v=1#part) [y](b.md) [z](B#gone) `[x](b)` [here](.) [w](/wiki/concepts/b.md)\n").encode()}


def test_fix_writes_a_wikilink_as_the_link_it_stands_for_and_leaves_what_is_not_certain(make_base):
    text = HEAD.format("A") + "See [[b-page]], [[B-Page|the other]] and [[b-page#Part]].\r\n\r\n| a | b |\r\n|---|---|\r\n| [[b-page\\|x]] | 1 |\r\n\r\n"
    kept = "`[[b-page]]` and [[b-page]]\r\n![[b-page]] [[nowhere]] [[b-page#gone]]\r\n"
    linking = {f"wiki/concepts/m{n}.md": HEAD.format(f"M{n}") + "[a](../sources/a.md)\n" for n in range(9)}
    layout = make_base({"wiki/sources/a.md": (text + kept).encode(), "wiki/concepts/b-page.md": HEAD.format("B") + "## Part\n", **linking})
    to = "../concepts/b-page.md"
    mended_text = text.replace("[[b-page]]", f"[b-page]({to})").replace("[[B-Page|the other]]", f"[the other]({to})").replace("[[b-page#Part]]", f"[b-page#Part]({to}#part)")
    assert mended(layout) == {}, "wikilinks are how a wiki writes its links until somebody asks"
    assert mended(layout, "wikilink") == {"wiki/sources/a.md": (mended_text.replace("[[b-page\\|x]]", f"[x]({to})") + kept).encode()}
    assert mended(layout, "wikilink") == {}


def test_fix_leads_a_reference_definition_to_the_moved_page(make_base):
    layout = make_base({"wiki/sources/a.md": HEAD.format("A") + "[one][p] [two][p]\n\n[p]: gone/a-moved-page.md \"T\"\n", "wiki/concepts/a-moved-page.md": HEAD.format("B")})
    assert mended(layout) == {"wiki/sources/a.md": (HEAD.format("A") + "[one][p] [two][p]\n\n[p]: ../concepts/a-moved-page.md \"T\"\n").encode()}


@pytest.mark.parametrize("body", [
    "[x](gone/overview.md)",  # A name that many folders have.
    "[x](gone/README.md)",
    "[x](gone/two-of-these.md)",  # Two candidates.
    "[x](gone/a-moved-page.md#no-such-part)",  # The anchor is not there.
    "`[x](gone/a-moved-page.md)` [x](gone/a-moved-page.md)",  # Code that reads the same.
])
def test_fix_leaves_alone_what_is_not_certain(body, make_base):
    layout = make_base({"wiki/sources/a.md": HEAD.format("A") + body + "\n", "wiki/concepts/overview.md": HEAD.format("B"), "wiki/concepts/README.md": "# R\n",
                        "wiki/concepts/a-moved-page.md": HEAD.format("C"), "wiki/concepts/two-of-these.md": HEAD.format("D"), "wiki/analyses/two-of-these.md": HEAD.format("E")})
    assert mended(layout) == {}


def test_fix_never_touches_a_filed_experiment_and_mends_one_in_flight(make_base):
    filed, open_ = "wiki/experiments/t/2026-01-02-v001-e.md", "wiki/experiments/t/2026-01-02-v002-f.md"
    body = "[x](a-moved-page.md)\n"
    pages = {"wiki/concepts/a-moved-page.md": HEAD.format("C")}
    layout = make_base({filed: FILED + body, open_: FILED.replace("verdict: refuted", "status: running") + body, **pages})
    assert set(mended(layout)) == {open_}
    fixable = {f.path for f in lint.lint(matter_at(layout)).findings if f.fixable}
    assert fixable == set()


def test_fix_leaves_a_page_that_changed_since_it_was_read(make_base):
    layout = make_base({"wiki/concepts/a.md": HEAD.format("A") + "[b](b)\n", "wiki/concepts/b.md": HEAD.format("B")})
    matter = matter_at(layout)
    mends = lint.mends_of(matter, lint.lint(matter).findings)
    (layout.wiki / "concepts" / "a.md").write_text("another hand was here")
    assert lint.write(layout, mends) == []
    assert (layout.wiki / "concepts" / "a.md").read_text() == "another hand was here"


def test_a_comment_allows_one_line_or_a_finding_about_the_page(make_base):
    layout = make_base({"wiki/concepts/a.md": "---\ntitle: A\ntype: concept\n---\n\n[x](gone.md) <!-- kb:allow broken-link -->\n<!-- kb:allow broken-link, orphan missing-field -->\n[y](gone.md)\n[z](gone.md)\n"})
    assert found(layout, "broken-link") == ["wiki/concepts/a.md:9 gone.md"]
    assert found(layout, "orphan") == found(layout, "missing-field") == []


def test_kb_toml_switches_rules_off_and_changes_what_fails(make_base, kb_command):
    layout = make_base({"wiki/concepts/a.md": HEAD.format("A") + "[x](gone.md) [[w]]\n", "kb.toml": '[lint]\nrules = { broken-link = "warn", wikilink = "off" }\n'})
    done = kb_command("lint", cwd=layout.root)
    assert "broken-link" in done.stdout
    assert "wikilink" not in done.stdout
    (layout.root / "kb.toml").write_text('[lint]\nrules = { orphan = "error" }\n')
    kb_command("lint", cwd=layout.root, ok=(1,))


@pytest.mark.parametrize(("rules", "message"), [('{ broken-lnik = "off" }', "did you mean 'broken-link'"), ('{ orphan = "fatal" }', "error, warn or off")])
def test_a_wrong_rule_in_kb_toml_is_named(rules, message, make_base):
    layout = make_base({"kb.toml": f"[lint]\nrules = {rules}\n"})
    with pytest.raises(KbError, match=message):
        lint.lint(matter_at(layout))


def test_a_rule_that_needs_an_index_page_rests_with_one_note(make_base, kb_command):
    layout = make_base({"wiki/concepts/a.md": HEAD.format("A") + "[b](b.md)\n", "wiki/concepts/b.md": HEAD.format("B") + "[a](a.md)\n"})
    done = kb_command("lint", "--format", "json", cwd=layout.root)
    assert json.loads(done.stdout) == []
    assert done.stderr.count("no index page") == 1


def test_the_baseline_hides_what_is_known_and_shows_what_is_new_however_lines_shift(make_base, kb_command):
    layout = make_base({"wiki/concepts/a.md": HEAD.format("A") + "[x](gone.md) [y](lost.md)\n"})
    kb_command("lint", cwd=layout.root, ok=(1,))
    kb_command("lint", "--baseline", cwd=layout.root)
    first = (layout.root / lint.BASELINE_NAME).read_bytes()
    page = layout.wiki / "concepts" / "a.md"
    page.write_text(HEAD.format("A") + "\n\nMore text.\n\n[x](gone.md)\n[y](lost.md)\n")
    assert "are known in the baseline" in kb_command("lint", cwd=layout.root).stdout
    page.write_text(page.read_text() + "[x again](gone.md)\n")
    listed = json.loads(kb_command("lint", "--format", "json", cwd=layout.root, ok=(1,)).stdout)
    assert [(f["code"], f["line"]) for f in listed] == [("broken-link", 13)]
    assert len(json.loads(kb_command("lint", "--all", "--format", "json", cwd=layout.root, ok=(1,)).stdout)) > len(listed)
    page.write_text(HEAD.format("A") + "[x](gone.md) [y](lost.md)\n")
    kb_command("lint", "--baseline", cwd=layout.root)
    assert (layout.root / lint.BASELINE_NAME).read_bytes() == first
    (layout.root / lint.BASELINE_NAME).write_text("{}")
    assert "record it anew" in kb_command("lint", cwd=layout.root, ok=(2,)).stderr


def test_json_lists_findings_with_the_fields_of_the_contract(make_base, kb_command):
    layout = make_base({"wiki/concepts/a.md": HEAD.format("A") + "[x](gone.md)\n"})
    listed = json.loads(kb_command("lint", "--format", "json", "--code", "broken-link", cwd=layout.root, ok=(1,)).stdout)
    assert listed == [{"path": "wiki/concepts/a.md", "line": 7, "code": "broken-link", "level": "error", "target": "gone.md", "message": "no file 'wiki/concepts/gone.md'",
                       "hint": "write the page, or remove the link", "fixable": False}]


def test_github_annotations_escape_what_would_end_them(make_base, kb_command):
    layout = make_base({"wiki/concepts/a, b.md": HEAD.format("A") + "[x](./50%25.md)\n"})
    out = kb_command("lint", "--format", "github", "--code", "broken-link", cwd=layout.root, ok=(1,)).stdout
    assert out.startswith("::error file=wiki/concepts/a%2C b.md,line=7,title=broken-link::no file 'wiki/concepts/50%25.md'")


def test_sarif_holds_rules_results_and_fingerprints_that_survive_shifted_lines(make_base, kb_command):
    def run_of(text: str, name: str):
        layout = make_base({"wiki/concepts/a b.md": HEAD.format("A") + text}, name=name)
        report = json.loads(kb_command("lint", "--format", "sarif", cwd=layout.root, ok=(1,)).stdout)
        assert report["version"] == "2.1.0"
        return report["runs"][0]

    one, two = run_of("[x](gone.md)\n", "one"), run_of("text\n\n[x](gone.md)\n", "two")
    broken = next(r for r in one["results"] if r["ruleId"] == "broken-link")
    assert broken["level"] == "error"
    assert one["tool"]["driver"]["rules"][broken["ruleIndex"]]["id"] == "broken-link"
    assert broken["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "wiki/concepts/a%20b.md"
    assert broken["partialFingerprints"] == next(r for r in two["results"] if r["ruleId"] == "broken-link")["partialFingerprints"]


def test_text_sums_up_each_kind_in_a_line_with_its_worst_places_and_all_prints_every_one(make_base, kb_command):
    pages = {f"wiki/concepts/p{n}.md": HEAD.format(f"P{n}") + "[x](gone.md)\n" * (9 if n in (3, 5) else 5) for n in range(60)}
    layout = make_base(pages)
    out = kb_command("lint", cwd=layout.root, ok=(1,)).stdout
    (line,) = (row for row in out.splitlines() if "broken-link" in row)
    assert line.split() == "308 error broken-link wiki/concepts/p3.md:7 [gone.md] and 8 more there, wiki/concepts/p5.md:7 [gone.md] and 8 more there, \
wiki/concepts/p0.md:7 [gone.md] and 4 more there, … 57 more pages".split()
    assert len(out.splitlines()) == 1 + len(set(json_codes := [f["code"] for f in json.loads(kb_command("lint", "--format", "json", cwd=layout.root, ok=(1,)).stdout)]))
    assert json_codes.count("broken-link") == 308
    assert kb_command("lint", "--all", cwd=layout.root, ok=(1,)).stdout.count("no file 'wiki/concepts/gone.md'") == 308
    assert "… and 361 more: --limit 0 prints all of them" in kb_command("lint", "--limit", "7", cwd=layout.root, ok=(1,)).stdout
    one = kb_command("lint", "wiki/concepts/p7.md", "--code", "broken-link", cwd=layout.root, ok=(1,)).stdout
    assert "5 errors, 0 warnings in 1 page" in one
    assert "5 errors" in kb_command("lint", "p7.md", "--code", "broken-link", cwd=layout.wiki / "concepts", ok=(1,)).stdout


def test_what_a_whole_wiki_lacks_is_printed_once_and_listed_whole(make_base, kb_command):
    runs = {f"wiki/experiments/t/2026-01-{n:02d}-x.md": FILED + "**Hypothesis**: h\n" + ("**Mechanism**: m\n" if n < 4 else "") for n in range(1, 10)}
    layout = make_base(runs | {"wiki/index.md": "# I\n\n" + "".join(f"[e]({path.removeprefix('wiki/')})\n" for path in runs)})
    out = kb_command("lint", cwd=layout.root).stdout
    assert re.search(r"^ +6  warn   missing-mechanism +6 of 9 pages of type experiment: does not say the mechanism", out, re.MULTILINE)
    assert "2026-01-05" not in out
    for words in (("--limit", "0"), ("--code", "missing-mechanism"), ("wiki/experiments",), ("--all",)):
        assert kb_command("lint", *words, cwd=layout.root).stdout.count("does not say the mechanism") == 6
    assert sum(f["code"] == "missing-mechanism" for f in json.loads(kb_command("lint", "--format", "json", cwd=layout.root).stdout)) == 6


@pytest.mark.parametrize(("many", "where"), [(2, "wiki/experiments/t/2026-01-01-x.md:1, wiki/experiments/t/2026-01-02-x.md:1"), (6, "6 of 6 pages of type experiment")])
def test_kinds_that_the_same_pages_lack_are_one_line(make_base, kb_command, many, where):
    runs = {f"wiki/experiments/t/2026-01-0{n}-x.md": FILED + "**Hypothesis**: h\n\n| t | ms |\n|--|--|\n| a | 3 |\n" for n in range(1, many + 1)}
    layout = make_base(runs | {"wiki/index.md": "# I\n\n" + "".join(f"[e]({path.removeprefix('wiki/')})\n" for path in runs)})
    (line,) = (row for row in kb_command("lint", cwd=layout.root).stdout.splitlines() if "missing-" in row)
    assert line.split() == f"{4 * many} warn missing-falsification, missing-mechanism, missing-prediction, missing-profile: {where}".split()
    assert kb_command("lint", "--all", cwd=layout.root).stdout.count("does not say the mechanism") == many


def test_a_hypothesis_that_is_labelled_in_another_language_is_not_missed(make_base, kb_command):
    layout = make_base({"wiki/experiments/t/2026-01-01-x.md": FILED + "**假设**：隐藏延迟。\n"})
    assert "missing-hypothesis" not in kb_command("lint", cwd=layout.root).stdout


def test_a_word_and_a_folder_that_a_wiki_uses_by_habit_are_told_once_or_not_at_all(make_base, kb_command):
    odd = {f"wiki/concepts/p{n}.md": f"---\ntitle: P{n}\ntype: playbook\nupdated: 2026-01-01\n---\n[l](../index.md)\n" for n in range(6)}
    notes = {f"wiki/sources/n{n}.md": HEAD.format(f"N{n}") for n in range(6)} | {"wiki/sources/s.md": HEAD.format("S").replace("concept", "analysis")}
    links = "".join(f"[p]({path.removeprefix('wiki/')})\n" for path in (*odd, *notes))
    layout = make_base(odd | notes | {"wiki/index.md": "# I\n\n" + links})
    out = kb_command("lint", cwd=layout.root).stdout
    assert re.search(r"^ +6  warn   unknown-type +'playbook' 6: known: target, ", out, re.MULTILINE)
    assert found(layout, "type-folder") == ["wiki/sources/s.md:3 analysis"]


def test_one_line_names_the_verdicts_that_kb_does_not_know_and_says_how_to_teach_them(make_base, kb_command):
    runs = {f"wiki/experiments/t/r-0{n}.md": f"---\n{said}\n---\n# R{n}\n" for n, said in enumerate(("status: yolo", "outcome: yolo", "verdict: kept", "result: 12 % faster"))}
    table = "| run | verdict |\n|---|---|\n| 1 | kept |\n| 2 | yolo |\n| 3 | nuked |\n\n| run | status |\n|---|---|\n| 4 | green |\n"
    layout = make_base(runs | {"wiki/all.md": f"# All\n\n{table}"})
    line = next(x for x in kb_command("lint", cwd=layout.root).stdout.splitlines() if "unknown-verdict" in x)
    assert line.split(maxsplit=3)[3] == """'yolo' 3, 'nuked' 1: say in kb.toml what it means: [verdicts] "yolo" = "supported", "refuted" or another verdict"""
    (layout.root / "kb.toml").write_text('[verdicts]\nyolo = "refuted"\nnuked = "refuted"\n')
    assert "unknown-verdict" not in kb_command("lint", cwd=layout.root).stdout


def test_fix_dry_run_prints_a_diff_and_changes_nothing(make_base, kb_command):
    text = HEAD.format("A") + "Text\n[b](b)"
    layout = make_base({"wiki/concepts/a.md": text, "wiki/concepts/b.md": HEAD.format("B")})
    out = kb_command("lint", "--fix", "--dry-run", cwd=layout.root).stdout
    assert "--- a/wiki/concepts/a.md\n+++ b/wiki/concepts/a.md\n" in out
    assert "\n-[b](b)\n" in out and "\n+[b](b.md)\n" in out
    assert (layout.wiki / "concepts" / "a.md").read_text() == text
    assert "mended 1 finding in 1 page" in kb_command("lint", "--fix", cwd=layout.root).stderr
    assert (layout.wiki / "concepts" / "a.md").read_text() == HEAD.format("A") + "Text\n[b](b.md)"


def test_the_name_of_a_rule_behind_fix_asks_for_it(make_base, kb_command):
    text = HEAD.format("A") + "[[b]] and [b](b)\n"
    layout = make_base({"wiki/concepts/a.md": text, "wiki/concepts/b.md": HEAD.format("B")})
    assert "wikilink" not in kb_command("lint", cwd=layout.root, ok=(1,)).stdout
    assert "mended 1 finding" in kb_command("lint", "--fix", "wikilink", cwd=layout.root).stderr
    assert "[[b]]" not in (layout.wiki / "concepts" / "a.md").read_text()
    assert "[b](b)\n" in (layout.wiki / "concepts" / "a.md").read_text()


@pytest.mark.parametrize("words", [("nowhere.md",), ("--code", "no-such"), ("--dry-run",), ("--baseline", "--fix"), ("/etc/passwd",)])
def test_misuse_is_said_and_ends_with_two(words, make_base, kb_command):
    done = kb_command("lint", *words, cwd=make_base({"wiki/a.md": "# a\n"}).root, ok=(2,))
    assert done.stderr.startswith("kb lint: ")


def test_lint_sees_the_disk_as_it_is_whatever_was_built_and_writes_nothing(make_base, kb_command):
    layout = make_base({"wiki/concepts/a.md": HEAD.format("A") + "[b](b.md)\n", "wiki/concepts/b.md": HEAD.format("B") + "[a](a.md)\n"})
    cold = kb_command("lint", "--format", "json", cwd=layout.root).stdout
    assert not (layout.root / ".kb").exists()
    assert not (layout.root / "indexes").exists()
    kb_command("build", cwd=layout.root)
    assert kb_command("lint", "--format", "json", cwd=layout.root).stdout == cold
    (layout.wiki / "concepts" / "b.md").unlink()
    assert [f["target"] for f in json.loads(kb_command("lint", "--format", "json", "--code", "broken-link", cwd=layout.root, ok=(1,)).stdout)] == ["b.md"]
    (layout.state / "kb.db").write_bytes(b"not a database at all, but long enough to look like one" * 100)
    kb_command("lint", cwd=layout.root, ok=(1,))


def test_the_shipped_wiki_has_no_findings(kb_command):
    assert json.loads(kb_command("lint", "--format", "json", "--today", "2026-11-21", cwd=Path(__file__).parent.parent).stdout) == []


def test_what_lint_found_is_kept_until_anything_it_looked_at_changes(make_base, kb_command, monkeypatch):
    layout = make_base({"wiki/concepts/a.md": HEAD.format("A") + "[b](../../raw/b.py) ![[plot.png]] [n](../../notes.md#head)\n", "notes.md": "# Head\n"})
    kb_command("build", cwd=layout.root)

    def codes() -> list[str]:
        words = ("lint", "--format", "json", "--today", "2026-01-02")
        first, second = (kb_command(*words, cwd=layout.root, ok=(0, 1)) for _ in range(2))
        assert (first.stdout, first.returncode) == (second.stdout, second.returncode)
        return sorted(f["code"] for f in json.loads(first.stdout) if f["code"] in ("broken-link", "broken-anchor", "wikilink", "empty"))

    assert codes() == ["broken-link", "wikilink"]
    (layout.root / "raw").mkdir()
    (layout.root / "raw" / "b.py").write_text("")
    assert codes() == ["wikilink"]
    (layout.wiki / "plot.png").write_text("")
    assert codes() == []
    (layout.root / "notes.md").write_text("# Other\n")
    assert codes() == ["broken-anchor"]
    (layout.wiki / "concepts" / "b.md").write_text("")
    assert codes() == ["broken-anchor", "empty"]
    (layout.root / "kb.toml").write_text('[lint]\nrules = { empty = "off" }\n')
    assert codes() == ["broken-anchor"]


def test_what_kb_files_itself_makes_no_finding_new_on_a_page_that_nobody_touched(make_base, kb_command):
    pages = {f"wiki/concepts/a page {n}.md": f"# Page {n}\n\nSee [[a page {n + 1}]].\n" for n in range(4)}
    layout = make_base({**pages, "wiki/notes/n.md": "# A try\n\nText.\n"})
    kb_command("lint", "--baseline", cwd=layout.root)
    links = "".join(f"[v{n}](experiments/t/v{n}.md)\n\n" for n in range(20))
    log = layout.root / "wiki/log.md"
    log.write_text('---\ntitle: "Log"\ntype: log\ncreated: 2026-01-01\nupdated: 2026-01-01\n---\n\n# Log\n\n' + links)
    for n in range(20):
        page = layout.root / f"wiki/experiments/t/v{n}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"---\ntitle: V{n}\ntype: experiment\nsealed: x\n---\n# V{n}\n\n[v0](v0.md)\n\n[v1](v1.md)\n")
    # What tells of runs is read as runs, of which more is asked.
    (layout.root / "kb.toml").write_text('[kb]\nruns = ["wiki/notes/*.md"]\n')
    new = json.loads(kb_command("lint", "--format", "json", cwd=layout.root, ok=(0, 1)).stdout)
    assert not [f for f in new if f["path"] in pages or (f["path"].startswith("wiki/notes") and f["code"] == "missing-field")], new


def test_a_name_with_blanks_is_no_matter_where_pages_are_cited_by_wikilinks(make_base):
    pages = {"wiki/concepts/a b.md": "See [[c#1]].\n", "wiki/concepts/c#1.md": "See [[a b]] and [[a b|again]].\n"}
    layout = make_base({path: HEAD.format(path) + body for path, body in pages.items()})
    assert found(layout, "unlinkable-name") == ["wiki/concepts/c#1.md:1 c#1.md"]


def test_claims_that_disagree_or_lost_their_source_are_found_whatever_was_kept(make_base, kb_command):
    def claim(source: str, value: float) -> claims.Claim:
        stated = claims.ClaimedQuantity(subject="H100", quantity="bandwidth", value=value, unit="GB/s")
        return claims.Claim(page="wiki/concepts/a.md", section="S", claim=f"It reaches {value:g}.", quote="q", source=source, start=0, end=1, packet="p", quantity=stated)

    layout = make_base({"wiki/concepts/a.md": HEAD.format("A") + "It reaches 3350.\n\nIt reaches 2900.\n", "sources/one/meta.json": "{}", "sources/two/meta.json": "{}"})
    kb_command("build", cwd=layout.root)

    def codes() -> list[str]:
        listed = json.loads(kb_command("lint", "--format", "json", "--today", TODAY, cwd=layout.root).stdout)
        return [f"{f['path']}:{f['line']} {f['code']} {f['target']}" for f in listed if "claim" in f["code"] or "disputed" in f["code"]]

    assert codes() == []
    claims.file_claims(layout, [claim("sources/one", 3350), claim("sources/one", 3100)])
    assert codes() == []
    claims.file_claims(layout, [claim("sources/two", 2900)])
    assert codes()[-1] == "wiki/concepts/a.md:7 disputed-quantity sources/two"
    claims.withdraw(layout, "sources/one")
    assert codes() == []
    shutil.rmtree(layout.sources / "two")
    assert codes() == ["wiki/concepts/a.md:9 claim-without-source sources/two"]
    (layout.sources / "claims" / "two.json").write_text("[3")
    assert codes() == ["sources/claims/two.json:1 unreadable-claims "]


def test_a_rule_of_another_package_is_found_by_its_entry_point(make_base, monkeypatch, tmp_path):
    package = tmp_path / "site"
    (package / "house-1.0.dist-info").mkdir(parents=True)
    (package / "house-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: house\nVersion: 1.0\n")
    (package / "house-1.0.dist-info" / "entry_points.txt").write_text("[kb.lint]\nhouse = house:RULE\n")
    (package / "house.py").write_text(
        "from kb.lint import Rule\nfrom kb.schema import Finding, Level\n\n"
        "def shouting(matter):\n    return [Finding(p, 1, 'shouting', 'shouts') for p, page in matter.pages.items() if page.title.isupper()]\n\n"
        "RULE = Rule('shouting', Level.WARN, 'nobody reads what shouts', 'house', shouting)\n"
    )
    monkeypatch.syspath_prepend(package)
    lint.all_rules.cache_clear()
    try:
        layout = make_base({"wiki/concepts/a.md": HEAD.format("LOUD"), "wiki/concepts/b.md": HEAD.format("Quiet")})
        assert found(layout, "shouting") == ["wiki/concepts/a.md:1"]
        assert "| `shouting` | warn |  | house | nobody reads what shouts |" in lint.rule_table()
    finally:
        lint.all_rules.cache_clear()


def test_what_kb_compiled_is_never_found_fault_with(make_base, kb_command):
    run = "wiki/experiments/t/2026-01-02-v001-e.md"
    layout = make_base({run: FILED, "wiki/index.md": f"# I\n\n[e]({run.removeprefix('wiki/')})\n"})
    kb_command("build", cwd=layout.root)
    file = next(layout.indexes.rglob("*.md"))
    file.write_text(file.read_text() + f"\n[e](../{run}) took 8,765.4 ms\n")
    assert not [f for f in json.loads(kb_command("lint", "--format", "json", cwd=layout.root, ok=(0, 1)).stdout) if f["path"].startswith("indexes/")]


def test_a_lint_keeps_few_texts_and_no_details(make_base):
    layout = make_base({f"wiki/concepts/c{n}.md": f"# C{n}\n\n> [!contradiction] that and this {n}\n\n```\n> [!contradiction] no\n```\n" for n in range(200)})
    build(layout)
    matter = lint.matter_of(layout, rows=lint.rows_of(layout, talk=print), today=TODAY)
    found = [f for f in lint.lint(matter).findings if f.code == "open-contradiction"]
    assert [f.line for f in found] == [3] * 200
    assert matter.lines.cache_info().currsize <= 64 and not any("detail" in vars(page) or page.known for page in matter.pages.values())


READS = "---\ntitle: {0}\ntype: concept\nupdated: 2026-01-01\n---\n\n# {0}\n\nWhat a launch costs where each kernel is short.\n\n## How to recognise it in a profile\n\n{1}\n"


def test_what_the_compiled_profile_index_advises_is_told_of_the_section_that_it_is_taken_from(make_base):
    layout = make_base({"wiki/concepts/gaps.md": READS.format("Gaps", "Gaps between short kernels, on the timeline of the host. Where they are long, enable graphs."),
                        "wiki/concepts/stalls.md": READS.format("Stalls", "Look at the counters of the memory first, and compare two runs of the same build.")})
    assert not found(layout, "profile-advice")
    build(layout)
    assert found(layout, "profile-advice") == ["wiki/concepts/gaps.md:11 Where they are long, enable graphs."]


def test_a_sentence_of_the_hypothesis_index_that_only_says_how_to_read_a_profile_is_told(make_base):
    layout = make_base({"wiki/concepts/gaps.md": READS.format("Gaps", "At 128 tokens 38 % of the step stand idle on the timeline.\n\n## Limits\n\nGraphs brought 11.2 % here."),
                        **{f"wiki/hypotheses/h{n}.md": f"---\ntitle: Gaps {n}\ntype: hypothesis\ncreated: 2026-01-01\nupdated: 2026-01-01\nstatus: open\n---\n\nOf [gaps](../concepts/gaps.md).\n" for n in range(4)}})
    build(layout)
    text = (layout.indexes / "hypothesis.md").read_text()
    sentences = tuple(source.QuotedText(text=quote, quote=quote) for quote in ("At 128 tokens 38 % of the step stand idle on the timeline.", "Graphs brought 11.2 % here."))
    note = source.IndexNote(topic="Gaps", sentences=sentences)
    filed = source.FiledNotes(index="hypothesis", topics={"Gaps": (store.digest_of(source.facts_by_topic(text)["Gaps"]), note)})
    store.write(layout.root / source.path_of_notes("hypothesis"), store.to_json(filed, order=None))
    build(layout)
    line = (layout.indexes / "hypothesis.md").read_text().split("\n").index("## Gaps") + 1
    assert found(layout, "only-hypothesis-material") == [f"indexes/hypothesis.md:{line} At 128 tokens 38 % of the step stand idle on the timeline."]


def test_what_is_broken_comes_before_what_pages_lack_by_habit(make_base, kb_command):
    pages = {f"wiki/experiments/t/2026-01-0{n}-v00{n}-x.md": f"# Try {n}\n\nVerdict: kept.\n" for n in range(1, 8)}
    pages["wiki/concepts/a.md"] = HEAD.format("A") + "See [[nowhere]] and [b][gone].\n"
    out = kb_command("lint", cwd=make_base(pages).root, ok=(0, 1)).stdout.splitlines()
    kinds = [line.split()[2].rstrip(",:") for line in out[:-1]]
    form = [code for code in kinds if lint.all_rules()[code].habit]
    assert {"wikilink", "unresolved-reference"} <= {*kinds} - {*form} and form == kinds[-len(form) :] and out[-1].startswith("0 errors, ")
