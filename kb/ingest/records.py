"""The gate of normalised experiments: each part of a record says what its quote says, in the words of the vocabulary."""

from collections.abc import Iterator

from kb import KbError, store
from kb.schema import Verdict, field_verdict
from kb.source import FiledRecord, PageRecord, QuotedLever, QuotedMetric, path_of_record
from kb.text import fold, numbers_in, unit_of

ROLES = ("moved", "held", "mentioned")


def record_reasons(record: PageRecord) -> Iterator[str]:
    """Everything that keeps a record out: a value that its quote does not give, a word outside the vocabulary."""
    if record.verdict and record.verdict not in set(Verdict):
        yield f"'{record.verdict}' is no verdict; one of {', '.join(Verdict)}"
    elif record.verdict and not record.verdict_quote:
        yield "a verdict needs its quote"
    elif record.verdict:
        read = field_verdict(record.verdict_quote)
        if read not in (None, Verdict.OTHER, record.verdict):
            quoted = record.verdict_quote[:60]
            yield f"the page says “{quoted}”, which is {read}, not {record.verdict}"
    for lever in record.levers:
        yield from (f"lever {lever.name}: {reason}" for reason in _lever_reasons(lever))
    for metric in record.metrics:
        if reason := _metric_reason(metric):
            yield f"metric {metric.name}: {reason}"


def _lever_reasons(lever: QuotedLever) -> Iterator[str]:
    if lever.role not in ROLES:
        yield f"'{lever.role}' is no role; one of {', '.join(ROLES)}"
    for part in (lever.name, lever.before, lever.after):
        if _flat(part) not in _flat(lever.quote):
            yield f"“{part}” does not stand in its quote"


def _flat(text: str) -> str:
    """Letters and digits alone: `block_k`, `block-k` and `BlockK` are one name."""
    return "".join(c for c in fold(text) if c.isalnum())


def _metric_reason(metric: QuotedMetric) -> str:
    number = next((n for n in numbers_in(metric.quote) if n.value == metric.value), None)
    if number is None:
        return f"{metric.value:g} does not stand in its quote"
    theirs, mine = unit_of(number.unit), unit_of(metric.unit)
    same = theirs and mine and theirs.name == mine.name
    if not number.unit or not metric.unit or number.unit == metric.unit or same:
        return ""
    return f"its quote gives {number.value:g} with {number.unit}"


def file_record(layout: store.Layout, page: str, record: PageRecord) -> str:
    """Put a record on file. Returns its path. Raises KbError where the page is gone."""
    file = layout.root / page
    if not layout.is_page(page) or not file.is_file():
        raise KbError(f"{page}: no page to keep a record of")
    filed = FiledRecord(page=page, digest=store.file_digest(file), record=record)
    path = path_of_record(page)
    store.write(layout.root / path, store.to_json(filed, order=None))
    return path
