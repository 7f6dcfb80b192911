"""kb research ideas [bring]: list what captures offer a target, checked by the gate."""

import json
import sqlite3
from dataclasses import dataclass

from kb import store
from kb.refuted.gate import Gate, Proposal
from kb.research.ideas import Idea, ideas_of
from kb.research.techniques import techniques_in
from kb.source import fence_for, visible
from kb.text import counted, name_words, one_line
from kb.trail import experiments
from kb.trail.frontier import kept
from kb.trail.standing import target_page
from kb.verbs import Caller, Result, flag, option
from kb.verbs.status import only_target

# How an idea's outcome at the gate and its nearness order it before its own weight.
_OUTCOMES = {"clear": 0, "distinguish": 1, "repeat": 2}
_NEARNESS = {"same code": 0, "near": 1, "far": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchIdeas:
    """Ideas for one target; with --file the clear ones become hypothesis pages, which are open
    leads of its slices.
    """

    target: str = option("what is to be optimized (default: the only target)")
    most: int = option("ideas at most", default=20, metavar="N")
    file: bool = flag("write those that are clear as pages below hypotheses/")


@dataclass(frozen=True, slots=True)
class CheckedIdea:
    """An idea with what the target knows of it: the gate's outcome, the card that it meets, levers
    that are set already, and how far it is.
    """

    idea: "Idea"
    outcome: str
    because: str
    evidence: str
    already: tuple[str, ...]
    distance: str


def run(request: ResearchIdeas, caller: Caller) -> Result:
    db = caller.tables()
    target = only_target(db, request.target, ask="--target says for which target")
    gate = Gate(db)
    settings, techniques, repository = _known_of(db, target)
    checked, left_out = [], 0
    for idea in ideas_of(caller.layout):
        already = tuple(lever for lever in idea.levers if lever.lower() in settings)
        if idea.levers and len(already) == len(idea.levers):
            left_out += 1
            continue
        answer = gate.check(Proposal(idea.to_proposal(), f"sources/{idea.source}", target))
        distance = idea.nearness(repository=repository, techniques=techniques)
        met = answer.matches[:1] if answer.outcome != "clear" else ()
        because, evidence = next(((m.because or m.claim, m.path) for m in met), ("", ""))
        checked.append(CheckedIdea(idea, answer.outcome, because, evidence, already, distance))
    checked.sort(
        key=lambda i: (_OUTCOMES[i.outcome], _NEARNESS[i.distance], -i.idea.weight, i.idea.source)
    )
    listed = tuple(checked[: request.most])
    pages = tuple(
        _filed(caller.layout, item, target, caller.today)
        for item in listed
        if request.file and item.outcome == "clear"
    )
    written = [p for p in pages if p]
    value = {"target": target, "ideas": listed, "left_out": left_out, "pages": written}
    tail = f"; {left_out} left out, all set already" if left_out else ""
    lines = [*map(_text, listed), *(f"written: {page}" for page in written)]
    return Result(value, "\n".join([*lines, f"{counted(len(listed), 'ideas')} for {target}{tail}"]))


def _text(item: CheckedIdea) -> str:
    idea = item.idea
    labels = {
        "from": f"sources/{idea.source}  ({idea.origin})",
        "claims": f"{idea.gain}: “{idea.conditions}”" if idea.gain else "no gain stated",
        "levers": ", ".join(idea.levers),
        "techniques": ", ".join(idea.techniques),
        "set already": ", ".join(item.already),
        "met": f"{item.evidence}: {item.because}" if item.evidence else "",
    }
    head = one_line(f"{item.outcome:<11} {item.distance:<9} {idea.title}")
    parts = (f"      {name}: {one_line(value)}" for name, value in labels.items() if value)
    return "\n".join([head, *parts])


def _known_of(db: sqlite3.Connection, target: str) -> tuple[set[str], set[str], str]:
    """What a target has set (`name=value` of the runs that it kept), techniques that its runs speak of, and its repository."""
    runs = experiments(db, target=target)
    levers = (v for run in runs if kept(run) for v in (*run.levers, *run.settings) if v.value)
    spoken = " ".join(f"{run.title} {run.hypothesis} {' '.join(run.tags)}" for run in runs)
    techniques = {t.name for t in techniques_in(spoken.split())}
    page = target_page(db, target)
    repository = page.field("repository") if page else ""
    return {v.text.lower() for v in levers}, techniques, repository


def _filed(layout: store.Layout, item: CheckedIdea, target: str, today: str) -> str:
    """The page of an idea, written once; an idea that has its page already is left alone."""
    idea = item.idea
    slug = "-".join(name_words(idea.source))[:60]
    path = layout.page(f"hypotheses/{target.replace('/', '-')}-{slug}.md")
    title = one_line(idea.title)[:120]
    gain = one_line(idea.gain) or "not stated"
    quoted = visible(one_line(idea.conditions))
    fence = fence_for(quoted)
    claim = (
        f"## Claimed\n\nQuoted, and measured by nobody here:\n\n{fence}text\n{quoted}\n{fence}\n\n"
        if quoted
        else ""
    )
    levers = "".join(f"- `{one_line(lever).replace('`', '')}`\n" for lever in idea.levers)
    front = {
        "title": title,
        "type": "hypothesis",
        "target": target,
        "status": "open",
        "expected_gain": gain,
        "confidence": "low",
        "origin": f"sources/{idea.source}",
    }
    head = "".join(
        f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in front.items()
    )
    text = (
        f"---\n{head}created: {today}\nupdated: {today}\n---\n\n# {title}\n\n{', '.join(idea.techniques).capitalize() or 'A change'}, as found in "
        f"[the captured source](../../sources/{idea.source}/meta.json).\n\n{claim}{'## Levers' + chr(10) * 2 + levers if levers else ''}"
    )
    try:
        store.create(layout.root / path, text)
    except FileExistsError:
        return ""
    return path
