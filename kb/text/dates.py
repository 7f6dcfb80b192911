"""A day as people write it, as an ISO date. Refuses what may be read in two ways: 3/4/2025 is in March or in April."""

import contextlib
from datetime import datetime
from functools import lru_cache

_SPELLINGS = (
    *("%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%Y年%m月%d日", "%d.%m.%Y"),
    *("%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y", "%Y %B %d", "%Y %b %d"),
)


@lru_cache(maxsize=1024)
def day_of(text: str) -> str:
    """ISO date of a text that is a day (`2025/3/3`, `20250303`, `3.3.2025`, `2025年3月3日`, `3 March 2025`, `Mar 3, 2025`); empty for any other."""
    # Of more words than three it is none.
    for spelling in _SPELLINGS * (len(text.replace(",", "").split()) < 4):
        with contextlib.suppress(ValueError):
            return datetime.strptime(text.strip().replace(",", ""), spelling).date().isoformat()
    return ""
