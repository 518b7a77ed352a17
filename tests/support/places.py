"""Where the tests find the clone and what lies beside them."""

from pathlib import Path

SUPPORT = Path(__file__).resolve().parent
PROGRAMS = SUPPORT / "programs"
TESTS = SUPPORT.parent
ROOT = TESTS.parent
