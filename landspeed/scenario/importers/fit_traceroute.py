"""Link delays from recorded traceroutes of both ends: `python -m landspeed.scenario.importers.fit_traceroute FILE`.

What is fitted. Let A_i be the round-trip time from the sender to hop i. In a network whose answers come back the way
the question went, the sender's list shows A_i, and the receiver's list shows RTT − A_i for the same router. (How a
round trip divides into its two directions cannot be seen from either list; the scenario halves it.) The recorded lists
disagree, because answers of the routers (ICMP) came back another way. The A_i fitted are those nearest to both lists in
weighted least squares, under three conditions: they start at 0 and end at the recorded end-to-end RTT exactly, and no
link is faster than light in glass over its terrestrial distance (group index 1.468: 9.79 µs/km there and back); a link
without a distance takes at least 0. A hop's weight is 1 / (1 + (half the disagreement)²), in ms: its mean of both lists
is that uncertain, and the tool's resolution is 1 ms. So hops on which both ends agree stay where both saw them.

Outliers. A router that is slow to answer adds to its own line only, so no true round trip is above that of a later hop.
A line more than 5 ms above a later one of the same list is left out of the fit (the recorded list keeps it, and the
report marks it): far more than the lists' other disagreements, which the fit averages. A single list of a whole path
with five such lines (14 April 2004) would otherwise be bent by them.

How. With the light's time subtracted that is an isotonic regression, which pooling adjacent violators solves exactly
(Barlow et al. 1972; clipping its result to the bounds solves the bounded problem).
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from landspeed.base.errors import ScenarioError
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.file.model import ScenarioFile
from landspeed.scenario.file.model_recorded import RecordedHopSection

LIGHT_MS_PER_KM = 2 * 1.468 / 299_792.458 * 1000  # round trip in glass
BELOW_SHARE = 0.5  # "<1 ms" counts as half of it
ROUND_MS = 0.01
OUTLIER_MS = 5.0


@dataclass(frozen=True)
class DelayFit:
    """Per link: its round trip. Per hop: cumulative round trip and what both lists said of it (ms)."""

    links_ms: list[float]
    hops_ms: list[float]
    forward_ms: list[float | None]
    reverse_ms: list[float | None]
    outliers: dict[int, float] = field(
        default_factory=dict[int, float]
    )  # hop (from 0) → what the sender's list said of it

    @property
    def residual_ms(self) -> float:
        """Root mean square of the differences from both lists."""
        squares = [
            (hop - said) ** 2
            for said_of in (self.forward_ms, self.reverse_ms)
            for hop, said in zip(self.hops_ms, said_of, strict=True)
            if said is not None
        ]
        return (sum(squares) / len(squares)) ** 0.5 if squares else 0.0


def isotonic(values: list[float], weights: list[float]) -> list[float]:
    """The non-decreasing sequence nearest to `values` in weighted least squares (pool adjacent violators)."""
    blocks: list[tuple[float, float, int]] = []  # mean, weight, length
    for value, weight in zip(values, weights, strict=True):
        block = (value, weight, 1)
        while blocks and blocks[-1][0] > block[0]:
            mean, mass, length = blocks.pop()
            total = mass + block[1]
            block = ((mean * mass + block[0] * block[1]) / total, total, length + block[2])
        blocks.append(block)
    return [mean for mean, _, length in blocks for _ in range(length)]


def fit(rtt_ms: float, floors_ms: list[float], forward: list[float | None], reverse: list[float | None]) -> DelayFit:
    """Cumulative RTTs of the hops 1…n (n = number of links; hop n is the receiver, fixed at `rtt_ms`).

    `forward[i]` and `reverse[i]` are what the two lists say of hop i+1 as seen from the sender; None if they do not.
    """
    count = len(floors_ms)
    below: list[float] = []
    total = 0.0
    for floor in floors_ms:
        total += floor
        below.append(total)
    room = rtt_ms - total
    if room < 0:
        raise ValueError(f"light needs {total:.1f} ms for the distances, more than the RTT of {rtt_ms:g} ms")
    at: list[int] = []
    values: list[float] = []
    weights: list[float] = []
    for index in range(count - 1):
        said = [x for x in (forward[index], reverse[index]) if x is not None]
        if said:
            at.append(index)
            values.append(statistics.fmean(said) - below[index])
            weights.append(1 / (1 + ((max(said) - min(said)) / 2) ** 2))
    fitted = [min(room, max(0.0, value)) for value in isotonic(values, weights)]
    shifted: dict[int, float] = dict(zip(at, fitted, strict=True)) | {count - 1: room}
    hops: list[float] = []
    last = 0.0
    for index in range(count):
        last = shifted.get(index, last)  # a hop that neither list knows: light's time from the hop before
        hops.append(below[index] + last)
    # Rounded, but with all of light's time left for the links behind: none of them gets less than nothing.
    most = [rtt_ms - (total - floor) for floor in below]
    rounded = [min(round(hop / ROUND_MS) * ROUND_MS, limit) for hop, limit in zip(hops, most, strict=True)]
    hops = [*rounded[:-1], rtt_ms]
    links = [hop - before for hop, before in zip(hops, [0.0, *hops[:-1]], strict=True)]
    return DelayFit(links, hops, forward, reverse)


def fit_scenario(scenario: ScenarioFile) -> DelayFit:
    """The fit of a scenario's recorded traceroutes; they must list every hop of its path."""
    expect, count = scenario.expect, len(scenario.path)
    if expect is None or expect.rtt is None or not (expect.forward_traceroute or expect.reverse_traceroute):
        raise ValueError("the scenario needs expect.rtt and a recorded traceroute")
    rtt_ms = expect.rtt / 1e6
    forward, outliers = without_outliers(_times(expect.forward_traceroute, count))
    # Hop j of the receiver's list is the node that the sender sees as hop count − j.
    back = _times(expect.reverse_traceroute, count)[:-1][::-1]
    reverse: list[float | None] = [None if ms is None else rtt_ms - ms for ms in back] + [None]
    forward[-1] = None  # the receiver itself: fixed by the RTT
    floors = [(link.distance or 0) / 1000 * LIGHT_MS_PER_KM for link in scenario.path]
    return replace(fit(rtt_ms, floors, forward, reverse), outliers=outliers)


