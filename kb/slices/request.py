"""What a step asks of the knowledge base. Refuses what it does not know: a misspelt key would silently change a slice."""

import difflib
from dataclasses import dataclass, fields

from kb import KbError
from kb.schema import STEPS
from kb.trail import is_day

MODES = ("auto", "frontier", "exploration", "bootstrap", "override")
AUDIENCES = ("loop", "cold")

# Below this no slice can say anything; above it no model reads with care.
_SMALLEST, _LARGEST = 200, 200_000
# So many tokens are about what harnesses leave of what a command prints (`kb.text.LOOK` characters, which bound such a slice too).
LOOK = 3600
# A session that lost its context reads this much to know where it is; what to try next is another slice.
_RESUME = 900


@dataclass(frozen=True, slots=True)
class Request:
    """One slice asked for. `profile` and `proposal` are texts, not paths, `buckets` the profile's table (a row a line, cells between dots);
    `before` is a page, `as_of` a day; `beyond` is the digest of an earlier slice, whose statements are left out.
    """

    step: str
    id: str = ""
    query: str = ""
    target: str = ""
    variant: str = ""
    before: str = ""
    as_of: str = ""
    budget: int = LOOK
    exclude: tuple[str, ...] = ()
    profile: str = ""
    buckets: str = ""
    proposal: str = ""
    mode: str = "auto"
    audience: str = "loop"
    beyond: str = ""


_KINDS = {f.name: f.type for f in fields(Request)}


def request_from(
    stated: object, *, step: str = "", budget: int | None = None, usual: int = LOOK
) -> Request:
    """Request of one decoded JSON object; `step` and `budget` stand in for keys it does not have, and `usual`, or less to resume, for a budget nobody said.

    Raises KbError for what cannot be.
    """
    if not isinstance(stated, dict):
        raise KbError('a request is a JSON object, such as {"id": "1", "query": "..."}')
    fields = {"step": step, "budget": budget, **{k: v for k, v in stated.items() if v is not None}}
    if fields["budget"] is None:
        fields["budget"] = min(usual, _RESUME) if fields["step"] == "resume" else usual
    request = Request(**{key: _value(key, value) for key, value in fields.items()})  # type: ignore[arg-type]
    for field, choices in (("step", STEPS), ("mode", MODES), ("audience", AUDIENCES)):
        if (value := getattr(request, field)) not in choices:
            raise KbError(f"no such {field} '{value}'; one of {', '.join(choices)}")
    if not _SMALLEST <= request.budget <= _LARGEST:
        raise KbError(
            f"a budget is between {_SMALLEST} and {_LARGEST} tokens, not {request.budget}"
        )
    if request.before and request.as_of:
        raise KbError("--before PAGE and --as-of DATE both say when; give one")
    if request.as_of and not is_day(request.as_of):
        raise KbError(f"'{request.as_of}' is no day; write YYYY-MM-DD")
    return request


def _value(key: str, value: object) -> object:
    if key not in _KINDS:
        near = difflib.get_close_matches(str(key), _KINDS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(_KINDS)}"
        raise KbError(f"no such key '{key}' in a request; {hint}")
    if key == "id":
        return str(value)
    if key == "exclude":
        globs = [value] if isinstance(value, str) else value
        if not isinstance(globs, list | tuple) or not all(isinstance(g, str) for g in globs):
            raise KbError("'exclude' takes a list of globs, such as [\"wiki/analyses/*\"]")
        return tuple(globs)
    if type(value) is not _KINDS[key]:
        raise KbError(f"'{key}' takes {'a number' if key == 'budget' else 'a text'}, not {value!r}")
    return value
