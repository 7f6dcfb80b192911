"""kb search [ask]: find sections by words."""

from dataclasses import dataclass

from kb.search import find
from kb.search.captured import captured_answers
from kb.search.query import CAPTURED, Query, SearchAnswer, answers
from kb.verbs import Caller, Result, argument, flag, option, several

# Of so many places, one is for captured material.
_SHARE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Words, and what the sections must be."""

    query: tuple[str, ...] = argument(
        "words to look for; identifiers are found whole and by their parts"
    )
    type: tuple[str, ...] = several(
        "only pages of this type (may be repeated); captured is the text of captured sources"
    )
    target: str = option("only experiments of this target")
    verdict: tuple[str, ...] = several("only experiments with this verdict (may be repeated)")
    before: str = option("only pages dated before this day (YYYY-MM-DD)", metavar="DATE")
    semantic: bool = flag(
        "by words and by meaning, with the model that kb.toml names (extra `semantic`)"
    )
    limit: int = option("at most so many (default 10)", default=10)


def run(request: Search, caller: Caller) -> Result[tuple[SearchAnswer, ...]]:
    query, before = " ".join(request.query), request.before
    before = before and caller.day(before, "--before")
    question = Query(query, request.type, request.target, request.verdict, before, request.limit)
    db = caller.tables()
    by = find
    if request.semantic:
        from kb.verbs.vectors import opened

        by = opened(db, caller).find
    places = answers(db, question, by=by)
    captured = captured_answers(caller.layout, question)
    # What the wiki says comes first; what was captured has a quarter of the room, or what is left.
    room = max(request.limit // _SHARE, request.limit - len(places))
    captured = captured[:room]
    listed = (*places[: request.limit - len(captured)], *captured)
    return Result(listed, "\n".join(map(_text, listed)) or "nothing found")


def _text(a: SearchAnswer) -> str:
    place, is_quoted = f"{a.path}#{a.anchor}" if a.anchor else a.path, a.type == CAPTURED
    mark, quote = (" (captured, quoted)", "> ") if is_quoted else ("", "")
    return f"{place}:{a.line}  {a.title}{mark}\n    {quote}{a.snippet}"
