"""Opens an experiment: a stub with its four labels on file before anything runs. Refuses what cannot be judged later, and duplicates in flight.

What `kb check` said then is kept beside the attempts and asked again when it is closed: a page whose receipt is not the one of its
opening is refused, and one that the cards as of its opening call a repeat.

Numbers are given out under the lock of the pages and the file is created, never replaced: many agents at once get many pages.
"""

import json
import posixpath
import re
import sqlite3
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path

from kb import KbError, store
from kb.experiments import GateClosed, InFlight
from kb.experiments.attempt import create, decoded, home_of
from kb.experiments.proposal import LABELS, ExperimentProposal
from kb.experiments.stub import Stub, in_flight, located
from kb.experiments.targets import Target, repository_of
from kb.experiments.worktree import commit_of
from kb.page import read, slug_of, text_of
from kb.refuted.gate import Answer, Gate
from kb.refuted.gate import Proposal as Question
from kb.run.criterion import criteria_of, to_text
from kb.schema import Verdict, canonical_verdict
from kb.text import cut, one_line, sentences_of
from kb.trail import read_facts

_OPENING = "opening.json"
# Numbers have three digits, more where a target has more experiments.
_DIGITS = 3
_LONGEST_SLUG = 60


def proposal_in(data: bytes, *, name: str) -> ExperimentProposal:
    """Proposal of a markdown file: front matter, and the four labels as bold runs or headings. Raises KbError for front matter that cannot be read."""
    page = read("wiki/experiments/0-proposal.md", data)
    if page.findings:
        first = page.findings[0]
        raise KbError(f"{name}:{first.line}: {first.message}; {first.hint}")
    facts = read_facts(page, text_of(data))
    return ExperimentProposal(
        target=page.field("target"),
        title="" if page.title == page.stem else page.title,
        variant=facts.variant,
        lever=(*page.words("levers"), *page.words("lever")),
        hypothesis=page.field("hypothesis") or facts.hypothesis,
        mechanism=page.field("mechanism") or facts.mechanism,
        predicted=page.field("predicted_signal") or facts.predicted_signal,
        falsification=page.field("falsification") or facts.falsification,
        parent=page.field("parent"),
        differs=page.field("differs"),
        expect=page.words("expect"),
        forbid=page.words("forbid"),
        predict=page.words("predict"),
    )


def checked(proposal: ExperimentProposal, target: Target) -> ExperimentProposal:
    """The proposal with its texts on one line. Raises KbError naming every label that is missing."""
    # A marker of a managed block in a text would open one.
    texts = {f.name: getattr(proposal, f.name) for f in fields(proposal) if f.type is str}
    lines = {
        name: one_line(text).replace("kb:auto", "kb:\u200bauto") for name, text in texts.items()
    }
    levers = (lever.partition("=") for lever in map(one_line, proposal.lever))
    lever = tuple(
        f"{n.strip()}{sign and '='}{v.strip()}".removesuffix("=")
        for n, sign, v in levers
        if n.strip()
    )
    proposal = replace(proposal, **lines, lever=lever)
    if proposal.baseline:
        title = proposal.title or f"First measurement of {target.name}"
        return replace(proposal, title=title, parent="")
    labels = {flag: label.lower() for flag, label in LABELS.items() if flag != "differs"}
    wanted = (*labels.items(), ("parent", "parent"), ("lever", "levers"))
    missing = [f"{label} (--{flag})" for flag, label in wanted if not getattr(proposal, flag)]
    if missing:
        first = "; the first measurement of a target has no parent: --baseline"
        raise KbError(
            f"the proposal for '{target.name}' lacks: {', '.join(missing)}{'' if proposal.parent else first}"
        )
    criteria_of(proposal.falsification, metrics=target.metrics)
    title = proposal.title or cut(sentences_of(proposal.hypothesis)[0], 100).rstrip(".…")
    return replace(proposal, title=title)


