"""How an agent went about the loop: which steps it took, which it left out, what a step cost, and which words of which skill to mend."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from kb.harness.templates import skill_texts
from kb.harness.transcript import AgentCall, Session
from kb.text import one_line
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
    by_harness: dict[str, list[Session]] = {}
    for session in sessions:
        by_harness.setdefault(session.harness or "unknown", []).append(session)
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
            f"{c.harness}: {c.sessions} sessions, {c.experiments} experiments, {c.compactions} compactions, {c.refused} proposals refused",
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
