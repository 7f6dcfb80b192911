"""How an agent went about the loop, from the transcripts that its harness keeps: which steps it took, which it left out, what a step
cost, and which words of which skill to mend. Reads by structure; lines that are no JSON are passed over.

Sources: the JSONL of Claude Code (`~/.claude/projects`), of Codex (`~/.codex/sessions`), the chats of Gemini CLI (`~/.gemini/tmp`).
"""

import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kb import grouped
from kb.harness.templates import skill_texts
from kb.store import json_of
from kb.text import counted, one_line
from kb.verbs.registry import verbs

# The steps of one experiment, in order, by the command that is each step's mark; `experiment try` holds all but the first.
STEPS = (
    "load hypothesis",
    "check",
    "experiment open",
    "experiment run",
    "experiment audit",
    "experiment close",
)
_TYPED = re.compile(r"(?:^|[\s;&|(\"'/])kb ([a-z-]+)(?: ([a-z-]+))?", re.MULTILINE)
_TOOL = re.compile(r"\bkb_{1,2}([a-z]+)$")


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


@dataclass(frozen=True, slots=True)
class Conduct:
    """One harness over all its sessions. Tokens are those spent before each command since the one before it."""

    harness: str
    sessions: int
    commands: dict[str, int]
    tokens: dict[str, int]
    skills: dict[str, int]
    experiments: int
    skipped: dict[str, int]
    refused: int
    compactions: int


def conduct_of(sessions: Iterable[Session]) -> tuple[Conduct, ...]:
    """One entry a harness, in the order of their names."""
    by_harness = grouped((session.harness or "unknown", session) for session in sessions)
    return tuple(_conduct(name, group) for name, group in sorted(by_harness.items()))


def _conduct(harness: str, sessions: list[Session]) -> Conduct:
    commands: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    skills: Counter[str] = Counter()
    refused = compactions = 0
    for session in sessions:
        spent = 0
        for call in session.calls:
            spent += call.tokens
            compactions += call.compaction
            refused += bool(re.search(r"^(?:repeat|distinguish)  ", call.output, re.MULTILINE))
            for words in commands_of(call):
                commands[words] += 1
                tokens[words] += spent
                spent = 0
            skills.update(_skills_of(call))
    trials = commands["experiment try"]
    ended = commands["experiment close"] + trials
    taken = {s: commands[s] + (trials if s != STEPS[0] else 0) for s in STEPS}
    skipped = {s: ended - taken[s] for s in STEPS if taken[s] < ended}
    return Conduct(
        harness, len(sessions), dict(commands.most_common()), dict(tokens), dict(skills), ended, skipped, refused, compactions
    )  # fmt: skip


def commands_of(call: AgentCall) -> list[str]:
    """Commands of kb in a call, in its shell line or by its own tool. Hooks are the harness's, not the agent's."""
    if tool := _TOOL.search(call.name):
        action = re.search(r"^[a-z-]+$", call.arguments, re.MULTILINE)
        pairs = [(tool[1], action[0] if action else "")]
    else:
        pairs = _TYPED.findall(call.arguments)
    known = verbs()
    heads = {words.partition(" ")[0] for words in known}
    return [
        f"{head} {action}".strip() if head == "load" or f"{head} {action}" in known else head
        for head, action in pairs
        if head in heads
    ]


def _skills_of(call: AgentCall) -> list[str]:
    """Skills that a call loads: by the harness's own tool, or by reading the file."""
    whole = call.arguments.split()
    return [
        name
        for name in skill_texts()
        if f"skills/{name}/SKILL.md" in call.arguments
        or call.name.lower() in ("skill", "activate_skill")
        and name in whole
    ]


def proposals_of(conducts: Iterable[Conduct]) -> tuple[str, ...]:
    """What to mend in the skills, a sentence a step that was left out, with the figures that speak for it."""
    proposals = []
    for conduct in conducts:
        for step, count in conduct.skipped.items():
            name, about, line = _skill_of(step)
            evidence = f"{count} of {conduct.experiments} experiments without `kb {step}`"
            loaded = conduct.skills.get(name, 0)
            if not name:
                advice = "no skill names it; name it in the standing block of AGENTS.md"
            elif not loaded:
                advice = f"skill `{name}` was never loaded; say in its description when it is due (it says: {about})"
            else:
                advice = f"skill `{name}` was loaded {loaded} times; make the command the first words of its step (it says: {line})"
            proposals.append(f"{conduct.harness}: {evidence}: {advice}")
    return tuple(proposals)


def _skill_of(step: str) -> tuple[str, str, str]:
    """The skill that tells to take a step: its name, its description, and the line; empty where none does."""
    for name, (about, body) in skill_texts().items():
        for line in body.splitlines():
            if f"kb {step}" in line:
                return name, one_line(about), one_line(line)
    return "", "", ""


def lines_of(conducts: Iterable[Conduct], proposals: Iterable[str]) -> list[str]:
    lines = []
    for c in conducts:
        lines += [
            f"{c.harness}: {counted(c.sessions, 'sessions')}, {counted(c.experiments, 'experiments')}, {counted(c.compactions, 'compactions')}, {counted(c.refused, 'proposals')} refused",
            *(f"{n:>6}  kb {w:<20} {c.tokens.get(w, 0):>9} tokens before it" for w, n in c.commands.items()),
            *(f"{n:>6}  skill {name}" for name, n in c.skills.items()),
            *(f"{n:>6}  experiments without `kb {step}`" for step, n in c.skipped.items()),
        ]  # fmt: skip
    return [*lines, *(f"mend: {text}" for text in proposals)]


def page_of(conducts: Iterable[Conduct], proposals: tuple[str, ...], *, date: str) -> str:
    """The process retrospective as a page: figures, then what to mend."""
    front = f"---\ntitle: Process retrospective\ntype: analysis\ncreated: {date}\n---"
    figures = "\n".join(["```text", *lines_of(conducts, ()), "```"])
    mend = "\n".join(f"- {text}" for text in proposals) or "Nothing was left out."
    parts = (front, "# Process retrospective", figures, "## To mend", mend)
    return "\n\n".join(parts) + "\n"
