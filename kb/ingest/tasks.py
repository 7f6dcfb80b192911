"""What a model may be asked, one object a task, in one registry: its prompt, the form of the reply, and what becomes of a reply.

Prompts are files: those of the knowledge base (`prompts/<task>.md`) where it has them, else those of the package.
"""

from dataclasses import dataclass
from importlib.resources import files

from kb import KbError, store
from kb.ingest.replies import (
    Comparison,
    Drafts,
    Duplicate,
    IndexNotes,
    SecondReadings,
)
from kb.packs import PackParts
from kb.source import PageRecord


@dataclass(frozen=True, slots=True)
class Task:
    """`name` is that of its prompt; `form` the type of its reply."""

    name: str
    summary: str
    form: type


TASKS = {
    task.name: task
    for task in (
        Task("extract", "claims of a source, on the pages that they belong to", Drafts),
        Task("concept", "one page, written or revised from claims on file", Drafts),
        Task("observation", "what several experiments show together", Drafts),
        Task("retrospective", "the narrative of a retrospective, on its computed skeleton", Drafts),
        Task("merge", "whether two pages are about one thing", Duplicate),
        Task("compare", "how two claims stand to each other", Comparison),
        Task("normalise", "levers, metrics, verdict and lesson of one experiment", PageRecord),
        Task(
            "verify", "whether a quote says what its claim says, by a second reader", SecondReadings
        ),
        Task("pack", "strategies, rules and reference of an agent pack", PackParts),
        Task("hypothesis", "prose of the hypothesis index", IndexNotes),
        Task("blueprint", "prose of the blueprint", IndexNotes),
        Task("profile", "prose of the profile index", IndexNotes),
    )
}


def task_named(name: str) -> Task:
    if name not in TASKS:
        raise KbError(f"no task '{name}'; one of {', '.join(TASKS)}")
    return TASKS[name]


def prompt_of(layout: store.Layout, name: str) -> str:
    """Text of a task's prompt. Raises KbError where the knowledge base has one that cannot be read."""
    file = layout.prompts / f"{task_named(name).name}.md"
    try:
        return store.bytes_of(file).decode() if file.is_file() else _packaged(layout, name)
    except (OSError, UnicodeDecodeError) as error:
        raise KbError(f"prompts/{name}.md: cannot be read: {error}") from error


def _packaged(layout: store.Layout, name: str) -> str:
    """The prompt of the package, with the folder of the pages as this knowledge base calls it."""
    text = (files("kb.ingest") / "prompts" / f"{name}.md").read_text(encoding="utf-8")
    return text.replace("`wiki/", f"`{layout.page('')}")


def file_prompts(layout: store.Layout) -> tuple[str, ...]:
    """Write the prompts that the knowledge base lacks, for people to read and to change. Returns their paths."""
    written = []
    for name in TASKS:
        file = layout.prompts / f"{name}.md"
        if not file.exists():
            store.write(file, _packaged(layout, name))
            written.append(f"prompts/{name}.md")
    return tuple(written)
