"""`python -m kb` is the `kb` command."""

import sys

from kb.cli import main

sys.exit(main())
