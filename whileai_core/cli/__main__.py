"""`python -m whileai_core.cli` is the command `whileai-pipelines`."""

import sys

from whileai_core.cli.main import main

sys.exit(main())
