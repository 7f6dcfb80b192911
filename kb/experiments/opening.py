"""Opens an experiment: a stub with its four labels on file before anything runs. Refuses what cannot be judged later, and duplicates in flight.

Numbers are given out under the lock of the pages and the file is created, never replaced: many agents at once get many pages.
"""

import json
import posixpath
import re
import unicodedata
from dataclasses import dataclass, replace
from pathlib import Path

from kb import KbError, store
from kb.experiments import GateClosed, InFlight
from kb.experiments.receipts import keep_opening
from kb.experiments.stub import BLOCKS, Stub, in_flight, located
from kb.experiments.targets import Target, repository_of
from kb.experiments.worktree import commit_of
from kb.page import Page, read, slug_of, text_of
from kb.refuted.gate import Answer
from kb.run.criterion import criteria_of, to_text
from kb.run.record import Lever
from kb.schema import Verdict, canonical_verdict
from kb.trail import Facts, read_facts

# Numbers have three digits, more where a target has more experiments.
_DIGITS = 3
_LONGEST_SLUG = 60


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is to be tried. `falsification` is text that parses; `parent` a page, its label, or a git reference; `differs` the answer to a warning."""

    target: str
    title: str = ""
    variant: str = ""
    levers: tuple[Lever, ...] = ()
    hypothesis: str = ""
    mechanism: str = ""
    predicted_signal: str = ""
    falsification: str = ""
    parent: str = ""
    differs: str = ""
    expect: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    predict: tuple[str, ...] = ()
    baseline: bool = False

    @property
    def text(self) -> str:
        """The proposal as `kb check` reads it."""
        levers = ", ".join(f"{v.name}={v.value}" if v.value else v.name for v in self.levers)
        parts = (
            (self.title, ""),
            (levers, "Levers: "),
            (self.variant, "Variant: "),
            (self.hypothesis, "Hypothesis: "),
            (self.mechanism, "Mechanism: "),
            (self.predicted_signal, "Predicted signal: "),
            (self.falsification, "Falsification criterion: "),
            (self.differs, "What differs: "),
        )
        return "\n\n".join(label + text for text, label in parts if text)


def lever_of(text: str) -> Lever:
    """`name=value` or a bare name."""
    name, _, value = text.partition("=")
    return Lever(name.strip(), value.strip())


def proposal_in(data: bytes, *, name: str) -> Proposal:
    """Proposal of a markdown file: front matter, and the four labels as bold runs or headings. Raises KbError for front matter that cannot be read."""
    page = read("wiki/experiments/0-proposal.md", data)
    if page.problems:
        line, _, message, _, hint = page.problems[0]
        raise KbError(f"{name}:{line}: {message}; {hint}")
    facts = read_facts(page, text_of(data))
    levers = (*page.words("levers"), *page.words("lever"))
    return Proposal(
        page.field("target"),
        "" if page.title == page.stem else page.title,
        facts.variant,
        tuple(lever_of(v) for v in levers),
        _label(page, facts, "hypothesis"),
        _label(page, facts, "mechanism"),
        _label(page, facts, "predicted_signal"),
        _label(page, facts, "falsification"),
        page.field("parent"),
        page.field("differs"),
        page.words("expect"),
        page.words("forbid"),
        page.words("predict"),
    )


def _label(page: Page, facts: Facts, name: str) -> str:
    return (
        page.field(name)
        or {
            "hypothesis": facts.hypothesis,
            "mechanism": facts.mechanism,
            "predicted_signal": facts.predicted_signal,
            "falsification": facts.falsification,
        }[name]
    )


def one_line(text: str) -> str:
    """A text as it may stand in front matter and in a label: one line, printable, without a marker of a managed block."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split()).replace(
        "kb:auto", "kb:\u200bauto"
    )


def checked(proposal: Proposal, target: Target, *, found: tuple[Lever, ...] = ()) -> Proposal:
    """The proposal with its texts on one line. Raises KbError naming every label that is missing; `found` are levers its text seems to name."""
    clean = {
        f: one_line(getattr(proposal, f))
        for f in (
            "title",
            "variant",
            "hypothesis",
            "mechanism",
            "predicted_signal",
            "falsification",
            "parent",
            "differs",
        )
    }
    proposal = replace(
        proposal,
        **clean,
        levers=tuple(
            Lever(one_line(v.name), one_line(v.value)) for v in proposal.levers if v.name.strip()
        ),
    )
    if proposal.baseline:
        return replace(
            proposal, title=proposal.title or f"First measurement of {target.name}", parent=""
        )
    missing = [
        f"{label} (--{flag})"
        for label, flag, value in (
            ("hypothesis", "hypothesis", proposal.hypothesis),
            ("mechanism", "mechanism", proposal.mechanism),
            ("predicted signal", "predicted", proposal.predicted_signal),
            ("falsification criterion", "falsification", proposal.falsification),
            ("parent", "parent", proposal.parent),
            ("levers", "lever", proposal.levers),
        )
        if not value
    ]
    if missing:
        hint = (
            f"; its text seems to name the levers {', '.join(repr(v.name + ('=' + v.value if v.value else '')) for v in found[:5])}"
            if found and not proposal.levers
            else ""
        )
        raise KbError(
            f"the proposal for '{target.name}' lacks: {', '.join(missing)}{hint}; the first measurement of a target has no parent: --baseline"
        )
    criteria_of(proposal.falsification, metrics=target.metrics)
    title = proposal.title or re.split(r"(?<=[.;!?])\s", proposal.hypothesis, maxsplit=1)[0][
        :100
    ].rstrip(".")
    return replace(proposal, title=title)


