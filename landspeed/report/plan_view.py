"""A plan for people: the path hop by hop, and its physics. Fits 80 columns; from 110 on, recorded names stand beside.

Only this module of the room needs rich.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from landspeed.base.limits import ACK_PATH, PACING, WINDOW
from landspeed.base.units import DISTANCE, RATE, SCORE, SIZE, TIME, format_exact, format_probability, format_round
from landspeed.base.units_text import time_text
from landspeed.report.network_view import network_view, sends_words
from landspeed.scenario.plan.direction import IMPAIRMENTS, Direction, Netem
from landspeed.scenario.plan.plan import Link, Node, Plan
from landspeed.scenario.plan.trace import Trace
from landspeed.scenario.theory import physics as ph
from landspeed.scenario.theory.ack_path import ack_path
from landspeed.scenario.theory.datagrams import datagrams_sent
from landspeed.scenario.theory.queueing import full_queue
from landspeed.scenario.theory.timing import data_rtt_ns, echo_bytes, echo_ns, one_way_ns

WIDE = 110
DASH = "–"


def render_plan(plan: Plan, notes: Sequence[tuple[str, str, str]] = ()) -> RenderableType:
    """The path and the physics, as something rich can print at any width.

    Args:
        plan: to be shown.
        notes: what a world adds: name, value, remark.
    """
    return _PlanView(plan, notes)


class _PlanView:
    def __init__(self, plan: Plan, notes: Sequence[tuple[str, str, str]]) -> None:
        self.plan = plan
        self.notes = notes

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not self.plan.is_path:
            yield network_view(self.plan, self.notes)
            return
        wide = options.max_width >= WIDE
        title = Text(self.plan.title, style="bold")
        facts = f"{self.plan.scenario} · IPv{self.plan.ip_version} · {self.plan.fidelity} · seed {self.plan.seed}"
        yield Group(
            title, Text(facts, style="dim"), Text(), _path_table(self.plan, wide), Text(_legend(self.plan), style="dim")
        )
        if not wide and any(node.label for node in self.plan.nodes):
            yield Group(Text(), Text("Recorded names", style="bold"), _labels(self.plan))
        yield Group(Text(), Text("Physics", style="bold"), _physics_table(self.plan, self.notes))


def _path_table(plan: Plan, wide: bool) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold", show_edge=False)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("node", overflow="fold")
    if wide:
        table.add_column("recorded name", overflow="fold", style="dim")
    for name in ("km", "Σ km", "→ ms", "← ms", "Σ RTT ms", "line rate", "queue", "frame"):
        table.add_column(name, justify="right", no_wrap=True)
    ms = _Milliseconds(plan)
    table.add_row("0", _node(plan.nodes[0]), *_label(plan.nodes[0], wide))
    metres = rtt = 0
    for link in plan.links:
        metres += link.distance_m or 0
        rtt += link.forward.delay_ns + link.reverse.delay_ns
        table.add_row(
            str(link.index + 1),
            _with_details(_node(plan.nodes[link.index + 1]), link),
            *_label(plan.nodes[link.index + 1], wide),
            _km(link.distance_m),
            _km(metres if plan.physics.distance_m is not None else None),
            ms.text(link.forward.delay_ns),
            ms.text(link.reverse.delay_ns),
            ms.text(rtt),
            _both(link, lambda direction: _short_rate(direction.rate_bps)),
            _both(link, _queue),
            f"{link.framing_bytes} B" + (f" {link.cells}" if link.cells else ""),
        )
    return table


class _Milliseconds:
    """Times of one table with the same number of decimals: as many as the finest needs, at most three."""

    def __init__(self, plan: Plan) -> None:
        delays = [direction.delay_ns for link in plan.links for direction in (link.forward, link.reverse)]
        self.decimals = next((d for d in (0, 1, 2) if all(ns % 10 ** (6 - d) == 0 for ns in delays)), 3)

    def text(self, ns: int) -> str:
        """Format a time in milliseconds."""
        return f"{ns / 1e6:.{self.decimals}f}"


def _label(node: Node, wide: bool) -> tuple[str, ...]:
    return (node.label or "",) if wide else ()


def _node(node: Node) -> Text:
    text = Text(node.name, style="cyan" if node.kind == "host" else "")
    if node.bus_rate_bps:
        text.append(
            f"\nbus {format_round(RATE, node.bus_rate_bps)}" + ("\n(fitted)" if node.bus_fitted else ""), style="yellow"
        )
    return text


def _with_details(text: Text, link: Link) -> Text:
    for sign, direction in (("→", link.forward), ("←", link.reverse)):
        if direction.discipline != "fifo":
            text.append(f"\n{sign} {direction.discipline}", style="dim")
        if direction.netem:
            text.append(f"\n{sign} {_netem(direction.netem)}", style="red")
        for name, value in direction.impairments.items():
            text.append(f"\n{sign} {_impairment(name, value)}", style="red")
        if direction.trace:
            text.append(f"\n{sign} trace, {_trace(direction.trace)}", style="red")
    return text


def _netem(netem: Netem) -> str:
    return f"netem {netem.line}" if netem.line else f"jitter is {netem.distribution}"


def _trace(trace: Trace) -> str:
    """Say how long a trace is, and between which rates it moves."""
    length = format_exact(TIME, trace.lasts_ns) + (", again and again" if trace.loops else "")
    if not trace.rate_bps:
        return length
    return f"{length}: {_short_rate(min(trace.rate_bps))} to {_short_rate(max(trace.rate_bps))}"


def _impairment(name: str, value: float) -> str:
    words, kind = name.removesuffix("_ns").replace("_", " "), IMPAIRMENTS[name]
    if kind == "time":
        return f"{words} {format_exact(TIME, int(value))}"
    return f"{words} {format_probability(value)}" if kind == "probability" else f"{words} {value:g} packets"


def _both(link: Link, show: Callable[[Direction], str]) -> str:
    ahead, back = show(link.forward), show(link.reverse)
    return ahead if ahead.strip("()") == back.strip("()") else f"{ahead}\n← {back}"


def _queue(direction: Direction) -> str:
    size = _size(direction.queue_bytes)
    return size if direction.can_queue else f"({size})"


def _size(size_bytes: int) -> str:
    exact = format_exact(SIZE, size_bytes)
    return exact if len(exact) <= 8 else format_round(SIZE, size_bytes)


def _short_rate(rate_bps: int) -> str:
    return format_exact(RATE, rate_bps) if rate_bps % 10**5 == 0 else format_round(RATE, rate_bps)


def _legend(plan: Plan) -> str:
    lines = ["→ ← one-way delay to the receiver and back; Σ from the sender to this node"]
    if any(not link.forward.can_queue for link in plan.links):
        lines.append("a queue in ( ) stays empty: data cannot arrive faster than it leaves")
    if any(direction.trace for link in plan.links for direction in (link.forward, link.reverse)):
        lines.append("trace: rate, delay and loss shown are its means over the transfer")
    return "\n".join(lines)


def _labels(plan: Plan) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_header=False)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", style="dim")
    for index, node in enumerate(plan.nodes):
        if node.label:
            table.add_row(str(index), node.name, node.label)
    return table


def _physics_table(plan: Plan, notes: Sequence[tuple[str, str, str]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, style="bold", justify="right")
    table.add_column(overflow="fold", style="dim")
    for name, value, note in _physics_rows(plan, notes):
        table.add_row(name, value, note)
    return table


def _physics_rows(plan: Plan, notes: Sequence[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
    physics, transfer = plan.physics, plan.transfer
    ahead = sum(link.forward.delay_ns for link in plan.links)
    slowest = min(plan.links, key=lambda link: link.forward.rate_bps)
    mtu = min(link.mtu_bytes for link in plan.links)
    serial = ph.serialization_ns(mtu, slowest.framing_of(mtu), slowest.forward.rate_bps)
    yield "Round-trip time", _ms(physics.rtt_ns) + " ms", f"→ {_ms(ahead)} ms, ← {_ms(physics.rtt_ns - ahead)} ms"
    echo = f"… of a ping, {echo_bytes(plan.ip_version)} B"
    yield echo, time_text(echo_ns(plan)), "with the time to send it on each line, there and back"
    yield "… of a full packet", time_text(data_rtt_ns(plan)), "and its acknowledgment, the same"
    if jitter_ns := sum(way.varies_ns for link in plan.links for way in (link.forward, link.reverse)):
        note = "packets keep their order, so a busy line's mean grows; a lone packet's mean is the one above"
        if any(way.jitters_freely for link in plan.links for way in (link.forward, link.reverse)):
            note = "packets overtake each other, as in netem"
        yield "… with jitter, at most", time_text(data_rtt_ns(plan) + jitter_ns), note
    yield (
        "Full packet on the line",
        time_text(serial),
        f"MTU {mtu} B, MSS {physics.mss_bytes} B; longest of the links",
    )
    yield "BDP", _size(physics.bdp_bytes), f"{_short_rate(slowest.forward.rate_bps)} × RTT"
    if transfer.protocol == "tcp":
        yield _window_row(plan)
    for limit in physics.limits:
        if limit.kind != WINDOW:
            name = "ACK path" if limit.kind == ACK_PATH else limit.kind.capitalize() + " limit"
            stands = f"; they wait in {plan.nodes[-1].name}, which drops none" if limit.kind == ACK_PATH else ""
            yield name, format_round(RATE, limit.goodput_bps), limit.name + limit.after_headers + stands
    if back := _ack_path(plan):
        yield back
    yield (
        "Expected goodput",
        format_round(RATE, physics.expected_goodput_bps),
        f"limit: {physics.expected_bottleneck.name}",
    )
    if queue := full_queue(plan):
        waits = f"{time_text(queue.wait_ns)} in the full queue before {queue.link.a} → {queue.link.b}"
        yield "Round trip under load", time_text(queue.rtt_ns), f"at most: {waits}"
    if physics.distance_m:
        score = ph.score_bit_m_per_s(physics.expected_goodput_bps, physics.distance_m)
        yield "Score", format_round(SCORE, score), f"over {_km(physics.distance_m)} km"
    yield from _datagrams(plan) if transfer.protocol == "udp" else _growth(plan)
    yield "Transfer", _amount(plan), sends_words(transfer) + _expected_time(plan)
    yield from notes
    if plan.expect and plan.expect.goodput_bps:
        share = f" ± {format_probability(plan.expect.goodput_tolerance or 0)}"
        since = f", from {plan.expect.goodput_from_s:g} s on" if plan.expect.goodput_from_s else ""
        yield (
            "To be reached",
            format_round(RATE, plan.expect.goodput_bps),
            f"{share.strip()}{since}; {plan.expect.source}",
        )


def _growth(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """TCP's start, and what a loss costs it."""
    physics, transfer = plan.physics, plan.transfer
    in_use = physics.expected_goodput_bps * physics.rtt_ns // (8 * 10**9 * transfer.streams)
    start = ph.slow_start_ns(in_use, physics.mss_bytes, physics.rtt_ns)
    yield "Slow start", _seconds(start), f"until each stream has {format_round(SIZE, in_use, 3)} in flight"
    reno = ph.reno_recovery_ns(in_use, physics.mss_bytes, physics.rtt_ns)
    cubic = ph.cubic_recovery_ns(in_use, physics.mss_bytes)
    used = ", ".join(transfer.congestion_controls or [transfer.congestion_control])
    yield (
        "After one loss, Reno",
        _seconds(reno),
        "until it is back at that goodput" + (" (used here)" if used == "reno" else ""),
    )
    here = " (used here)" if used == "cubic" else ""
    yield "After one loss, CUBIC", _seconds(cubic), f"until it is back there{here}"


