"""The virtual environment of this checkout, made with nothing but Python: `.venv`, filled from hash-pinned requirements."""

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")


def prepared(requirements: str) -> Path:
    """Folder of the environment's programs, with `requirements/<name>.txt` and kb itself (editable) installed."""
    if sys.version_info < (3, 11):
        sys.exit(f"kb needs Python 3.11 or newer; this is {sys.version.split()[0]}")
    pins = ROOT / "requirements" / f"{requirements}.txt"
    mark = VENV / f".kb-{requirements}"
    wanted = hashlib.sha256(pins.read_bytes() + (ROOT / "pyproject.toml").read_bytes()).hexdigest()
    if mark.is_file() and mark.read_text() == wanted:
        return BIN
    if not (BIN / "python").exists():
        venv.create(VENV, with_pip=True)
    pip = [
        os.fspath(BIN / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    print(f"installing {pins.relative_to(ROOT)} into .venv", file=sys.stderr)
    subprocess.run([*pip, "--require-hashes", "-r", pins], check=True)
    subprocess.run([*pip, "--no-deps", "--editable", ROOT], check=True)
    mark.write_text(wanted)
    return BIN
