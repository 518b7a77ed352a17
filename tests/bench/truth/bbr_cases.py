"""The example test cases of the IETF's BBR draft, executable, against the guest's BBR.

The draft (draft-ietf-ccwg-bbr, appendix "BBR Example Test Cases" as of August 2026) describes BBR as its third version
is; Linux has the first (net/ipv4/tcp_bbr.c). So a case is green where what it asks for is seen, and red with the reason
where the first version does something else: that is Linux's, not this network's. A step that is about the network and
what is measured of it (bandwidth, round trips, states reached) must be green.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from . import theory
from .bbr_runs import GOODPUT, POLICED_BPS, RATE_BPS, RTT_S, SLOW_BPS, Model, models

LANES = [theory.Lane(1e-3, 1e9), theory.Lane(RTT_S / 2 - 1e-3, RATE_BPS)]
BDP = RATE_BPS * RTT_S / (1538 * 8)  # packets
NO_LOSS = "version 1 does not look at losses when it looks for bandwidth (no BBR.LossThresh)"
NO_SHORT_TERM = "version 1 has no bw_shortterm, inflight_shortterm or inflight_longterm"
EARLY = "version 1 adds room for three bursts, and takes off what has not left the host (bbr_packets_in_net_at_edt)"
CYCLE = "version 1 goes through eight gains of a round trip each: no REFILL, UP lasts until 1.25 BDP is under way"


@dataclass(frozen=True)
class Step:
    """A thing that a case asks for.

    Attributes:
        wanted: of the draft.
        seen: in the run.
        why: where it is not so, the reason; empty where it must be so.
    """

    wanted: str
    ok: bool
    seen: str
    why: str = ""


@dataclass(frozen=True)
class Case:
    """A case of the draft: its title there, the run that it is read from, and its steps."""

    title: str
    run: str
    steps: Callable[[Model], Iterable[Step]]


def close(seen: float, wanted: float, share: float = 0.02) -> bool:
    return abs(seen / wanted - 1) <= share


def bandwidth(seen_bps: float, line_bps: float, why: str = "") -> Step:
    """The estimate beside the line's payload rate."""
    wanted = line_bps * GOODPUT
    return Step(
        f"the estimated bandwidth is within 2 % of {wanted / 1e6:.3g} Mbit/s",
        close(seen_bps, wanted),
        f"{seen_bps / 1e6:.4g} Mbit/s",
        why,
    )


def leaves(model: Model, rows: list[dict[str, float]], wanted: str, to: str, why: str = "") -> Step:
    """A stretch is followed by a state."""
    after = model.next_after(rows) if rows else ""
    return Step(f"from {wanted} to {to}", after == to, f"to {after or 'no other state'}", why)


def gain(rows: list[dict[str, float]], wanted: float, why: str) -> Step:
    """The pacing gain of a stretch."""
    seen = rows[0]["pacing_gain"] / 256 if rows else 0
    return Step(f"pacing gain {wanted}", close(seen or 9, wanted), f"{seen:.3g}", why)


# --- Startup and drain -----------------------------------------------------------------------------------------------


def startup_plateau(model: Model) -> Iterable[Step]:
    rows = model.stretch("STARTUP")
    yield bandwidth(rows[-1]["bbr_bw"], RATE_BPS)
    # The round that ends it is the first sample of DRAIN.
    growth = [rows[end]["bbr_bw"] for end in model.rounds(rows)] + [rows[-1]["bbr_bw"]]
    flat = sum(after < 1.25 * growth[-4] for after in growth[-3:]) if len(growth) > 3 else 0
    yield Step("three rounds with less than 25 % of growth come before", flat == 3, f"{flat} of the last three")
    yield leaves(model, rows, "STARTUP", "DRAIN")


def startup_loss(model: Model) -> Iterable[Step]:
    rows = model.stretch("STARTUP")
    lost = model.rows[-1]["total_retrans"]
    yield Step("more than 2 % are lost while application-limited", lost > 10, f"{lost} sent again")
    yield Step("STARTUP ends by that", rows[-1]["t"] < 3, f"STARTUP until {rows[-1]['t']:.1f} s", NO_LOSS)


def drain_inflight(model: Model) -> Iterable[Step]:
    rows = model.stretch("DRAIN")
    yield gain(rows, 0.5, "version 1 drains with 1/2.885")
    after = model.stretch(model.next_after(rows), rows[-1]["t"])
    flight = after[0]["unacked"] if after else math.inf
    yield Step("it ends when no more than the BDP is in flight", flight <= BDP, f"{flight} of {BDP:.0f} packets", EARLY)
    yield Step("from DRAIN to PROBE_BW", bool(after) and after[0]["cwnd_gain"] == 512, f"to {model.next_after(rows)}")