def opened(
    layout: store.Layout,
    proposal: ExperimentProposal,
    target: Target,
    *,
    answer: Answer | None,
    today: str,
    text: str = "",
    look: Callable[[ExperimentProposal, str], None] | None = None,
) -> str:
    """File the stub of a checked proposal and return its path. Raises GateClosed on a repeat and on a duplicate in flight.

    `answer` is what `kb check` said of it, asked as `text`; only a baseline needs none. `look` is told the proposal and its parent's commit before
    anything is filed, and may refuse.
    """
    if answer:
        _refuse_near(proposal, answer)
    with store.lock(layout, "pages"):
        flying = in_flight(layout, target.name)
        twin = next((stub for stub in flying if _same(proposal, stub)), None)
        if twin:
            raise InFlight(
                f"{twin.path} is the same experiment and still in flight; run and close that one, or change a lever or the variant",
                twin.path,
            )
        parent, code = _parent(layout, proposal, target)
        proposal = replace(proposal, parent=parent)
        if look:
            look(proposal, code)
        home = layout.page(f"experiments/{target.name}")
        names = [f.stem for f in (layout.root / home).rglob("*.md")]
        runs = layout.sources / "runs" / target.name
        taken = (*names, *(f.name for f in (runs.iterdir() if runs.is_dir() else ())))
        number = 1 + max((read(f"{home}/{name}.md", b"").number for name in taken), default=0)
        # Where the clock went back, a new one still comes after its parent.
        dated = (name[:10] for name in names if re.match(r"\d{4}-\d{2}-\d{2}-", name))
        stem = f"{max((today, *dated))}-v{number:0{_DIGITS}d}-{_slug(proposal.title)}"
        # A wiki that keeps its experiments one folder deeper goes on doing so.
        deeper = "/experiments" if (layout.root / home / "experiments").is_dir() else ""
        path = f"{home}{deeper}/{stem}.md"
        run = f"sources/runs/{target.name}/{stem}"
        data = page_of(proposal, target, path=path, run=run, answer=answer, code=code)
        # First, for a page whose opening is not on file could never be closed.
        if answer:
            question = FiledQuestion(answer.receipt, target.name, text or proposal.text)
            create(layout.root / run / _OPENING, question)
        try:
            store.create(layout.root / path, data)
        except FileExistsError as error:
            raise KbError(f"{path} is there already; open again to get the next number") from error
    return path


def _refuse_near(proposal: ExperimentProposal, answer: Answer) -> None:
    """Raises GateClosed where `kb check` does not let a proposal pass: on a repeat, and on what is near to a failure while no difference is stated."""
    left = [m for m in answer.matches if not m.acknowledged]
    if answer.outcome == "repeat":
        what = "this repeats what was refuted"
        left = [m for m in left if m.kind == "same-value" and not m.scope_diff][:2]
        left = left or answer.matches[:2]
    elif answer.outcome == "distinguish" and not proposal.differs:
        what, left = "this is near what was tried", left[:1]
    else:
        return
    levers = ("=".join(filter(None, (m.lever, m.value))) for m in left)
    named = "; ".join(
        f"{m.path} ({lever}, {m.verdict}: {cut(m.because, 120)})"
        for m, lever in zip(left, levers, strict=True)
    )
    stems = " and ".join(Path(m.path).stem for m in left)
    met = ", ".join(Path(m.path).stem for m in answer.matches if m.acknowledged)
    raise GateClosed(
        f'{what}: {named}. Name each match and say what differs: --differs "unlike {stems}, ..."'
        + (f"; answered already: {met}" if met else "")
    )


def _slug(title: str) -> str:
    """Words of a title for a file name, but for those that a reader of file names would take for a verdict."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain)
    slug = "-".join(w for w in words if canonical_verdict(w) in (None, Verdict.OTHER))
    if len(slug) > _LONGEST_SLUG:
        slug = slug[:_LONGEST_SLUG].rpartition("-")[0] or slug[:_LONGEST_SLUG]
    return slug or "experiment"


def _same(proposal: ExperimentProposal, stub: Stub) -> bool:
    facts = stub.facts
    if proposal.baseline != stub.baseline or facts.variant.lower() != proposal.variant.lower():
        return False
    levers = {lever.text.lower() for lever in facts.levers}
    alike = slug_of(facts.hypothesis) == slug_of(proposal.hypothesis) != ""
    return proposal.baseline or alike or levers == {lever.lower() for lever in proposal.lever}


def _parent(layout: store.Layout, proposal: ExperimentProposal, target: Target) -> tuple[str, str]:
    """A parent as its page's path, or as the git reference that it is with the commit that this means today, for a branch moves on."""
    name = proposal.parent
    page = layout.wiki / "experiments" / target.name / f"{name}.md"
    if name[:1] == "v" and name[1:].isdecimal() or name.endswith(".md") or page.is_file():
        return located(layout, name, target=target.name), ""
    here = name and target.repository and (layout.root / target.repository).is_dir()
    return name, commit_of(repository_of(layout, target), name) if here else ""


