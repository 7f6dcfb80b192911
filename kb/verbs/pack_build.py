"""kb pack build [bring]: compile an agent pack from documents: architecture, reference, menus, rules, examples."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from kb import KbError, packs, store, trail
from kb.claims import claims_in
from kb.ingest import queue
from kb.ingest.material import text_of
from kb.ingest.questions import pack_packets
from kb.ingest.tasks import read_reply
from kb.packs import Pack, PackParts, reference
from kb.packs.reference import ReferenceEntry
from kb.schema import FAILED, Verdict
from kb.verbs import Caller, Result, argument, option, several

_OPEN = "strategies and rules are open: `kb packet next --task pack`, then build again"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPack:
    """Name of the pack and the documents that it is made of."""

    name: str = argument("name of the pack")
    source: tuple[str, ...] = several("a captured source (again for more)", metavar="SOURCE")
    scope: str = option("what the pack is for, such as 'TPU v6e, Pallas kernels'", metavar="TEXT")
    out: str = option("folder of the pack (default: packs/NAME)", metavar="FOLDER")
    context: int = option("tokens of material in a packet (default 8000)", default=8000)


def run(request: BuildPack, caller: Caller) -> Result:
    if not request.source:
        raise KbError("a pack is made of documents; name captured sources with --source")
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,60}", request.name):
        raise KbError(f"'{request.name}' is no name of a pack; letters, digits, dots and dashes")
    layout = caller.layout
    folder = caller.folder / request.out if request.out else layout.root / "packs" / request.name
    lines = {path: text for path, _, text in (text_of(layout, name) for name in request.source)}
    packets = [*pack_packets(layout, request.source, request.scope, context=request.context)]
    waiting, _ = queue.offer(layout, packets)
    answers = [(p, a) for p in packets if (a := queue.answers_to(layout, p.id)) and a.entered]
    replies = [
        read_reply(a.attempts[-1].text, PackParts).of_source(p.material[0].origin)
        for p, a in answers
    ]
    kept, copies = reference.without_copies(_entries(lines, replies))
    examples = [e for path, text in lines.items() for e in reference.examples_of(path, text)]
    claims = [c for c in claims_in(layout) if c.source in lines]
    pack = packs.pack_of(claims, kept, examples, replies, priors=_priors(caller))
    config = {
        "agent_name": f"built:{request.name}", "scope": request.scope,
        "sources": [{"id": path, "digest": store.digest_of(text)} for path, text in lines.items()],
    }  # fmt: skip
    changed, theirs = _write(folder, pack, config)
    counts = {name: len(parts) for name, parts in pack.parts.items()}
    left = (*pack.left_out, *(f"{name}: stands whole in another entry" for name in copies))
    within = folder.is_relative_to(layout.root)
    shown = folder.relative_to(layout.root).as_posix() if within else str(folder)
    value = {
        "folder": shown,
        "parts": counts,
        "written": changed,
        "theirs": theirs,
        "left_out": left,
        "unanswered": waiting,
    }
    return Result(value, _text(**value))


def _text(folder, parts, written, theirs, left_out, unanswered) -> str:
    lines = [f"{folder}: {', '.join(f'{name} {count}' for name, count in parts.items())}"]
    lines += [f"wrote {name}" for name in written]
    lines += [f"kept as people made it: {text}" for text in theirs]
    lines += [f"left out: {text}" for text in left_out]
    lines += [f"{unanswered} packets about {_OPEN}"] if unanswered else []
    return "\n".join(lines)


def _write(
    folder: Path, pack: Pack, config: dict[str, object]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Bring the files of a pack up to date; those written, and those that people's edits kept."""
    standing = (folder / name for name in packs.FILES)
    have = {f.name: store.bytes_of(f).decode("utf-8", "replace") for f in standing if f.is_file()}
    files, theirs = packs.written(pack, have, config=config)
    changed = tuple(name for name, text in files.items() if have.get(name) != text)
    for name in changed:
        store.write(folder / name, files[name])
    return changed, theirs


def _entries(lines: dict[str, str], replies: list[PackParts]) -> Iterator[ReferenceEntry]:
    """Entries of the reference: those that rules find, then those that replies point at, as far as the lines are there."""
    for path, text in lines.items():
        yield from reference.entries_of(path, text)
    for pointed in (p for reply in replies for p in reply.entries):
        if pointed.source in lines and 0 < pointed.start_line <= pointed.end_line:
            end = min(pointed.end_line, pointed.start_line + reference.LONGEST - 1)
            yield reference.entry(
                pointed.name, pointed.source, lines[pointed.source], pointed.start_line, end
            )


def _priors(
    caller: Caller,
) -> dict[str, tuple[int, int]]:
    """Wins and losses of every lever of the trail, by its name."""
    won: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    with closing(caller.tables()) as db:
        for run in trail.experiments(db):
            for lever in run.levers:
                won[lever.name] += run.verdict.canonical == Verdict.SUPPORTED
                lost[lever.name] += run.verdict.canonical in FAILED
    return {name: (won[name], lost[name]) for name in won}
