"""What an agent called in a session, from the transcript that its harness keeps. Reads by structure; lines that are no JSON are passed over.

Sources: the JSONL of Claude Code (`~/.claude/projects`), of Codex (`~/.codex/sessions`), the chats of Gemini CLI (`~/.gemini/tmp`).
"""

import contextlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kb.store import json_of


@dataclass(frozen=True, slots=True)
class AgentCall:
    """One call of a tool: its name and what it was handed, as text; tokens spent since the call before.

    `name` is empty for a compaction and for tokens that no call followed; `output` stands for a result alone.
    """

    name: str = ""
    arguments: str = ""
    output: str = ""
    tokens: int = 0
    compaction: bool = False


@dataclass(frozen=True, slots=True)
class Session:
    """One transcript; `harness` is claude, codex or gemini, empty where nothing tells."""

    harness: str
    calls: tuple[AgentCall, ...]


def calls_in(text: str) -> Session:
    harness, calls, counted = "", [], set()
    # Gemini CLI files a message again, with its calls, once these have ended, and bare where a chat is resumed: it is one.
    whole: dict[object, dict] = {}
    for number, record in enumerate(_records(text)):
        key = record.get("id", number) if record.get("type") == "gemini" else number
        whole[key] = {**whole.get(key, {}), **record}
    turn = 0
    for record in whole.values():
        name, read = _read(record, counted)
        harness = harness or name
        # Codex counts the tokens of a turn after its calls, which they were spent for.
        counts = name == "codex" and any(call.tokens for call in read)
        place = turn if counts else len(calls)
        calls[place:place] = read
        turn = len(calls) if counts else turn
    return Session(harness, tuple(calls))


def _records(text: str) -> Iterator[dict]:
    whole = list(_parsed([text])) or _parsed(text.splitlines())
    for record in whole:
        if isinstance(record, dict):
            # Earlier chats of Gemini CLI are one object with all messages; later ones set those that a resumed chat begins with.
            state = record.get("$set")
            messages = (state if isinstance(state, dict) else record).get("messages")
            yield from _listed(messages) if isinstance(messages, list) else [record]


def _parsed(texts: Iterable[str]) -> Iterator[object]:
    for text in texts:
        with contextlib.suppress(ValueError):
            yield json_of(text)


def _read(record: dict, counted: set[str]) -> tuple[str, list[AgentCall]]:
    if "payload" in record:
        return "codex", list(_codex(record.get("type"), record["payload"]))
    if "toolCalls" in record or record.get("type") == "gemini":
        return "gemini", list(_gemini(record))
    return "claude" if "message" in record else "", list(_claude(record, counted))


def _claude(record: dict, counted: set[str]) -> Iterator[AgentCall]:
    if record.get("subtype") == "compact_boundary":
        yield AgentCall(compaction=True)
    message = record.get("message")
    if not isinstance(message, dict):
        return
    # One message stands on a line for each of its blocks, with the same usage.
    usage, key = message.get("usage"), str(message.get("id") or record.get("uuid") or len(counted))
    if isinstance(usage, dict) and key not in counted:
        counted.add(key)
        yield AgentCall(tokens=_sum(usage, "input_tokens", "output_tokens"))
    for block in _listed(message.get("content")):
        if block.get("type") == "tool_use":
            yield AgentCall(str(block.get("name")), _text(block.get("input")))
        elif block.get("type") == "tool_result":
            yield AgentCall(output=_text(block.get("content")))


def _codex(kind: object, payload: object) -> Iterator[AgentCall]:
    if not isinstance(payload, dict):
        return
    inner = payload.get("type")
    if kind == "compacted":
        yield AgentCall(compaction=True)
    elif kind == "event_msg" and inner == "token_count":
        last = (payload.get("info") or {}).get("last_token_usage") or {}
        yield AgentCall(tokens=_sum(last, "input_tokens", "output_tokens"))
    elif kind == "response_item" and str(inner).endswith("_call"):
        handed = payload.get("arguments") or payload.get("input") or payload.get("action")
        name = f"{payload.get('namespace') or ''}{payload.get('name') or inner}"
        yield AgentCall(name, _text(handed))
    elif kind == "response_item" and str(inner).endswith("_output"):
        yield AgentCall(output=_text(payload.get("output")))


def _gemini(record: dict) -> Iterator[AgentCall]:
    tokens = record.get("tokens")
    if isinstance(tokens, dict):
        yield AgentCall(tokens=_sum(tokens, "input", "output"))
    for call in _listed(record.get("toolCalls")):
        yield AgentCall(str(call.get("name")), _text(call.get("args")))
        yield AgentCall(output=_text(call.get("result")))


def _listed(value: object) -> list[dict]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _sum(counts: dict, *keys: str) -> int:
    return sum(c for k in keys if isinstance(c := counts.get(k), int))


def _text(value: object) -> str:
    """The strings of a value, its words on one line where it is a command in pieces."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return _text(json_of(value)) if value[:1] in ("{", "[") else value
        return value
    if isinstance(value, dict):
        return "\n".join(_text(v) for v in value.values())
    if isinstance(value, list):
        words = [v for v in value if isinstance(v, str)]
        return " ".join(words) if len(words) == len(value) else "\n".join(map(_text, value))
    return "" if value is None else json.dumps(value)
