"""Shared by tests: what test_repeat and others use."""

from typing import Any

from tests.support.places import PROGRAMS

PROGRAM = PROGRAMS / "repeat_program.py"


def three_links(**middle: Any) -> list[dict[str, Any]]:
    """Two of 10 Gbit/s, and between them one of 1 Gbit/s with these keys."""
    outer = {"one_way_delay": "4 ms", "line_rate": "10 Gbit/s"}
    return [outer, {"one_way_delay": "12 ms", **middle}, outer]


def asked(**transfer: Any) -> dict[str, Any]:
    return {"duration": "1500 ms", "window": "16 MB", "sample_interval": "20 ms", **transfer}
