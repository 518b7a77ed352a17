"""T6: the receive window's growth, slowed in Linux 6.16 by a fault, mended in 6.18."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from landspeed.results.samples_reader import Samples
from tests.bench.published.cells import HERE, Cell, Row, Source, figures_of

RTT_S = 0.05
WINDOW_BYTES = 56e6
FIRST = 2  # round trips of data until the receiver measures for the first time: it needs one, and one to compare
REVERTED = HERE / "rcvbuf_growth" / "without-aa251c84636c.patch"


def cell_of(row: Row) -> Cell:
    """A kernel; 6.12 is older than the fault, and has the growth that its mending brings back."""
    kernel, published = row["kernel"], int(row["round_trips"])
    return Cell(kernel, {"kernel": kernel}, published, spread=0, allowed=1, quick=kernel == "6.12")


def round_trips(_: Mapping[str, Any], bundle: Path) -> float:
    """Which measurement of the receiver first finds a window of 56 MB: its first is two round trips after the data.

    The sender knows the window a round trip after that data left which made it grow.
    """
    (window,) = Samples(bundle).by_stream("sender", "snd_wnd_bytes").values()
    known_s = next(time_s for time_s, value in window if value > WINDOW_BYTES)
    return math.ceil(known_s / RTT_S) - FIRST


SOURCE = Source(
    name="rcvbuf_growth",
    title="Round trips until the receive window is 56 MB, over kernels (Linux aa251c84636c, October 2025)",
    read="the commit's message; 7.3+without-aa251c84636c is Linux 7.3 with the commit taken back by a patch, 6.12 has "
    "the growth of before the fault, for which the mended figure stands",
    figure="measurements of the receiver until its window is larger than 56 MB, one a round trip",
    unit="round trips",
    rule="± 1",
    cells=[cell_of(row) for row in figures_of("rcvbuf_growth")],
    measure=round_trips,
    kernels={"7.3": (), "7.3+without-aa251c84636c": (REVERTED,)},
)
