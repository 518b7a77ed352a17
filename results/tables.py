"""The report's tables and notes, as plain rows of text; the template only lays them out."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .record import EventResult, RunRecord
from .wording import DASH, NARROW, bytes_text, grouped, rate_text, signed_percent, tolerance_text

if TYPE_CHECKING:
    from ..scenarios.plan import Expect, Plan, RecordedHop


RTT_FLOOR_MS = 0.05  # what a hop next door may be off by (emu's calibration uses the same)


@dataclass
class Table:
    """A table: cells are text; `marks` names rows (by number) that are good or bad."""

    title: str
    header: list[str]
    rows: list[list[str]]
    note: str = ""
    marks: dict[int, str] = field(default_factory=dict)
    text_columns: int = 1  # so many columns on the left are words, the rest are figures


@dataclass
class _Check:
    """One measured figure of the calibration against the plan; `floor` is the least error that counts."""

    name: str
    expected: float | None
    measured: float | None
    unit: str
    tolerance: float
    floor: float = 0.0

    @property
    def ok(self) -> bool:
        if self.expected is None or self.measured is None:
            return False
        return abs(self.measured - self.expected) <= max(self.tolerance * abs(self.expected), self.floor)

    def cells(self) -> list[str]:
        digits = 0 if self.unit == "B" else 3
        figures = [
            DASH if value is None else f"{value:,.{digits}f}".replace(",", NARROW)
            for value in (self.expected, self.measured)
        ]
        apart = DASH
        if self.expected and self.measured is not None:
            apart = signed_percent(self.measured / self.expected - 1)
        name = f"{self.name} ({self.unit})"
        return [name, *figures, apart, tolerance_text(self.tolerance), "ok" if self.ok else "off"]


def calibration_table(record: RunRecord, plan: Plan | None) -> Table | None:
    """Expected against measured, end to end: RTT, MTU, rates, queues. The hops are in the traceroutes."""
    calibration = record.calibration
    if calibration is None:
        return None
    checks: list[_Check] = []
    tolerance, rate = calibration.tolerance or 0.0, calibration.rate_tolerance or 0.0
    rtt, planned = calibration.rtt_ms, calibration.rtt_expected_ms
    checks.append(_Check("Round-trip time, end to end", planned, rtt, "ms", tolerance, floor=RTT_FLOOR_MS))
    checks.append(_Check("Path MTU", calibration.mtu_expected_bytes, calibration.path_mtu_bytes, "B", 0.0))
    for name, expected, measured in (
        ("Bottleneck rate, forward", calibration.rate_expected_bps, calibration.rate_bps),
        ("Bottleneck rate, reverse", calibration.rate_reverse_expected_bps, calibration.rate_reverse_bps),
    ):
        if expected is not None:
            seen = None if measured is None else measured / 1e6
            checks.append(_Check(name, expected / 1e6, seen, "Mbit/s", rate))
    for queue in calibration.queue or []:
        if queue.get("expected_bytes") is not None:
            name = f"Queue {link_text(plan, queue['link'], queue['direction'])}"
            seen = queue.get("measured_bytes")
            checks.append(_Check(name, queue["expected_bytes"], seen, "B", 0.01, floor=200_000))
    note = "Rates are of IP packets of full size."
    marks = {number: "good" if check.ok else "bad" for number, check in enumerate(checks)}
    header = ["", "expected", "measured", "error", "tolerance", ""]
    return Table("Calibration", header, [check.cells() for check in checks], note, marks)


def link_text(plan: Plan | None, index: int, direction: str) -> str:
    """`a → b` of a link in a direction."""
    if plan is None:
        return f"of link {index}, {direction}"
    link = plan.links[index]
    return f"{link.a} → {link.b}" if direction == "forward" else f"{link.b} → {link.a}"


def hop_rtt_ms(hop: dict[str, Any]) -> float | None:
    """RTT of a calibrated hop in ms."""
    return hop.get("rtt_ms", hop.get("forward_rtt_ms"))


def traceroute_tables(record: RunRecord, plan: Plan) -> list[Table]:
    """Rehearsed beside recorded, hop by hop, in both directions."""
    if record.calibration is None:
        return []
    expect, tolerance = plan.expect, record.calibration.tolerance or 0.0
    found = []
    for title, hops, recorded in (
        (f"Traceroute from {plan.nodes[0].name}", record.calibration.hops, expect.forward_traceroute if expect else []),
        (
            f"Traceroute from {plan.nodes[-1].name}",
            record.calibration.reverse_hops,
            expect.reverse_traceroute if expect else [],
        ),
    ):
        if not hops:
            continue
        rows, marks = [], {}
        for number in range(max(len(hops), len(recorded))):
            hop = hops[number] if number < len(hops) else {}
            check = _Check("", hop.get("expected_ms"), hop_rtt_ms(hop), "ms", tolerance, floor=RTT_FLOOR_MS)
            _, planned, measured, error, _, _ = check.cells()
            times, router = _recorded_hop(recorded[number] if number < len(recorded) else None)
            error = error if check.measured is None or check.measured > 1 else DASH
            row = [str(number + 1), str(hop.get("node", DASH)), measured, times, planned, error]
            row += [str(hop.get("address") or DASH), router]
            if not recorded:
                row = row[:3] + row[4:7]
            if hop:
                marks[number] = "" if check.ok else "bad"
            rows.append(row)
        header = [
            "hop",
            "node",
            "rehearsed (ms)",
            "recorded (ms)",
            "planned (ms)",
            "error",
            "address",
            "recorded router",
        ]
        if not recorded:
            header = header[:3] + header[4:7]
        found.append(Table(title, header, rows, marks=marks, text_columns=2))
    return found


def _recorded_hop(hop: RecordedHop | None) -> list[str]:
    if hop is None:
        return [DASH, ""]
    below = "<" if hop.below else ""
    times = [f"{below}{rtt:g}" for rtt in hop.rtt_ms]
    return [times[0] if len(set(times)) == 1 else ", ".join(times), hop.label]


def streams_table(record: RunRecord, expect: Expect | None) -> Table | None:
    """Stream by stream, in the columns of NTttcp, and what TCP waited for."""
    if not record.streams:
        return None
    recorded = (expect.streams_goodput_bps if expect else None) or []
    waits = any(stream.busy_us is not None for stream in record.streams)
    header = ["Thread", "Realtime (s)", "Throughput (KB/s)", "Throughput (Mbit/s)"]
    header += ["recorded (Mbit/s)"] if recorded else []
    header += ["retransmits", "least RTT (ms)"] + (["waited for the receiver", "for the send buffer"] if waits else [])
    rows = []
    for number, stream in enumerate(record.streams):
        rate = stream.goodput_bps
        row = [str(stream.stream), _number(stream.duration_s, 3)]
        row += [_number(None if rate is None else rate / 8e3, 3), _number(None if rate is None else rate / 1e6, 3)]
        if recorded:
            row.append(_number(recorded[number] / 1e6, 3) if number < len(recorded) else DASH)
        row += [grouped(stream.retransmits), _number(stream.min_rtt_us / 1e3 if stream.min_rtt_us else None, 3)]
        if waits:
            row += [_part(each, stream.duration_s) for each in (stream.rwnd_limited_us, stream.sndbuf_limited_us)]
        rows.append(row)
    return Table("Stream by stream", header, rows, "KB and Mbit are decimal, as NTttcp counted them.")


def totals_table(record: RunRecord) -> Table | None:
    """The totals that NTttcp prints, as far as they were measured.

    On a virtual clock hosts compute in no time: what NTttcp says of their processors means nothing there.
    """
    if record.bytes is None:
        return None
    sent, received = record.engine.get("packets_sent"), record.engine.get("packets_received")
    calls: list[Any] = [(stream.model_extra or {}).get("sender_calls") for stream in record.streams]
    buffers = sum(map(int, calls)) if calls and None not in calls else None
    rows = [
        ["Total Bytes (MEG)", _number(record.bytes / 1e6, 6)],
        ["Realtime (s)", _number(record.duration_s, 3)],
        ["Average Frame Size (B of payload)", _number(record.bytes / received if received else None, 3)],
        ["Total Throughput (Mbit/s)", _number(record.goodput_bps / 1e6 if record.goodput_bps else None, 3)],
        ["Total Buffers", grouped(buffers)],
        ["Throughput (Buffers/s)", _number(buffers / record.duration_s if buffers and record.duration_s else None, 3)],
        ["Packets Sent", grouped(sent)],
        ["Packets Received", grouped(received)],
        ["Total Retransmits", grouped(record.retransmits)],
        ["Total Errors", "1" if record.engine.get("error") else "0"],
    ]
    if record.clock == "virtual":
        return Table("In total", ["", ""], rows, "Virtual time: hosts compute in none, so no CPU, interrupts, cycles.")
    packets = {"sender": sent, "receiver": received}
    for end, host in (record.engine.get("hosts") or {}).items():
        rows += [[f"{name}, {end}", text] for name, text in _processor_rows(host, packets.get(end))]
    return Table("In total", ["", ""], rows)


def _processor_rows(host: dict[str, Any], packets: int | None) -> list[tuple[str, str]]:
    interrupts = host.get("interrupts")
    source = host.get("cycles_source")
    cycles = _number(host.get("cycles_per_byte"), 3) + (" (estimated)" if source == "estimated" else "")
    return [
        ("Pkts/Intr", _number(packets / interrupts if packets and interrupts else None, 2)),
        ("Intr (count/s)", _number(host.get("interrupts_per_s"), 2)),
        ("Cycles/Byte", cycles),
        ("Avg. CPU %", _number(host.get("cpu_percent"), 2)),
    ]


def window_table(record: RunRecord, plan: Plan) -> Table:
    """Window asked for, granted, and what the path needs."""
    window, streams = record.window, plan.transfer.streams
    each = f"each of {streams} streams" if streams > 1 else "the stream"
    rows = [
        [f"Asked for, {each}", "autotuning" if window.asked_bytes is None else bytes_text(window.asked_bytes)],
        ["Granted to the sender", bytes_text(window.sender_granted_bytes)],
        ["Granted to the receiver", bytes_text(window.receiver_granted_bytes)],
        ["SO_SNDBUF read back (overhead included)", bytes_text(window.sender_sndbuf_bytes)],
        ["SO_RCVBUF read back (overhead included)", bytes_text(window.receiver_rcvbuf_bytes)],
        ["BDP at the reached rate and least RTT, all streams", bytes_text(window.bdp_bytes)],
        ["BDP of the slowest link's line rate", bytes_text(plan.physics.bdp_bytes)],
    ]
    extra = window.model_extra or {}
    if extra.get("advertised_bytes"):
        rows.insert(5, ["Largest window the receiver offered", bytes_text(extra["advertised_bytes"])])
    return Table("Window", ["", ""], rows, window.warning or "")


def limits_table(record: RunRecord, plan: Plan) -> Table:
    """What theory allows, and the part of it that was reached."""
    reached = record.steady_goodput_bps or record.goodput_bps
    rows = [
        [limit.name, rate_text(limit.goodput_bps), f"{reached / limit.goodput_bps * 100:.2f} %" if reached else DASH]
        for limit in sorted(plan.physics.limits, key=lambda each: each.goodput_bps)
    ]
    return Table("Limits of this path", ["limit", "goodput allowed", "reached"], rows)


EVENT_WORDS = {
    "loss": "loss",
    "rate": "line rate",
    "delay": "delay",
    "down": "down",
    "background": "background traffic",
}


def events_table(record: RunRecord, plan: Plan) -> Table | None:
    """What happened to links during the transfer, numbered as in the charts."""
    if not record.events:
        return None
    rows = []
    for number, event in enumerate(record.events, start=1):
        ways = ("forward", "reverse") if event.direction == "both" else (event.direction,)
        where = ", ".join(link_text(plan, event.link, way) for way in ways)
        row = [str(number), EVENT_WORDS.get(event.kind, event.kind), where, f"{event.planned_s:g}"]
        row += [_number(event.at_s, 6), _number(event.until_s, 6), _event_effect(event)]
        rows.append(row)
    header = ["", "event", "where", "planned (s)", "happened (s)", "over (s)", "effect"]
    note = "Times since the start of the transfer. The numbers are those of the dotted lines in the charts."
    return Table("Events", header, rows, note, text_columns=3)


def _event_effect(event: EventResult) -> str:
    if event.at_s is None:
        return "the transfer was over before"
    found = []
    if event.packets_lost is not None:
        found.append(f"{grouped(event.packets_lost)} lost")
    if event.packets_sent is not None:
        found.append(f"{grouped(event.packets_sent)} packets sent")
    return "; ".join([*found, *([event.note] if event.note else [])]) or DASH


def _moderation(record: RunRecord) -> str:
    moderation_ns = record.guest.get("moderation_ns") or 0
    if not moderation_ns:
        return ""
    return (
        f" A link with more than 256 packets under way hands them on up to {moderation_ns / 1000:.0f} µs late (never "
        "more than 1/2048 of its delay), several at once, as a card's interrupt moderation does. The receiving host "
        "joins what comes at once (GRO) and answers it with one ACK."
    )


def notes(record: RunRecord, plan: Plan) -> list[str]:
    """What a reader must know before quoting a figure."""
    found = []
    for node in plan.nodes:
        if node.bus_rate_bps is not None and node.bus_fitted:
            why = f" {node.bus_why.strip()}" if node.bus_why else ""
            found.append(
                f"The bus limit of {node.name} ({rate_text(node.bus_rate_bps)} of IP packets) is fitted to the "
                f"recorded result, so the goodput is reproduced, not predicted.{why}"
            )
    if plan.fidelity == "packets":
        found.append(
            "Fidelity: packets. Segmentation offloads are off; every packet is queued, delayed and lost by itself."
            + _moderation(record)
        )
    else:
        found.append(
            "Fidelity: super-packets. Segmentation offloads are on; up to 180 KB (IPv6: 64 KB) travel as one unit, "
            "so queues fill in coarser steps and one loss can take a whole unit with it."
        )
    if plan.transfer.receive == "discard":
        found.append(
            "The receiver discards the payload inside the kernel (MSG_TRUNC). That is enough for a rehearsal; in a "
            "record attempt data has to reach the application."
        )
    elif plan.transfer.receive == "memory":
        found.append("The receiver copies the payload into its memory.")
    else:
        found.append("The receiver checks every byte: unique pseudo-random data in blocks with a checksum each.")
    if record.clock == "virtual":
        found.append(
            "The clock is virtual: computing takes no time, so a host's processor or bus limits the run only where the "
            "scenario says so."
        )
    stack = record.guest.get("kernel") or record.versions.get("kernel")
    if stack:
        found.append(f"TCP is that of Linux {stack}, whatever system made the record.")
    if plan.expect:
        found.append(f"Recorded figures: {plan.expect.source}.")
    return found


def scenario_words(bundle: Path) -> dict[str, Any]:
    """Description, assumptions and sources from the bundle's copy of the scenario."""
    file = bundle / "scenario.yaml"
    if not file.exists():
        return {}
    from ruamel.yaml import YAML, YAMLError

    try:
        data = YAML(typ="safe").load(file)
    except (YAMLError, OSError, UnicodeDecodeError):
        return {}
    return (
        {key: data[key] for key in ("description", "assumptions", "sources") if data.get(key)}
        if isinstance(data, dict)
        else {}
    )


