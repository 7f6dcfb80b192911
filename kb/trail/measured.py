"""Metrics of an experiment page: from front matter, result tables, or sentences. Refuses ranges, deltas and figures of other runs."""

from kb.page import Page
from kb.run.record import Metric


def metrics_of(page: Page, lines: list[str], stretches: list[tuple[int, int]]) -> tuple[Metric, ...]:
    """Metrics that a page reports for its own run, in order of first mention."""
    return ()
