"""BBR in the guest: one connection, what is done to it, and what its model says at each step."""

from __future__ import annotations

import socket
import struct
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talk import Talk

# Gains in 1/256, as net/ipv4/tcp_bbr.c has them: pacing, window.
STARTUP, DRAIN, PROBE_RTT = (739, 739), (88, 739), (256, 256)
UP, DOWN = (320, 512), (192, 512)
STATES = {STARTUP: "STARTUP", DRAIN: "DRAIN", PROBE_RTT: "PROBE_RTT", UP: "UP", DOWN: "DOWN", (256, 512): "CRUISE"}


def state(sample: dict[str, int]) -> str:
    """Where the connection is, by its gains."""
    return STATES.get((sample["pacing_gain"], sample["cwnd_gain"]), "?")


def follow(talk: Talk, asked: dict[str, Any]) -> None:
    """Send for `for_s`, and sample each `step_s`.

    The request: `app_bps` (what the application writes; without it all that goes), `app_from_s` (from when on),
    `pauses` ([from, to] in seconds: it writes nothing), `acks_held` ([every, for]: acknowledgments of so long are lost,
    each time, so that the next one stands for all), `changes` (of the line, each when its `at_s` has come, and, where
    it has `state`, that state after it; `again_s` later its `then`).
    """
    from line import Line

    lines: dict[tuple[str, str], Line] = {}
    start = last = time.time()
    waiting, later, held, credit = list(asked.get("changes", [])), list[tuple[float, dict[str, Any]]](), False, 0.0

    def change(told: dict[str, Any]) -> None:
        key = (told["node"], told["device"])
        if key not in lines:
            lines[key] = Line(*key)
        lines[key].change(told)
        talk.notes.append({"time_ns": time.time_ns(), "what": told["what"]})

    while (now := time.time()) - start < asked["for_s"]:
        since = now - start
        sample = talk.sample()
        for told in [each for each in waiting if since >= each["at_s"]]:
            if "state" not in told or state(sample) == told["state"]:
                waiting.remove(told)
                change(told)
                if "then" in told:
                    later.append((since + told["again_s"], told["then"]))
        for due in [each for each in later if since >= each[0]]:
            later.remove(due)
            change(due[1])
        if not any(begin <= since < end for begin, end in asked.get("pauses", [])):
            credit = _write(talk, asked, since, now - last, credit)
        last = now
        if "acks_held" in asked:
            every, so_long = asked["acks_held"]
            held = _hold(talk, held, hold=since % every < so_long)
        time.sleep(asked["step_s"])


def _write(talk: Talk, asked: dict[str, Any], since: float, passed_s: float, credit: float) -> float:
    """Write what the application has; the bytes that it may write later."""
    if "app_bps" in asked and since >= asked.get("app_from_s", 0.0):
        credit += asked["app_bps"] / 8 * passed_s
        segments = int(credit // talk.mss)
        if segments:
            talk.send(segments)
        return credit - segments * talk.mss
    unsent = talk.info()["notsent"]
    if unsent < asked["ahead_bytes"]:
        talk.send((asked["ahead_bytes"] - unsent) / talk.mss)
    return 0.0


def _hold(talk: Talk, held: bool, *, hold: bool) -> bool:
    """Lose acknowledgments at the sender, or take them again."""
    from talk import RET_NOTHING, SO_ATTACH_FILTER, SO_DETACH_FILTER, dropping

    if hold and not held:
        kept, program = dropping([RET_NOTHING])
        talk.sender.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
        del kept
    elif held and not hold:
        talk.sender.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, struct.pack("i", 0))
    return hold


TALKS = {"bbr": follow}
