"""What a model may be asked, task by task: its prompt, the form of the reply (types, from
which come the JSON schema in each packet and the check of each reply), and what becomes of a reply.

Prompts are files: those of the knowledge base (`prompts/<task>.md`) where it has them, else those of the package.
"""

import re
from importlib.resources import files

import msgspec

from kb import KbError, store
from kb.claims import ClaimedQuantity
from kb.packs import PackParts
from kb.source import IndexNote, PageRecord, ProposalReading


class DraftClaim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One plain sentence, the words of the source that say so, and the heading that it goes under.

    `source` is the origin that the packet names over the quoted material; it may be left out where there is one. `links` are pages of
    the wiki that the sentence is about, as paths from the root.
    """

    section: str
    claim: str
    quote: str
    source: str = ""
    links: tuple[str, ...] = ()
    quantity: ClaimedQuantity | None = None


class Draft(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A page that shall be, or shall hold more. It enters whole or not at all."""

    path: str
    type: str
    title: str
    claims: tuple[DraftClaim, ...]
    aliases: tuple[str, ...] = ()
    levers: tuple[str, ...] = ()


class Drafts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reply of every task that writes pages. No draft at all says that the material holds nothing for this wiki."""

    drafts: tuple[Draft, ...]


class Comparison(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How two claims stand to each other: same, conflict, different-conditions or unrelated; with the words that decide it."""

    relation: str
    because: str
    quote_first: str
    quote_second: str


class Duplicate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether two pages are about one thing, proposed to a person: nothing is merged by a reply."""

    same: bool
    keep: str
    because: str
    quote_first: str
    quote_second: str


class SecondReading(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a second reader says of one claim, by its number in the packet."""

    number: int
    holds: bool
    because: str = ""


class SecondReadings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    readings: tuple[SecondReading, ...]


class IndexNotes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    notes: tuple[IndexNote, ...]


class Unreadable(KbError):
    """A reply that is no reply: what is wrong with it, in words that a model can act on."""


_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)


def read_reply(text: str, form: type) -> msgspec.Struct:
    """The reply in a text: the text itself, a fenced block of it, or what stands between its first and last brace. Raises Unreadable."""
    fenced = _FENCED.findall(text)
    braced = text[text.find("{") : text.rfind("}") + 1]
    trouble = "it holds no JSON object"
    for candidate in dict.fromkeys([text.strip(), *reversed(fenced), braced]):
        if not candidate.startswith("{"):
            continue
        try:
            return msgspec.json.decode(candidate.encode("utf-8", "replace"), type=form)
        except msgspec.ValidationError as error:
            raise Unreadable(f"the reply has not the form that was asked: {error}") from error
        except (msgspec.DecodeError, RecursionError) as error:
            trouble = f"it is no JSON: {error}"
    raise Unreadable(
        f"the reply cannot be read: {trouble}; reply with one JSON object and nothing else"
    )


# Every task with the form of its reply.
FORMS: dict[str, type[msgspec.Struct]] = {
    "extract": Drafts,  # Claims of a source, on the pages that they belong to.
    "concept": Drafts,  # One page, written or revised from claims on file.
    "observation": Drafts,  # What several experiments show together.
    "retrospective": Drafts,  # The narrative of a retrospective, on its computed skeleton.
    "merge": Duplicate,
    "compare": Comparison,
    "normalise": PageRecord,  # Levers, metrics, verdict and lesson of one experiment.
    "repeat": ProposalReading,  # What a proposal does again, or comes near to, of what failed.
    "verify": SecondReadings,  # Whether a quote says what its claim says, by a second reader.
    "pack": PackParts,  # Strategies, rules and reference of an agent pack.
    "hypothesis": IndexNotes,  # Prose of the compiled index of that name.
    "blueprint": IndexNotes,
    "profile": IndexNotes,
}


def form_of(task: str) -> type[msgspec.Struct]:
    if task not in FORMS:
        raise KbError(f"no task '{task}'; one of {', '.join(FORMS)}")
    return FORMS[task]


def prompt_of(layout: store.Layout, name: str) -> str:
    """Text of a task's prompt. Raises KbError where the knowledge base has one that cannot be read."""
    file = layout.prompts / f"{name}.md"
    try:
        return store.bytes_of(file).decode() if file.is_file() else _packaged(layout, name)
    except (OSError, UnicodeDecodeError) as error:
        raise KbError(f"prompts/{name}.md: cannot be read: {error}") from error


def _packaged(layout: store.Layout, name: str) -> str:
    """The prompt of the package, with the folder of the pages as this knowledge base calls it."""
    text = (files("kb.ingest") / "prompts" / f"{name}.md").read_text(encoding="utf-8")
    return text.replace("`wiki/", f"`{layout.page('')}")


def file_prompts(layout: store.Layout) -> None:
    """Write the prompts that the knowledge base lacks, for people to read and to change."""
    for name in FORMS:
        file = layout.prompts / f"{name}.md"
        if not file.exists():
            store.write(file, _packaged(layout, name))