def opened(
    layout: store.Layout,
    proposal: Proposal,
    target: Target,
    *,
    answer: Answer | None,
    today: str,
    text: str = "",
) -> str:
    """File the stub of a checked proposal and return its path. Raises GateClosed on a repeat and on a duplicate in flight.

    `answer` is what `kb check` said of it, asked as `text`; only a baseline needs none.
    """
    if answer is None and not proposal.baseline:
        raise KbError("an experiment is opened with the answer of `kb check`")
    if answer and answer.outcome == "repeat":
        said = "; ".join(
            f"{m.path} ({m.lever}{'=' + m.value if m.value else ''}, {m.verdict}: {m.because[:120]})"
            for m in answer.matches[:2]
        )
        raise GateClosed(
            f'this repeats what was refuted: {said}. Name the match and say what differs: --differs "unlike {Path(answer.matches[0].path).stem}, ..."'
        )
    with store.lock(layout, "pages"):
        twin = next(
            (stub for stub in in_flight(layout, target.name) if _same(proposal, stub)), None
        )
        if twin:
            raise InFlight(
                f"{twin.path} is the same experiment and still in flight; "
                "run and close that one, or change a lever or the variant",
                twin.path,
            )
        parent = _parent(layout, proposal, target)
        code = _parent_code(layout, parent, target)
        number, date = _number(layout, target.name), max(today, _newest(layout, target.name))
        stem = f"{date}-v{number:0{_DIGITS}d}-{_slug(proposal.title)}"
        path = f"{_home(layout, target.name)}/{stem}.md"
        try:
            store.create(
                layout.root / path,
                page_of(
                    replace(proposal, parent=parent),
                    target,
                    path=path,
                    stem=stem,
                    answer=answer,
                    date=date,
                    code=code,
                ),
            )
        except FileExistsError as error:
            raise KbError(f"{path} is there already; open again to get the next number") from error
        keep_opening(
            layout, run_folder(target, stem), answer, target=target.name, text=text or proposal.text
        )
    return path


def run_folder(target: Target, stem: str) -> str:
    """Where what is measured for a page lies."""
    return f"sources/runs/{target.name}/{stem}"


def _slug(title: str) -> str:
    """Words of a title for a file name, but for those that a reader of file names would take for a verdict."""
    words = re.findall(
        r"[a-z0-9]+",
        unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower(),
    )
    slug = "-".join(w for w in words if canonical_verdict(w) in (None, Verdict.OTHER))
    return (
        slug
        if len(slug) <= _LONGEST_SLUG
        else slug[:_LONGEST_SLUG].rpartition("-")[0] or slug[:_LONGEST_SLUG]
    ) or "experiment"


def _same(proposal: Proposal, stub: Stub) -> bool:
    facts = stub.facts
    if proposal.baseline or stub.baseline:
        return (
            proposal.baseline
            and stub.baseline
            and facts.variant.lower() == proposal.variant.lower()
        )
    if facts.variant.lower() != proposal.variant.lower():
        return False
    levers = {(v.name.lower(), v.value.lower()) for v in facts.levers}
    return (
        levers == {(v.name.lower(), v.value.lower()) for v in proposal.levers}
        or slug_of(facts.hypothesis) == slug_of(proposal.hypothesis) != ""
    )


def _parent(layout: store.Layout, proposal: Proposal, target: Target) -> str:
    """A parent as its page's path where it is a page; a git reference as it is. Raises KbError for a page that is not there."""
    name = proposal.parent
    if (
        re.fullmatch(r"v\d+", name)
        or name.endswith(".md")
        or (layout.wiki / "experiments" / target.name / f"{name}.md").is_file()
    ):
        return located(layout, name, target=target.name)
    return name


def _parent_code(layout: store.Layout, parent: str, target: Target) -> str:
    """Commit that a git reference means today, for a branch moves on; empty for a page, and where the repository is not here."""
    if (
        not parent
        or parent.endswith(".md")
        or not target.repository
        or not (layout.root / target.repository).is_dir()
    ):
        return ""
    return commit_of(repository_of(layout, target), parent)


def _home(layout: store.Layout, target: str) -> str:
    """Folder of a target's experiments; a wiki that keeps them one folder deeper goes on doing so."""
    home = f"wiki/experiments/{target}"
    return f"{home}/experiments" if (layout.root / home / "experiments").is_dir() else home


