"""Runs that no concept gathers, in groups: by a tag that tells, a lever that several pull, or what their titles share."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from kb import grouped
from kb.indexes.run_words import LARGE, plain_words, stem_of
from kb.indexes.survey import WikiSurvey
from kb.trail import Facts
from kb.trail.levers import key_of
from kb.trail.themes import themes_of

# So many runs make a group.
_LEAST = 3


def run_groups(survey: WikiSurvey, covered: Iterable[str]) -> dict[str, set[str]]:
    """Name -> runs; first by tags, then what is left by levers, then by themes, the largest first. No run of `covered` stands in any, and none in
    two.
    """
    taken, members = set(covered), defaultdict[str, set[str]](set)
    for names_by in (_tags, _levers, _themes):
        groups = defaultdict[str, set[str]](set)
        loose = [e for e in survey.runs.values() if e.path not in taken]
        for name, path in names_by(survey, loose):
            groups[name].add(path)
        for name in sorted(groups, key=lambda n: (-len(groups[n]), n)):
            own = groups[name] - taken
            if len(own) >= _LEAST:
                members[name] |= own
                taken |= own
    return members


def _tags(survey: WikiSurvey, loose: Iterable[Facts]) -> Iterable[tuple[str, str]]:
    return ((t.lower(), e.path) for e in loose for t in e.tags if t.lower() in survey.tags)


def _levers(survey: WikiSurvey, loose: Iterable[Facts]) -> Iterable[tuple[str, str]]:
    """Levers but those that most runs of their target state: what every run states is how it is run, not what it tries."""
    runs, targets = survey.runs.values(), survey.words.targets
    stated = Counter(pair for e in runs for pair in {(e.target, key_of(v.name)) for v in e.levers})
    for e in loose:
        whole = len(targets[e.target])
        for lever in e.levers[:4]:
            name = lever.name.strip("-").lower()
            usual = whole >= LARGE and 2 * stated[e.target, key_of(name)] > whole
            if len(name) >= 3 and not usual:
                yield name, e.path


def _themes(survey: WikiSurvey, loose: Iterable[Facts]) -> Iterable[tuple[str, str]]:
    """Themes of each target's own titles; a word that is one in two targets names one topic.

    What a third of a target's runs speak of is what the target is made of, not what one of them does: no theme.
    """
    of_target = grouped((e.target, (e.path, e.title)) for e in loose)
    for target, titles in of_target.items():
        whole = survey.words.targets[target]
        for name, own in themes_of(titles):
            stems = (survey.words.stems.get(stem_of(w), set()) for w in plain_words(name))
            if 3 * len(whole.intersection(*stems)) <= len(whole):
                yield from ((name, path) for path in own)
