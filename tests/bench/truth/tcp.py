"""Questions to Linux's TCP over the emulated path: what RFCs and Linux's own constants say, segment by segment."""

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from landspeed.scenario.plan.plan import Plan

from . import theory
from .classes import MTU, RateClass, tcp_lanes, tcp_links
from .emulated import a_folder, address, ask, plan_over
from .guest.wire import Segment
from .heard import Heard, gaps_s
from .question import Finding, Question, Unasked, exactly, within

INITIAL = 10  # RFC 6928
SEGMENTS = 310  # five rounds of slow start
LOST = 35  # in the third flight
HOLES = (12, 15, 19)  # in the second one
WHEEL = 0.125  # Linux's timer wheel: a long timer is late by up to an eighth (kernel/time/timer.c)
JOINED_S = 5e-7  # what comes closer together the receiving card hands on at once (GRO), for one ACK
TICKS_S = 0.002  # two ticks of HZ = 1000

Judge = Callable[[Heard], Iterable[Finding]]


def granule_s(timer_s: float) -> float:
    """Lateness that Linux's timer wheel allows a timer of this length: 1 ms to 63 ms, 8 ms to 504 ms, 64 ms to 4 s, …

    LVL_GRAN and LVL_START of kernel/time/timer.c, at HZ = 1000.
    """
    granule = 0.001
    while timer_s >= 63 * granule:
        granule *= 8
    return granule


def questions(rate: RateClass, plan: Plan) -> list[Question]:
    """All of them, over `tcp_links`."""
    full = plan.fidelity == "packets"
    found = [_slow_start(rate, plan), _silence(rate, plan)]
    if rate.one_way_s * 2 > 80 * rate.packet_s / 2:
        found.append(_window(rate, plan))
    if full:
        found += [_one_loss(rate, plan), _holes(rate, plan), _closed_window(rate, plan)]
        found += [_acknowledgments(rate, plan), _pacing(rate, plan)]
        if _rtt_s(rate, plan) + 50 * rate.packet_s < theory.cubic_k_s(50) / 2:
            found.append(_cubic(rate, plan))
    return found


def tcp(rate: RateClass, ip: int, fidelity: str) -> list[Finding]:
    """Everything about TCP, of one guest."""
    with a_folder() as folder:
        plan = plan_over(folder, tcp_links(rate), ip, fidelity)
        return ask(plan, questions(rate, plan), folder)


def unasked(rate: RateClass, fidelity: str) -> list[Unasked]:
    """What this class is not asked."""
    found: list[Unasked] = []
    if rate.one_way_s * 2 <= 80 * rate.packet_s / 2:
        found.append(Unasked("TCP: a window in each round trip", "the line holds few packets, and is the limit itself"))
    if fidelity != "packets":
        found.append(Unasked("TCP: losses, SACK, delayed ACK, pacing", "a super-packet is lost or sent as one"))
    return found


def _rtt_s(rate: RateClass, plan: Plan) -> float:
    """Of a full segment and its acknowledgment, alone."""
    lanes, ip = tcp_lanes(rate), plan.ip_version
    ack = theory.IP[ip] + theory.TCP + theory.TIMESTAMPS
    return theory.one_way_s(MTU, lanes) + theory.one_way_s(ack, lanes[::-1])


def _talk(rate: RateClass, plan: Plan, kind: str, judge: Judge, control: str = "reno", **asked: Any) -> Question:
    rtt_s = _rtt_s(rate, plan)
    request = {"kind": kind, "address": address(plan, 0, len(plan.links)), "control": control, "rtt_s": rtt_s}
    request |= {"step_s": rtt_s / 8, "settle_s": 2 * SEGMENTS * rate.packet_s + 10} | asked
    return Question(request, lambda answer: judge(Heard(answer)))


# --- Nothing lost ----------------------------------------------------------------------------------------------------


