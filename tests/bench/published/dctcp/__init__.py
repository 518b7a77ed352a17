"""Alizadeh et al., SIGCOMM 2010: DCTCP at one switch, and in a network of two bottlenecks."""

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean, median
from typing import Any

from landspeed.results.bundle import load_record
from landspeed.results.samples_reader import Samples
from tests.bench.published.cells import Cell, Row, Source, figures_of

FRAME_BYTES = 1514
ON_THE_LINE = 1538 / 1448  # of a full packet, over its payload
HOP = "25 us"
TO_R1 = 0  # the number of the link whose queue is asked
FROM_S = 1.0
ALLOWED = {"s1": 0.1, "s2": 0.1, "s3": 0.1, "goodput": 0.01, "queue": 0.2, "jain": 0.01}
OF_MANY = "s1", "s2", "s3"
TIMESTAMPS = (
    "TCP's timestamps, 12 B of each packet, which Windows does not send. Without them two flows of iperf3 have 948 at "
    "K = 5 (tests/bench/published/dctcp/without_timestamps.sh)"
)
ROUND_TRIPS = (
    "the round trips. Those of the testbed were not told. With two packets in flight, which is least, a flow of S1 has "
    "less than one of S3 by its longer way: with 130 µs in place of 200 it is within"
)


def marking(packets: int) -> dict[str, Any]:
    """A queue that marks what finds more than so many packets in it."""
    least = packets * FRAME_BYTES
    return {"red": {"min": f"{least} B", "max": f"{least + 1} B", "probability": "100 %", "instant": True}}


def network(links: list[dict[str, Any]], pairs: Mapping[str, str]) -> dict[str, Any]:
    """Changes of the scenario to these links, and to a flow of each sender."""
    hosts = {name: {"paced": False} for name in [*pairs, *pairs.values()]}
    flows = [{"name": source, "from": source, "to": target} for source, target in pairs.items()]
    return {"hosts": hosts, "links": [{"one_way_delay": HOP} | link for link in links], "flows": flows}


def star(senders: int, port: Mapping[str, Any]) -> dict[str, Any]:
    """Senders and one receiver at a switch."""
    names = [f"s{number}" for number in range(1, senders + 1)]
    links = [{"from": "switch", "to": "r1", **port}, *({"from": name, "to": "switch"} for name in names)]
    return network(links, dict.fromkeys(names, "r1"))


def multihop(across_racks: str) -> dict[str, Any]:
    """The paper's figure 17; its Scorpion, between two lines of 10 Gbit/s, limits nothing: one line of this delay."""
    port = {"discipline": marking(20)}
    near, across, beside, sinks = (
        [f"{group}-{number}" for number in range(1, size + 1)]
        for group, size in (("s1", 10), ("s2", 20), ("s3", 10), ("r2", 20))
    )
    core = {"line_rate": "10 Gbit/s", "one_way_delay": across_racks, "discipline": marking(65)}
    links = [
        {"from": "t2", "to": "r1", **port},
        {"from": "t1", "to": "t2", **core},
        *({"from": name, "to": "t1"} for name in near + across),
        *({"from": name, "to": "t2"} for name in beside),
        *({"from": "t2", "to": name, **port} for name in sinks),
    ]
    return network(links, dict.fromkeys(near + beside, "r1") | dict(zip(across, sinks, strict=True)))


PATHS: dict[str, dict[str, Any]] = {
    "multihop-200us": multihop("50 us"),
    "multihop-130us": multihop("15 us"),
    "2-senders-K20": star(2, {"discipline": marking(20)}),
    "2-senders-K5": star(2, {"discipline": marking(5)}),
    "2-senders-tcp": star(2, {}) | {"transfer.congestion_control": "reno"},
    "5-senders-K20": star(5, {"discipline": marking(20)}),
    "90-senders-K20": star(90, {"discipline": marking(20)}),
}


def cell_of(row: Row) -> Cell:
    """A row of figures and its network."""
    path, figure, published = row["path"], row["figure"], float(row["published"])
    first = next(each["figure"] for each in figures_of("dctcp") if each["path"] == path)
    return Cell(
        name=f"{path}-{figure}",
        changes=PATHS[path],
        published=published,
        spread=0,
        allowed=ALLOWED[figure] * (1 if figure == "jain" else published),
        quick=path.startswith(("2", "5")),
        cause=ROUND_TRIPS if figure in OF_MANY else TIMESTAMPS,
        of="" if figure == first else f"{path}-{first}",
    )


def measured(row: Mapping[str, Any], bundle: Path) -> float:
    """Mbit/s of a group's flow on the line, or of all payload; packets in the queue to R1; or Jain's index."""
    figure = str(row["case"]).rpartition("-")[2]
    if figure == "queue":
        waiting = Samples(bundle).backlogs(FRAME_BYTES)[TO_R1, "forward"]
        return median(packets for time_s, packets in waiting if time_s >= FROM_S)
    flows = load_record(bundle).flows
    if figure in OF_MANY:
        return ON_THE_LINE * fmean((flow.goodput_bps or 0) / 1e6 for flow in flows if flow.name.startswith(figure))
    rates = [(flow.goodput_bps or 0) / 1e6 for flow in flows]
    if figure == "jain":
        return sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))
    return sum(rates)


SOURCE = Source(
    name="dctcp",
    title="DCTCP on one switch and over two bottlenecks (Alizadeh et al., SIGCOMM 2010)",
    read="the paper, section 4.1; ns-3's examples/tcp/dctcp-example.cc repeats its three rates of figure 17",
    figure="over 5 s: goodput of all; a flow's rate on the line (s1, s2, s3: 46 and 54 of ten each are all of "
    "1 Gbit/s); median queue; Jain's index",
    unit="Mbit/s, packets, or a number",
    rule="a flow's ± 10 %, all ± 1 %, the queue ± 20 %, the index ± 0.01",
    cells=[cell_of(row) for row in figures_of("dctcp")],
    measure=measured,
    worlds=("emu", "sim"),
)
