"""T5: Mathis's constant from window halvings, and Jain's index, with 10 to 50 flows of Reno at a queue of 3 MB."""

import itertools
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from landspeed.results.samples_reader import Samples
from tests.bench.published.cells import Cell, Row, Source, figures_of

LEAST, MOST = 1.22, 1.33  # the range that is asked of all cells
FROM_S = 60.0
MSS_BYTES = 1448
RECOVERY = 3  # TCP_CA_Recovery
JAIN, JAINS_ALLOWED = "jain", 0.01
SHORT = (
    "time: theirs is three hours, these are 540 s. What the index lacks of one falls with it: 0.068, 0.044, 0.027 and "
    "0.016 over 60, 135, 270 and 540 s, on average of the nine paths (sim)"
)
ALONE = "FABRIC's 1.377, outside of all other cells' range; CloudLab has 1.303 there"


def cells_of(row: Row) -> Iterator[Cell]:
    """A round-trip time and a number of flows: the constant, and how equal the flows are."""
    both = (float(row["c_cloudlab"]), float(row["c_fabric"]))
    mean, half = fmean(both), abs(both[0] - both[1]) / 2
    name, quick = f"{row['rtt_ms']}ms-{row['flows']}-flows", row["rtt_ms"] == "20"
    changes = {"path.0.reverse.one_way_delay": f"{row['rtt_ms']} ms", "transfer.streams": int(row["flows"])}
    yield Cell(name, changes, mean, half, max(min(mean - LEAST, MOST - mean), half), quick, ALONE)
    yield Cell(f"{name}-{JAIN}", changes, float(row["jain"]), 0, JAINS_ALLOWED, quick, SHORT, of=name)


def halvings(states: list[tuple[float, float]]) -> int:
    """How often a stream began to recover; a threshold may be the same twice, and is not counted."""
    return sum(before < RECOVERY <= now for (_, before), (_, now) in itertools.pairwise(states))


def figure(row: Mapping[str, Any], bundle: Path) -> float:
    """C = rate x RTT x sqrt(halvings / segments) / MSS of all flows together, or Jain's index of their rates.

    Both are from the first minute's end on.
    """
    samples = Samples(bundle)
    sent = {stream: _late(points) for stream, points in samples.by_stream("receiver", "bytes").items()}
    if str(row["case"]).endswith(JAIN):
        each = [points[-1][1] - points[0][1] for points in sent.values()]
        return sum(each) ** 2 / (len(each) * sum(one**2 for one in each))
    halved = sum(halvings(_late(points)) for points in samples.by_stream("sender", "state").values())
    rtt_s = fmean(rtt for points in samples.by_stream("sender", "srtt_us", 1e6).values() for _, rtt in _late(points))
    moved = sum(points[-1][1] - points[0][1] for points in sent.values())
    seconds = fmean(points[-1][0] - points[0][0] for points in sent.values())
    rate = moved / seconds / len(sent)  # bytes/s of a flow
    return rate * rtt_s * math.sqrt(halved / (moved / MSS_BYTES)) / MSS_BYTES


def _late(points: Any) -> list[tuple[float, float]]:
    return [(time_s, value) for time_s, value in points if time_s >= FROM_S]


SOURCE = Source(
    name="revisiting_scale",
    title='Constant of the square-root law from window halvings ("Revisiting TCP at scale", repeated 2022-24)',
    read="vinitaparasrampuria/IMC-Revisiting-TCP, outputs of CloudLab and of FABRIC",
    figure="C = rate × RTT × √p / MSS, p the halvings by segments; Jain's index of the flows' goodputs",
    unit="as numbers",
    rule=f"C as near as the nearer end of {LEAST} … {MOST}, the range of all cells, or the two laboratories' spread; "
    f"the index ± {JAINS_ALLOWED}",
    cells=[cell for row in figures_of("revisiting_scale") for cell in cells_of(row)],
    measure=figure,
    worlds=("emu", "sim"),
)
