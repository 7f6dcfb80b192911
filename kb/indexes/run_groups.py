"""Runs that no concept gathers, in groups: by a tag that tells, a lever that several pull, or what their titles share."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from kb.indexes.run_words import LARGE
from kb.indexes.survey import WikiSurvey
from kb.trail import Facts
from kb.trail.levers import key_of
from kb.trail.themes import themes_of

# So many runs make a group.
_LEAST = 3


def run_groups(survey: WikiSurvey, covered: Iterable[str]) -> dict[str, set[str]]:
    """Name -> runs; first by tags, then what is left by levers, then by themes. No run of `covered` stands in any."""
    taken = set(covered)
    members: dict[str, set[str]] = {}
    for groups in (_by_tag, _by_lever, _by_theme):
        loose = [e for e in survey.runs if e.path not in taken]
        for name, own in _disjoint(groups(survey, loose)):
            members.setdefault(name, set()).update(own)
            taken |= own
    return members


def _by_tag(survey: WikiSurvey, loose: Iterable[Facts]) -> dict[str, set[str]]:
    groups: dict[str, set[str]] = defaultdict(set)
    for e in loose:
        for tag in {t.lower() for t in e.tags} & survey.tags.keys():
            groups[tag].add(e.path)
    return groups


def _by_lever(survey: WikiSurvey, loose: Iterable[Facts]) -> dict[str, set[str]]:
    settings = _settings(survey)
    groups: dict[str, set[str]] = defaultdict(set)
    for e in loose:
        for lever in e.levers[:4]:
            name = lever.name.strip("-").lower()
            if len(name) >= 3 and (e.target, key_of(name)) not in settings:
                groups[name].add(e.path)
    return groups


def _by_theme(survey: WikiSurvey, loose: Iterable[Facts]) -> dict[str, set[str]]:
    """Themes of each target's own titles; a word that is one in two targets names one topic.

    What a third of a target's runs speak of is what the target is made of, not what one of them does: no theme.
    """
    of_target: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for e in loose:
        of_target[e.target].append((e.path, e.title))
    groups: dict[str, set[str]] = defaultdict(set)
    for target, titles in of_target.items():
        for name, own in themes_of(titles):
            if 3 * len(survey.words.speaking(name) & survey.words.targets[target]) <= len(
                survey.words.targets[target]
            ):
                groups[name].update(own)
    return groups


def _disjoint(groups: Mapping[str, set[str]]) -> list[tuple[str, set[str]]]:
    """Groups with runs enough, the largest first; every run in the first that has it."""
    apart: list[tuple[str, set[str]]] = []
    taken: set[str] = set()
    for name in sorted(groups, key=lambda n: (-len(groups[n]), n)):
        own = groups[name] - taken
        if len(own) >= _LEAST:
            taken |= own
            apart.append((name, own))
    return apart


def _settings(survey: WikiSurvey) -> set[tuple[str, str]]:
    """(target, lever) pairs that most runs of the target state: what every run states is how it is run, not what it tries."""
    stated: Counter[tuple[str, str]] = Counter()
    for e in survey.runs:
        stated.update({(e.target, key_of(lever.name)) for lever in e.levers})
    return {
        pair
        for pair, n in stated.items()
        if len(whole := survey.words.targets[pair[0]]) >= LARGE and 2 * n > len(whole)
    }
