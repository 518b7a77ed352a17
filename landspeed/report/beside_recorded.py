"""Recorded beside rehearsed: the rows that summary and report share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from landspeed.base.text import DASH, bytes_text, duration_text, grouped, percent_of, rate_text, scientific
from landspeed.base.units_text import time_text
from landspeed.results.record import RunRecord
from landspeed.results.tool_result import bytes_of_subflows

if TYPE_CHECKING:
    from landspeed.results.flow_result import Figures, FlowResult
    from landspeed.scenario.plan.plan import Expect, Plan

LEAST_QUEUED = 0.01  # of the idle round trip: what waits less is no delay to speak of
COMPLETED = "completed; nothing was expected"
FAR_WORDS = "this is far below"
FAR_BELOW = 0.8  # of what theory allows: a run that reached less is pointed out
MOST_FLOWS = 16  # of a network that are named one by one


@dataclass(frozen=True)
class RecordedRow:
    """One quantity: what was recorded, what was rehearsed, and the second in per cent of the first."""

    name: str
    recorded: str
    rehearsed: str
    share: str = ""


def rows(record: RunRecord, plan: Plan | None) -> list[RecordedRow]:
    """The comparison, in the order in which one reads a record; of a network, the whole and then flow by flow."""
    if record.flows[1:]:
        return _network_rows(record)
    expect = plan.expect if plan else None
    found = [_total(record, expect)]
    if record.steady_goodput_bps is not None:
        found.append(_steady(record, expect))
    if len(record.streams) > 1:
        found.append(RecordedRow("Goodput per stream", _range(recorded_streams(expect)), _range(stream_rates(record))))
    datagrams = [RecordedRow(name, DASH, text) for name, text in datagram_rows(record.whole)]
    found += [
        *datagrams,
        RecordedRow(
            "Data delivered",
            bytes_text(expect.bytes if expect else None),
            bytes_text(record.bytes),
            _share(record.bytes, expect.bytes if expect else None),
        ),
        RecordedRow("Duration", duration_text(recorded_duration_s(expect)), duration_text(record.duration_s)),
        *_completion(record),
        RecordedRow(
            "Round-trip time, idle",
            _ms(expect.rtt_ns / 1e6 if expect and expect.rtt_ns else None, 3 if expect and expect.measured else 0),
            _ms(record.rtt_ms, 3),
        ),
        *_loaded(record),
    ]
    if not datagrams:
        wanted = grouped(expect.retransmits if expect else None)
        found.append(RecordedRow("Retransmits", wanted, grouped(record.retransmits)))
    return [*found, _score(record, expect)] if recorded_score(expect) or record.score_bit_m_per_s else found


def _completion(record: RunRecord) -> list[RecordedRow]:
    """Completion times of a transfer that was too short to settle: these count then, more than its goodput."""
    if record.completion_s is None or record.completion_from_start_s is None or record.steady_goodput_bps is not None:
        return []
    syn, start = (time_text(seconds * 1e9) for seconds in (record.completion_s, record.completion_from_start_s))
    return [RecordedRow("Completed after", DASH, f"{syn} from the first SYN, {start} from the sender's start")]


def _network_rows(record: RunRecord) -> list[RecordedRow]:
    found = [
        ("Goodput, all flows", rate_text(record.goodput_bps)),
        ("Data delivered", bytes_text(record.bytes)),
        ("Duration", duration_text(record.duration_s)),
        ("Retransmits", grouped(record.retransmits)),
    ]
    found += [(row.name, row.rehearsed) for row in _loaded(record)]
    if record.jain_index is not None:
        found.append(("Jain's index", f"{record.jain_index:.4f}"))
    found += [(f"Flow {flow.name}", flow_words(flow)) for flow in record.flows[:MOST_FLOWS]]
    if len(record.flows) > MOST_FLOWS:
        found.append((f"… and {len(record.flows) - MOST_FLOWS} more flows", "in the report"))
    return [RecordedRow(name, DASH, text) for name, text in found]


def flow_words(flow: FlowResult) -> str:
    """A flow in a line: goodput, RTT idle and under load, retransmits, what bound it."""
    parts, moved = [rate_text(flow.goodput_bps)], bytes_of_subflows(flow.streams)
    parts += [f"{' + '.join(percent_of(count, sum(moved)) for count in moved)} by route"] if moved else []
    parts += datagram_words(flow)
    parts += [f"RTT {flow.rtt_ms:.3f} ms idle"] if flow.rtt_ms is not None else []
    if flow.rtt_loaded_median_ms is not None:
        parts.append(f"{flow.rtt_loaded_median_ms:.3f} ms under load (median)")
    if flow.ping_loaded_median_ms is not None and flow.rpm is not None:
        parts.append(f"ping {flow.ping_loaded_median_ms:.3f} ms under load (median), {flow.rpm:.0f} RPM")
    parts += [f"{grouped(flow.retransmits)} retransmits"] if flow.retransmits is not None else []
    parts += [f"bound by {flow.limited_by}"] if flow.limited_by else []
    return ", ".join(parts)


def datagram_rows(flow: Figures) -> list[tuple[str, str]]:
    """Facts of what became of datagrams; empty of TCP."""
    if flow.udp_sent is None:
        return []
    rows = [("Datagrams", f"{grouped(flow.udp_sent)} sent{_lost(flow)}")]
    if flow.udp_delay_mean_ms is not None:
        spread = [
            f"{time_text(1e6 * value)} {name}"
            for name, value in (
                ("mean", flow.udp_delay_mean_ms),
                ("median", flow.udp_delay_p50_ms),
                ("p95", flow.udp_delay_p95_ms),
                ("p99", flow.udp_delay_p99_ms),
            )
            if value is not None
        ]
        rows.append(("One-way delay", ", ".join(spread)))
    if flow.udp_jitter_ms is not None and flow.udp_jitter_mean_ms is not None:
        text = f"{flow.udp_jitter_ms:.3f} ms at the end (RFC 3550), {flow.udp_jitter_mean_ms:.3f} ms in the mean"
        rows.append(("Jitter", text))
    if flow.udp_call_mos is not None:
        rows.append(("Call", f"{flow.udp_call_mos:.2f} (mean opinion of speech, at most 4.41; G.107, G.711)"))
    return rows


def datagram_words(flow: Figures) -> list[str]:
    """Words of the same, few enough for a line among others."""
    if flow.udp_sent is None:
        return []
    words = [f"{percent_of(flow.udp_lost, 1.0)} lost"] if flow.udp_lost is not None else []
    if flow.udp_delay_mean_ms is not None:
        words.append(f"one way {flow.udp_delay_mean_ms:.3f} ms (mean), {flow.udp_delay_p99_ms or 0:.3f} ms (p99)")
    if flow.udp_jitter_mean_ms is not None:
        words.append(f"jitter {flow.udp_jitter_mean_ms:.3f} ms")
    if flow.udp_call_mos is not None:
        words.append(f"MOS {flow.udp_call_mos:.2f}")
    return words


def _lost(flow: Figures) -> str:
    found = [] if flow.udp_lost is None else [f"{percent_of(flow.udp_lost, 1.0)} lost"]
    found += [f"{grouped(flow.udp_reordered)} out of order"] if flow.udp_reordered else []
    found += [f"{grouped(flow.udp_duplicates)} twice"] if flow.udp_duplicates else []
    return "".join(f", {each}" for each in found)


def stream_rates(record: RunRecord) -> list[float]:
    """Goodput of each stream that was measured, in bit/s."""
    return [stream.goodput_bps for stream in record.streams if stream.goodput_bps is not None]


def wanted_word(plan: Plan | None) -> str:
    """Name the figures that a run is compared with: a record's were recorded, others are expected."""
    contest = plan.contest if plan else None
    if plan and plan.expect and plan.expect.measured:
        return "measured"
    return "recorded" if contest and contest.basis != "what if" else "expected"


