"""What a slow way back costs: acknowledgments that stand for more, and where that ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from landspeed.course.comparison import GOODPUT, Axis, Comparison, Line, Point, unpromised
from landspeed.course.measured import Measured
from landspeed.scenarios.physics import ack_bytes

FROM_S = 6.0


def acks_per_s(run: Measured) -> float:
    """Bare acknowledgments that fill the line back: rate / (52 + 38) B (RFC 9293, RFC 7323, IEEE 802.3)."""
    link = run.plan.links[1]
    return link.reverse.rate_bps / 8 / (ack_bytes(run.plan.ip_version) + link.framing_bytes)


def two_packets_bps(run: Measured) -> float:
    """Goodput if each acknowledgment stood for two packets and none were dropped (RFC 9293 section 3.8.6.3)."""
    return acks_per_s(run) * 2 * run.mss_bytes * 8


def carried(run: Measured) -> float:
    """Acknowledgments that the line back carried in each second."""
    rows = [row for row in run.samples.links.to_pylist() if row["link"] == 1 and row["direction"] == "reverse"]
    late = [row for row in rows if row["time_ns"] / 1e9 >= FROM_S]
    return (late[-1]["packets"] - late[0]["packets"]) / (late[-1]["time_ns"] - late[0]["time_ns"]) * 1e9


def rate(runs: Sequence[Measured]) -> Iterator[Point]:
    """As long as the line back is the limit, it carries just as many as fit."""
    for run in runs:
        packets = run.goodput_bps(FROM_S) / 8 / run.mss_bytes
        each = packets / carried(run)
        if each > 2.5:  # else the line back is not what acknowledgments wait for
            yield Point(
                run.name,
                carried(run),
                acks_per_s(run),
                x=run.plan.links[1].reverse.rate_bps,
                note=f"{each:.1f} packets each",
            )


def goodput(runs: Sequence[Measured]) -> Iterator[Point]:
    """Goodput beside the line ahead."""
    for run in runs:
        packets = run.goodput_bps(FROM_S) / 8 / run.mss_bytes
        note = f"each acknowledgment for {packets / carried(run):.1f} packets"
        yield Point(
            run.name, run.goodput_bps(FROM_S), run.plan.physics.framing_limit_bps,
            x=run.plan.links[1].reverse.rate_bps, note=note,
        )  # fmt: skip


def lines(runs: Sequence[Measured]) -> Iterator[Line]:
    """What two packets for each acknowledgment would allow, and the line ahead."""
    found = [(run.plan.links[1].reverse.rate_bps, two_packets_bps(run)) for run in runs]
    yield Line("two packets an acknowledgment", found, "limit")
    limit = runs[0].plan.physics.framing_limit_bps
    yield Line("the line ahead", [(found[0][0], limit), (found[-1][0], limit)], "theory")


BACK = Axis("rate of the line back", "Mbit/s", 1e6, log=True)
COMPARISONS = {
    "rate": Comparison(
        title="Acknowledgments a second on the line back",
        scenarios=("asymmetric.yaml",),
        points=rate,
        x=BACK,
        y=Axis("acknowledgments a second", "", log=True),
        source="rate / 90 B on the wire",
        within=0.02,
    ),
    "goodput": unpromised(
        title="Goodput of 200 Mbit/s over the rate of the line back",
        scenarios=("asymmetric.yaml",),
        points=goodput,
        lines=lines,
        x=BACK,
        y=GOODPUT,
        source="the line ahead; RFC 3449 on the line back",
        beside="line ahead",
        why="how many packets an acknowledgment stands for follows from what was dropped before it",
    ),
}
