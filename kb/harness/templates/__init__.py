"""The texts that harnesses get: one file a skill, one a sub-agent. Knows no harness."""

from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent


@cache
def skill_texts() -> dict[str, tuple[str, str]]:
    """Description and body of every skill, by name."""
    return _texts("skills")


@cache
def agent_texts() -> dict[str, tuple[str, str]]:
    """Description and body of every sub-agent, by name."""
    return _texts("agents")


def standing_text() -> str:
    """What AGENTS.md says."""
    return (_HERE / "agents.md").read_text(encoding="utf-8")


def again_text(target: str) -> str:
    """What `/loop` and `/goal` put before the agent again."""
    return (_HERE / "reinject.md").read_text(encoding="utf-8").replace("TARGET", target or "TARGET")


def _texts(kind: str) -> dict[str, tuple[str, str]]:
    texts = {}
    for file in sorted((_HERE / kind).glob("*.md")):
        _, head, body = file.read_text(encoding="utf-8").split("---\n", 2)
        texts[file.stem] = (head.partition("description: ")[2].strip(), body.lstrip("\n"))
    return texts
