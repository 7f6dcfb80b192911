"""Looks for one regular expression in texts: a program of its own, so that one that never comes to its end can be ended.

Started as `python -I -S searching.py`; pattern and texts come pickled on its input, from kb alone. Prints whether the parent's texts
hold it, and the first lines of the change's that do, as JSON. Imports nothing of kb. `search` asks it, or looks by itself where the
pattern repeats nothing, so that no text can make it slow.
"""

import json
import pickle
import re
import subprocess
import sys

# A pattern that takes longer than this on what a run left is not one that a reader of the page could check either.
PATIENCE_S = 10.0
LONGEST = 500
_SHOWN, _SHOWN_LINE = 3, 160
Texts = list[tuple[str, bytes]]


def compiled(text: str) -> re.Pattern[bytes]:
    """A pattern over bytes. Raises ValueError saying why it is none."""
    if len(text) > LONGEST:
        raise ValueError(f"has {len(text)} characters of at most {LONGEST}")
    try:
        return re.compile(text.encode("utf-8"), re.MULTILINE)
    except (re.error, RecursionError, OverflowError, UnicodeEncodeError) as error:
        raise ValueError(f"is no regular expression: {error}") from error


def search(
    text: str, change: Texts, parent: Texts
) -> tuple[list[tuple[str, int, str]], bool] | None:
    """Places in the change's texts as (name, line, what stands there), and whether the parent's hold it; None where it took too long."""
    if not re.search(r"[*+{]|\?.*\?.*\?", text):
        return _places(text, change, parent)
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", __file__],
            input=pickle.dumps((text, change, parent)),
            stdout=subprocess.PIPE,
            timeout=PATIENCE_S,
            check=True,
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return None
    places, before = json.loads(done.stdout)
    return [tuple(place) for place in places], before


def _places(text: str, change: Texts, parent: Texts) -> tuple[list[tuple[str, int, str]], bool]:
    pattern, places = compiled(text), []
    for name, data in change:
        for match in pattern.finditer(data):
            if len(places) == _SHOWN:
                break
            start, end = data.rfind(b"\n", 0, match.start()) + 1, data.find(b"\n", match.end())
            line = data[max(start, match.start() - 40) : end if end >= 0 else len(data)]
            shown = line[:_SHOWN_LINE].decode("utf-8", "replace")
            places.append((name, data.count(b"\n", 0, match.start()) + 1, shown))
    return places, any(pattern.search(data) for _, data in parent)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_places(*pickle.load(sys.stdin.buffer))))
