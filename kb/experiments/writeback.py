"""What follows from a filed experiment: its line in wiki/log.md, and the managed blocks of its target page. Touches nothing outside of these.

Everything here is found missing and made good, never counted on: closing again after a kill gives what closing once would have.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from kb import grouped, readable, store
from kb.experiments.stub import Stub, sealed_pages, stub_at
from kb.experiments.targets import Target
from kb.page import newlines_of, read
from kb.page.edit import with_block
from kb.page.superseding import Superseding
from kb.run.record import Metric
from kb.schema import Verdict
from kb.text import number_text
from kb.trail import Facts
from kb.trail.progress import progress_of

LOG = "log.md"
_HEAD = "---\ntitle: Log\ntype: log\n---\n\n# Log\n\nWhat was done, newest first.\n"
_ENTRY = re.compile(r"^## \[(\d{4}-\d{2}-\d{2})\]", re.MULTILINE)


def log_missing(layout: store.Layout, target: str, *, today: str) -> tuple[str, ...]:
    """Give every experiment of the target that kb measured its entry in the log; the caller holds the lock of the pages. Returns what
    was written. Runs of an import, which may be thousands, are told by their receipt in `sources/`.
    """
    place = layout.page(LOG)
    log = have = _log(layout, place)
    for path in sealed_pages(layout, target, imported=False):
        if f"]({_from_log(layout, path)}): ".encode() in log:
            continue
        stub = stub_at(layout, path)
        page, metrics = stub.page, stub.page.front.get("metrics")
        figures = (
            f"; {name} {number_text(m['value'], digits=5)} {m.get('unit', '')}".rstrip()
            for name, m in list(metrics.items() if isinstance(metrics, dict) else ())[:3]
        )
        overruled = " (overruled by hand)" if page.field("overruled") else ""
        variant = f" on {stub.facts.variant}" if stub.facts.variant else ""
        verdict = page.field("verdict")
        shown = f": {verdict}{overruled} by rule `{page.field('rule')}`{variant}{''.join(figures)}"
        day = max(today, page.field("created"))
        log = _with_entry(layout, log, stub, verdict, shown, today=day)
    if log == have:
        return ()
    store.write(layout.root / place, log)
    return (place,)


def log_superseded(layout: store.Layout, stub: Stub, note: Superseding, *, today: str) -> str:
    """The entry of a later verdict; the caller holds the lock of the pages. Returns the path of the log."""
    place = layout.page(LOG)
    shown = f" superseded: {note.verdict}, because {note.because}"
    log = _with_entry(layout, _log(layout, place), stub, note.verdict, shown, today=today)
    store.write(layout.root / place, log)
    return place


def _from_log(layout: store.Layout, path: str) -> str:
    return posixpath.relpath(path, layout.page(""))


def _log(layout: store.Layout, place: str) -> bytes:
    with readable(place), suppress(FileNotFoundError):
        return store.bytes_of(layout.root / place)
    return _HEAD.encode()


def _with_entry(
    layout: store.Layout, log: bytes, stub: Stub, verdict: str, shown: str, *, today: str
) -> bytes:
    """The log with one entry on top of the others, dated no earlier than the newest; every other byte stays."""
    text = log.decode("utf-8", "surrogateescape")
    newline = newlines_of(log)
    at = _ENTRY.search(text)
    head = f"## [{max(today, at[1]) if at else today}] experiment | {stub.facts.target} v{stub.page.number:03d}: {verdict}"
    body = f"[{_plain(stub.page.title)}]({_from_log(layout, stub.path)}){shown}."
    entry = newline.join((head, "", body, ""))
    if at:
        text = text[: at.start()] + entry + newline + text[at.start() :]
    else:
        text = text.rstrip("\r\n") + newline * 2 + entry
    return text.encode("utf-8", "surrogateescape")


def target_page(
    layout: store.Layout, target: Target, experiments: tuple[Facts, ...]
) -> tuple[str, ...]:
    """Fill those managed blocks that the target's page has; the experiments are the target's, in trail order. Returns what was written."""
    with store.lock(layout, "pages"):
        data = have = store.read_bytes(layout, target.path) if target.path else b""
        blocks = read(target.path, data).blocks if have else ()
        for name in (name for name, _, _ in blocks if name in _TABLES):
            head, rows, empty = _TABLES[name]
            lines = [f"| {' | '.join(row)} |" for row in rows(target, experiments)]
            titles = f"| {head.format(metric=target.metric or 'Metric')} |"
            table = [titles, "|" + "---|" * (titles.count("|") - 1), *lines] if lines else [empty]
            content = "\n".join(table).replace("kb:auto", "kb-auto")
            data = with_block(target.path, data, name=name, content=content)
        if data == have:
            return ()
        store.write(layout.root / target.path, data)
    return (target.path,)


Rows = Iterator[tuple[str, ...]]


def best_of(experiments: Sequence[Facts], target: Target) -> list[Facts]:
    """Supported and baseline experiments with a value of the target's metric, best first; in trail order where no direction is known."""
    kept = (e for e in experiments if e.verdict.canonical in (Verdict.SUPPORTED, Verdict.BASELINE))
    figures = ((e.metric(target.metric), e) for e in kept)
    values = [(m.value, e) for m, e in figures if m and m.value is not None]
    sign = {"lower": 1, "higher": -1}.get(target.direction or "", 0)
    return [e for _, e in sorted(values, key=lambda pair: (sign * pair[0], pair[1].order))]


