"""T6: the receive window's growth, slowed in Linux 6.16 by a fault, mended in 6.18."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from landspeed.results.samples_reader import Samples
from tests.bench.published.cells import HERE, Cell, Row, Source, figures_of

RTT_S = 0.05
WINDOW_BYTES, FROM_BYTES = 56e6, 1e6
FIRST = 2  # round trips of data until the receiver measures for the first time: it needs one, and one to compare
GROWTH = "growth"
REVERTED = HERE / "rcvbuf_growth" / "without-aa251c84636c.patch"


def cells_of(row: Row) -> Iterator[Cell]:
    """A kernel's two figures; 6.12 is older than the fault, and has the growth that its mending brings back."""
    kernel, trips, growth = row["kernel"], int(row["round_trips"]), float(row["growth"])
    quick, changes = kernel == "6.12", {"kernel": kernel}
    yield Cell(kernel, changes, trips, spread=0, allowed=1, quick=quick)
    yield Cell(f"{kernel}-{GROWTH}", changes, growth, 0, 0.05 * growth, quick, of=kernel)


def measured(row: Mapping[str, Any], bundle: Path) -> float:
    """Which measurement of the receiver first finds a window of 56 MB, or how much it grew in each round trip before.

    The receiver measures first two round trips after the data began. The sender knows the window a round trip after
    that data left which made it grow.
    """
    (window,) = Samples(bundle).by_stream("sender", "snd_wnd_bytes").values()
    (began_s, first), (ended_s, last) = (
        next((time_s, value) for time_s, value in window if value > least) for least in (FROM_BYTES, WINDOW_BYTES)
    )
    if str(row["case"]).endswith(GROWTH):
        return (last / first) ** (RTT_S / (ended_s - began_s))
    return math.ceil(ended_s / RTT_S) - FIRST


SOURCE = Source(
    name="rcvbuf_growth",
    title="Round trips until the receive window is 56 MB, over kernels (Linux aa251c84636c, October 2025)",
    read="the commit's message; 7.3+without-aa251c84636c is Linux 7.3 with the commit taken back by a patch, 6.12 has "
    "the growth of before the fault, for which the mended figure stands",
    figure="measurements of the receiver, one a round trip, until its window is 56 MB; its growth in each from 1 MB on",
    unit="as a number and a factor",
    rule="± 1 round trip, ± 5 % of the growth",
    cells=[cell for row in figures_of("rcvbuf_growth") for cell in cells_of(row)],
    measure=measured,
    kernels={"7.3": (), "7.3+without-aa251c84636c": (REVERTED,)},
)
