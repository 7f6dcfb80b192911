"""The house rules that the code must hold: floors, sizes, names, excepts, one home for each third-party package."""

import ast
import re
import sys
from pathlib import Path

import pytest

import kb

HOME = Path(kb.__file__).parent
FLOORS = {
    "languages": -1, "schema": 0, "text": 0, "store": 0,
    "page": 1, "source": 1, "run": 1, "model": 1,
    "graph": 2, "formats": 2, "research": 2,
    "search": 3, "trail": 3, "move": 3, "claims": 3,
    "refuted": 4, "profiles": 4,
    "indexes": 5, "packs": 5,
    "slices": 6, "experiments": 6, "ingest": 6, "site": 6, "lint": 6,
    "build": 7, "replay": 7,
    "verbs": 8,
    "cli": 9, "server": 9, "harness": 9, "loop": 9, "mkdocs_plugin": 9, "__main__": 9,
}
# A package is imported by its home alone (tests and scripts aside).
HOMES = {
    "markdown_it": {"page"}, "pyromark": {"page"}, "msgspec": {"store", "run", "page", "source", "formats", "claims", "packs", "profiles", "ingest", "experiments", "refuted"}, "yaml": {"page", "packs", "formats"}, "networkx": {"graph"},
    "sentence_transformers": {"search"}, "chromadb": {"search"}, "numpy": {"search"}, "huggingface_hub": {"search"}, "safetensors": {"search"}, "tokenizers": {"slices"},
    "mkdocs": {"mkdocs_plugin"}, "jinja2": {"site"}, "markupsafe": {"site"}, "pygments": {"site"}, "arxiv": {"research"}, "github": {"research"}, "pypdf": {"research"}, "trafilatura": {"research"}, "lxml": {"research"}, "httpcore": {"research"}, "ray": {"research"}, "httpx": {"model", "research", "search"}, "mcp": {"server"}, "mcp_types": {"server"}, "anyio": {"server"}, "uvicorn": {"server"}, "starlette": {"server"}, "tomlkit": {"harness"},
    "hypothesis": set(), "pytest": set(), "playwright": set(),
}
BANNED_MODULES = {"utils", "helpers", "common", "types", "models", "misc"}
BANNED_VERBS = re.compile(r"_*(get|process|handle|do)_")
MODULES = sorted(HOME.rglob("*.py"))


# Modules that open files by themselves, and why; of all others each file comes through the one reader of `store`.
OWN_READERS = {
    "kb.cli": "the null device", "kb.experiments.command": "its pipe", "kb.experiments.supervisor": "the kernel's files", "kb.experiments.turns": "the kernel's files",
    "kb.run.measure": "the kernel's files", "kb.search.encoder": "a model that the command line or kb.toml names", "kb.harness.templates": "of the package",
    "kb.ingest.tasks": "of the package", "kb.verbs.registry": "of the package", "kb.site": "of the package", "kb.site.shell": "of the package, and what MkDocs made",
    "kb.server.mcp_command": "writes its token", "kb.verbs.site_serve": "what kb built", "kb.verbs.caller": "of the command line",
    "kb.formats.filing": "a log of the command line", "kb.research.git": "a bundle of the command line", "kb.research.github": "bytes in memory",
}
_OPENS = re.compile(r"\.read_text\(|(?<!store)\.read_bytes\(|(?<![\w.])open\(|\bos\.open\(|\w\.open\(|\.connect\(file")


def name_of(file: Path) -> str:
    return file.relative_to(HOME.parent).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "kb"


def imports_of(file: Path, *, top_only: bool = False):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    nodes = tree.body if top_only else list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if node.module == "kb":
                yield from ((f"kb.{alias.name}", node.lineno) for alias in node.names)
            else:
                yield node.module, node.lineno


def modules():
    return pytest.mark.parametrize("file", MODULES, ids=name_of)


@modules()
def test_imports_point_downward_and_never_across_a_floor(file):
    room = room_of(name_of(file))
    if room == "kb":
        return
    assert room in FLOORS, f"the room '{room}' stands on no floor"
    for module, line in imports_of(file):
        other = room_of(module)
        if module.split(".")[0] != "kb" or other == room or other not in FLOORS:
            continue
        if room == "store" and other == "schema":  # Findings of the disk are stated in the words of the schema.
            continue
        assert FLOORS[other] < FLOORS[room] or FLOORS[room] == 9, f"{file.name}:{line}: {room} imports {other}"


@modules()
def test_a_third_party_package_has_one_home(file):
    room = room_of(name_of(file))
    for module, line in imports_of(file):
        package = module.split(".")[0]
        if package == "kb" or package in sys.stdlib_module_names:
            continue
        assert package in HOMES, f"{file.name}:{line}: '{package}' has no home yet"
        assert room in HOMES[package], f"{file.name}:{line}: '{package}' lives in {HOMES[package]}, not in {room}"


@modules()
def test_a_module_says_what_it_is_for_and_stays_readable(file):
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert ast.get_docstring(tree) or not text.strip(), "no docstring"
    assert text.count("\n") <= 500, f"{text.count(chr(10))} lines"
    assert not BANNED_MODULES & set(name_of(file).split("."))
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno - node.lineno < 80, f"{node.name} is {node.end_lineno - node.lineno + 1} lines long"
            assert not BANNED_VERBS.match(node.name), f"{node.name}: say what it does or returns"
            assert not node.args.kwarg, f"{node.name} takes **{node.args.kwarg.arg}"


@modules()
def test_no_broad_except_and_no_any(file):
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ExceptHandler):
            names = {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)} if node.type else {"bare"}
            reraises = any(isinstance(n, ast.Raise) and n.exc is None for n in node.body)
            assert not names & {"bare", "Exception", "BaseException"} or reraises, f"line {node.lineno}: a broad except"
        if isinstance(node, ast.ImportFrom) and node.module == "typing":
            assert "Any" not in {a.name for a in node.names}


def test_no_import_cycle_at_load_time():
    graph = {name_of(f): {m for m, _ in imports_of(f, top_only=True) if m.startswith("kb")} for f in MODULES}

    def reaches(start: str, goal: str, seen: set[str]) -> bool:
        for module in graph.get(start, ()):
            if module == goal:
                return True
            if module not in seen:
                seen.add(module)
                if reaches(module, goal, seen):
                    return True
        return False

    assert [m for m in graph if reaches(m, m, set())] == []


@pytest.mark.parametrize("words", (["kb"], ["kb", "kb.cli"]))
def test_heavy_packages_are_not_loaded_by_the_door(words):
    import subprocess

    code = "import sys\n" + "\n".join(f"import {w}" for w in words) + "\nprint(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for package in ("torch", "chromadb", "mkdocs", "mcp", "github", "arxiv", "networkx", "yaml", "markdown_it", "pyromark", "numpy"):
        assert f"'{package}'" not in loaded


def test_files_that_others_may_have_put_there_have_one_reader():
    own = {name_of(file) for file in MODULES if room_of(name_of(file)) != "store" and _OPENS.search(file.read_text(encoding="utf-8"))}
    assert own == OWN_READERS.keys()
