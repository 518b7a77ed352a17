"""The glossary: in order, each word once, and the words that the command's own help cannot do without."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "glossary.md"
ROWS = dict(re.findall(r"^\| ((?:▪ )?[A-Za-z].*?) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)[1:])
NEEDED = {"bundle", "world", "guest", "calibration", "verdict", "plan", "scenario", "run", "sweep", "probe", "trace"}
FIELD = {"goodput", "throughput", "BDP", "RTT", "RTO", "window", "cwnd", "bottleneck", "pacing", "queue", "AQM", "ECN"}


def test_each_word_stands_once_and_in_order() -> None:
    words = [word.removeprefix("▪ ").lower() for word in ROWS]
    assert words == sorted(set(words))


def test_our_own_words_are_marked_and_those_of_the_field_are_not() -> None:
    assert {f"▪ {word}" for word in NEEDED} <= set(ROWS)
    assert set(ROWS) >= FIELD
