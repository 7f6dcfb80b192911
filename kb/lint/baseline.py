"""Findings that an adopted wiki is known to have, in a committed file: from then on only new ones count.

A finding is known by page, code and target, never by its line, so that edits above it do not bring it back; of several alike as many are known
as were recorded.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kb import KbError, store
from kb.schema import Finding

BASELINE_NAME = "lint-baseline.json"


@dataclass(frozen=True, slots=True)
class Known:
    """How many findings of each (path, code, target) are known."""

    counts: Mapping[tuple[str, str, str], int]

    def unknown(self, findings: Iterable[Finding]) -> list[Finding]:
        """Findings beyond the known ones, in their order; of findings alike the first ones are the known ones."""
        left = Counter(self.counts)
        fresh = []
        for finding in findings:
            key = _key(finding)
            if left[key] > 0:
                left[key] -= 1
            else:
                fresh.append(finding)
        return fresh


def known_of(layout: store.Layout) -> Known | None:
    """The recorded baseline, or None if there is none. Raises KbError if the file does not hold one."""
    file = layout.root / BASELINE_NAME
    if not file.is_file():
        return None
    try:
        pages = store.json_of(store.bytes_of(file))["findings"]
        return Known(
            {
                (path, code, target): int(count)
                for path, codes in pages.items()
                for code, targets in codes.items()
                for target, count in targets.items()
            }
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise KbError(
            f"{BASELINE_NAME}: does not hold a baseline ({error}); delete it, or record it anew with kb lint --baseline"
        ) from error


def baseline_text(findings: Iterable[Finding]) -> str:
    """The baseline file that holds these findings: a page a block, sorted, so that a diff shows what was mended."""
    pages: dict[str, dict[str, dict[str, int]]] = {}
    for key, count in sorted(Counter(map(_key, findings)).items()):
        path, code, target = key
        pages.setdefault(path, {}).setdefault(code, {})[target] = count
    return json.dumps({"version": 1, "findings": pages}, indent=1, ensure_ascii=False) + "\n"


def _key(finding: Finding) -> tuple[str, str, str]:
    return finding.path, finding.code, finding.target
