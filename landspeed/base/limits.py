"""Words for what limits a transfer, with a sentence each, and the thresholds by which they are found.

Every command, the engine's telemetry and the documents use these words. `python -m landspeed.base.limits` writes the
engine's part of them, engine/src/telemetry/limit_words.h; docs/reference/limits.md is made from this module.
"""

# The guest imports this: dataclasses and typing are guest/stdlib_stand_ins there.
from __future__ import annotations

from typing import Final, Literal, TypeAlias

# --- Words -----------------------------------------------------------------------------------------------------------

LINE_RATE: Final = "line rate"
SHARED_LINE: Final = "shared line"
TOKEN_BUCKET: Final = "token bucket"
ACK_PATH: Final = "ack path"
LOSS: Final = "loss"
REORDERING: Final = "reordering"
DUPLICATES: Final = "duplicates"
WINDOW: Final = "window"
SEND_BUFFER: Final = "send buffer"
RECEIVER: Final = "receiver"
CONGESTION_WINDOW: Final = "congestion window"
SLOW_START: Final = "slow start"
RTT_PROBING: Final = "RTT probing"
OUTAGE: Final = "outage"
PACING: Final = "pacing"
BUS: Final = "bus"
BUS_FITTED: Final = "bus (fitted)"
SENDER_PROCESSOR: Final = "sender processor"
RECEIVER_PROCESSOR: Final = "receiver processor"
HOST: Final = "host"
APPLICATION: Final = "application"
APPLICATION_WINDOW: Final = "application window"
ROUND_TRIPS: Final = "round trips"
IDLE: Final = "idle"
UNKNOWN: Final = "unknown"
NOT_STATED: Final = "not stated"

PlanLimit: TypeAlias = Literal["window", "bus", "line rate", "token bucket", "pacing", "loss", "ack path"]
"""Limits that theory foresees: `landspeed show`, and the plan."""
RunLimit: TypeAlias = Literal[
    PlanLimit,
    "bus (fitted)",
    "shared line",
    "reordering",
    "duplicates",
    "receiver",
    "send buffer",
    "application",
    "slow start",
    "congestion window",
    "RTT probing",
    "outage",
    "unknown",
]
"""Limits of a whole transfer: `landspeed run`, sweeps, predictions, comparisons, reports."""
ProbeLimit: TypeAlias = Literal[RunLimit, "application window", "round trips", "idle"]
"""Limits of somebody's program, direction by direction: `landspeed probe` and `Path.bound_by`."""
EngineLimit: TypeAlias = Literal[
    "pacing",
    "receiver processor",
    "sender processor",
    "window",
    "send buffer",
    "application",
    "unknown",
]
"""Limits of a stream that the kernel's own clock tells the engine; of the path it knows too little to name a cause."""
ImportLimit: TypeAlias = Literal["line rate", "pacing", "window", "loss", "reordering", "host"]
"""Limits of a measured transfer: `landspeed import`."""
TheoryLimit: TypeAlias = Literal["line rate", "window", "loss"]
"""Limits of the curves on the explore page."""
RecordedLimit: TypeAlias = Literal["window", "line rate", "host", "not stated"]
"""Limits of a record as its documents say: `contest.bound_by` of a scenario."""
LimitWord: TypeAlias = Literal[RunLimit, ProbeLimit, EngineLimit, ImportLimit, RecordedLimit]

