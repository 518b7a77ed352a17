"""T2: the tables of RFC 3649: round trips between two losses, of standard TCP and of HighSpeed TCP."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from landspeed.results.samples_reader import Samples
from tests.bench.published.cells import Cell, Row, Source, figures_of
from tests.bench.published.rfc9438 import BY_ACKS, QUICK, changes_of

RTT_MS = 10
ROUNDED = (
    "the table rounds p: 1 / p packets are 6.0 or 60.0 round trips of its own windows, 8.3 and 83.3. Linux needs two "
    "more to find and repair a loss, and one lasts 10.3 ms by the line's time for a window: 8.2 and, with its mean of "
    "85, 62.9"
)


def cell_of(row: Row) -> Cell:
    """A row of the tables, and rfc9438's path for its window."""
    control, every, rtts = row["control"], int(row["every"]), float(row["rtts"])
    return Cell(
        name=f"{control}-{every}",
        changes=changes_of(control, RTT_MS, every, round(every / rtts)),
        published=rtts,
        spread=0,
        allowed=0.1 * rtts,
        quick=every <= QUICK,
        cause=BY_ACKS if control == "highspeed" else ROUNDED,
    )


def rtts_between(row: Mapping[str, Any], bundle: Path) -> float:
    """Round trips of the path between two recoveries, over the last two thirds of the time."""
    from_s, rtt_s = float(row["duration_s"]) / 3, RTT_MS / 1e3
    (counts,) = Samples(bundle).by_stream("sender", "retransmits").values()
    begun_s = [time_s for (_, before), (time_s, now) in itertools.pairwise(counts) if now > before]
    apart = [time_s for number, time_s in enumerate(begun_s) if not number or time_s - begun_s[number - 1] >= rtt_s]
    late = [time_s for time_s in apart if time_s >= from_s]
    return (late[-1] - late[0]) / (len(late) - 1) / rtt_s


SOURCE = Source(
    name="rfc3649",
    title="Round trips between periodic losses (RFC 3649, tables 1 and 3)",
    read="the RFC's figures as the literature repeats them; their windows agree with RFC 9438's, which were read",
    figure="round trips from one recovery to the next",
    unit="round trips",
    rule="± 10 %",
    cells=[cell_of(row) for row in figures_of("rfc3649")],
    measure=rtts_between,
)
