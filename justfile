# Tasks; every one is a plain command that also runs without just.

# set up and run the main job on the shipped knowledge base
demo:
    python3 scripts/demo.py

# set up and run the tests
test *ARGS:
    python3 scripts/test.py {{ARGS}}

# style and dead code
check:
    .venv/bin/ruff check kb tests scripts
    .venv/bin/ruff format --check kb scripts

# rewrite the golden files, then look at the diff
goldens:
    KB_GOLDENS=1 .venv/bin/python -m pytest -q tests

# rewrite the generated reference pages
docs:
    .venv/bin/python scripts/reference.py

# time kb beside plain yardsticks
bench *ARGS:
    .venv/bin/python scripts/bench.py {{ARGS}}

# browse the shipped knowledge base
serve:
    .venv/bin/kb site serve

# pin the requirements anew
pins:
    .venv/bin/uv pip compile -q --generate-hashes --no-header pyproject.toml --extra site -o requirements/site.txt
    .venv/bin/uv pip compile -q --generate-hashes --no-header pyproject.toml --extra site --extra test -o requirements/test.txt