def _slow_start(rate: RateClass, plan: Plan) -> Question:
    lanes = tcp_lanes(rate)
    wanted_s = theory.handshake_s(plan.ip_version, lanes, lanes[::-1])

    def judge(heard: Heard) -> Iterable[Finding]:
        syn_ns, answer_ns = heard.handshake_ns[:2]
        yield within("TCP: handshake", (answer_ns - syn_ns) / 1e9, wanted_s)
        yield exactly("TCP: MSS", heard.mss, theory.mss(MTU, plan.ip_version))
        rounds, wanted = heard.rounds(), theory.slow_start_rounds(INITIAL, SEGMENTS)
        for seen, theirs in itertools.zip_longest(rounds, wanted, fillvalue=0):
            yield Finding("TCP: slow start doubles", seen, theirs, 0.02 * theirs, "", "an ACK's two segments")
        yield exactly("TCP: nothing sent twice", len(heard.again()), 0)

    return _talk(rate, plan, "slow_start", judge, segments=SEGMENTS)


def _window(rate: RateClass, plan: Plan) -> Question:
    """A third of what the line holds."""
    rtt_s = _rtt_s(rate, plan)
    count = min(int(rtt_s / rate.packet_s / 3), 1000)

    def judge(heard: Heard) -> Iterable[Finding]:
        late = heard.samples[len(heard.samples) // 2 :]
        moved = late[-1]["bytes_acked"] - late[0]["bytes_acked"]
        seen = moved * 8e9 / (late[-1]["time_ns"] - late[0]["time_ns"])
        window = max(sample["snd_wnd"] for sample in late)
        theirs = theory.window_rate_bps(window, heard.mss, rtt_s)
        why = "4 %: two segments share an ACK, and the last one of a burst waits for the next burst's first"
        yield Finding("TCP: a window in each round trip", seen, theirs, 0.04 * theirs, "bit/s", why)
        yield exactly("TCP: bytes beyond the window", max(heard.beyond_window(), 0), 0)

    asked = {"receive_bytes": count * MTU, "segments": 40 * count, "for_s": 24 * rtt_s}
    return _talk(rate, plan, "window", judge, **asked)


def _pacing(rate: RateClass, plan: Plan) -> Question:
    # A quarter of the line, or what a window of forty segments carries: a larger one would have to grow first.
    most_bps = 40 * theory.mss(MTU, plan.ip_version) * 8 / _rtt_s(rate, plan)
    pacing_bps = round(min(rate.rate_bps / 4, most_bps) / 8) * 8

    def judge(heard: Heard) -> Iterable[Finding]:
        theirs = theory.pacing_gap_s(heard.mss, pacing_bps)
        gaps = [gap_s / len(burst) for burst, gap_s in _bursts(heard.firsts()[-200:], theirs / 4)]
        # A host faster than 4 Gbit/s hands its card two segments or more at once.
        mean = sum(gaps) / len(gaps)
        yield Finding("TCP: pacing, mean gap", mean, theirs, max(1e-6, 1e-3 * theirs), "s", "1 µs or 0.1 %")
        slack = "fq's timers may be 10 µs late (net/sched/sch_fq.c); or 0.1 %"
        yield Finding("TCP: pacing, longest gap", max(gaps), theirs, max(1e-5, 1e-3 * theirs), "s", slack)

    return _talk(rate, plan, "slow_start", judge, segments=2 * SEGMENTS, pacing_bps=pacing_bps)


def _bursts(segments: list[Segment], apart_s: float) -> Iterable[tuple[list[Segment], float]]:
    """Segments that left at once, and the time until the next of such."""
    found = [[segments[0]]]
    for before, after in itertools.pairwise(segments):
        if after.time_ns - before.time_ns > apart_s * 1e9:
            found.append([])
        found[-1].append(after)
    for burst, following in itertools.pairwise(found[1:]):  # the first may be a part of one
        yield burst, (following[0].time_ns - burst[0].time_ns) / 1e9


def _acknowledgments(rate: RateClass, plan: Plan) -> Question:
    def judge(heard: Heard) -> Iterable[Finding]:
        begun, first_alone, *pair = (heard.arrival(SEGMENTS + number) for number in (-100, 0, 1, 2))
        # While its window still grows Linux's receiver acknowledges each segment (tcp_grow_window), then each second.
        stream = [each for each in heard.told if begun.time_ns <= each.time_ns < first_alone.time_ns]
        wanted = theory.acknowledgments(100, rate.packet_s)
        if rate.packet_s > JOINED_S:
            yield Finding(
                "TCP: ACKs of 100 segments", len(stream), wanted, 6, "", "the last one of a round waits alone"
            )
        after = [each for each in heard.told if each.time_ns >= first_alone.time_ns]
        seen_s = (after[0].time_ns - first_alone.time_ns) / 1e9
        yield Finding(
            "TCP: ACK of a lone segment", seen_s, theory.DELAYED_ACK_S, TICKS_S, "s", "two ticks of HZ = 1000"
        )
        after_pair = [each for each in heard.told if each.time_ns >= pair[1].time_ns]
        yield within("TCP: ACK of two segments", (after_pair[0].time_ns - pair[1].time_ns) / 1e9, 0)

    return _talk(rate, plan, "acknowledgments", judge, segments=SEGMENTS, receive_bytes=100 * MTU)


# --- Losses ----------------------------------------------------------------------------------------------------------


def _one_loss(rate: RateClass, plan: Plan) -> Question:
    """Fast retransmit (RFC 5681 section 3.2), half the window, and a segment each round from then on."""
    rtt_s = _rtt_s(rate, plan)

    def judge(heard: Heard) -> Iterable[Finding]:
        again = heard.again()
        yield exactly("TCP: one loss, sent again", [heard.number(each) for each in again] == [LOST], True)
        third = heard.duplicates_of(LOST)[2]
        seen_s = (again[0].time_ns - third.time_ns) / 1e9
        early = "at the third ACK that tells of it; RACK's timer (RFC 8985) may be earlier, pacing later by a segment"
        yield Finding("TCP: fast retransmit", seen_s, 0, 2 * rate.packet_s + rtt_s / 50, "s", early)
        lost = next(sample for sample in heard.samples if sample["ca_state"] == 3)
        before = max(sample["cwnd"] for sample in heard.samples if sample["time_ns"] < lost["time_ns"])
        yield Finding(
            "TCP: Reno keeps half", lost["ssthresh"], before / 2, 1 + before * 0.03, "", "ACKs between samples"
        )
        after = [s for s in heard.samples if s["time_ns"] > lost["time_ns"] and s["ca_state"] == 0]
        acked = (after[-1]["bytes_acked"] - after[0]["bytes_acked"]) // heard.mss
        theirs = theory.reno_growth(after[0]["cwnd"], acked)
        yield Finding("TCP: Reno's growth", after[-1]["cwnd"], theirs, 1, "", "a part of a window at either end")

    took_s = 24 * (rtt_s + max(0, 60 * rate.packet_s - rtt_s))
    return _talk(rate, plan, "losses", judge, segments=1600, lost=[LOST], after_s=took_s)


def _cubic(rate: RateClass, plan: Plan) -> Question:
    """The window after a loss, as long as K or a hundred round trips."""
    rtt_s = _rtt_s(rate, plan)

    def judge(heard: Heard) -> Iterable[Finding]:
        lost = next(sample for sample in heard.samples if sample["ca_state"] == 3)
        before = max(sample["cwnd"] for sample in heard.samples if sample["time_ns"] <= lost["time_ns"])
        kept = lost["ssthresh"] / before
        yield Finding("TCP: CUBIC keeps 0.7", kept, theory.CUBIC_BETA, 0.05 + 1 / before, "", "ACKs between samples")
        after = [s for s in heard.samples if s["time_ns"] > lost["time_ns"] and s["ca_state"] == 0]
        begun_ns = after[0]["time_ns"]
        for share in (0.25, 0.5, 0.75, 1):
            sample = after[int((len(after) - 1) * share)]
            since_s = (sample["time_ns"] - begun_ns) / 1e9
            theirs = theory.cubic_window(lost["ssthresh"] / theory.CUBIC_BETA, since_s, sample["rtt_us"] / 1e6)
            yield Finding("TCP: CUBIC's growth", sample["cwnd"], theirs, 0.05 * theirs + 1, "", "5 % and a segment")

    after_s = min(1.25 * theory.cubic_k_s(70), 100 * rtt_s)
    count = int(1.3 * after_s / rtt_s * theory.cubic_window(70, after_s, rtt_s)) + 400
    return _talk(rate, plan, "losses", judge, control="cubic", segments=count, lost=[LOST], after_s=after_s)


def _holes(rate: RateClass, plan: Plan) -> Question:
    """Three holes in one flight: the receiver names what it has (RFC 2018), and only the holes are filled."""

    def judge(heard: Heard) -> Iterable[Finding]:
        yield exactly(
            "TCP: SACK, only the holes are sent again", sorted(map(heard.number, heard.again())) == [*HOLES], True
        )
        told = [each for each in heard.acks if heard.place(each.ack) == HOLES[0] * heard.mss and len(each.sacks) >= 6]
        edges = sorted(heard.place(edge) // heard.mss for edge in told[0].sacks[:6]) if told else []
        inner = [HOLES[0] + 1, HOLES[1], HOLES[1] + 1, HOLES[2], HOLES[2] + 1]
        yield exactly("TCP: SACK blocks are between the holes", edges[:5] == inner, True)
        timeouts = max(sample["backoff"] for sample in heard.samples)
        yield exactly("TCP: SACK, no timeout", timeouts + sum(s["ca_state"] == 4 for s in heard.samples), 0)

    after_s = 20 * (_rtt_s(rate, plan) + 30 * rate.packet_s)
    return _talk(rate, plan, "losses", judge, segments=200, lost=list(HOLES), after_s=after_s)


def _silence(rate: RateClass, plan: Plan) -> Question:
    """The timeout and its doubling (RFC 6298 section 5.5)."""
    lanes = tcp_lanes(rate)
    first_s = theory.first_rto_s(theory.handshake_s(plan.ip_version, lanes, lanes[::-1]))

    def judge(heard: Heard) -> Iterable[Finding]:
        told_s = heard.samples[0]["rto_us"] / 1e6
        late_s = TICKS_S + granule_s(first_s)
        yield Finding(
            "TCP: the timeout after a handshake", told_s, first_s, late_s, "s", "a granule of the timer wheel"
        )
        # The first copy is followed by a loss probe (RFC 8985 section 7.3), then by one after each timeout.
        gaps = gaps_s([each for each in heard.sent if heard.number(each) == 1])[1:]
        for before, after in itertools.pairwise(gaps[:5]):
            yield Finding("TCP: the timeout doubles", after / before, 2, 2 * WHEEL, "", "Linux's timer wheel, 1/8")

    return _talk(rate, plan, "silence", judge, segments=2, for_s=70 * first_s)


def _closed_window(rate: RateClass, plan: Plan) -> Question:
    """Nobody reads: the window closes, is probed ever more seldom, and opens again (RFC 9293 section 3.8.6.1)."""
    asked = 30 * MTU

    def judge(heard: Heard) -> Iterable[Finding]:
        closed_ns = next(each.time_ns for each in heard.acks if each.window == 0)
        opened = [each for each in heard.acks if each.time_ns > closed_ns and each.window]
        shut = [each for each in heard.sent if closed_ns < each.time_ns < opened[0].time_ns]
        yield exactly("TCP: data into a closed window", sum(each.length > 1 for each in shut), 0)
        probes = [each for each in heard.acks if closed_ns < each.time_ns < opened[0].time_ns]
        gaps = gaps_s(probes)[1:6]
        yield Finding("TCP: probes of a closed window", len(gaps) >= 2, True, 0)
        for before, after in itertools.pairwise(gaps):
            yield Finding(
                "TCP: probes come half as often", after / before, 2, 2 * WHEEL, "", "Linux's timer wheel, 1/8"
            )
        arrived = max(heard.place(each.seq) + each.length for each in heard.came)
        yield exactly("TCP: all arrives when it opens", arrived // heard.mss, SEGMENTS)

    for_s = 120 * max(_rtt_s(rate, plan), 0.3) + 2 * SEGMENTS * rate.packet_s
    return _talk(rate, plan, "closed_window", judge, segments=SEGMENTS, receive_bytes=asked, idle=True, for_s=for_s)