def outcome_words(record: RunRecord, plan: Plan | None) -> str:
    """Say how a run ended: in a word or, if nothing was expected, in a sentence with what theory says.

    Then it can pass nothing: that the path was as planned and all data came, its verdicts say.
    """
    if record.passed is not True or plan is None or any(flow.expect for flow in plan.flows):
        return {True: "passed", False: "failed", None: "not judged"}[record.passed]
    words, theory_bps = COMPLETED, plan.physics.expected_goodput_bps
    if not plan.is_path or not theory_bps or record.goodput_bps is None:
        return words
    reached_bps = record.steady_goodput_bps or record.goodput_bps
    when = " from 10 s on" if record.steady_goodput_bps else ""
    came = f"{rate_text(reached_bps)}{when} ({percent_of(reached_bps, theory_bps)})"
    far = f"; {FAR_WORDS}" if reached_bps < FAR_BELOW * theory_bps else ""
    return f"{words}. Theory allows {rate_text(theory_bps)}, and {came} came{far}"


def recorded_streams(expect: Expect | None) -> list[float]:
    """Recorded goodput of each stream in bit/s; empty if not recorded."""
    return [float(rate) for rate in (expect.streams_goodput_bps if expect else None) or []]


def recorded_duration_s(expect: Expect | None) -> float | None:
    """Recorded duration in s."""
    return expect.duration_ns / 1e9 if expect and expect.duration_ns else None


