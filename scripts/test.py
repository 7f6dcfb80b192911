"""Set up and run the tests; arguments go to pytest."""

import subprocess
import sys

from environment import ROOT, prepared

if __name__ == "__main__":
    sys.exit(
        subprocess.run(
            [prepared("test") / "python", "-m", "pytest", *sys.argv[1:]], cwd=ROOT
        ).returncode
    )