MEANINGS: dict[LimitWord, str] = {
    LINE_RATE: "The slowest line is full. Its rate counts headers and gaps between packets, so the goodput is a few "
    "percent lower: 990 Mbit/s of a line of 1 Gbit/s with packets of 9000 bytes.",
    SHARED_LINE: "The flow and others fill a line together; each has a part of it.",
    TOKEN_BUCKET: "A shaper or a policer (`discipline: tbf`) lets through what its token rate allows, and no more.",
    ACK_PATH: "A line back to the sender is full of acknowledgments, so new data waits for them.",
    LOSS: "Lost packets made the congestion window smaller than the path could carry, or cost a timeout.",
    REORDERING: "Packets that others had overtaken were taken for lost, and the congestion window became smaller.",
    DUPLICATES: "A full line carried packets a second time, which are no goodput.",
    WINDOW: "TCP sends as much as the receiver's window allows, then waits a round trip for the acknowledgment. More "
    "window, or more streams, bring more.",
    SEND_BUFFER: "The kernel keeps what is not acknowledged in the send buffer, and that is too small for the path.",
    RECEIVER: "The receiving application reads too slowly, so its window closes although it is large enough.",
    CONGESTION_WINDOW: "The congestion window grows slowly: a delay or a mark ended slow start early, not a loss.",
    SLOW_START: "The transfer was over before TCP's start had brought the window to what the path carries.",
    RTT_PROBING: "BBR keeps almost nothing in flight every ten seconds to measure the round trip (ProbeRTT); that time "
    "is missing.",
    OUTAGE: "An event cut the path, or TCP had not yet grown again after one.",
    PACING: "The sender was told to send at this rate, evenly spaced.",
    BUS: "The bus of a host moves no more.",
    BUS_FITTED: "The bus of a host moves no more; its rate was computed from the recorded result.",
    SENDER_PROCESSOR: "A processor of the sending host is busy all the time.",
    RECEIVER_PROCESSOR: "A processor of the receiving host is busy all the time.",
    HOST: "One of the hosts: its bus, its processor or its disk. Which of them, nothing tells.",
    APPLICATION: "The sending application had nothing to send most of the time: it makes pauses of its own.",
    APPLICATION_WINDOW: "The application keeps no more than so many bytes in flight, by a window of its own (SSH, "
    "HTTP/2, QUIC), although TCP would send more.",
    ROUND_TRIPS: "The application asks and waits for the answer, again and again; each time takes a round trip.",
    IDLE: "There was nothing to send in this direction but small answers.",
    UNKNOWN: "The figures show none of these causes.",
    NOT_STATED: "The documents of a record do not say what limited it.",
}

# --- Thresholds ------------------------------------------------------------------------------------------------------

