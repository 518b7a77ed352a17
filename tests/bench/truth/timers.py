"""TCP's timers as a truth table: what the kernel's own source says each takes, and what it took.

The arithmetic is that of Linux 6.12: net/ipv4/tcp_timer.c says for how long a timer is set, kernel/time/timer.c when
the wheel lets one fire that was set at a given jiffy. Each step counts from the measured one before it, so a deviation
of a jiffy does not add up.

    python -m tests.bench.truth.timers
"""

import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .emulated import PROGRAM, a_folder, address, answers, plan_over
from .question import Finding

HZ = 1000
LEVELS, LEVEL_SLOTS, LEVEL_SHIFT = 9, 64, 3  # LVL_DEPTH, LVL_SIZE, LVL_CLK_SHIFT
RTO_MAX, TIMEWAIT, DELAYED_ACK = (
    120 * HZ,
    60 * HZ,
    HZ // 25,
)  # include/net/tcp.h: TCP_RTO_MAX, TCP_TIMEWAIT_LEN, TCP_ATO_MIN
JIFFY_S = 1 / HZ
LINKS = [{"one_way_delay": delay, "line_rate": "1 Gbit/s"} for delay in ("1 ms", "9 ms")]


def fires(at: int, after: int) -> int:
    """The jiffy at which a timer fires that is set at one for a number of them (calc_wheel_index, calc_index)."""
    level = next(
        level for level in range(LEVELS) if after < (LEVEL_SLOTS - 1) << (level * LEVEL_SHIFT)
    )  # below LVL_START(level + 1)
    shift = level * LEVEL_SHIFT
    return ((at + after >> shift) + 1) << shift


@dataclass(frozen=True)
class Clock:
    """A tick of the guest: its time, and the count of jiffies from then on."""

    time_ns: int
    jiffies: int

    def jiffy(self, time_ns: int) -> int:
        """The jiffy of a time."""
        return self.jiffies + (time_ns - self.time_ns) // (10**9 // HZ)

    def step(self, name: str, begun_ns: int, ended_ns: int, after: int) -> Finding:
        """A timer that was set and fired, beside the source's arithmetic."""
        wanted = fires(at := self.jiffy(begun_ns), after) - at
        why = f"a jiffy; set for {after * JIFFY_S:g} s"
        return Finding(name, (ended_ns - begun_ns) / 1e9, wanted * JIFFY_S, 1.001 * JIFFY_S, "s", why)

    def chain(self, name: str, times_ns: Sequence[int], after: Iterable[int]) -> Iterator[Finding]:
        """Timers each of which is set when the one before it fires."""
        for (begun_ns, ended_ns), wanted in zip(itertools.pairwise(times_ns), after, strict=True):
            yield self.step(name, begun_ns, ended_ns, wanted)


def syn(clock: Clock, told: Any) -> Iterator[Finding]:
    """tcp_syn_retries 6, of which tcp_syn_linear_timeouts 4 more do not double (tcp_write_timeout)."""
    linear, doubled = [HZ] * 5, [HZ << number for number in range(1, 7)]
    yield from clock.chain("SYN sent again, and given up", [*told["sent_ns"], told["ended_ns"]], linear + doubled)


def syn_ack(clock: Clock, told: Any) -> Iterator[Finding]:
    """tcp_synack_retries 5 (reqsk_timer_handler of inet_connection_sock.c)."""
    yield from clock.chain("SYN-ACK sent again", told["sent_ns"], [HZ << number for number in range(5)])


def backing_off(rto: int, most: int, count: int) -> list[int]:
    """Each timeout is twice the one before it, up to TCP_RTO_MAX (tcp_retransmit_timer)."""
    return [min(rto << number, most) for number in range(count)]


