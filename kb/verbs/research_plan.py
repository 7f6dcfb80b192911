"""kb research plan [bring]: propose what to capture for a target, with its cost."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from kb.graph import target_of
from kb.page import from_row, text_of
from kb.source import sources
from kb.store import read_bytes
from kb.text import command_of, one_line
from kb.trail.standing import target_page
from kb.verbs import Caller, Result, option
from kb.verbs.status import only_target, standing_at

# Requests of each command: a feed and three a paper; a head, an archive and pages of a forge, then
# two or three a head; a page and its robots.txt.
_PAPERS, _HEADS = 8, 20
_SECONDS = {"arxiv": 3.0, "forks": 0.2, "web": 1.0, "git": 0.0}
_FROM_SHARE = 0.05
_MOST = 24
_FORGE = re.compile(
    r"github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?(?=[\s)/#\"'>,]|$)|^([\w.-]+/[\w.-]+)$"
)
_ADDRESS = re.compile(r"https?://[^\s)>\"'\]]+")
# What an operation's name does not say about itself: instruction of a compiler, a number, a type.
_NO_WORDS = frozenset(
    "fused fusion kernel void const float half bfloat16 f32 f16 bf16 jit custom call other idle misc none total the and".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchPlan:
    """A plan for one target."""

    target: str = option("what is to be optimized (default: the only target)")
    profile: str = option("a profiler's output: its largest buckets become queries", metavar="FILE")


@dataclass(frozen=True, slots=True)
class CaptureStep:
    """One command with its reason, its requests at most, and how long it takes at the pace that the
    service asks for.
    """

    command: str
    why: str
    requests: int
    seconds: float


def run(request: ResearchPlan, caller: Caller) -> Result:
    db = caller.tables()
    target = only_target(db, request.target, ask="--target says for which target")
    page = target_page(db, target)
    text = text_of(read_bytes(caller.layout, page.path)) if page else ""
    about = (
        " ".join(words_of_query(f"{page.field('hardware')} {page.field('repository')}")[:2])
        if page
        else ""
    )
    listed = [
        *_buckets(request, caller, about),
        *_repository(page.field("repository") if page else "", text, db),
    ]
    listed += [
        _papers(
            topic.name,
            about,
            f"every run of this topic failed ({topic.failed}): what do others do?",
        )
        for topic in standing_at(caller, db, target).closed
    ]
    listed += [
        _papers(name, "", f"linked from {count} pages and not written")
        for name, count in _unwritten(caller.layout, db)
    ]
    if page:
        tags = page.front.get("tags")
        words = " ".join(map(str, tags)) if isinstance(tags, list) else str(tags or page.title)
        listed.append(_papers(words, "optimization", "what the target is about"))
    listed += [
        CaptureStep(
            command_of("research web", address, "--depth", "1"),
            "the target's page names it",
            102,
            102 * _SECONDS["web"],
        )
        for address in _documents(caller.layout, text)
    ]
    unique = {step.command: step for step in listed if step}
    steps = [*unique.values()][:_MOST]
    lines = [
        f"{s.command}\n      {one_line(s.why)}; {s.requests} requests, {s.seconds:.0f} s at most"
        for s in steps
    ]
    whole = f"{sum(s.requests for s in steps)} requests at most"
    total = f"{len(steps)} commands for {target}, {whole}; what is captured already costs none"
    return Result({"target": target, "steps": steps}, "\n".join([*lines, total]))


def words_of_query(text: str) -> list[str]:
    """Words that a search understands: no numbers, no types, no parts of names."""
    words = [w.lower() for w in re.findall(r"[A-Za-z][A-Za-z-]{2,}", text.replace("_", " "))]
    return [w for w in dict.fromkeys(words) if w not in _NO_WORDS]


def _papers(text: str, about: str, why: str) -> CaptureStep | None:
    words = words_of_query(text)[:4]
    if not words:
        return None
    query = " ".join(dict.fromkeys([*words, *about.split()]))
    requests = 1 + 3 * _PAPERS
    return CaptureStep(
        command_of("research arxiv --query", query, "--most", str(_PAPERS)),
        why,
        requests,
        requests * _SECONDS["arxiv"],
    )


def _buckets(request: ResearchPlan, caller: Caller, about: str) -> Iterator[CaptureStep | None]:
    """The largest buckets of the profile, by their own name and their first operation's."""
    if not request.profile:
        return
    from kb import profiles

    profile = profiles.read(caller.file(request.profile))
    for bucket in sorted(profile.buckets, key=lambda b: -b.share):
        if bucket.share >= _FROM_SHARE and bucket.name not in ("idle", "other"):
            yield _papers(
                f"{bucket.name} {' '.join(bucket.top_ops[:1])}",
                f"{about} optimization".strip(),
                f"{bucket.share:.0%} of the time is {bucket.name}",
            )


def _repository(stated: str, text: str, db) -> Iterator[CaptureStep]:
    """Forks of the target's own repository, then of those that its page links to."""
    names = [a or b for a, b in _FORGE.findall(stated)] + [a for a, _ in _FORGE.findall(text) if a]
    for name in dict.fromkeys(names):
        requests = 6 + 2 * _HEADS + 3 * _HEADS
        yield CaptureStep(
            command_of("research forks", name, "--most", str(_HEADS)),
            "forks and pull requests hold what upstream lacks",
            requests,
            requests * _SECONDS["forks"],
        )
        yield CaptureStep(
            command_of("research releases", name),
            "its authors say what each release gained",
            1,
            0.2,
        )
    if stated and not names:
        folder = stated.removeprefix("file://")
        yield CaptureStep(
            command_of("research git HEAD~50..HEAD", folder),
            f"the repository is `{folder}`; give OWNER/REPO to the target's page to see its forks",
            0,
            0.0,
        )


def _unwritten(layout, db) -> list[tuple[str, int]]:
    """Concepts that pages link to and that nobody has written, most links first."""
    counts: Counter[str] = Counter()
    for path, digest, row in db.execute("select path, digest, row from page"):
        for href in from_row(path, digest, row).cited:
            page = target_of(href, folder=path.rpartition("/")[0])
            if (
                page
                and page[0].startswith(layout.page("concepts/"))
                and page[0].endswith(".md")
                and not (layout.root / page[0]).exists()
            ):
                counts[page[0].rpartition("/")[2].removesuffix(".md").replace("-", " ")] += 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:5]


def _documents(layout, text: str) -> list[str]:
    """Addresses on the target's page that are not captured and lead to no forge."""
    known = {source.origin for source in sources(layout)}
    return [
        a
        for a in dict.fromkeys(_ADDRESS.findall(text))
        if a not in known and "github.com" not in a and "arxiv.org" not in a
    ][:5]
