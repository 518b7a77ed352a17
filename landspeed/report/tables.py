"""The report's tables and notes, as plain rows of text; the template only lays them out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from landspeed.base.json_form import is_array
from landspeed.base.text import (
    DASH,
    NARROW,
    bytes_text,
    grouped,
    percent_of,
    rate_text,
    signed_percent,
    tolerance_text,
)
from landspeed.base.units_text import rate_unit
from landspeed.judge.calibration_checks import calibration_checks, hop_place
from landspeed.results.facts import spun_text
from landspeed.results.record import Check, EventResult, RunRecord
from landspeed.results.tool_result import HostUse, StreamResult

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Expect, Plan
    from landspeed.scenario.plan.recorded import RecordedHop


@dataclass
class Table:
    """A table: cells are text; `marks` names rows (by number) that are good or bad."""

    title: str
    header: list[str]
    rows: list[list[str]]
    note: str = ""
    marks: dict[int, str] = field(default_factory=dict[int, str])
    text_columns: int = 1  # so many columns on the left are words, the rest are figures


NAMES = {"rtt": "Round-trip time, end to end", "mtu": "Path MTU", "rate": "Bottleneck rate, {}", "queue": "Queue {}"}


def checks_of(record: RunRecord, plan: Plan) -> list[Check]:
    """The checks of the calibration; where the record has none, they are made of its figures."""
    if record.calibration is None:
        return []
    return record.calibration.checks or calibration_checks(plan, record.calibration)


def calibration_table(record: RunRecord, plan: Plan) -> Table | None:
    """Expected against measured, end to end: RTT, MTU, rates, queues. The hops are in the traceroutes."""
    checks = [check for check in checks_of(record, plan) if check.name in NAMES]
    if not checks:
        return None
    note = "Rates are of IP packets of full size."
    marks = {number: "good" if check.ok else "bad" for number, check in enumerate(checks)}
    header = ["", "expected", "measured", "error", "tolerance", ""]
    return Table("Calibration", header, [_check_cells(check) for check in checks], note, marks)


def _check_cells(check: Check) -> list[str]:
    size, unit = rate_unit(check.expected) if check.unit == "bit/s" and check.expected else (1, check.unit)
    digits = 0 if unit == "B" else 3
    figures = [
        DASH if value is None else f"{value / size:,.{digits}f}".replace(",", NARROW)
        for value in (check.expected, check.measured)
    ]
    allowed = DASH
    if check.expected and check.allowed is not None:
        allowed = tolerance_text(float(f"{check.allowed / check.expected:.3g}"))
    name = f"{NAMES[check.name].format(check.place)} ({unit})"
    return [name, *figures, _error(check), allowed, "ok" if check.ok else "off"]


def _error(check: Check) -> str:
    return (
        signed_percent(check.measured / check.expected - 1) if check.expected and check.measured is not None else DASH
    )


def link_text(plan: Plan | None, index: int, direction: str) -> str:
    """`a → b` of a link in a direction."""
    if plan is None:
        return f"of link {index}, {direction}"
    link = plan.links[index]
    return f"{link.a} → {link.b}" if direction == "forward" else f"{link.b} → {link.a}"


def traceroute_tables(record: RunRecord, plan: Plan) -> list[Table]:
    """Rehearsed beside recorded, hop by hop, in both directions."""
    if record.calibration is None:
        return []
    expect, calibration = plan.expect, record.calibration
    checks = {check.place: check for check in checks_of(record, plan) if check.name == "hop"}
    found: list[Table] = []
    for origin, hops, recorded in (
        (0, calibration.hops, expect.forward_traceroute if expect else []),
        (plan.hops, calibration.reverse_hops, expect.reverse_traceroute if expect else []),
    ):
        if not hops:
            continue
        title = f"Traceroute from {plan.nodes[origin].name}"
        rows: list[list[str]] = []
        marks: dict[int, str] = {}
        for number in range(max(len(hops), len(recorded))):
            hop = hops[number] if number < len(hops) else {}
            check = checks.get(hop_place(plan, origin, hop["ttl"])) if hop else None
            planned, measured, error = _hop_cells(check)
            times, router = _recorded_hop(recorded[number] if number < len(recorded) else None)
            row = [str(number + 1), str(hop.get("node", DASH)), measured, times, planned, error]
            row += [str(hop.get("address") or DASH), router]
            if not recorded:
                row = row[:3] + row[4:7]
            if hop:
                marks[number] = "" if check and check.ok else "bad"
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


def _hop_cells(check: Check | None) -> tuple[str, str, str]:
    """Planned and measured in ms, and the error where one packet's time is not most of it."""
    if check is None:
        return DASH, DASH, DASH
    measured = DASH if check.measured is None else f"{check.measured:.3f}"
    near = check.measured is not None and check.measured <= 1
    return f"{check.expected:.3f}", measured, DASH if near else _error(check)


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
    mixed = len({stream.congestion_control for stream in record.streams}) > 1
    # As NTttcp has it, but a slow stream in kilobits.
    rates = [stream.goodput_bps for stream in record.streams if stream.goodput_bps]
    size, unit = (1e3, "kbit/s") if rates and max(rates) < 1e6 else (1e6, "Mbit/s")
    header = ["Thread", *(["control"] if mixed else []), "Realtime (s)", "Throughput (KB/s)", f"Throughput ({unit})"]
    header += [f"recorded ({unit})"] if recorded else []
    header += ["retransmits", "least RTT (ms)"] + (["waited for the receiver", "for the send buffer"] if waits else [])
    rows: list[list[str]] = []
    for number, stream in enumerate(record.streams):
        rate = stream.goodput_bps
        row = [str(stream.stream), *([stream.congestion_control or DASH] if mixed else [])]
        row.append(_number(stream.duration_s, 3))
        row += [_number(None if rate is None else rate / 8e3, 3), _number(None if rate is None else rate / size, 3)]
        if recorded:
            row.append(_number(recorded[number] / size, 3) if number < len(recorded) else DASH)
        row += [grouped(stream.retransmits), _number(stream.min_rtt_us / 1e3 if stream.min_rtt_us else None, 3)]
        if waits:
            row += [_part(each, stream.duration_s) for each in (stream.rwnd_limited_us, stream.sndbuf_limited_us)]
        rows.append(row)
    note = "KB and Mbit are decimal, as NTttcp counted them."
    return Table("Stream by stream", header, rows, note, text_columns=2 if mixed else 1)