def _cells(target: Target, e: Facts) -> tuple[str, str, str]:
    """An experiment in a table: its link, its variant, its value."""
    figure, value = e.metric(target.metric), "—"
    if figure and figure.value is not None:
        spread = f" ± {number_text(figure.stddev, digits=4)}" if figure.stddev is not None else ""
        value = f"{number_text(figure.value, digits=5)}{spread} {figure.unit}".rstrip()
    link = posixpath.relpath(e.path, posixpath.dirname(target.path))
    return f"[{_plain(e.title)}]({link})", e.variant.replace("|", "/") or "—", value


def _by_variant(experiments: tuple[Facts, ...]) -> Iterator[tuple[str, list[Facts]]]:
    """Figures of two operating points do not compare: every variant has its own rows."""
    yield from sorted(grouped((e.variant, e) for e in experiments).items())


def _frontier(target: Target, experiments: tuple[Facts, ...]) -> Rows:
    metric = Metric(target.metric, None, target.unit, target.direction)
    for variant, own in _by_variant(experiments):
        sound = [e for e in own if not e.failed]
        stands = progress_of(sound, target=target.name, variant=variant, metric=metric)
        best = next((e for e in own if stands.frontier and e.path == stands.frontier.path), None)
        if best:
            band = "unknown" if stands.band is None else f"{100 * stands.band:.2f} %"
            yield (*_cells(target, best), band, str(best.verdict.canonical), best.date)


def _leaderboard(target: Target, experiments: tuple[Facts, ...]) -> Rows:
    for _, own in _by_variant(experiments):
        for rank, e in enumerate(best_of(own, target), 1):
            yield (str(rank), *_cells(target, e), e.date)


def _variants(target: Target, experiments: tuple[Facts, ...]) -> Rows:
    counted = (Verdict.SUPPORTED, Verdict.REFUTED, Verdict.INCONCLUSIVE)
    for variant, own in _by_variant(experiments):
        counts = (sum(e.verdict.canonical == verdict for e in own) for verdict in counted)
        best = [_cells(target, e)[2] for e in best_of(own, target)[:1]]
        figures = (len(own), *counts, sum(e.running for e in own))
        yield (variant.replace("|", "/") or "—", *map(str, figures), *(best or ["—"]))


def _experiments(target: Target, experiments: tuple[Facts, ...]) -> Rows:
    for e in reversed(experiments):
        yield (
            e.date,
            *_cells(target, e),
            str(e.verdict.canonical or ("in flight" if e.running else "—")),
        )


# By the name of a managed block: the columns of its table, its rows, and what stands there without any.
_TABLES = {
    "frontier": (
        "Frontier | Variant | {metric} | Noise | Verdict | Date",
        _frontier,
        "Nothing is kept yet.",
    ),
    "leaderboard": (
        "Rank | Experiment | Variant | {metric} | Date",
        _leaderboard,
        "Nothing is supported yet.",
    ),
    "variants": (
        "Variant | Experiments | Supported | Refuted | Inconclusive | In flight | Best {metric}",
        _variants,
        "No experiments yet.",
    ),
    "experiments": (
        "Date | Experiment | Variant | {metric} | Verdict",
        _experiments,
        "No experiments yet.",
    ),
}


def _plain(text: str) -> str:
    """A title as it may stand in a link in a table cell."""
    return text.translate(_MARKUP).strip() or "untitled"


_MARKUP = dict.fromkeys(map(ord, "[]|`<>\\"), " ")
