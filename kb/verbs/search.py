"""kb search [ask]: find sections by words."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kb.verbs import Caller, Result, argument, flag, option, several

if TYPE_CHECKING:
    from kb.search.query import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Words, and what the sections must be."""

    query: tuple[str, ...] = argument(
        "words to look for; identifiers are found whole and by their parts"
    )
    type: tuple[str, ...] = several("only pages of this type (may be repeated)")
    target: str = option("only experiments of this target")
    verdict: tuple[str, ...] = several("only experiments with this verdict (may be repeated)")
    before: str = option("only pages dated before this day (YYYY-MM-DD)", metavar="DATE")
    semantic: bool = flag(
        "by words and by meaning, with the model that kb.toml names (extra `semantic`)"
    )
    local: bool = flag("with --semantic: leave the shared store of kb.toml alone")
    limit: int = option("at most so many (default 10)", default=10)


@dataclass(frozen=True, slots=True)
class Places(Result):
    """Sections, best first."""

    answers: "tuple[Answer, ...]"

    def to_json(self) -> object:
        return [a.to_json() for a in self.answers]

    def to_text(self) -> str:
        places = ((f"{a.path}#{a.anchor}" if a.anchor else a.path, a) for a in self.answers)
        return "\n".join(f"{place}:{a.line}  {a.title}\n    {a.snippet}" for place, a in places)


def run(request: Search, caller: Caller) -> Places:
    from kb.search.query import Query, answers

    query = " ".join(request.query)
    question = Query(
        query, request.type, request.target, request.verdict, request.before, request.limit
    )
    layout = caller.layout()
    db = caller.tables(layout)
    if not request.semantic:
        return Places(tuple(answers(db, question)))
    from kb.verbs.vectors import opened

    return Places(
        tuple(answers(db, question, by=opened(layout, db, caller, local=request.local).find))
    )
