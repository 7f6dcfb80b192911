"""kb agents [serve]: give this repository's harnesses kb's skills, sub-agents, hooks and MCP server, keep them up to date, take them out."""

from dataclasses import dataclass
from pathlib import Path

from kb import KbError, needing
from kb.harness.parts import HARNESSES, PLUGIN, Part, WholeFile, parts_of
from kb.verbs import FINDINGS, FINE, Caller, Result, argument, flag, several


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents:
    """What is done, for which harnesses."""

    action: str = argument(
        "install; update what was installed to this version of kb; uninstall exactly that; status says what is installed, missing, changed or not kb's",
        choices=("install", "update", "uninstall", "status"),
    )
    harness: tuple[str, ...] = several(
        "claude, codex, gemini or pi, or several with commas (default: all)", metavar="NAME"
    )
    dry_run: bool = flag("print the diff and change nothing")


def run(request: Agents, caller: Caller) -> Result:
    names, action = request.harness, request.action
    dry_run = request.dry_run or action == "status"
    with needing("agents"):
        from kb.harness.installation import apply, changes, receipt_at
    root = caller.layout.root
    planned = changes(root, _parts(root, names, action), out=action == "uninstall")
    if action in ("update", "uninstall"):
        # What an earlier version wrote and this one has no part for.
        current = {part.path for name in (*HARNESSES, PLUGIN) for part in parts_of(name)}
        gone = [WholeFile(path, "") for path in receipt_at(root) if path not in current]
        planned += changes(root, gone, out=True)
    if not dry_run:
        apply(root, planned)
    diff = "".join(c.diff() for c in planned) if dry_run and action != "status" else ""
    after = {} if dry_run else {"missing": "written", "differs": "written"}
    rows = [
        {"path": c.path, "state": after.get(c.state, c.state), "why": c.foreign} for c in planned
    ]
    lines = [
        f"{r['state']:<8} {r['path']}" + (f": {r['why']}; it is left alone" if r["why"] else "")
        for r in rows
    ]
    text = "\n".join([*lines, *([diff] if diff else [])])
    foreign = any(r["state"] == "foreign" for r in rows)
    value = {"action": action, "files": rows, "diff": diff}
    return Result(value, text, FINDINGS if foreign else FINE)


def _parts(root: Path, names: tuple[str, ...], action: str) -> list[Part]:
    """The parts that an action is about: an update leaves what is not there, an uninstall what another harness still needs."""
    standing = [name for name in (*HARNESSES, PLUGIN) if _present(root, name)]
    chosen = _named(names) or list(HARNESSES)
    if not names and action != "install" and PLUGIN in standing:
        chosen.append(PLUGIN)
    if action == "update":
        chosen = [name for name in chosen if name in standing]
    parts = [part for name in chosen for part in parts_of(name)]
    if action == "uninstall":
        kept = [part for name in standing if name not in chosen for part in parts_of(name)]
        parts = [part for part in parts if part not in kept]
    return parts


def _named(values: tuple[str, ...]) -> list[str]:
    names = [part.strip() for value in values for part in value.split(",")]
    for name in names:
        if name not in (*HARNESSES, PLUGIN):
            raise KbError(f"--harness {name}: one of {', '.join((*HARNESSES, PLUGIN))}")
    return names


def _present(root: Path, name: str) -> bool:
    """A harness counts as installed where a file that only it gets stands."""
    own = {
        "claude": ".claude/skills/edit-code",
        "codex": ".codex/agents/verifier.toml",
        "gemini": ".gemini/agents/verifier.md",
        "pi": ".auto/hooks/before.sh",
        PLUGIN: ".claude/kb-plugin/.claude-plugin/plugin.json",
    }
    return (root / own[name]).exists()
