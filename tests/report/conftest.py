"""Folders written by hand are shared with the tests of the results."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "results"))
