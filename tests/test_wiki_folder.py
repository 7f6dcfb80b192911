"""A knowledge base whose pages stand elsewhere than in wiki/: what kb writes stands there too, and every door reads it."""

import hashlib
import json
import os
import sys
from pathlib import Path

import pytest

from kb import page, store
from kb.trail.declared import runs_among

LOG = "commit\tval_bpb\tstatus\tdescription\na1\t1.02\tkeep\tbaseline\nb1\t1.01\tkeep\tlr 0.02\nc1\t1.05\tdiscard\tlr 0.2\n"
SOURCE = "# The chip\n\nThe bandwidth of its memory is 819 GB/s in every mode of it.\n"
TARGET = "---\ntitle: Learning rate\ntype: target\nmetric: val_bpb\nbenchmark: ./bench\n---\n# Learning rate\n"


@pytest.fixture(params=["docs", "docs/", ".", "notes/wiki"])
def home(request, tmp_path) -> Path:
    """The folder of the pages of a knowledge base, with a source."""
    home = tmp_path / request.param
    home.mkdir(parents=True, exist_ok=True)
    (tmp_path / "kb.toml").write_text(f'[kb]\nwiki = "{request.param}"\n')
    for place, text in (("index.md", "# Home\n\n[Learning rate](targets/lr.md)\n"), ("targets/lr.md", TARGET)):
        (home / place).parent.mkdir(exist_ok=True)
        (home / place).write_text(text)
    source = tmp_path / "sources/chip"
    source.mkdir(parents=True)
    (source / "text.md").write_text(SOURCE)
    file = {"name": "text.md", "sha256": hashlib.sha256(SOURCE.encode()).hexdigest(), "bytes": len(SOURCE), "media_type": "text/markdown"}
    (source / "meta.json").write_text(json.dumps({"origin": "https://example.org/chip", "title": "chip", "text": "text.md", "files": [file]}))
    (tmp_path / "log.tsv").write_text(LOG)
    return home


def test_a_loop_writes_and_reads_where_the_pages_stand(home, tmp_path, kb_command):
    def run(*words: str, ok: tuple[int, ...] = (0,)) -> str:
        return kb_command(*words, cwd=tmp_path, ok=ok).stdout

    run("import", "auto", "log.tsv", "--target", "lr")
    run("build")
    assert len(run("experiment", "list", "--target", "lr").splitlines()) >= 3
    assert "v003-lr-0-2.md" in run("check", "set lr to 0.2", "--target", "lr", ok=(0, 1, 3))
    opened = json.loads(run("experiment", "open", "--target", "lr", "--title", "Momentum", "--hypothesis", "lower val_bpb", "--mechanism", "less noise", "--predicted", "loss falls", "--falsification", "gain < 1%", "--lever", "momentum=0.9", "--format", "json"))
    run("retro", "--target", "lr", "--write", "--date", "2026-11-22")
    run("ingest", "chip", "--with", "none")
    run("agents", "watch", "--target", "lr", ok=(0, 1, 2))
    written = [home / "analyses/2026-11-22-lr-retrospective.md", home / "sources/chip.md", tmp_path / opened["path"]]
    assert all(page.is_file() and page.is_relative_to(home) for page in written)
    assert not (tmp_path / "wiki").exists()
    run("build")
    broken = [f for f in json.loads(run("lint", "--format", "json", ok=(0, 1))) if f["code"] in ("broken-link", "broken-anchor")]
    assert broken == [], "what kb wrote links to what is there"


def test_messages_name_the_folder_in_which_the_pages_stand(home, tmp_path, kb_command):
    def run(*words: str):
        return kb_command(*words, cwd=tmp_path, ok=(0, 1, 2))

    place = "" if home == tmp_path else home.relative_to(tmp_path).as_posix() + "/"
    run("import", "auto", "log.tsv", "--target", "lr")
    (home / "index.md").write_text("# Home\n\n[Learning rate](/targets/LR)\n")
    run("build")
    assert f"a new one begins with its page, {place}targets/no.md" in run("check", "set lr to 0.2", "--target", "no").stderr
    assert f"below {place}experiments/no;" in run("export", "tsv", "--target", "no").stderr
    hints = [f["hint"] for f in json.loads(run("lint", "--format", "json").stdout) if f["code"] == "broken-link"]
    assert hints == ["did you mean targets/lr.md?"], "a path from the root of the pages, but for its case and `.md`"


def test_pages_are_known_by_one_name_and_what_a_scan_passes_over_is_none(home, tmp_path):
    (home / ".git").mkdir()
    (home / ".git/x.md").write_text("# Theirs\n")
    layout = store.layout_at(tmp_path)
    place = "" if home == tmp_path else home.relative_to(tmp_path).as_posix() + "/"
    assert set(store.scan(layout).digests) == {layout.page("index.md"), layout.page("targets/lr.md")} == {f"{place}index.md", f"{place}targets/lr.md"}
    assert layout.is_page(f"{place}targets/lr.md")
    assert not layout.is_page(f"{place}.git/x.md") and not layout.is_page(f"{place}targets/.kb/x.md")