def controls_table(record: RunRecord) -> Table | None:
    """Tabulate the goodput of the streams of each congestion control; None if all have the same one."""
    groups: dict[str, list[StreamResult]] = {}
    for stream in record.streams:
        groups.setdefault(stream.congestion_control or DASH, []).append(stream)
    whole = sum(stream.bytes or 0 for stream in record.streams)
    if len(groups) < 2:
        return None
    rows: list[list[str]] = []
    for control, streams in groups.items():
        rates = [stream.goodput_bps or 0.0 for stream in streams]
        sent_again = [stream.retransmits for stream in streams if stream.retransmits is not None]
        row = [control, str(len(streams)), rate_text(sum(rates)), rate_text(sum(rates) / len(rates))]
        row += [percent_of(sum(stream.bytes or 0 for stream in streams), whole)]
        rows.append([*row, grouped(sum(sent_again)) if sent_again else DASH])
    header = ["control", "streams", "goodput", "mean of a stream", "of all bytes", "retransmits"]
    return Table("By congestion control", header, rows)


def totals_table(record: RunRecord) -> Table | None:
    """The totals that NTttcp prints, as far as they were measured.

    On a virtual clock hosts compute in no time: what NTttcp says of their processors means nothing there.
    """
    if record.bytes is None:
        return None
    sent, received = record.tool_result.packets_sent, record.tool_result.packets_received
    calls = [stream.sender_calls for stream in record.streams if stream.sender_calls is not None]
    buffers = sum(calls) if calls and len(calls) == len(record.streams) else None
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
        ["Total Errors", "1" if record.tool_result.error else "0"],
    ]
    if record.clock == "virtual":
        return Table("In total", ["", ""], rows, "Virtual time: hosts compute in none, so no CPU, interrupts, cycles.")
    packets = {"sender": sent, "receiver": received}
    for end, host in record.tool_result.hosts.items():
        rows += [[f"{name}, {end}", text] for name, text in _processor_rows(host, packets.get(end))]
    return Table("In total", ["", ""], rows)


def _processor_rows(host: HostUse, packets: int | None) -> list[tuple[str, str]]:
    interrupts = host.interrupts
    cycles = _number(host.cycles_per_byte, 3) + (" (estimated)" if host.cycles_source == "estimated" else "")
    return [
        ("Pkts/Intr", _number(packets / interrupts if packets and interrupts else None, 2)),
        ("Intr (count/s)", _number(host.interrupts_per_s, 2)),
        ("Cycles/Byte", cycles),
        ("Avg. CPU %", _number(host.cpu_percent, 2)),
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
    if window.advertised_bytes:
        rows.insert(5, ["Largest window the receiver offered", bytes_text(window.advertised_bytes)])
    return Table("Window", ["", ""], rows, window.warning or "")


def limits_table(record: RunRecord, plan: Plan) -> Table:
    """Tabulate the limits of theory, and the part of each that was reached."""
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
    """Tabulate the events on links during the transfer, numbered as in the charts."""
    if not record.events:
        return None
    rows: list[list[str]] = []
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
    found: list[str] = []
    if event.packets_lost is not None:
        found.append(f"{grouped(event.packets_lost)} lost")
    if event.packets_sent is not None:
        found.append(f"{grouped(event.packets_sent)} packets sent")
    return "; ".join([*found, *([event.note] if event.note else [])]) or DASH


def _moderation(record: RunRecord) -> str:
    moderation_ns = record.guest.moderation_ns
    if not moderation_ns:
        return ""
    return (
        f" A link with more than 256 packets under way hands them on up to {moderation_ns / 1000:.0f} µs late (never "
        "more than 1/2048 of its delay), several at once, as a card's interrupt moderation does. The receiving host "
        "joins what comes at once (GRO) and answers it with one ACK."
    )


def notes(record: RunRecord, plan: Plan) -> list[str]:
    """List what a reader must know before quoting a figure."""
    found: list[str] = []
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
    if record.guest.spun:
        found.append(f"Virtual time passed for programs that spin: {spun_text(record.guest.spun)}.")
    stack = record.guest.kernel or record.versions.get("kernel")
    if stack:
        found.append(f"TCP is that of Linux {stack}, whatever system made the record.")
    if plan.expect and plan.is_path:
        found.append(f"Recorded figures: {plan.expect.source}.")
    return found


def scenario_words(data: Mapping[str, Any]) -> dict[str, Any]:
    """Description, assumptions and sources of a scenario."""
    lists = {key: [str(each) for each in data[key]] for key in ("assumptions", "sources") if is_array(data.get(key))}
    text = data.get("description")
    return {key: listed for key, listed in lists.items() if listed} | ({"description": str(text)} if text else {})


def _number(value: float | None, digits: int) -> str:
    return DASH if value is None else f"{value:.{digits}f}"


def _part(wait_us: float | None, duration_s: float | None) -> str:
    return DASH if wait_us is None or not duration_s else f"{wait_us / duration_s / 1e4:.1f} %"
