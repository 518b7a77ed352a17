"""A few paths that are hard to calibrate; `python -m tests.bench.hard_paths` tries 200."""

from pathlib import Path

import pytest

from tests.bench.hard_paths import fault, scenario_of

CLASSES = {
    "two buckets of nearly the same rate, and overtaking": 224766,
    "buckets, jitter and overtaking at 500 Gbit/s": 97,
    "jitter on a slow ACK line with losses": 16253382,
    "bursts of a host before a queue of one frame": 283,
    "copies before a bucket": 3949,
    "a bucket whose packets take 73.7 ns": 1227,
    "a bucket that lets 514 packets pass, as it takes 31 of 31.27 ns": 49833966,
}


@pytest.mark.guest
@pytest.mark.parametrize("which", CLASSES)
def test_a_right_path_calibrates(tmp_path: Path, which: str) -> None:
    """Each was refused once."""
    assert fault(CLASSES[which], tmp_path) == ""


def test_a_number_makes_the_same_path_everywhere() -> None:
    assert scenario_of(97) == scenario_of(97) != scenario_of(98)