def retransmissions(clock: Clock, told: Any) -> Iterator[Finding]:
    """tcp_retries2 15: given up at the first timeout from 924.6 s after the first retransmission on.

    retransmits_timed_out, tcp_model_timeout: ((2 << 9) - 1) x TCP_RTO_MIN + 6 x TCP_RTO_MAX. Before it goes a tail-loss
    probe, which is no retransmission by timeout.
    """
    times_ns, rto = [*told["sent_ns"][1:], told["ended_ns"]], told["rto_us"] * HZ // 10**6
    yield from clock.chain("data sent again, backing off", times_ns, backing_off(rto, RTO_MAX, len(times_ns) - 1))
    bound_s = ((2 << 9) - 1) * 0.2 + 6 * 120
    first_ns, *_, last_ns, ended_ns = told["sent_ns"][2], *told["sent_ns"][3:], told["ended_ns"]
    early, late = (last_ns - first_ns) / 1e9 < bound_s, (ended_ns - first_ns) / 1e9 >= bound_s - JIFFY_S
    yield Finding("data given up at the first timeout after 924.6 s", early and late, True, 0, "", "924.6 s")


def user_timeout(clock: Clock, told: Any) -> Iterator[Finding]:
    """TCP_USER_TIMEOUT 10 s since the first retransmission bounds each timeout (tcp_clamp_rto_to_user_timeout)."""
    times_ns, rto, limit_ms = [*told["sent_ns"][1:], told["ended_ns"]], told["rto_us"] * HZ // 10**6, 10_000
    after = backing_off(rto, RTO_MAX, len(times_ns) - 1)
    for number in range(1, len(after)):
        elapsed_ms = (times_ns[number] - times_ns[1]) // 10**6
        after[number] = min(after[number], max(limit_ms - elapsed_ms, 1))
    yield from clock.chain("user timeout of 10 s", times_ns, after)


def keepalive(clock: Clock, told: Any) -> Iterator[Finding]:
    """10 s of idling, probes 5 s apart, and the end in place of the fourth (tcp_keepalive_timer)."""
    yield from clock.chain(
        "keepalive 10 s, 3 x 5 s", [*told["sent_ns"], told["ended_ns"]], [10 * HZ, 5 * HZ, 5 * HZ, 5 * HZ]
    )


def _once(name: str, after: int) -> Any:
    def judge(clock: Clock, told: Any) -> Iterator[Finding]:
        yield clock.step(name, told["begun_ns"], told["ended_ns"], after)

    return judge


TIMERS = {
    "syn": syn,
    "syn_ack": syn_ack,
    "retransmissions": retransmissions,
    "user_timeout": user_timeout,
    "keepalive": keepalive,
    "fin_wait_2": _once("FIN-WAIT-2", TIMEWAIT),  # tcp_fin_timeout
    "time_wait": _once("TIME-WAIT", TIMEWAIT),
    "linger": _once("SO_LINGER of 5 s", 5 * HZ),
    "delayed_ack": _once("delayed ACK", DELAYED_ACK),
}


def timers() -> list[Finding]:
    """All of them, of one guest."""
    with a_folder() as folder:
        plan = plan_over(folder, LINKS, 4, "packets")
        requests = [{"kind": kind, "address": address(plan, 0, len(plan.links))} for kind in TIMERS]
        told = answers(plan, requests, folder, PROGRAM.with_name("timers.py"))
    clock = Clock(**told["clock"])
    judged = zip(TIMERS.values(), told["answers"], strict=True)
    return [found for judge, answer in judged for found in judge(clock, answer)]


def main() -> int:
    """Print the table."""
    found = timers()
    rows = {(each.question, each.why): each for each in sorted(found, key=lambda each: abs(each.seen - each.theory))}
    print("| timer | set for | source says | measured | off (the worst) |\n|---|---:|---:|---:|---:|")
    for each in (rows.pop((each.question, each.why)) for each in found if (each.question, each.why) in rows):
        asked = each.why.removeprefix("a jiffy; set for ")
        figures = f"{each.theory:.3f} s | {each.seen:.4f} s" if each.unit else ("yes | yes" if each.ok else "yes | no")
        print(f"| {each.question} | {asked} | {figures} | {each.off} |")
    return 0 if all(each.ok for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())
