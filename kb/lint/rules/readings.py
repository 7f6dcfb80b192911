"""Rules on what somebody read of pages: it speaks of the page as that is now, and can be read itself."""

from collections.abc import Iterator

from kb.lint.matter import Matter
from kb.lint.registry import Rule, W
from kb.schema import Finding
from kb.source.standing import kept_findings


def kept_readings(matter: Matter) -> Iterator[Finding]:
    digests = {path: page.digest for path, page in matter.pages.items()}
    text_of = lambda path: "\n".join(matter.lines(path))  # noqa: E731
    return kept_findings(matter.layout, digests, text_of=text_of)


_ABOUT = {
    "stale-reading": "what a page gained since somebody read it is read by rules alone",
    "quote-gone": "what rests on a quote that stands nowhere counts for nothing",
    "unreadable-reading": "readings and notes that cannot be read are counted for none",
}
RULES = tuple(Rule(code, W, why, "source", kept_readings) for code, why in _ABOUT.items())
