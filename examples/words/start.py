"""Make the repository of the target `words` beside this file, with every commit that the loop measured; it is never overwritten."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> int:
    repository = HERE / "repository"
    if repository.exists():
        print(f"{repository} is there")
        return 0
    for words in (
        ["git", "clone", "--quiet", HERE / "loop.bundle", repository],
        # Commits that were measured and not kept are no branch's: they lie under refs/kb/.
        ["git", "-C", repository, "fetch", "--quiet", "origin", "refs/kb/*:refs/kb/*"],
    ):
        code = subprocess.run(words).returncode
        if code:
            return code
    print(f"{repository}: {HERE.name} as the loop left it; `git checkout start` is its beginning")
    return 0


if __name__ == "__main__":
    sys.exit(main())
