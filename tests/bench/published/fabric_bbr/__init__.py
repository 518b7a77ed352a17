"""T10: BBR's share beside one CUBIC or Reno over the queue's size: Ware's paths (IMC'19), measured on FABRIC (2025)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from landspeed.results.bundle import load_record
from tests.bench.published.cells import Cell, Row, Source, figures_of

BDP_BYTES = 51_200  # tc's kb are 1024 B
DEEPEST_BDP = 64
TRIALS = (1, 2, 3)
START = (
    "in part the start: two ssh sessions begin the flows there, and which comes first was not told. With CUBIC a "
    "second earlier BBR has more in the first minutes of this queue, which takes 2.6 s to pass. The rest is not known"
)
ALLOWED = 0.1  # of the share, as between the worlds (tests/bench/unequal.py)


def share_percent(_: Mapping[str, Any], bundle: Path) -> float:
    """BBR's part of all that was read."""
    read = {flow.name: flow.bytes or 0 for flow in load_record(bundle).flows}
    return 100 * read["bbr"] / sum(read.values())


def cell_of(row: Row) -> Cell:
    """A row of figures and its queue."""
    queue_bdp, beside = int(row["queue_bdp"]), row["beside"]
    goodputs = [(float(row[f"bbr_{trial}_mbit"]), float(row[f"other_{trial}_mbit"])) for trial in TRIALS]
    shares = [100 * bbr / (bbr + other) for bbr, other in goodputs]
    mean = sum(shares) / len(shares)
    return Cell(
        name=f"{queue_bdp}-BDP" if beside == "cubic" else f"{beside}-{queue_bdp}-BDP",
        changes={"links.1.queue": f"{queue_bdp * BDP_BYTES} B", "flows.1.congestion_control": beside},
        published=round(mean, 1),
        spread=max(abs(each - mean) for each in shares),
        allowed=ALLOWED * mean,
        quick=queue_bdp in {1, 2, 8, 32},
        cause=START if beside == "cubic" and queue_bdp == DEEPEST_BDP else "",
    )


SOURCE = Source(
    name="fabric_bbr",
    title="BBR beside one CUBIC or Reno, by the queue's size (Sarpkaya et al. 2025, on Ware's paths of IMC'19)",
    read="fatihsarpkaya/bbr-shared-bottleneck, data of figures 2a and 2c: three trials on FABRIC, BBR version 1; its "
    "notebook has runs of 1000 s, windows that the system chooses, no offloads",
    figure="BBR's share of the goodput over 1000 s",
    unit="%",
    rule="± 10 % of the share",
    cells=[cell_of(row) for row in figures_of("fabric_bbr")],
    measure=share_percent,
    seeds=3,
    worlds=("emu", "sim"),
)