def recorded_score(expect: Expect | None) -> float | None:
    """Recorded score in bit·m/s, as submitted or from the recorded rate and distance."""
    if expect is None:
        return None
    if expect.score_bit_m_per_s:
        return float(expect.score_bit_m_per_s)
    if expect.goodput_bps and expect.distance_m:
        return float(expect.goodput_bps * expect.distance_m)
    return None


def _total(record: RunRecord, expect: Expect | None) -> RecordedRow:
    wanted = expect.goodput_bps if expect and not expect.goodput_from_s else None
    reason = record.tool_result.goodput_reason if record.goodput_bps is None else None
    reached = reason or rate_text(record.goodput_bps)
    return RecordedRow("Goodput", rate_text(wanted), reached, _share(record.goodput_bps, wanted))


def _steady(record: RunRecord, expect: Expect | None) -> RecordedRow:
    wanted = expect.goodput_bps if expect and expect.goodput_from_s == 10 else None
    return RecordedRow(
        "Goodput from 10 s on",
        rate_text(wanted),
        rate_text(record.steady_goodput_bps),
        _share(record.steady_goodput_bps, wanted),
    )


def _loaded(record: RunRecord) -> list[RecordedRow]:
    """The round trip under load, and the queue in which packets waited longest; those that are known."""
    found: list[RecordedRow] = []
    if record.rtt_loaded_median_ms is not None:
        text = f"{_ms(record.rtt_loaded_median_ms, 3)} median, {_ms(record.rtt_loaded_p99_ms, 3)} p99"
        found.append(RecordedRow("Round-trip time under load", DASH, text))
    for name, median_ms, p99_ms, lost in (
        ("Ping, idle", record.ping_idle_median_ms, record.ping_idle_p99_ms, None),
        ("Ping under load", record.ping_loaded_median_ms, record.ping_loaded_p99_ms, record.ping_lost),
    ):
        if median_ms is not None:
            more = f", {percent_of(lost, 1.0)} lost" if lost else ""
            found.append(RecordedRow(name, DASH, f"{_ms(median_ms, 3)} median, {_ms(p99_ms, 3)} p99{more}"))
    if record.rpm is not None:
        found.append(RecordedRow("Responsiveness", DASH, f"{record.rpm:.0f} round trips a minute (RPM)"))
    if record.ping_call_mos is not None:
        text = f"{record.ping_call_mos:.2f} (mean opinion of speech, at most 4.41; G.107, G.711)"
        found.append(RecordedRow("A call beside it", DASH, text))
    longest = max(record.queue_delays, key=lambda each: (each.median_ms, each.p99_ms), default=None)
    if longest is not None and longest.p99_ms >= LEAST_QUEUED * (record.rtt_ms or 0.0):
        text = f"{_ms(longest.median_ms, 3)} median, {_ms(longest.p99_ms, 3)} p99"
        found.append(RecordedRow("Longest queue", DASH, f"{longest.source} → {longest.target}, {text}"))
    return found


def _score(record: RunRecord, expect: Expect | None) -> RecordedRow:
    wanted, measured = recorded_score(expect), record.score_bit_m_per_s
    unit = " bit·m/s"
    return RecordedRow(
        "Score",
        scientific(wanted) + (unit if wanted else ""),
        scientific(measured) + (unit if measured else ""),
        _share(measured, wanted),
    )


def _share(value: float | None, whole: float | None) -> str:
    return "" if value is None or not whole else percent_of(value, whole)


def _ms(value: float | None, digits: int) -> str:
    return DASH if value is None else f"{value:.{digits}f} ms"


def _range(rates: list[float]) -> str:
    if not rates:
        return DASH
    size, unit = (1e3, "kbit/s") if max(rates) < 1e6 else (1e6, "Mbit/s")
    low, high = f"{min(rates) / size:.1f}", f"{max(rates) / size:.1f}"
    return f"{low} {unit}" if low == high else f"{low} … {high} {unit}"