LARGE_SHARE: Final = 0.5
"""Part of the time above which what TCP waited for is the limit: it took more than all the rest together."""
LIMIT_NEARNESS: Final = 0.02
"""A goodput this close to a limit of the plan is bound by it: start and end of a run cost about so much."""
WINDOW_NEARNESS: Final = 0.10
"""TCP waited for the window, and the goodput is this close to window / RTT: the window; below that a slow reader."""
SHARED_WINDOW_NEARNESS: Final = 0.20
"""The same of MPTCP: Linux fills the one window in bursts, now on this route and now on that."""
PACING_NEARNESS: Final = 0.10
"""A goodput this close to the pace is set by it: short runs and losses stay below."""
FULL_LINE_SHARE: Final = 0.97
"""Part of its rate, headers and gaps included, from which on a line was full: its counters are read between packets."""
OWN_LINE_SHARE: Final = 0.9
"""Part of its rate from which on a line that only one flow uses is full, while a line that others use is full, too."""
BLIND_LINE_SHARE: Final = 0.9
"""The same of BBR: it sends 1.25, 0.75 and 1 times what it has found, in turns."""
QUEUED_SHARE: Final = 0.1
"""Part of what is in flight that waits in a queue from which on its line is busy: less is a burst on its way."""
NEARLY_FULL: Final = 0.9
"""Part of a congestion window from which on it has no room: acknowledgments come in groups."""
LARGE_MISSING: Final = 0.1
"""Part of what a full line allows: if less is missing, the line is the cause; else what is missing has its own."""
PHASE_SHARE: Final = 0.1
"""Part of a run that is told as a phase."""
SHARED_LINE_SHARE: Final = 0.9
"""Part of what a shared line allows after headers: flows that lose and grow again do not fill all of it."""
PROBED_LINE_SHARE: Final = 0.95
"""Part of what a line allows after TCP's headers from which on datagrams fill it: their programs add headers, too."""
THEORY_SHARE: Final = 0.98
"""Part of the line or the window from which on theory's curve is bound by it."""
IMPORTED_LINE_NEARNESS: Final = 0.01
"""A rate on the wire this close to one of Ethernet's, without a queue, is a full line."""
QUEUE_FACTOR: Final = 1.05
"""A smoothed RTT so many times the smallest one shows a standing queue."""
QUEUE_SHARE: Final = 0.03
"""Part of the path's RTT by which a measured one is above it when a queue stood (import): hosts alone vary by less."""
IDLE_WINDOW_FACTOR: Final = 1.2
"""A congestion window so many times what is in flight does not bind (import)."""
FULL_THREAD_SHARE: Final = 0.9
"""Part of the time from which on a thread that computes is the limit (engine)."""
FULL_HOST_PERCENT: Final = 97.0
"""All processors of a host this busy: a thread gets no more, though it runs for half of LARGE_SHARE only (engine)."""
SPURIOUS_FACTOR: Final = 2.0
"""So many times what was dropped was sent again: the rest was only late."""
UNREAD_SHARE: Final = 0.5
"""Part of the window that waits in the receive queue from which on the receiving program does not read."""
PLATEAU_SHARE: Final = 0.6
"""Part of the program's waiting at the same bytes in flight from which on these are a window of its own."""
GRANT_FACTOR: Final = 1.6
"""A window that is granted in halves takes so many times a round trip, at most."""
IDLE_SHARE: Final = 0.02
"""Part of the other direction's bytes below which a direction only asks, acknowledges and grants."""
ROUND_NEARNESS: Final = 0.2
"""A pause this close to a whole number of round trips is a wait for answers."""
HELD_TAILS_SHARE: Final = 0.2
"""Part of a program's round trips from which those that Nagle's algorithm made are told: every fifth would be saved."""
WINDOW_SPREAD: Final = 0.1
"""A window that differs more between round-trip times is none."""
CONSTANT_FACTOR: Final = 1.2
"""A goodput that differs by less, while the RTT grows fourfold, does not depend on round trips."""

# --- The engine's part -----------------------------------------------------------------------------------------------

ENGINE_WORDS: tuple[EngineLimit, ...] = (
    PACING,
    RECEIVER_PROCESSOR,
    SENDER_PROCESSOR,
    WINDOW,
    SEND_BUFFER,
    APPLICATION,
    UNKNOWN,
)
ENGINE_THRESHOLDS = {
    "LARGE_SHARE": LARGE_SHARE,
    "FULL_THREAD_SHARE": FULL_THREAD_SHARE,
    "FULL_HOST_PERCENT": FULL_HOST_PERCENT,
    "QUEUE_FACTOR": QUEUE_FACTOR,
    "PACING_NEARNESS": PACING_NEARNESS,
    "WINDOW_NEARNESS": WINDOW_NEARNESS,
}


def engine_header() -> str:
    """Write the words and thresholds that the engine uses as a C header."""
    names = [f"LIMIT_{word.upper().replace(' ', '_')}" for word in ENGINE_WORDS]
    wide = max(map(len, ENGINE_THRESHOLDS))
    lines = [
        "/* Made by `python -m landspeed.base.limits`, which has the meanings and the reasons. */",
        "#pragma once",
        "",
        *(f"#define {name.ljust(wide)} {value}" for name, value in ENGINE_THRESHOLDS.items()),
        "",
        "enum limit {",
        *(f"\t{name}," for name in names),
        "};",
        "",
        "/* clang-format off */",
        "#define LIMIT_NAMES { \\",
        *(f'\t[{name}] = "{word}", \\' for name, word in zip(names, ENGINE_WORDS, strict=True)),
        "}",
        "/* clang-format on */",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    from pathlib import Path

    (Path(__file__).resolve().parents[2] / "engine/src/telemetry/limit_words.h").write_text(engine_header())
