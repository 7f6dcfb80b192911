"""What of a record stands on its page as that is now: each part whose quote does.

Refuses to believe a file: the gate held the record against the page, but a page changes, and so may the file. What is wrong with any of
them is a finding.
"""

import os
from collections.abc import Callable, Iterator, Mapping

from msgspec.structs import replace

from kb import KbError
from kb.schema import Finding, Verdict
from kb.source.notes import FiledNotes
from kb.source.quotation import Quotes
from kb.source.record_files import FOLDERS, kept_files
from kb.source.records import FiledReading, FiledRecord, QuotedText, StandingRecord
from kb.store import Layout, from_json, read_bytes
from kb.text import command_of, counted, cut, printable


def standing(
    filed: FiledRecord, text: str, digest: str, *, ruled: Verdict | None = None
) -> StandingRecord:
    """What of a record stands in the text of its page, which has this digest, and which is by rules a run that came out as `ruled`."""
    quotes, record, same, gone = Quotes(text), filed.record, filed.digest == digest, list[str]()

    def stands(part: object, *, field: str = "quote") -> bool:
        quote = getattr(part, field)
        held = bool(quotes.find(quote)) or same and not quote and isinstance(part, QuotedText)
        gone.extend([] if held else [quote])
        return held

    agreed = ruled in (None, Verdict.OTHER, record.verdict)
    judged = not record.verdict or stands(record, field="verdict_quote") and agreed
    kept = replace(
        record,
        # Nothing but the verdict's quote stands behind it.
        what=record.what if judged and (same or record.verdict) else "",
        verdict=record.verdict * judged,
        because=record.because if judged and record.because and stands(record.because) else None,
        levers=tuple(filter(stands, record.levers)),
        metrics=tuple(filter(stands, record.metrics)),
        next=tuple(filter(stands, record.next)),
        attempts=tuple(filter(stands, record.attempts)),
    )
    says = bool(record.what or record.verdict or record.attempts)
    return StandingRecord(
        record=kept, quotes=quotes, gone=tuple(gone), whole=same and says and not gone
    )


def kept_findings(
    layout: Layout, digests: Mapping[str, str], *, text_of: Callable[[str], str] | None = None
) -> Iterator[Finding]:
    """Of all that is on file what cannot be read, and records of pages that changed since or have gone, by the `digests` of all pages;
    where the texts are given, what they quote that stands nowhere.
    """
    for folder, kind in zip(FOLDERS, (FiledRecord, FiledNotes, FiledReading), strict=True):
        for name, file in kept_files(layout, folder):
            path, page = os.fspath(file.relative_to(layout.root)), f"{name}.md"
            again = command_of("ingest --task normalise", page)
            try:
                filed = from_json(read_bytes(layout, path), kind)
            except (KbError, OSError, ValueError) as error:
                what = f"cannot be read, and counts for nothing: {printable(str(error))[:200]}"
                hint = "bring it back from git, or remove it and have it read again"
                yield Finding(printable(path), 1, "unreadable-reading", what, hint=hint)
                continue
            if not isinstance(filed, FiledRecord):
                continue
            if page not in digests:
                what = f"reads {page}, which is no page"
                yield Finding(path, 1, "stale-reading", what, hint="remove it")
            elif filed.digest != digests[page]:
                what = "changed since somebody read it"
                yield Finding(page, 1, "stale-reading", what, path, again)
            read = text_of and page in digests and standing(filed, text_of(page), digests[page])
            if read and read.gone:
                lost = f"{counted(len(read.gone), 'quotes')} of its reading"
                what = f"{lost} stand nowhere on it: “{cut(read.gone[0], 80)}”"
                yield Finding(page, 1, "quote-gone", what, path, again)
