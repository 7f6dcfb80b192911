"""kb pack sections [ask]: print the sections of a pack's reference that a piece of code needs, by its symbols."""

from dataclasses import dataclass

from kb import KbError, store
from kb.ingest.material import CHARS_PER_TOKEN
from kb.packs.reference import sections_for
from kb.verbs import Caller, Result, argument, option


@dataclass(frozen=True, slots=True, kw_only=True)
class PackSections:
    """The pack, and the code."""

    pack: str = argument("name or folder of the pack")
    code: str = argument("file with the code, or - for stdin", metavar="FILE")
    budget: int = option("tokens at most (default 8000)", default=8000)


def run(request: PackSections, caller: Caller) -> Result:
    folder = next(
        (
            f
            for f in (caller.layout.root / "packs" / request.pack, caller.folder / request.pack)
            if (f / "isa_docs.md").is_file()
        ),
        None,
    )
    if folder is None:
        raise KbError(f"{request.pack}: no pack with a reference; `kb pack build` makes one")
    sections = sections_for(
        store.bytes_of(folder / "isa_docs.md").decode("utf-8", "replace"), caller.text(request.code)
    )
    kept = list[str]()
    for section in sections:
        if sum(map(len, (*kept, section))) <= request.budget * CHARS_PER_TOKEN:
            kept.append(section)
    left = len(sections) - len(kept)
    rest = [f"… {left} more sections beyond the budget"] if left else []
    nothing = "no section of the reference explains a symbol of this code"
    return Result({"sections": kept, "left": left}, "\n\n".join([*kept, *rest]) or nothing)
