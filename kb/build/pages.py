"""What follows from one page alone: itself, its facts, statements, notes and chunks. Local, dear work; knows no other page."""

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import starmap

from kb import indexes, page, refuted, search, store, trail
from kb.page import Page
from kb.trail.declared import with_record

# Fewer changed pages than this are compiled in this process, within about four seconds: a pool would save a third of them, but take a tenth
# more processor time, and keep all cores from the benchmark that a loop runs on the same host.
_POOL_FROM = 2500

# A page, the rows of its facts, statements, notes and parts, and its chunks.
CompiledPage = tuple[
    Page, bytes | None, bytes | None, bytes | None, bytes | None, tuple[search.Chunk, ...]
]
# What reads pages by their paths.
Compile = Callable[[tuple[str, ...]], Iterator[CompiledPage]]


def compiled_pages(
    layout: store.Layout, paths: tuple[str, ...], contents: Mapping[str, bytes]
) -> Iterator[CompiledPage]:
    """What follows from each page alone, some of which were read; by several processes where they are many."""
    jobs = [(layout, path) for path in paths]
    if len(jobs) < _POOL_FROM:
        read = ((*job, contents.get(job[-1])) for job in jobs)
        yield from filter(None, starmap(_compile_one, read))
        return
    # Most builds change few pages and need no pool. What parses pages is loaded before the fork, once and not in every process.
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    from kb.page import reading  # noqa: F401  Its loading is all that is wanted of it.
    from kb.trail import page_facts  # noqa: F401  And of this.

    with ProcessPoolExecutor(
        max_workers=min(4, os.cpu_count() or 1), mp_context=multiprocessing.get_context("fork")
    ) as pool:
        yield from filter(None, pool.map(_compile_one, *zip(*jobs, strict=True), chunksize=32))


def _compile_one(layout: store.Layout, path: str, data: bytes | None = None) -> CompiledPage | None:
    try:
        data = store.bytes_of(layout.root / path) if data is None else data
    except OSError:
        return None  # It went away since the scan; the next build sees that.
    return compile_page(path, data, layout)


def compile_page(path: str, data: bytes, layout: store.Layout) -> CompiledPage:
    """What follows from the bytes of one page, and from the record on file about it."""
    read_page, read, record = with_record(page.read(path, data, skim=True), layout, data)
    text = page.text_of(data[: page.LARGEST]) if read_page.lines else ""
    facts = trail.facts_of(read, text, layout.config.verdicts)
    return (
        read_page,
        facts,
        refuted.statements_of(read, text, facts=facts, record=record),
        indexes.notes_of(read_page, text),
        _parts(read_page, text, layout.config.verdicts),
        search.chunks_of(read_page, text),
    )


def _parts(read_page: Page, text: str, words: Mapping[str, str]) -> bytes | None:
    """Path, facts and statements of each experiment of a page that holds many."""
    rows = [
        (p.page.path, p.facts, refuted.statements_of(p.page, p.text, facts=p.facts))
        for p in trail.parts_of(read_page, text, words)
    ]
    return store.row_of(rows) if rows else None
