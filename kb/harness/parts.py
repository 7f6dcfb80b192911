"""What each harness gets, as parts of files: whole files, entries of a settings file, a block of a page. Writes nothing."""

import json
from dataclasses import dataclass

from kb import __version__
from kb.harness.templates import agent_texts, skill_texts, standing_text

# What `kb agents install` serves unless told otherwise; a plugin stands beside the settings of Claude Code and would double them.
HARNESSES = ("claude", "codex", "gemini", "pi")
PLUGIN = "claude-plugin"
_SERVER = {"command": "kb", "args": ["mcp"]}


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A file that is ours alone."""

    path: str
    text: str
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """One value in a shared JSON or TOML file, under `keys`; with `listed`, one item of the list that stands there."""

    path: str
    keys: tuple[str, ...]
    value: object
    listed: bool = False


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Lines of a shared page between our marks."""

    path: str
    text: str


Part = WholeFile | Setting | TextBlock


def parts_of(harness: str) -> list[Part]:
    return {"claude": _claude, "codex": _codex, "gemini": _gemini, "pi": _pi, PLUGIN: _plugin}[
        harness
    ]()


def _skills(folder: str) -> list[Part]:
    return _pages(f"{folder}/{{}}/SKILL.md", skill_texts())


def _agents(folder: str) -> list[Part]:
    return _pages(f"{folder}/{{}}.md", agent_texts())


def _pages(path: str, texts: dict[str, tuple[str, str]]) -> list[Part]:
    head = "---\nname: {}\ndescription: {}\n---\n\n{}"
    return [
        WholeFile(path.format(name), head.format(name, json.dumps(about), body))
        for name, (about, body) in texts.items()
    ]


def _hooks(path: str, events: dict[str, tuple[str, str]]) -> list[Part]:
    return [
        Setting(
            path,
            ("hooks", event),
            {
                **({"matcher": matcher} if matcher else {}),
                "hooks": [{"type": "command", "command": f"kb agents hook {name}"}],
            },
            listed=True,
        )
        for event, (name, matcher) in events.items()
    ]


_CLAUDE_EVENTS = {
    "Stop": ("stop", ""),
    "SessionStart": ("session-start", ""),
    "PreToolUse": ("edit", "Edit|Write|MultiEdit|NotebookEdit"),
}


def _claude() -> list[Part]:
    return [
        *_skills(".claude/skills"),
        *_agents(".claude/agents"),
        *_hooks(".claude/settings.json", _CLAUDE_EVENTS),
        Setting(".mcp.json", ("mcpServers", "kb"), _SERVER),
        TextBlock("AGENTS.md", standing_text()),
        TextBlock("CLAUDE.md", "@AGENTS.md\n"),
    ]


def _plugin() -> list[Part]:
    """The same as one folder for `claude --plugin-dir`, where a project's own settings shall stay as they are."""
    folder = ".claude/kb-plugin"
    about = {
        "name": "kb",
        "version": __version__,
        "description": "Skills, sub-agents, hooks and tools of a loop in which an agent optimizes code",
        "author": {"name": "kb"},
    }
    return [
        WholeFile(f"{folder}/.claude-plugin/plugin.json", json.dumps(about, indent=2) + "\n"),
        *_skills(f"{folder}/skills"),
        *_agents(f"{folder}/agents"),
        *_hooks(f"{folder}/hooks/hooks.json", _CLAUDE_EVENTS),
        Setting(f"{folder}/.mcp.json", ("mcpServers", "kb"), _SERVER),
    ]


def _codex() -> list[Part]:
    agents = [
        WholeFile(
            f".codex/agents/{name}.toml",
            f"name = {json.dumps(name)}\ndescription = {json.dumps(about)}\ndeveloper_instructions = {json.dumps(body, ensure_ascii=False)}\n",
        )
        for name, (about, body) in agent_texts().items()
    ]
    events = {
        "Stop": ("stop", ""),
        "SessionStart": ("session-start", ""),
        "PreToolUse": ("edit", "apply_patch|Edit|Write"),
    }
    return [
        *_skills(".agents/skills"),
        *agents,
        *_hooks(".codex/hooks.json", events),
        Setting(".codex/config.toml", ("mcp_servers", "kb"), _SERVER),
        TextBlock("AGENTS.md", standing_text()),
    ]


def _gemini() -> list[Part]:
    events = {
        "AfterAgent": ("stop", ""),
        "SessionStart": ("session-start", ""),
        "BeforeTool": ("edit", "write_file|replace"),
    }
    return [
        # Its own folder would do, but where Codex is served too it would warn of every skill that stands in both.
        *_skills(".agents/skills"),
        *_agents(".gemini/agents"),
        *_hooks(".gemini/settings.json", events),
        Setting(".gemini/settings.json", ("mcpServers", "kb"), _SERVER),
        TextBlock("AGENTS.md", standing_text()),
        TextBlock("GEMINI.md", "@./AGENTS.md\n"),
    ]


def _pi() -> list[Part]:
    scripts = [
        WholeFile(
            f".auto/hooks/{stage}.sh", f"#!/bin/sh\nexec kb agents hook {stage}\n", executable=True
        )
        for stage in ("before", "after")
    ]
    return [*_skills(".agents/skills"), *scripts, TextBlock("AGENTS.md", standing_text())]
