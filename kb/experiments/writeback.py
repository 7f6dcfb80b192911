"""What follows from a filed experiment: its line in wiki/log.md, and the managed blocks of its target page. Touches nothing outside of these.

Everything here is found missing and made good, never counted on: closing again after a kill gives what closing once would have.
"""

import posixpath
import re
from collections.abc import Sequence

from kb import KbError, store
from kb.experiments.stub import Stub, sealed_pages, stub_at
from kb.experiments.targets import Target
from kb.page import newlines_of, read
from kb.page.edit import with_block
from kb.page.superseding import Superseding
from kb.run.direction import Direction
from kb.run.quantity import number_text
from kb.run.record import Metric
from kb.schema import Verdict
from kb.trail import Facts
from kb.trail.progress import progress_of

LOG = "wiki/log.md"
_HEAD = "---\ntitle: Log\ntype: log\n---\n\n# Log\n\nWhat was done, newest first.\n"
_ENTRY = re.compile(r"^## \[(\d{4}-\d{2}-\d{2})\]", re.MULTILINE)


def log_missing(layout: store.Layout, target: str, *, today: str) -> tuple[str, ...]:
    """Give every experiment of the target that kb filed its entry in the log; the caller holds the lock of the pages. Returns what was written."""
    file = layout.root / LOG
    try:
        log = file.read_bytes() if file.exists() else _HEAD.encode()
    except OSError as error:
        raise KbError(f"{LOG}: cannot read it: {error.strerror or error}") from error
    have = log
    for path in sealed_pages(layout, target):
        link = posixpath.relpath(path, "wiki")
        if f"]({link}): ".encode() not in log:
            stub = stub_at(layout, path)
            log = with_entry(log, _entry(stub, link), today=max(today, stub.page.field("created")))
    if log == have:
        return ()
    store.write(file, log)
    return (LOG,)


def log_superseded(layout: store.Layout, stub: Stub, note: Superseding, *, today: str) -> None:
    """The entry of a later verdict; the caller holds the lock of the pages."""
    file = layout.root / LOG
    log = file.read_bytes() if file.exists() else _HEAD.encode()
    subject, _ = _entry(stub, "")
    link = posixpath.relpath(stub.path, "wiki")
    body = (
        f"[{_plain(stub.page.title)}]({link}) superseded: {note.verdict}, because {note.because}."
    )
    store.write(
        file, with_entry(log, (f"{subject.rpartition(':')[0]}: {note.verdict}", body), today=today)
    )


def _entry(stub: Stub, link: str) -> tuple[str, str]:
    """Subject and body of a log entry."""
    number = f"v{stub.page.number:03d}"
    verdict = stub.page.field("verdict")
    overruled = " (overruled by hand)" if stub.page.field("overruled") else ""
    metrics = stub.page.front.get("metrics")
    shown = (
        "; ".join(
            f"{name} {number_text(m['value'], digits=5)} {m.get('unit', '')}".strip()
            for name, m in list(metrics.items())[:3]
        )
        if isinstance(metrics, dict)
        else ""
    )
    variant = f" on {stub.facts.variant}" if stub.facts.variant else ""
    return (
        f"experiment | {stub.facts.target} {number}: {verdict}",
        f"[{_plain(stub.page.title)}]({link}): {verdict}{overruled} by rule `{stub.page.field('rule')}`{variant}{'; ' + shown if shown else ''}.",
    )


def with_entry(log: bytes, entry: tuple[str, str], *, today: str) -> bytes:
    """The log with one entry on top of the others, dated no earlier than the newest; every other byte stays."""
    text = log.decode("utf-8", "surrogateescape")
    newline = newlines_of(log)
    at = _ENTRY.search(text)
    date = max(today, at[1]) if at else today
    lines = [f"## [{date}] {entry[0]}", "", entry[1], ""]
    shown = newline.join(lines) + newline
    if at:
        text = text[: at.start()] + shown + text[at.start() :]
    else:
        text = text.rstrip("\r\n") + newline * 2 + shown.rstrip("\r\n") + newline
    return text.encode("utf-8", "surrogateescape")


def target_page(
    layout: store.Layout, target: Target, experiments: tuple[Facts, ...]
) -> tuple[str, ...]:
    """Fill those managed blocks that the target's page has; the experiments are the target's, in trail order. Returns what was written."""
    if not target.path:
        return ()
    with store.lock(layout, "pages"):
        data = have = store.read_bytes(layout, target.path)
        present = {name for name, _, _ in read(target.path, data).blocks}
        shown = {
            name: maker(target, experiments) for name, maker in _BLOCKS.items() if name in present
        }
        for name, content in shown.items():
            data = with_block(
                target.path, data, name=name, content=content.replace("kb:auto", "kb-auto")
            )
        if data == have:
            return ()
        store.write(layout.root / target.path, data)
    return (target.path,)