_PAGE = """---
{front}
---

# {title}

## Hypothesis under test

{tested}

## Setup

{setup}

<!-- kb:auto setup -->
<!-- /kb:auto -->

## Results

<!-- kb:auto results -->
<!-- /kb:auto -->

## Profile

<!-- kb:auto profile -->
<!-- /kb:auto -->

## Audit

<!-- kb:auto audit -->
<!-- /kb:auto -->

## Verdict

<!-- kb:auto verdict -->
<!-- /kb:auto -->

## Next hypotheses

## Sources

<!-- kb:auto sources -->
<!-- /kb:auto -->
"""


def page_of(
    proposal: ExperimentProposal,
    target: Target,
    *,
    path: str,
    run: str,
    answer: Answer | None,
    code: str,
) -> bytes:
    """The bytes of a stub."""
    date, parent = posixpath.basename(path)[:10], proposal.parent
    criteria = (
        () if proposal.baseline else criteria_of(proposal.falsification, metrics=target.metrics)
    )
    stated: dict[str, object] = {
        "title": proposal.title,
        "target": target.name,
        "variant": proposal.variant,
        "hypothesis": proposal.hypothesis or proposal.title,
        "levers": proposal.lever,
        "parent_code": code,
        "falsification": " or ".join(map(to_text, criteria)),
        "receipt": answer.receipt if answer else "baseline",
        "run": run,
        "differs": proposal.differs,
        "expect": proposal.expect,
        "forbid": proposal.forbid,
        "predict": proposal.predict,
    }
    front = [f"{k}: {json.dumps(v, ensure_ascii=False)}" for k, v in stated.items() if v]
    front += ["type: experiment", f"parent: {json.dumps(parent, ensure_ascii=False)}"]
    front += [f"gate: {answer.outcome if answer else 'none'}", "status: in_progress"]
    front += [f"created: {date}", f"updated: {date}"]
    labels = {label: getattr(proposal, field) for field, label in LABELS.items()}
    if answer and answer.matches:
        # The refuted cards that the check thought of, so that a reader sees what this one is not.
        near = (
            f"{_link(path, m.path)} ({', '.join((m.kind, *map(one_line, m.scope_diff)))})"
            for m in answer.matches[:3]
        )
        labels["Checked against"] = f"{answer.outcome}; nearest {', '.join(near)}"
    tested = "\n\n".join(f"**{label}**: {text}" for label, text in labels.items() if text)
    about = _link(path, target.path) if target.path else target.name
    variant = f", variant {proposal.variant}" if proposal.variant else ""
    levers = ", ".join(f"`{lever}`" for lever in proposal.lever) or "none"
    linked = _link(path, parent) if parent.endswith(".md") else f"`{parent}`" if parent else "none"
    page = _PAGE.format(
        front="\n".join(front),
        title=proposal.title,
        tested=tested or "None: this is the first measurement, which others are compared with.",
        setup=f"Target {about}{variant}; levers: {levers}; parent: {linked}.",
    )
    return page.encode()


def _link(path: str, other: str) -> str:
    return f"[{Path(other).stem}]({posixpath.relpath(other, posixpath.dirname(path))})"


@dataclass(frozen=True, slots=True)
class FiledQuestion:
    """The question as it was asked, and the receipt of its answer."""

    receipt: str
    target: str
    text: str


def refuse_forged(layout: store.Layout, stub: Stub, db: sqlite3.Connection) -> tuple[str, ...]:
    """Raises KbError where the receipt of a page is not its own; evidence pages of cards that were filed since, nearest first."""
    home, receipt = home_of(layout, stub), stub.page.field("receipt")
    if not receipt:
        raise KbError(
            f"{stub.path}: has lost its receipt of `kb check`; restore the front matter that `kb experiment open` wrote"
        )
    if stub.baseline:
        return ()
    try:
        opening = decoded(FiledQuestion, home / _OPENING)
    except KbError as error:
        raise KbError(
            f"{stub.path}: {stub.run}/{_OPENING}, which `kb experiment open` wrote, is gone or cannot be read; restore it"
        ) from error
    gate = Gate(db, layout)
    then = gate.check(Question(opening.text, target=opening.target, before=stub.path))
    problem = (
        f"its receipt is not that of its opening ({opening.receipt}); restore the front matter"
        if receipt != opening.receipt
        else f"its receipt {receipt} let it pass, but the cards of that day call it a repeat of {then.matches[0].path}; "
        "a receipt is what `kb check` printed"
        if then.outcome == "repeat"
        else ""
    )
    if problem:
        raise KbError(f"{stub.path}: {problem}")
    known = {stub.path, *(m.path for m in then.matches)}
    now = gate.check(Question(opening.text, target=opening.target))
    return tuple(m.path for m in now.matches if m.path not in known)
