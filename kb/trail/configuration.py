"""The best configuration of a target, merged along the runs that it stands on: every setting with its value, who set it, and how pages put it.

Refuses settings that say how a run is watched and filed.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from string import digits

from kb import grouped
from kb.run.record import Lever
from kb.schema import Verdict
from kb.text import cut, sentences_of
from kb.trail.facts import Facts
from kb.trail.frontier import Frontier, kept, parents_of, points_of
from kb.trail.handles import handle
from kb.trail.levers import is_common, key_of, levers_in, number_of
from kb.trail.line import Line, quoted
from kb.trail.outcomes import Outcomes, subject_of
from kb.trail.outline import Phrases

# How a run is watched and filed, not how it computes.
_WATCHED = re.compile(
    r"profil|dump|warmup|seed|^-*(?:check|verify|validate|test|help|version)$|(?:^|_|-)(?:dir|path|root|steps?|run|name|id|url|version|image|date|logs?|logging|logdir|trace\w*|config)$|\d{4}-\d{2}|^v\d+$",
    re.I,
)
# Names that a command line or an environment has, and values that can stand there.
_COMMAND = re.compile(r"--?\w[\w.-]*|[A-Z][A-Z0-9]*_[A-Z0-9_]+|[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
_VALUE = re.compile(r"[\w.+-]+(?:/[\w.+-]+)?")
# That a flag is none of the program's.
_REFUSED = Phrases(
    "unknown (?:flag|option|argument), unrecogni[sz]ed, (?:is|was) (?:\\w+ )?(?:invalid|unsupported), (?:is|was|were) (?:never |not )(?:\\w+ )?in"
)
# Settings of the size of work, and how they are spelled in short.
_WORK = Phrases(
    "\\w*batch(?:size)?$, ^bs?$, \\w*seq(?:uence)?(?:len(?:gth)?)?$, ^(?:context|ctx|prompt|input|problem)(?:len(?:gth)?|size)?$"
)
# A run that is worse than the best before it by more than this handed none of its settings on.
_LEFT = -0.02
# So many settings of one run are named.
_NAMED = 3
# Of the runs that the frontier stands on so many are told where none says its settings, each in so many characters.
_STANDS_ON, _SUBJECT = 12, 80


def is_watched(name: str) -> bool:
    """Whether a setting says how a run is watched and filed."""
    return _WATCHED.search(name) is not None


def is_handed(name: str) -> bool:
    """Whether a command line or an environment hands a setting to a run, so that it is more than a word of prose."""
    return (name.startswith("-") or name.isupper()) and not is_watched(name)


def configuration_lines(outcomes: Outcomes) -> Iterable[Line]:
    """The frontier's settings merged and those of them that nobody varied, then what pages say beside: its own, the baseline's, those after it."""
    runs, before = outcomes.runs, []
    if outcomes.best is None:
        for e in runs[-1:]:
            yield from quoted(e, e.account.config[:4], before)
        return
    chain = chain_of(runs, outcomes.best)
    merged, setter = _settings(outcomes, chain)
    for line in _merged(outcomes, chain, merged, setter):
        before.append(line.text)
        yield line
    base = [e for e in runs if e.verdict.canonical is Verdict.BASELINE and e is not chain[0]][:1]
    after = [e for e in reversed(runs) if e.order > chain[0].order][:3]
    for e, most in [(chain[0], 12), *((e, 4) for e in base), *((e, 2) for e in after)]:
        # The head of a setup that kb wrote says what the merged line says.
        notes = [n for n in e.account.config if not n.text.startswith(f"Target {e.target}")]
        notes = [n for n in notes if e is chain[0] or _adds(n.text, merged)]
        yield from quoted(e, notes[:most], before, most=1000)


def chain_of(runs: Sequence[Facts], best: Frontier) -> list[Facts]:
    """The frontier and what it stands on, nearest first: its parents, then the runs kept before them."""
    by_path, parents = {e.path: e for e in runs}, parents_of(runs)
    chain = [best.run]
    # Parents are earlier runs, so that none comes twice.
    while parent := by_path.get(parents.get(chain[-1].path, "")):
        chain.append(parent)
    return [*chain, *reversed([e for e in runs if e.order < chain[-1].order and kept(e)])]


def _adds(text: str, merged: Mapping[str, Lever]) -> bool:
    """Whether a text sets what the merged line does not say, and not only how a run is watched."""
    return any(
        not is_watched(v.name) and not is_common(v.name) and key_of(v.name) not in merged
        for v in levers_in(text)
    )


def _unvaried(outcomes: Outcomes, merged: Mapping[str, Lever]) -> list[str]:
    """Settings with a number that every run had which had them at all: nobody knows what another value brings."""
    values: dict[str, set[str]] = defaultdict(set)
    for e in outcomes.runs:
        attempted = (v for t in e.account.attempts for v in levers_in(t.subject))
        for v in (*e.settings, *e.levers, *attempted):
            values[key_of(v.name)].add(v.value)
    numbers = ((key, v, number_of(v.value)) for key, v in merged.items())
    return [
        _shown(v)
        for key, v, number in numbers
        if number and number > 1 and values[key] <= {"", v.value} and not _WORK.search(key)
    ]


def _merged(
    outcomes: Outcomes,
    chain: Sequence[Facts],
    merged: Mapping[str, Lever],
    setter: Mapping[str, Facts],
) -> Iterable[Line]:
    """The settings of the chain as a line to run, the newest value of each, those of one value in all runs, then which run had each first and what it brought."""
    if not merged:
        # A log says what each run did and not how it was set.
        parts = [_share(outcomes, e, [cut(subject_of(e), _SUBJECT)]) for e in chain[:_STANDS_ON]]
        yield Line("stands on: " + "; ".join(parts), chain[0].path)
        return
    shown = {k: _shown(v) for k, v in merged.items()}
    command = [k for k, v in merged.items() if _COMMAND.fullmatch(v.name)]
    # The environment stands before the command, its arguments behind it, and what prose alone says beside it.
    command.sort(key=lambda k: (shown[k].startswith("-"), shown[k][0].islower()))
    prose = ", ".join(shown[k] for k in merged if k not in command)
    text = " ".join(shown[k] for k in command)
    text = f"{text} (and {prose})" if text and prose else text or prose
    yield Line(f"best configuration, merged: {text}", chain[0].path)
    if alone := _unvaried(outcomes, merged):
        yield Line(f"no run had another value of: {', '.join(alone)}", chain[0].path)
    groups = grouped((setter[key].path, v.name.lstrip("-")) for key, v in merged.items())
    parts = [_share(outcomes, e, groups[e.path]) for e in chain if groups.get(e.path)]
    yield Line("set by: " + "; ".join(parts), chain[0].path)


def _settings(
    outcomes: Outcomes, chain: Sequence[Facts]
) -> tuple[dict[str, Lever], dict[str, Facts]]:
    """The newest value of every setting of the chain by its key, and the first run of the chain that had it."""
    merged: dict[str, Lever] = {}
    setter: dict[str, Facts] = {}
    values: dict[str, str] = {}
    refused = _taken_back(outcomes.runs)
    written, points = _written(chain), points_of(outcomes.runs, outcomes.metric)
    for e in (chain[0], *(e for e in chain[1:] if outcomes.gains.get(e.path, 0.0) >= _LEFT)):
        for v in _counted(outcomes, e, written, own=e is chain[0]):
            key, value = _family(v)
            # What was measured at another size of work tells nothing of the frontier's.
            elsewhere = points[e.path] != points[chain[0].path] and _WORK.search(key)
            has = not elsewhere and key_of(v.name) not in refused
            if has and values.setdefault(key, value) == value:
                setter[key] = e
                # Of two spellings the one that a command takes.
                merged[key] = v if v.name.startswith("-") else merged.get(key, v)
    # `a=b` where b is set itself is code that hands it on.
    code = {*merged, *(key_of(v.name) for v in merged.values()), "min", "max"}
    merged = {k: v for k, v in merged.items() if key_of(v.value) not in code}
    dashed = {v.name.lstrip("-").partition("_")[0] for v in merged.values() if v.name[0] == "-"}
    for key, v in merged.items():
        if "_" in v.name and v.name.partition("_")[0] in dashed:
            merged[key] = Lever(f"--{v.name}", v.value)
    return merged, setter


def _family(v: Lever) -> tuple[str, str]:
    """Key and value of a setting; `-O1` beside `-O3` is another value of it."""
    stem = v.name if v.value or v.name[0] != "-" else v.name.rstrip(digits)
    return key_of(stem) or key_of(v.name), v.value or v.name.removeprefix(stem)


def _taken_back(runs: Sequence[Facts]) -> set[str]:
    """Keys of the flags of which a sentence, theirs alone, says that no run can have had them."""
    notes = (n.text for e in runs for n in (*e.account.config, *e.account.gains))
    sentences = (s for text in notes if _REFUSED.search(text) for s in sentences_of(text))
    named = (levers_in(s) for s in sentences if _REFUSED.search(s))
    flags = ([v for v in levers if v.name.startswith("-")] for levers in named)
    return {key_of(own[0].name) for own in flags if len(own) == 1}


def _counted(
    outcomes: Outcomes, e: Facts, written: Mapping[str, Lever], *, own: bool
) -> Iterable[Lever]:
    """The settings of one run that can be handed on, each as a run of the chain writes it out; what a kept run declares always can."""
    declared = e.levers if e.stated_levers and kept(e) else ()
    # What a run that lost set alone is what it lost by.
    runs = () if kept(e) else outcomes.runs
    others = {_family(v) for other in runs if other is not e for v in other.settings}
    for v in (*e.settings, *(declared or e.levers[:6])):
        long = written.get(key_of(v.name))
        v = Lever(long.name, v.value) if long else v
        if v in declared or _counts(outcomes, v, own=own or bool(long)):
            yield from [v] * (not runs or _family(v) in others)


def _written(chain: Sequence[Facts]) -> dict[str, Lever]:
    """The settings that a run of the chain writes out, by how others shorten them: `lr` is `learning_rate`, and `batch` is
    `--batch_size`.
    """
    written: dict[str, Lever] = {}
    for v in (v for e in chain for v in (*e.settings, *e.levers[:6]) if "_" in v.name):
        words = v.name.strip("-").lower().split("_")
        shorts = ["".join(w[:1] for w in words)]
        shorts += [words[0], words[0][:1]] * bool(_WORK.search(key_of(v.name)))
        written |= {s: v for s in shorts if s not in written or v.name.startswith("-")}
    return written


def _shown(v: Lever) -> str:
    """A setting as a command takes it: `-t 8`, `--threads=8`, `--fast`."""
    return (
        f"{v.name}{' ' if v.name[0] == '-' != v.name[1] else '='}{v.value}" if v.value else v.name
    )


def _share(outcomes: Outcomes, e: Facts, names: Sequence[str]) -> str:
    """What one run set, and what it gained."""
    gain = outcomes.gains.get(e.path)
    brought = f" {100 * gain:+.1f} %" if gain is not None else ""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{handle(e.path)}{brought}: {', '.join(names[:_NAMED])}{more}"


def _counts(outcomes: Outcomes, v: Lever, *, own: bool) -> bool:
    """Whether a setting can be handed to a run: of the frontier's `own` page also what prose states in a word and a number."""
    if is_watched(v.name) or any(t.startswith(v.name.lower()) for t in outcomes.names):
        return False
    if v.name.startswith("-"):
        return bool(not v.value or _VALUE.fullmatch(v.value))
    if len(key_of(v.value)) < 2 - v.value.isdigit() or len(key_of(v.name)) < 2:
        return False
    stated = own and v.value[:1].isdigit() and not is_common(v.name)
    return bool(stated or _COMMAND.fullmatch(v.name) and _VALUE.fullmatch(v.value))