def followed(layout: store.Layout, target: Target) -> tuple[str, ...]:
    """Names of the blocks of the target's page that follow from its experiments; none where it has no markers for any."""
    if not target.path:
        return ()
    present = {
        name for name, _, _ in read(target.path, store.read_bytes(layout, target.path)).blocks
    }
    return tuple(name for name in _BLOCKS if name in present)


def primary(experiment: Facts, target: Target) -> Metric | None:
    """The target's metric as an experiment reports it."""
    return next(
        (m for m in experiment.metrics if m.name == target.metric and m.value is not None), None
    )


def best_of(experiments: Sequence[Facts], target: Target) -> tuple[Facts, ...]:
    """Supported and baseline experiments with a value of the target's metric, best first; in trail order where no direction is known."""
    standing = [
        e
        for e in experiments
        if e.verdict.canonical in (Verdict.SUPPORTED, Verdict.BASELINE) and primary(e, target)
    ]
    direction: Direction | None = target.direction
    if direction is None:
        return tuple(standing)
    sign = 1 if direction == "lower" else -1
    return tuple(
        sorted(
            standing,
            key=lambda e: (
                sign * (found.value or 0.0) if (found := primary(e, target)) else 0.0,
                e.order,
            ),
        )
    )


def _row(target: Target, e: Facts) -> str:
    found = primary(e, target)
    value = (
        "—"
        if found is None or found.value is None
        else f"{number_text(found.value, digits=5)}{f' ± {number_text(found.stddev, digits=4)}' if found.stddev is not None else ''} {found.unit}".rstrip()
    )
    return f"[{_plain(e.title)}]({posixpath.relpath(e.path, posixpath.dirname(target.path))}) | {e.variant.replace('|', '/') or '—'} | {value}"


def _variants(experiments: tuple[Facts, ...]) -> tuple[str, ...]:
    return tuple(sorted({e.variant for e in experiments}))


def _frontier(target: Target, experiments: tuple[Facts, ...]) -> str:
    by_path = {e.path: e for e in experiments}
    metric = Metric(target.metric, None, target.unit, target.direction)
    rows = []
    for variant in _variants(experiments):
        stands = progress_of(
            [e for e in experiments if e.variant == variant and not e.failed],
            target=target.name,
            variant=variant,
            metric=metric,
        )
        if stands.frontier:
            band = "unknown" if stands.band is None else f"{100 * stands.band:.2f} %"
            rows.append(
                f"| {_row(target, by_path[stands.frontier.path])} | {band} | {by_path[stands.frontier.path].verdict.canonical} | {by_path[stands.frontier.path].date} |"
            )
    return _table(
        f"| Frontier | Variant | {target.metric or 'Metric'} | Noise | Verdict | Date |",
        rows,
        "Nothing is kept yet.",
    )


def _leaderboard(target: Target, experiments: tuple[Facts, ...]) -> str:
    # Figures of two operating points do not compare: every variant has its own ranks.
    ranked = (
        (rank, e)
        for variant in _variants(experiments)
        for rank, e in enumerate(
            best_of([x for x in experiments if x.variant == variant], target), 1
        )
    )
    rows = [f"| {rank} | {_row(target, e)} | {e.date} |" for rank, e in ranked]
    return _table(
        f"| Rank | Experiment | Variant | {target.metric or 'Metric'} | Date |",
        rows,
        "Nothing is supported yet.",
    )


def _variant_matrix(target: Target, experiments: tuple[Facts, ...]) -> str:
    rows = []
    for variant in _variants(experiments):
        own = tuple(e for e in experiments if e.variant == variant)
        counts = [
            sum(e.verdict.canonical == verdict for e in own)
            for verdict in (Verdict.SUPPORTED, Verdict.REFUTED, Verdict.INCONCLUSIVE)
        ]
        best = best_of(own, target)[:1]
        rows.append(
            f"| {variant.replace('|', '/') or '—'} | {len(own)} | {' | '.join(map(str, counts))} | {sum(e.running for e in own)} | {_row(target, best[0]).split(' | ')[2] if best else '—'} |"
        )
    return _table(
        f"| Variant | Experiments | Supported | Refuted | Inconclusive | In flight | Best {target.metric} |",
        rows,
        "No experiments yet.",
    )


def _experiments(target: Target, experiments: tuple[Facts, ...]) -> str:
    rows = [
        f"| {e.date} | {_row(target, e)} | {e.verdict.canonical or ('in flight' if e.running else '—')} |"
        for e in reversed(experiments)
    ]
    return _table(
        f"| Date | Experiment | Variant | {target.metric or 'Metric'} | Verdict |",
        rows,
        "No experiments yet.",
    )


_BLOCKS = {
    "frontier": _frontier,
    "leaderboard": _leaderboard,
    "variants": _variant_matrix,
    "experiments": _experiments,
}


def _table(head: str, rows: list[str], empty: str) -> str:
    return "\n".join([head, "|" + "---|" * (head.count("|") - 1), *rows]) if rows else empty


def _plain(text: str) -> str:
    """A title as it may stand in a link in a table cell."""
    return re.sub(r"[\[\]|`<>\\]", " ", text).strip() or "untitled"