def _number(layout: store.Layout, target: str) -> int:
    names = [f.stem for f in (layout.wiki / "experiments" / target).rglob("*.md")]
    runs = layout.sources / "runs" / target
    names.extend(f.name for f in (runs.iterdir() if runs.is_dir() else ()))
    return 1 + max((read(f"wiki/experiments/{name}.md", b"").number for name in names), default=0)


def _newest(layout: store.Layout, target: str) -> str:
    """Date of the target's newest experiment: where the clock went back, a new one still comes after its parent."""
    dates = (
        re.match(r"\d{4}-\d{2}-\d{2}(?=-)", f.name)
        for f in (layout.wiki / "experiments" / target).rglob("*.md")
    )
    return max((d[0] for d in dates if d), default="")


def quoted(text: str) -> str:
    """A text as YAML on one line."""
    return json.dumps(text, ensure_ascii=False)


def page_of(
    proposal: Proposal,
    target: Target,
    *,
    path: str,
    stem: str,
    answer: Answer | None,
    date: str,
    code: str,
) -> bytes:
    """The bytes of a stub."""
    levers = [f"{v.name}={v.value}" if v.value else v.name for v in proposal.levers]
    front = {
        "title": quoted(proposal.title),
        "type": "experiment",
        "target": quoted(target.name),
        "variant": quoted(proposal.variant),
        "hypothesis": quoted(proposal.hypothesis or proposal.title),
        "levers": json.dumps(levers, ensure_ascii=False),
        "parent": quoted(proposal.parent),
        "parent_code": quoted(code),
    }
    front = {key: value for key, value in front.items() if value != '""' or key == "parent"}
    if not proposal.baseline:
        front["falsification"] = quoted(
            " or ".join(
                to_text(c) for c in criteria_of(proposal.falsification, metrics=target.metrics)
            )
        )
    front |= {
        "gate": answer.outcome if answer else "none",
        "receipt": quoted(answer.receipt if answer else "baseline"),
        "run": quoted(run_folder(target, stem)),
        "status": "in_progress",
        "created": date,
        "updated": date,
    }
    for name, words in (
        ("differs", proposal.differs and quoted(proposal.differs)),
        ("expect", proposal.expect),
        ("forbid", proposal.forbid),
        ("predict", proposal.predict),
    ):
        if words:
            front[name] = (
                words if isinstance(words, str) else json.dumps(list(words), ensure_ascii=False)
            )
    labels = (
        ("Hypothesis", proposal.hypothesis),
        ("Mechanism", proposal.mechanism),
        ("Predicted signal", proposal.predicted_signal),
        ("Falsification criterion", proposal.falsification),
        ("What differs", proposal.differs),
        ("Checked against", _checked_against(path, answer)),
    )
    tested = (
        "\n\n".join(f"**{label}**: {text}" for label, text in labels if text)
        or "None: this is the first measurement, which others are compared with."
    )
    variant = f", variant {proposal.variant}" if proposal.variant else ""
    shown = ", ".join(f"`{lever}`" for lever in levers) or "none"
    setup = f"Target {_link(path, target.path, target.name)}{variant}; levers: {shown}; parent: {_parent_shown(path, proposal.parent)}."
    blocks = {name: f"<!-- kb:auto {name} -->\n<!-- /kb:auto -->" for name in BLOCKS}
    sections = (
        ("Hypothesis under test", tested),
        ("Setup", f"{setup}\n\n{blocks['setup']}"),
        ("Results", blocks["results"]),
        ("Profile", blocks["profile"]),
        ("Audit", blocks["audit"]),
        ("Verdict", blocks["verdict"]),
        ("Next hypotheses", ""),
        ("Sources", blocks["sources"]),
    )
    head = "\n".join(f"{key}: {value}" for key, value in front.items())
    body = "\n\n".join(f"## {title}\n\n{text}".rstrip() for title, text in sections)
    return f"---\n{head}\n---\n\n# {proposal.title}\n\n{body}\n".encode()


def _checked_against(path: str, answer: Answer | None) -> str:
    """The refuted cards that the check thought of, so that a reader sees what this one is not."""
    if not answer or not answer.matches:
        return ""
    shown = ", ".join(
        f"{_link(path, m.path, Path(m.path).stem)} ({m.kind}{', ' + one_line('; '.join(m.scope_diff)) if m.scope_diff else ''})"
        for m in answer.matches[:3]
    )
    return f"{answer.outcome}; nearest {shown}"


def _link(path: str, other: str, text: str) -> str:
    return f"[{text}]({posixpath.relpath(other, posixpath.dirname(path))})" if other else text


def _parent_shown(path: str, parent: str) -> str:
    if not parent:
        return "none"
    return _link(path, parent, Path(parent).stem) if parent.endswith(".md") else f"`{parent}`"
