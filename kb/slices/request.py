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


@dataclass(frozen=True, slots=True)
class Request:
    """One slice asked for. `profile` and `proposal` are texts, not paths; `before` is a page, `as_of` a day."""

    step: str
    id: str = ""
    query: str = ""
    target: str = ""
    variant: str = ""
    before: str = ""
    as_of: str = ""
    budget: int = 8000
    exclude: tuple[str, ...] = ()
    profile: str = ""
    proposal: str = ""
    mode: str = "auto"
    audience: str = "loop"


_KINDS = {f.name: f.type for f in fields(Request)}


# A session that lost its context reads this much to go on.
_RESUME = 2000


def request_from(said: object, *, step: str = "", budget: int | None = None, usual: int = 8000) -> Request:
    """Request of one decoded JSON object; `step` and `budget` stand in for keys it does not have, and `usual`, or less to resume, for a budget nobody said.

    Raises KbError for what cannot be.
    """
    if not isinstance(said, dict):
        raise KbError('a request is a JSON object, such as {"id": "1", "query": "..."}')
    asks = step if said.get("step") is None else said["step"]
    if budget is None:
        budget = min(usual, _RESUME) if asks == "resume" else usual
    values: dict[str, object] = {"step": step, "budget": budget}
    for key, value in said.items():
        if key not in _KINDS:
            near = difflib.get_close_matches(str(key), _KINDS, n=1)
            raise KbError(
                f"no such key '{key}' in a request; {f'did you mean {near[0]!r}?' if near else 'known: ' + ', '.join(_KINDS)}"
            )
        if value is None:
            continue
        if key == "exclude":
            value = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, (list, tuple)) else value
            if not isinstance(value, tuple) or not all(isinstance(v, str) for v in value):
                raise KbError("'exclude' takes a list of globs, such as [\"wiki/analyses/*\"]")
        elif key == "id":
            value = str(value)
        elif type(value) is not _KINDS[key]:
            raise KbError(f"'{key}' takes {'a number' if key == 'budget' else 'a text'}, not {value!r}")
        values[key] = value
    request = Request(**values)  # type: ignore[arg-type]
    _check(request)
    return request


def _check(request: Request) -> None:
    if request.step not in STEPS:
        raise KbError(f"no such step '{request.step}'; one of {', '.join(STEPS)}")
    if request.mode not in MODES:
        raise KbError(f"no such mode '{request.mode}'; one of {', '.join(MODES)}")
    if request.audience not in AUDIENCES:
        raise KbError(f"no such audience '{request.audience}'; one of {', '.join(AUDIENCES)}")
    if not _SMALLEST <= request.budget <= _LARGEST:
        raise KbError(f"a budget is between {_SMALLEST} and {_LARGEST} tokens, not {request.budget}")
    if request.before and request.as_of:
        raise KbError("--before PAGE and --as-of DATE both say when; give one")
    if request.as_of and not is_day(request.as_of):
        raise KbError(f"'{request.as_of}' is no day; write YYYY-MM-DD")
