"""Options of `real attempt`: when it begins, and the rules that end it."""

from __future__ import annotations

import argparse
import contextlib
from typing import Any

RULES = {
    "at": "at",
    "lead": "lead",
    "iperf3": "iperf3",
    "floor": "floor_bps",
    "floor_after": "floor_after_s",
    "most_loss": "most_loss",
    "most_heat": "most_heat",
    "most_errors": "most_errors",
    "most_drops": "most_drops",
}
"""Option → variable of the plays, without its `landspeed_`."""


def with_rules(made: argparse.ArgumentParser) -> None:
    """Add the options that say when an attempt begins, and what ends it."""
    made.add_argument("--at", type=_moment, metavar="UTC", help="of a network: when all begin, YYYY-MM-DDTHH:MM:SSZ")
    made.add_argument(
        "--lead", type=_positive, metavar="SECONDS", help="of a network: all begin so long after (default: 10)"
    )
    made.add_argument("--iperf3", type=_seconds, metavar="SECONDS", help="of two hosts: iperf3 sends so long before it")
    made.add_argument("--floor", type=_rate, metavar="RATE", help="end it when a flow's goodput falls below that")
    made.add_argument("--floor-after", type=_positive, metavar="SECONDS", help="… from then on (default: 20)")
    made.add_argument(
        "--most-loss", type=_positive, metavar="SHARE", help="end it when a flow sends a larger share again"
    )
    made.add_argument("--most-heat", type=_positive, metavar="CELSIUS", help="end it when a sensor of a host is hotter")
    made.add_argument("--most-errors", type=int, metavar="N", help="end it when a NIC counts more errors (default: 0)")
    made.add_argument("--most-drops", type=int, metavar="N", help="end it when a NIC counts more drops")


def given_rules(parsed: argparse.Namespace) -> dict[str, Any]:
    """Turn those that were given into variables of the plays without their `landspeed_`."""
    return {name: value for word, name in RULES.items() if (value := getattr(parsed, word, None)) is not None}


def _seconds(text: str) -> int:
    if text.isdecimal() and 0 < int(text) <= 3600:
        return int(text)
    raise argparse.ArgumentTypeError(f"'{text}' is no number of whole seconds, 1 to 3600")


def _positive(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < (number := float(text)) < float("inf"):
            return number
    raise argparse.ArgumentTypeError(f"'{text}' is no number above 0")


def _moment(text: str) -> str:
    from datetime import datetime

    with contextlib.suppress(ValueError):
        datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
        return text
    raise argparse.ArgumentTypeError(f"'{text}' is no UTC time; the form is 2026-11-26T15:00:00Z")


def _rate(text: str) -> int:
    from landspeed.base.units import RATE, UnitError, parse

    try:
        return parse(RATE, text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
