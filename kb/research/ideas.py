"""What captured sources offer: idea stubs with their origin, levers and the gain that is claimed.
Refuses to rank by a gain that nobody here measured.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from kb.research.claims import MEASURES, StatedFigure
from kb.research.forks import Fork, fork_of_source
from kb.research.symbols import identifiers, setting_of
from kb.research.techniques import techniques_in
from kb.source import Source, sources, text_of_source, visible
from kb.store import Layout
from kb.text import numbers_in, one_line, sentences_of

_MOST_LEVERS = 8
_GAINS = ("%", "×", "x", "X")
_GAIN_WORDS = re.compile(
    r"(?i)\b(faster|speed-?ups?|improve\w*|reduc\w+|gain\w*|sav(?:es?|ings?)|fewer|less|more|lower|higher)\b"
)


@dataclass(frozen=True, slots=True)
class Idea:
    """Something to try. `gain` and `conditions` are as claimed where it comes from; `levers` names
    or `name=value`.
    """

    title: str
    source: str
    origin: str
    kind: str
    levers: tuple[str, ...]
    techniques: tuple[str, ...]
    gain: str
    conditions: str
    files: tuple[str, ...]
    weight: float
    retrieved: str

    def to_proposal(self) -> str:
        """The idea as `kb check` reads a proposal."""
        levers = "".join(f"- {lever}\n" for lever in self.levers)
        return f"# {self.title}\n\n## Hypothesis\n\n{self.title}: {', '.join(self.techniques)}.\n\n## Change\n\n{levers}\nOrigin: sources/{self.source}\n"

    def to_lead(self) -> str:
        """The idea on one line, for whoever chooses what to try: quoted, and said to be measured by nobody here."""
        claimed = f"; claims {self.gain}" if self.gain else ""
        levers = f"; levers {', '.join(self.levers[:4])}" if self.levers else ""
        return visible(
            one_line(
                f"untried here, quoted from sources/{self.source}: “{self.title[:100]}”{levers}{claimed} (not measured here)"
            )
        )

    def nearness(self, *, repository: str, techniques: Collection[str]) -> str:
        """same code: a fork of the target's own repository; near: half of its techniques are spoken of in the trail; far: neither."""
        own = repository.lower().removesuffix(".git").rstrip("/").rpartition("/")[2]
        if own and re.search(
            rf"(?<![a-z0-9]){re.escape(own)}(?![a-z0-9])", self.origin.partition("#")[0].lower()
        ):
            return "same code"
        named = set(self.techniques[:4])
        return "near" if named and 2 * len(named & set(techniques)) >= len(named) else "far"


def ideas_of(layout: Layout) -> Iterator[Idea]:
    """Ideas of all captured forks and papers. What upstream has, and what only documents, is none."""
    for source in sources(layout):
        fork = fork_of_source(layout, source)
        if fork and fork.optimization and not fork.in_upstream:
            yield _of_fork(source, fork)
        elif source.kind == "arxiv" and source.text:
            yield from _of_paper(layout, source)


def _of_fork(source: Source, fork: Fork) -> Idea:
    gain = next(iter(_gains(fork)), None)
    settings = [
        f"{name}={value}"
        for name, value in map(setting_of, fork.not_upstream)
        if name and len(value) <= 30
    ]
    names = [name for name in fork.not_upstream if name.isidentifier()]
    levers = tuple(dict.fromkeys([*settings, *names]))[:_MOST_LEVERS]
    shown = f"{gain.value} {gain.unit} ({gain.status})" if gain else ""
    return Idea(
        fork.title or fork.fork,
        source.id,
        source.origin,
        fork.kind,
        levers,
        fork.techniques[:6],
        shown,
        gain.text[:200] if gain else "",
        fork.files,
        fork.score,
        source.retrieved,
    )


def _gains(fork: Fork) -> list[StatedFigure]:
    """Claims of a gain that still stand: what is called one first, then measured values of a
    commit; a value of a setting is none.
    """
    standing = [c for c in fork.claims if c.status != "retracted"]
    called = [c for c in standing if c.unit in _GAINS and _GAIN_WORDS.search(c.text)]
    measured = [
        c
        for c in standing
        if c.path.startswith("commit") and c.unit not in _GAINS and MEASURES.search(c.unit)
    ]
    rates = [c for c in standing if c.path.startswith("commit") and "/" in c.unit]
    return sorted([*called, *rates, *measured], key=lambda c: c.status != "reported")


def _of_paper(layout: Layout, source: Source) -> Iterator[Idea]:
    """The sentence of a paper's abstract that states a gain; a paper that claims none offers no
    idea by itself.
    """
    text = text_of_source(layout, source)
    starts = [start for title, start in source.sections if title.lower().startswith("abstract")]
    abstract = text[starts[0] :].partition("\n\n")[2].partition("\n#")[0] if starts else text[:2000]
    techniques = techniques_in(identifiers(f"{source.title} {abstract}"))
    for sentence in sentences_of(abstract):
        figures = [sentence[n.start : n.end] for n in numbers_in(sentence) if n.unit in _GAINS]
        if figures and techniques:
            names = tuple(
                t.name for t in sorted(techniques, key=lambda t: (-techniques[t], t.name))[:6]
            )
            kind = next(iter(techniques)).kind
            yield Idea(
                source.title,
                source.id,
                source.origin,
                kind,
                (),
                names,
                figures[0],
                one_line(sentence)[:200],
                (),
                0.5,
                source.retrieved,
            )
            return
