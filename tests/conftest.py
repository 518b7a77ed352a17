"""Modules that several test files share (fixtures, builders) are imported by their plain name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
