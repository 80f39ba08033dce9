"""`python -m tpu_panel`: the command line."""

import sys

from tpu_panel.cli.main import run

sys.exit(run())
