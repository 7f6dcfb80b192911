"""The gate of normalised experiments: each part of a record stands in its quote, and the quote on the page."""

from collections.abc import Iterable

from kb import KbError, store
from kb.claims import Quotable
from kb.schema import Verdict, field_verdict
from kb.source import FiledRecord, PageRecord, QuotedLever, QuotedMetric, path_of_record
from kb.text import fold, numbers_in, unit_of

ROLES = ("moved", "held", "mentioned")


def record_reasons(record: PageRecord, passages: Iterable[Quotable]) -> list[str]:
    """Everything that keeps a record out: a quote that is not there, a value that its quote does not give, a word outside the vocabulary."""
    passages = tuple(passages)
    reasons = _verdict_reasons(record, passages)
    for lever in record.levers:
        reasons += [f"lever {lever.name}: {reason}" for reason in _lever_reasons(lever, passages)]
    for metric in record.metrics:
        reasons += [
            f"metric {metric.name}: {reason}" for reason in _metric_reasons(metric, passages)
        ]
    for text in (*([record.because] if record.because else []), *record.next):
        if not _stands(text.quote, passages):
            reasons.append(f"the quote “{text.quote[:80]}” does not stand on the page")
    return reasons


def _stands(quote: str, passages: Iterable[Quotable]) -> bool:
    return any(p.captured.find(quote) for p in passages)


def _verdict_reasons(record: PageRecord, passages: tuple[Quotable, ...]) -> list[str]:
    if not record.verdict:
        return []
    if record.verdict not in set(Verdict):
        return [f"'{record.verdict}' is no verdict; one of {', '.join(Verdict)}"]
    if not _stands(record.verdict_quote, passages):
        return [
            f"the quote of the verdict, “{record.verdict_quote[:80]}”, does not stand on the page"
        ]
    read = field_verdict(record.verdict_quote)
    if read not in (None, Verdict.OTHER) and read != record.verdict:
        return [
            f"the page says “{record.verdict_quote[:60]}”, which is {read}, not {record.verdict}"
        ]
    return []


def _lever_reasons(lever: QuotedLever, passages: tuple[Quotable, ...]) -> list[str]:
    if lever.role not in ROLES:
        return [f"'{lever.role}' is no role; one of {', '.join(ROLES)}"]
    if not _stands(lever.quote, passages):
        return [f"the quote “{lever.quote[:80]}” does not stand on the page"]
    quote = _flat(lever.quote)
    return [
        f"“{part}” does not stand in its quote"
        for part in (lever.name, lever.before, lever.after)
        if part and _flat(part) not in quote
    ]


def _flat(text: str) -> str:
    """Letters and digits alone: `block_k`, `block-k` and `BlockK` are one name."""
    return "".join(c for c in fold(text) if c.isalnum())


def _metric_reasons(metric: QuotedMetric, passages: tuple[Quotable, ...]) -> list[str]:
    if not _stands(metric.quote, passages):
        return [f"the quote “{metric.quote[:80]}” does not stand on the page"]
    unit = unit_of(metric.unit)
    for number in numbers_in(metric.quote):
        if number.value == metric.value:
            theirs = unit_of(number.unit)
            if (
                not number.unit
                or not metric.unit
                or number.unit == metric.unit
                or theirs
                and unit
                and theirs.name == unit.name
            ):
                return []
            return [f"its quote gives {number.value:g} with {number.unit}"]
    return [f"{metric.value:g} does not stand in its quote"]


def file_record(layout: store.Layout, page: str, record: PageRecord) -> str:
    """Put a record on file. Returns its path. Raises KbError where the page is gone."""
    file = layout.root / page
    if not layout.is_page(page) or not file.is_file():
        raise KbError(f"{page}: no page to keep a record of")
    filed = FiledRecord(page=page, digest=store.file_digest(file), record=record)
    path = path_of_record(page)
    store.write(layout.root / path, store.to_json(filed, order=None))
    return path
