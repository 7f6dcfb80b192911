"""Set up and run the tests, several at once; arguments go to pytest, which then runs them one by one."""

import subprocess
import sys

from environment import ROOT, prepared

# What one file's tests share is made once: a file stays with one worker.
TOGETHER = ["-n", "auto", "--maxprocesses", "8", "--dist", "loadfile"]

if __name__ == "__main__":
    sys.exit(
        subprocess.run(
            [prepared("test") / "python", "-m", "pytest", *(sys.argv[1:] or TOGETHER)], cwd=ROOT
        ).returncode
    )
