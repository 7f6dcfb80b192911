"""The main job on the knowledge base that ships here: set up, build, print where a loop stands and a hypothesis slice, build the site, say where to look."""

import subprocess
import sys

from environment import ROOT, prepared

QUERY = "GPU idle between tokens, memory-bound decode, kernel launch overhead"


def main() -> int:
    kb = prepared("site") / "kb"
    for words in (
        ["build"],
        ["status", "--target", "words"],
        ["load", "hypothesis", "--target", "llama-cpp-cuda", "--query", QUERY, "--budget", "3000"],
        ["site", "build"],
    ):
        print(f"\n$ kb {' '.join(f'{w!r}' if ' ' in w else w for w in words)}", flush=True)
        code = subprocess.run([kb, *words], cwd=ROOT).returncode
        if code:
            return code
    print(
        "\n`words` is a loop of this project's own, told in docs/demo.md; `python3 examples/words/start.py` makes its repository to go on with."
    )
    print(
        "The site is site/html/index.html: open it, or run `.venv/bin/kb site serve`. The compiled indexes are in indexes/."
    )
    print("For a wiki of your own: `kb init --adopt` beside its wiki/ folder, then `kb build`.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