def without_outliers(times_ms: list[float | None]) -> tuple[list[float | None], dict[int, float]]:
    """A list's times without those far above a later hop's, and the latter by hop (from 0)."""
    kept, outliers, least = list(times_ms), dict[int, float](), float("inf")
    for index in range(len(times_ms) - 1, -1, -1):
        said = times_ms[index]
        if said is None:
            continue
        if said > least + OUTLIER_MS:
            kept[index], outliers[index] = None, said
        least = min(least, said)
    return kept, dict(sorted(outliers.items()))


def _times(hops: list[RecordedHopSection], count: int) -> list[float | None]:
    if not hops:
        return [None] * count
    if len(hops) != count:
        raise ValueError(f"a recorded traceroute has {len(hops)} lines, the path has {count} links")
    return [
        statistics.median(ms * (BELOW_SHARE if below else 1) for ms, below in hop.rtt) if hop.rtt else None
        for hop in hops
    ]


def report(scenario: ScenarioFile, result: DelayFit) -> str:
    """The fit as a table, and the lines to write into the file."""
    lines = ["  hop  node              list of sender  RTT − list of receiver     fitted   link RTT"]
    for index, link in enumerate(scenario.path):
        said = [
            "–" if value is None else f"{value:.1f} ms"
            for value in (result.forward_ms[index], result.reverse_ms[index])
        ]
        if index in result.outliers:
            said[0] = f"({result.outliers[index]:.1f} ms)"
        fitted = f"{result.hops_ms[index]:>9.2f} ms{result.links_ms[index]:>8.2f} ms"
        lines.append(f"  {index + 1:3d}  {link.to:<18}{said[0]:>13}{said[1]:>24}{fitted}")
    lines.append(
        f"  sum of the links {sum(result.links_ms):.2f} ms; root mean square residual {result.residual_ms:.1f} ms"
    )
    if result.outliers:
        lines.append("  in brackets: slow to answer, above a later hop's time, left out")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Print the fit of the traceroutes in a scenario file."""
    if len(arguments) != 1:
        print("usage: python -m landspeed.scenario.importers.fit_traceroute FILE", file=sys.stderr)
        return 2
    try:
        scenario = load_scenario(Path(arguments[0])).scenario
        print(report(scenario, fit_scenario(scenario)))
    except (ScenarioError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