def drain_time(model: Model) -> Iterable[Step]:
    rows = model.stretch("DRAIN")
    rounds = len(model.rounds(rows))
    yield Step("the line is 10 % slower from DRAIN on", len(model.notes) == 1, str(model.notes))
    why = "version 1 waits for the BDP alone; its gain of 1/2.885 drains sooner than 0.5"
    yield Step("DRAIN ends after three rounds at most", rounds <= 4, f"{rounds} rounds", why)
    yield Step("and PROBE_BW follows", model.next_after(rows) in ("UP", "CRUISE"), f"to {model.next_after(rows)}")


# --- Probing ---------------------------------------------------------------------------------------------------------


def up_plateau(model: Model) -> Iterable[Step]:
    rows = model.stretch("UP", 3)
    rounds = len(model.rounds(rows))
    yield Step("three rounds with less than 25 % of growth in PROBE_UP", rounds >= 3, f"{rounds} rounds", CYCLE)
    yield leaves(model, rows, "PROBE_UP", "DOWN")
    yield bandwidth(rows[-1]["bbr_bw"], RATE_BPS)


def up_loss_limited(model: Model) -> Iterable[Step]:
    yield from _up_loss(model)


def _up_loss(model: Model) -> Iterable[Step]:
    at_s = model.notes[0][0] if model.notes else 3.0
    rows = next((rows for name, rows in model.stretches() if name == "UP" and rows[-1]["t"] >= at_s), [])
    lost = model.rows[-1]["total_retrans"]
    yield Step("packets are lost in PROBE_UP", lost > 0, f"{lost} sent again")
    yield leaves(model, rows, "PROBE_UP", "DOWN", "application-limited, version 1 stays until 1.25 BDP is under way")
    yield Step("inflight_longterm is lowered", False, "there is none", NO_SHORT_TERM)


def never_limited(model: Model) -> Iterable[Step]:
    rows = model.stretch("STARTUP")
    yield Step("STARTUP lasts while application-limited and nothing is lost", rows[-1]["t"] > 9.5,
               f"until {rows[-1]['t']:.2f} s, when PROBE_RTT was due")  # fmt: skip


def down_inflight(model: Model) -> Iterable[Step]:
    rows = model.stretch("DOWN", 3)
    yield gain(rows, 0.9, "version 1 goes down with 0.75")
    after = model.next_after(rows)
    flight = rows[-1]["unacked"]
    yield Step("it ends when no more than the BDP is in flight", flight <= BDP, f"{flight} of {BDP:.0f} packets", EARLY)
    yield Step("from PROBE_DOWN to PROBE_CRUISE", after == "CRUISE", f"to {after}")


def down_time(model: Model) -> Iterable[Step]:
    at_s = model.notes[0][0] if model.notes else 3.0
    rows = next((rows for name, rows in model.stretches() if name == "DOWN" and rows[-1]["t"] >= at_s), [])
    after = model.next_after(rows)
    took_s = rows[-1]["t"] - rows[0]["t"]
    yield Step("it ends without the queue being drained", took_s < 1, f"after {took_s:.3f} s")
    yield Step("and goes to PROBE_REFILL", after not in ("CRUISE", ""), f"to {after}", CYCLE)


def probe_rtt(model: Model) -> Iterable[Step]:
    rows = model.stretch("PROBE_RTT")
    began_s = rows[0]["t"] if rows else math.inf
    yield Step("PROBE_RTT begins 5 s after the last new minimum", 4.5 < began_s < 6.5, f"at {began_s:.2f} s",
               "version 1: 10 s (bbr_min_rtt_win_sec)")  # fmt: skip
    yield Step("PROBE_RTT is entered", bool(rows), f"at {began_s:.2f} s")
    least = min(row["cwnd"] for row in rows)
    yield Step("the window is half a BDP", close(least, BDP / 2, 0.2), f"{least} packets", "version 1: four packets")
    took_s = rows[-1]["t"] - rows[0]["t"]
    held = [row for row in rows if row["unacked"] <= 4]
    yield Step("for 200 ms and a round trip at least", bool(held) and held[-1]["t"] - held[0]["t"] >= 0.19,
               f"{took_s * 1e3:.0f} ms")  # fmt: skip
    # Two segments leave at once, and the second one's round trip is measured.
    wanted_s = RTT_S + theory.one_way_s(1500, LANES) - RTT_S / 2 + theory.one_way_s(52, LANES) - RTT_S / 2
    wanted_s += LANES[1].takes_s(1500)
    seen_s = rows[-1]["bbr_min_rtt_us"] / 1e6
    yield Step(
        f"the minimum is the path's {wanted_s * 1e3:.2f} ms", close(seen_s, wanted_s, 0.002), f"{seen_s * 1e3:.2f} ms"
    )
    after = model.next_after(rows)
    yield Step("back to PROBE_BW", after in ("UP", "DOWN", "CRUISE"), f"to {after}")