def _datagrams(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Fate of datagrams beside nobody: how many, how long each takes, and the share that finds a queue full."""
    transfer, physics = plan.transfer, plan.physics
    packet = transfer.packet_bytes or 0
    lone_ns = one_way_ns(plan, 0, len(plan.links), packet)
    yield "Datagrams", f"{datagrams_sent(transfer, plan.ip_version)}", f"{physics.mss_bytes} B of payload in {packet} B"
    yield "… one of them takes", time_text(lone_ns), "one way, with the time to send it on each line; alone"
    sent_bps = next(limit.goodput_bps for limit in physics.limits if limit.kind == PACING)
    if sent_bps > physics.line_rate_limit_bps:
        share = 1 - physics.line_rate_limit_bps / sent_bps
        yield (
            "… of which are lost",
            f"{share * 100:.4g} %",
            "once the queue is full: 1 - line rate / rate",
        )


def _ack_path(plan: Plan) -> tuple[str, str, str] | None:
    """The way back where it drops acknowledgments; where it makes them wait it is among the limits."""
    physics = plan.physics
    back = ack_path(
        plan.links,
        mss=physics.mss_bytes,
        ip_version=plan.ip_version,
        fidelity=plan.fidelity,
        line_rate_limit_bps=physics.line_rate_limit_bps,
    )
    if back is None or not back.drops:
        return None
    note = f"in ACKs over {back.place}; beyond it ACKs are dropped"
    return "ACK path", format_round(RATE, back.goodput_bps), note


def _window_row(plan: Plan) -> tuple[str, str, str]:
    physics, transfer = plan.physics, plan.transfer
    streams = "1 stream" if transfer.streams == 1 else f"{transfer.streams} streams"
    if physics.window_limit_bps is None:
        return "Window", "autotuning", "as large as the system lets it become"
    if transfer.window_bytes is None:
        note = f"autotuning: {streams} × 1 GiB, the largest window of TCP"
        return "Window limit", format_round(RATE, physics.window_limit_bps), note
    usable = ph.linux_usable_window_bytes(transfer.window_bytes, physics.mss_bytes, plan.fidelity)
    share = transfer.streams * usable / physics.bdp_bytes if physics.bdp_bytes else 0
    note = f"{streams} × {_size(transfer.window_bytes)} requested (Linux gives about {format_round(SIZE, usable, 3)})"
    note += f" = {share:.2f} × BDP"
    return "Window limit", format_round(RATE, physics.window_limit_bps), note


def _amount(plan: Plan) -> str:
    if plan.transfer.bytes is not None:
        return format_round(SIZE, plan.transfer.bytes)
    return f"{(plan.transfer.duration_ns or 0) / 1e9:g} s"


def _expected_time(plan: Plan) -> str:
    if plan.transfer.bytes is None:
        return ""
    return f", about {plan.transfer.bytes * 8 / plan.physics.expected_goodput_bps:.0f} s at the expected goodput"


def _seconds(ns: int) -> str:
    seconds = ns / 1e9
    return f"{seconds:.3g} s" if seconds < 100 else f"{seconds:.0f} s"


def _km(metres: int | None) -> str:
    if metres is None:
        return DASH
    return f"{metres / 1000:g}" if metres % 1000 == 0 else format_exact(DISTANCE, metres).removesuffix(" km")


def _ms(ns: int) -> str:
    return f"{ns / 1e6:.3f}".rstrip("0").rstrip(".")
