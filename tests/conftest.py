"""What every test file may use: corpora where they are, small knowledge bases made on the spot."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest
from hypothesis import settings

from kb import store

# On a machine that decides whether something lands, the same examples every time; elsewhere, new ones.
settings.register_profile("landing", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("landing")

CHECKOUT = Path(__file__).resolve().parent.parent
CORPORA = CHECKOUT.parent / "shared" / "corpora"


def pytest_collection_modifyitems(config, items):
    if not CORPORA.is_dir():
        skip = pytest.mark.skip(reason="the evaluation corpora are not beside this checkout")
        for item in items:
            if "corpora" in item.keywords:
                item.add_marker(skip)


@pytest.fixture(scope="session")
def corpora() -> Path:
    """Folder of the evaluation corpora; tests that use it carry the marker `corpora`."""
    return CORPORA


@pytest.fixture
def make_base(tmp_path: Path) -> Callable[[Mapping[str, str | bytes]], store.Layout]:
    """A function that writes files (path -> content) into a fresh knowledge base and returns its layout."""

    def make(files: Mapping[str, str | bytes], name: str = "base") -> store.Layout:
        root = tmp_path / name
        (root / "wiki").mkdir(parents=True)
        (root / "kb.toml").write_text("")
        for path, content in files.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        return store.layout_at(root)

    return make


@pytest.fixture
def interruptible() -> Callable[[], None]:
    """To be called in a started program: where the tests run in the background of a shell, neither they nor what they start hear of an
    interrupt.
    """
    return partial(signal.signal, signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def kb_command() -> Callable[..., subprocess.CompletedProcess]:
    """Runs `kb WORDS...` in a folder as a user would."""

    def run(*words: str, cwd: Path, ok: tuple[int, ...] = (0,), text_in: str | None = None) -> subprocess.CompletedProcess:
        done = subprocess.run([sys.executable, "-m", "kb", *map(os.fspath, words)], cwd=cwd, capture_output=True, text=True, input=text_in, timeout=120,
                              env={**os.environ, "PYTHONPATH": os.fspath(CHECKOUT)})
        assert done.returncode in ok, f"kb {' '.join(map(str, words))} -> {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        assert "Traceback" not in done.stderr, done.stderr[-3000:]
        return done

    return run