def skipped_probe_rtt(model: Model) -> Iterable[Step]:
    late = model.between(16, 20)
    yield Step("no PROBE_RTT after the pause", all(row["state"] != "PROBE_RTT" for row in late), "none" if all(
        row["state"] != "PROBE_RTT" for row in late) else "PROBE_RTT")  # fmt: skip
    yield bandwidth(late[-1]["bbr_bw"], RATE_BPS)
    moved = model.rate_bps(17, 19.5)
    yield Step("and it sends at the line's rate", moved > 0.95 * RATE_BPS * GOODPUT, f"{moved / 1e6:.4g} Mbit/s")


# --- Aggregation, small and changing lines ---------------------------------------------------------------------------


def aggregated_startup(model: Model) -> Iterable[Step]:
    rows = model.stretch("STARTUP")
    most = max(row["cwnd"] for row in rows)
    yield Step("the window is above two BDP", most > 2 * BDP, f"{most} packets, BDP {BDP:.0f}")
    yield bandwidth(rows[-1]["bbr_bw"], RATE_BPS)


def aggregated_cruise(model: Model) -> Iterable[Step]:
    late = [row for row in model.between(4, 9) if row["state"] == "CRUISE"]
    plain = 2 * (late[-1]["bbr_bw"] / 8 / model.mss) * late[-1]["bbr_min_rtt_us"] / 1e6 + 3 * 2 + 3
    least = min(row["cwnd"] for row in late)
    yield Step(
        "the window is larger by what was acknowledged at once", least > plain, f"{least} packets, {plain:.0f} without"
    )
    moved = model.rate_bps(4, 9)
    yield Step("and the line is full", moved > 0.95 * RATE_BPS * GOODPUT, f"{moved / 1e6:.4g} Mbit/s")


def sub_packet(model: Model) -> Iterable[Step]:
    late = [row for row in model.between(20, 60) if row["state"] != "PROBE_RTT"]
    least = min(row["cwnd"] for row in late)
    yield Step("the window is never below four packets", least >= 4, f"{least}")
    moved = model.rate_bps(20, 60)
    yield Step("and the line is full", moved > 0.95 * SLOW_BPS * GOODPUT, f"{moved / 1e3:.4g} kbit/s")


def ten_times_up(model: Model) -> Iterable[Step]:
    at_s = model.notes[0][0]
    wanted = 9.8 * RATE_BPS * GOODPUT
    reached = next((row["t"] for row in model.rows if row["t"] > at_s and row["bbr_bw"] > wanted), math.inf)
    rounds = (reached - at_s) / RTT_S
    yield Step("the new bandwidth is found", reached < math.inf, f"after {rounds:.0f} round trips")
    few = 4 * math.log2(10 * BDP)
    why = "version 1 asks for a quarter more in each round trip of PROBE_UP"
    yield Step(f"in the order of log(BDP) round trips, say {few:.0f}", rounds <= few, f"{rounds:.0f}", why)


def ten_times_down(model: Model) -> Iterable[Step]:
    at_s = model.notes[1][0]
    yield bandwidth(max(row["bbr_bw"] for row in model.between(at_s - 0.3, at_s)), 10 * RATE_BPS)
    yield Step("bw_shortterm falls at once", False, "there is none", NO_SHORT_TERM)
    yield bandwidth(model.rows[-1]["bbr_bw"], RATE_BPS)


def policed(model: Model) -> Iterable[Step]:
    late = model.between(10, 20)
    sent = late[-1]["data_segs_out"] - late[0]["data_segs_out"]
    lost = late[-1]["total_retrans"] - late[0]["total_retrans"]
    moved = model.rate_bps(10, 20)
    why = "version 1 forgets the policer after 48 round trips and probes again"
    seen = f"{moved / 1e6:.4g} Mbit/s"
    yield Step("it comes to the rate of the tokens", close(moved, POLICED_BPS * GOODPUT, 0.1), seen, why)
    yield Step("and loses little", lost < 0.1 * sent, f"{lost / max(sent, 1):.1%}", why)


# --- Losses that were none -------------------------------------------------------------------------------------------


