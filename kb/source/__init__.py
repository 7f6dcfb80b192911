"""Immutable sources: capture, provenance, licence, and quotation by offset. Refuses to rewrite what
was captured, and to leave `sources/`.

    source, fresh = capture(layout, SourceMaterial(origin=…, text=…), retrieved=…)  # once per origin, version and digest
    text_of_source(layout, source)[start:end]  # offsets never move
"""

from typing import TYPE_CHECKING

from kb import exports

if TYPE_CHECKING:
    from kb.source.captures import (
        SourceMaterial,
        capture,
    )
    from kb.source.marks import (
        Mark,
        marks_of,
        masked,
    )
    from kb.source.notes import (
        INDEXES,
        FiledNotes,
        IndexNote,
        facts_by_topic,
        notes_in,
        path_of_notes,
        with_notes,
    )
    from kb.source.quotes import (
        fence_for,
        normal_text,
        visible,
    )
    from kb.source.record_files import (
        digests_of_kept,
        missing_sources,
        path_of_record,
    )
    from kb.source.records import (
        CardReading,
        FiledReading,
        FiledRecord,
        PageRecord,
        ProposalReading,
        QuotedAttempt,
        QuotedLever,
        QuotedMetric,
        QuotedText,
        StandingRecord,
        file_reading,
        filed_record,
        readdress_record,
        reading_of,
        record_of,
    )
    from kb.source.store import (
        Provenance,
        Source,
        SourceFile,
        damaged_sources,
        source_at,
        sources,
        text_of_source,
        varied,
    )

__all__ = [
    "CardReading",
    "FiledNotes",
    "FiledReading",
    "FiledRecord",
    "INDEXES",
    "Mark",
    "SourceMaterial",
    "IndexNote",
    "PageRecord",
    "ProposalReading",
    "Provenance",
    "QuotedAttempt",
    "QuotedLever",
    "QuotedMetric",
    "QuotedText",
    "Source",
    "SourceFile",
    "StandingRecord",
    "capture",
    "damaged_sources",
    "digests_of_kept",
    "facts_by_topic",
    "fence_for",
    "file_reading",
    "filed_record",
    "marks_of",
    "masked",
    "missing_sources",
    "normal_text",
    "notes_in",
    "path_of_notes",
    "path_of_record",
    "readdress_record",
    "reading_of",
    "record_of",
    "source_at",
    "sources",
    "text_of_source",
    "varied",
    "visible",
    "with_notes",
]

# Loaded when it is first asked for: a build asks what is on file, and mostly nothing else.
__getattr__ = exports(
    __name__,
    {
        "captures": (
            "SourceMaterial",
            "capture",
        ),
        "marks": (
            "Mark",
            "marks_of",
            "masked",
        ),
        "notes": (
            "INDEXES",
            "FiledNotes",
            "IndexNote",
            "facts_by_topic",
            "notes_in",
            "path_of_notes",
            "with_notes",
        ),
        "quotes": (
            "fence_for",
            "normal_text",
            "visible",
        ),
        "record_files": (
            "digests_of_kept",
            "missing_sources",
            "path_of_record",
        ),
        "records": (
            "CardReading",
            "FiledReading",
            "FiledRecord",
            "PageRecord",
            "ProposalReading",
            "QuotedAttempt",
            "QuotedLever",
            "QuotedMetric",
            "QuotedText",
            "StandingRecord",
            "file_reading",
            "filed_record",
            "readdress_record",
            "reading_of",
            "record_of",
        ),
        "store": (
            "Provenance",
            "Source",
            "SourceFile",
            "damaged_sources",
            "source_at",
            "sources",
            "text_of_source",
            "varied",
        ),
    },
)