def configuration(bundle: Path, record: RunRecord) -> list[tuple[str, str, bool]]:
    """Title, text, and whether it is short enough to print, of each part of the exact configuration."""
    found: list[tuple[str, str, bool]] = []
    if (bundle / "scenario.yaml").exists():
        found.append(
            ("Scenario, with everything it extends", (bundle / "scenario.yaml").read_text(errors="replace"), False)
        )
    guest = dict(record.guest)
    for name, title in (
        ("qdiscs", "Queueing disciplines"),
        ("sysctls", "Kernel settings (sysctl)"),
        ("offloads", "Offloads"),
    ):
        if guest.get(name):
            found.append((title, _as_text(guest.pop(name)), False))
    found.append(
        (
            "Versions, kernel, host, addresses",
            _as_text({"versions": record.versions, "guest": guest, "host": record.host}),
            True,
        )
    )
    if record.plan is not None:
        found.append(("Plan", json.dumps(record.plan, indent=1, ensure_ascii=False), False))
    return found


def _as_text(value: Any, pad: str = "") -> str:
    """Nested settings as indented lines; long texts as they are."""
    if isinstance(value, list):
        return "\n".join(_as_text(each, pad) for each in value)
    if not isinstance(value, dict):
        return "\n".join(pad + line for line in str(value).strip("\n").split("\n"))
    lines = []
    for name, each in value.items():
        plain = not isinstance(each, dict | list) and "\n" not in str(each)
        lines.append(f"{pad}{name}: {each}" if plain else f"{pad}{name}:\n{_as_text(each, pad + '  ')}")
    return "\n".join(lines)


def _number(value: float | None, digits: int) -> str:
    return DASH if value is None else f"{value:.{digits}f}"


def _part(wait_us: float | None, duration_s: float | None) -> str:
    return DASH if wait_us is None or not duration_s else f"{wait_us / duration_s / 1e4:.1f} %"