def test_a_client_reads_target_pages_where_they_stand(home, tmp_path):
    anyio, mcp = pytest.importorskip("anyio"), pytest.importorskip("mcp")
    from mcp.client.stdio import StdioServerParameters, stdio_client

    env = {**os.environ, "PYTHONPATH": os.fspath(Path(__file__).resolve().parent.parent)}
    place = (home / "targets/lr.md").relative_to(tmp_path).as_posix()
    hidden = (home / ".git/x.md").relative_to(tmp_path).as_posix()
    (home / ".git").mkdir()
    (home / ".git/x.md").write_text("# Theirs\n")

    async def session() -> None:
        async with mcp.Client(stdio_client(StdioServerParameters(command=sys.executable, args=["-m", "kb", "mcp"], cwd=tmp_path, env=env))) as client:
            assert f"kb://{place}" in {str(r.uri) for r in (await client.list_resources()).resources}
            assert "Learning rate" in (await client.read_resource(f"kb://{place}")).contents[0].text
            with pytest.raises(mcp.MCPError):
                await client.read_resource("kb://kb.toml")
            with pytest.raises(mcp.MCPError):
                await client.read_resource(f"kb://{hidden}")

    anyio.run(session)


def test_a_folder_with_a_page_of_several_tries_is_no_folder_of_runs():
    of_runs = "# Try\n\n**Verdict:** refuted\n\nFrom 12 → 14 ms.\n"
    pages = [page.read(f"wiki/notes-of-tries/{name}.md", of_runs.encode()) for name in "abc"]
    other = page.read("wiki/notes-of-tries/d.md", b"# Try d\n\nFate: shipwrecked, twice\n")
    several = page.read("wiki/notes-of-tries/e.md", "# Tries\n\n## Glass — rejected\n\nSoft.\n\n## Steam — kept\n\nThin.\n".encode())
    assert runs_among([*pages, other]) == ("wiki/notes-of-tries/*.md",)
    assert runs_among([*pages, several]) == ()


def test_an_owner_says_which_pages_are_runs_and_what_a_word_means(tmp_path, kb_command):
    """Most pages of the folder say how they came out: adopting finds the habit, and two lines of the owner's do the rest."""
    notes = tmp_path / "wiki/notes-of-tries"
    notes.mkdir(parents=True)
    for name, line in (("a", "**Verdict:** refuted"), ("b", "**Verdict:** kept"), ("c", "**Verdict:** refuted"), ("d", "Fate: shipwrecked, twice")):
        (notes / f"{name}.md").write_text(f"# Try {name}\n\n{line}\n\nFrom 12 → 14 ms.\n")

    def verdicts() -> dict[str, str | None]:
        rows = json.loads(kb_command("experiment", "list", "--format", "json", cwd=tmp_path).stdout)
        return {row["path"][-4]: row["verdict"]["canonical"] for row in rows}

    assert "wiki/notes-of-tries/*.md" in kb_command("init", "--adopt", cwd=tmp_path).stdout
    kb_command("build", cwd=tmp_path)
    assert verdicts() == {"a": "refuted", "b": "supported", "c": "refuted", "d": None}
    config = (tmp_path / "kb.toml").read_text()
    (tmp_path / "kb.toml").write_text(config + '[verdicts]\n"shipwrecked" = "refuted"\n')
    kb_command("build", cwd=tmp_path)
    assert verdicts()["d"] == "refuted", "said otherwise, all pages are read anew"
    (tmp_path / "kb.toml").write_text(config + '[verdicts]\n"shipwrecked" = "lost"\n')
    assert "no such verdict" in kb_command("build", cwd=tmp_path, ok=(2,)).stderr


def test_a_wiki_is_adopted_whatever_odd_files_stand_in_it(tmp_path, kb_command):
    root, wiki = tmp_path / "base", tmp_path / "base/wiki"
    wiki.mkdir(parents=True)
    (tmp_path / "secret.md").write_text("# Secret\n")
    (wiki / "a.md").write_text("# A\n")
    (wiki / "out.md").symlink_to(tmp_path / "secret.md")
    (wiki / "x\n## forged.md").write_text("# X\n")
    (wiki / ("l" * 251 + ".md")).write_text("# L\n")
    (root / os.fsdecode(b"wiki/caf\xe9.md")).write_text("# E\n")
    with open(wiki / "large.md", "wb") as file:
        file.truncate(300 << 20)
    shown = kb_command("init", "--adopt", cwd=root).stdout
    assert (root / "kb.toml").is_file() and "adopted the knowledge base" in shown and "## forged" not in shown.split("\n")
    assert all(name in shown for name in ("wiki/out.md", "wiki/large.md", "not valid UTF-8", "a line break", "too long")), shown
    built = kb_command("build", cwd=root)
    assert "1 page (" in built.stdout and not any(line.startswith("##") or line.endswith("; ") for line in built.stderr.split("\n"))


@pytest.mark.parametrize("name", ["wiki", "docs"])
def test_a_confirmed_link_is_read_and_written_whatever_the_wiki_is_called(tmp_path, kb_command, name):
    vault, root = tmp_path / "vault", tmp_path / "base"
    (vault / "targets").mkdir(parents=True)
    root.mkdir()
    (vault / "targets/lr.md").write_text(TARGET)
    (root / name).symlink_to(vault)
    (root / "log.tsv").write_text(LOG)
    kb_command("init", "--adopt", "--wiki", name, cwd=root)
    assert "1 page (1 added" in kb_command("build", cwd=root).stdout
    kb_command("import", "auto", "log.tsv", "--target", "lr", cwd=root)
    kb_command("mv", f"{name}/targets/lr.md", f"{name}/targets/rate.md", cwd=root)
    assert (vault / "targets/rate.md").is_file() and len(list((vault / "experiments/lr").glob("*.md"))) == 3
    assert "4 pages" in kb_command("build", cwd=root).stdout
    # Confirmed is the folder to which the link led, not the name of the link.
    (root / name).unlink()
    (tmp_path / "other").mkdir()
    (root / name).symlink_to(tmp_path / "other")
    assert "confirms that it is meant" in kb_command("build", cwd=root, ok=(2,)).stderr
