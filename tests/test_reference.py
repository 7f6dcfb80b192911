"""The generated reference pages are current, and every verb has help and a place in them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kb import cli
from kb.verbs.registry import verbs

CHECKOUT = Path(__file__).resolve().parent.parent
KNOWN = verbs(*cli.DOORS)


def test_the_generated_pages_are_current():
    done = subprocess.run([sys.executable, "scripts/reference.py", "--check"], cwd=CHECKOUT, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.fspath(CHECKOUT)})
    assert done.returncode == 0, f"{done.stdout}; `just docs` rewrites them"


@pytest.mark.parametrize("words", sorted(KNOWN))
def test_a_verb_says_what_it_does(words, capsys):
    assert KNOWN[words].summary in cli.usage(KNOWN)
    with pytest.raises(SystemExit) as stop:
        cli.main([*words.split(), "--help"])
    assert stop.value.code == 0 and "usage: kb " + words in capsys.readouterr().out


def test_misuse_is_exit_2_and_says_where_help_is(capsys):
    assert cli.main(["nonsense"]) == 2 and "kb --help" in capsys.readouterr().err
    assert cli.main([]) == 2
