"""One-way delay of each packet from whole captures of every node of a path, and the disk that these take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from landspeed.base.captures import Capture
from landspeed.base.segments import SegmentReader
from landspeed.base.text import bytes_text
from landspeed.scenario.plan.flow_path import path_of
from landspeed.scenario.plan.plan import Plan

DELAYS = "delays.parquet"
RECORD_BYTES, ETHERNET_HEADER, ACK_BYTES = 16, 14, 52  # of each packet in a pcap file; of Ethernet; of IP and TCP
ACKS = 0.5  # for each packet of data


def disk_bytes(plan: Plan) -> int:
    """Estimate the disk that whole captures take: the goodput that theory expects, at every node of every flow."""
    total = 0.0
    for flow in plan.flows:
        way = path_of(plan, flow)
        transfer, physics = flow.transfer, way.physics
        data = transfer.bytes or physics.expected_goodput_bps * (transfer.duration_ns or 0) / 8e9
        own = RECORD_BYTES + ETHERNET_HEADER
        packet = physics.mss_bytes + ACK_BYTES + own + ACKS * (ACK_BYTES + own)
        total += data / physics.mss_bytes * packet * len(way.nodes)
    return round(total)


def disk_words(plan: Plan) -> str:
    """Say it in a sentence."""
    return f"--capture full: the captures take about {bytes_text(disk_bytes(plan))} on the disk"


def write_delays(folder: Path, names: Sequence[str]) -> None:
    """Write `delays.parquet`: a row for each packet of data, and when each capture saw it.

    A router's capture is behind its queue and the delay of the line that follows: the emulated interface has both. So
    it sees a packet when it reaches the next node.

    Args:
        folder: with the captures.
        names: of the path's nodes.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    ends = ["sender", *(f"hop{number}" for number in range(1, len(names) - 1)), "receiver"]
    files = [folder / f"capture-{end}.pcap" for end in ends]
    source = _source(files[0])
    rows: list[list[int | None]] = []
    known: dict[tuple[bytes, int, int, bytes], list[list[int | None]]] = {}
    for place, file in enumerate(files):
        for each in SegmentReader(Capture(file)):
            if not each.payload or not each.ends.startswith(source):
                continue
            key = (each.ends, each.sequence, each.payload, each.options)  # with its time stamp, so each sending is one
            if place == 0:
                rows.append([each.time_ns, each.sequence, each.payload, *[None] * (len(names) - 1)])
                known.setdefault(key, []).append(rows[-1])
                continue
            row = next((row for row in known.get(key, ()) if row[2 + place] is None), None)
            if row is not None and row[0] is not None:
                row[2 + place] = each.time_ns - row[0]
    columns = ["time_unix_ns", "sequence", "payload_bytes", *(f"{name}_ns" for name in names[1:])]
    data = {name: pa.array([row[number] for row in rows], pa.int64()) for number, name in enumerate(columns)}
    pq.write_table(pa.table(data), folder / DELAYS)  # pyright: ignore[reportUnknownMemberType]


def _source(capture: Path) -> bytes:
    """The address that sent most data."""
    sent: Counter[bytes] = Counter()
    for each in SegmentReader(Capture(capture)):
        sent[each.ends[: (len(each.ends) - 4) // 2]] += each.payload
    return sent.most_common(1)[0][0] if sent else b""