def spurious(model: Model) -> Iterable[Step]:
    at_s = model.notes[0][0]
    hit = [row for row in model.rows if row["t"] > at_s and row["ca_state"] >= 3]
    why = "RACK waits long enough here: nothing is taken for lost"
    again = f"{model.rows[-1]['total_retrans']} sent again"
    yield Step("recovery begins for packets that were not lost", bool(hit), again, why)
    last = model.rows[-1]
    # The shorter way, on which packets overtook others, has lowered the least round trip.
    asked = 2 * last["bbr_bw"] / 8 / model.mss * last["bbr_min_rtt_us"] / 1e6
    after = max(row["cwnd"] for row in model.rows[-200:])
    yield Step("the window is what the model asks for again", after >= asked, f"{after} packets of {asked:.0f}")
    yield bandwidth(model.rows[-1]["bbr_bw"], RATE_BPS)
    states = {row["state"] for row in model.rows[-200:]}
    yield Step("and it is in PROBE_BW as before", states <= {"UP", "DOWN", "CRUISE"}, ", ".join(sorted(states)))


def startup_probe_rtt(model: Model) -> Iterable[Step]:
    rows = model.stretch("PROBE_RTT")
    yield Step("PROBE_RTT comes while STARTUP goes on", bool(rows), f"at {rows[0]['t']:.2f} s" if rows else "never")
    after = model.next_after(rows) if rows else ""
    yield Step("and goes back to STARTUP", after == "STARTUP", f"to {after or 'nothing'}")


def limited_refill(model: Model) -> Iterable[Step]:
    least = min(row["bbr_bw"] for row in model.between(3.2, 7))
    yield Step("samples with nothing to send do not lower the bandwidth", least > 0.97 * RATE_BPS * GOODPUT,
               f"never below {least / 1e6:.4g} Mbit/s")  # fmt: skip
    names = [name for name, _ in model.stretches()]
    yield Step("PROBE_REFILL goes on to PROBE_UP", False, f"{names.count('UP')} times UP, no REFILL", CYCLE)


CASES = [
    Case("Exiting STARTUP on Bandwidth Plateau", "plain", startup_plateau),
    Case("Exiting STARTUP on Loss When Application-Limited", "startup with loss", startup_loss),
    Case("Exiting DRAIN Based on Inflight", "plain", drain_inflight),
    Case("Exiting DRAIN Based on Time", "drain, 10 % slower", drain_time),
    Case("Exiting PROBE_UP on Bandwidth Plateau", "plain", up_plateau),
    Case(
        "Exiting PROBE_UP on Loss When Application-Limited", "probing with loss, application-limited", up_loss_limited
    ),
    Case(
        "Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss",
        "application-limited",
        never_limited,
    ),
    Case("Exiting PROBE_DOWN on Inflight", "plain", down_inflight),
    Case("Exiting PROBE_DOWN After Max Time", "going down, 10 % slower", down_time),
    Case("Entering and Exiting PROBE_RTT", "plain", probe_rtt),
    Case("Skipping PROBE_RTT Due to Application-Limited Sending", "idle", skipped_probe_rtt),
    Case("Achieving Expected STARTUP Bandwidth on a Link With Aggregation", "aggregated", aggregated_startup),
    Case("Achieving Expected Cruise Bandwidth on a Link With Aggregation", "aggregated", aggregated_cruise),
    Case("Correctly Managing Sub-Packet BDPs", "sub-packet", sub_packet),
    Case("Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached", "ten times faster", ten_times_up),
    Case("Decreasing Bandwidth 10x and Ensuring Max Bandwidth Adapts Down", "ten times slower", ten_times_down),
    Case("Handling Token Bucket Policers", "policed", policed),
    Case("Handling Spurious Fast Recovery", "reordered", spurious),
    Case("Handling Spurious RTO Recovery", "delayed past the timeout", spurious),
    Case("Entering and Exiting PROBE_RTT During STARTUP", "application-limited", startup_probe_rtt),
    Case("Handling Loss During PROBE_UP After inflight_longterm is Set", "probing with loss", _up_loss),
    Case("Handling Application-Limited Sending During PROBE_REFILL", "pauses", limited_refill),
]
"""All of the draft's, in its order and with its titles."""


def carry_out(cases: list[Case]) -> list[tuple[Case, list[Step]]]:
    """Make the runs that these cases need, each once, and read the cases from them."""
    made = models(list(dict.fromkeys(case.run for case in cases)))
    return [(case, _steps(case, made[case.run])) for case in cases]


def _steps(case: Case, model: Model) -> list[Step]:
    """A case's steps; a run in which what they look at never was is one that fails."""
    try:
        return list(case.steps(model))
    except (IndexError, ValueError, StopIteration) as error:
        return [Step("the run comes to what the case looks at", False, f"{type(error).__name__}: {error}")]
