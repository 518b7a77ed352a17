"""Questions to the simulated wire. Its program carries one transfer over a plan, so each question is a small plan."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.support.sim_fixtures import Simulated, direction, path_plan, simulate

from . import theory
from .classes import JITTER_S, MTU, RateClass, wire_lanes
from .emulated import a_folder
from .question import Finding, Unasked, exactly, within
from .theory import Lane

LINKS = 4  # of the wire's path: the slow ones, whose times are asked for
SENDS_AFTER_S = 1e-9  # ns-3's socket sends a nanosecond after it was given data
ECHO = {4: 84, 6: 104}  # `ping -s 56`
CHANCES = 4000
SEEDS, OVERTAKE = 200, 0.3
BURST, QUEUE_BYTES = 300, 150_700  # no multiple of a packet: nothing just fits
S = 1_000_000_000
UNASKED = [
    Unasked("ECN: packets marked", "the simulated TCP negotiates no ECN"),
    Unasked("MTU: told by ICMP", "no ICMP is simulated: the path MTU is derived from the plan"),
    Unasked("TCP: probes of a closed window", "the simulated application reads at once"),
    Unasked("TCP: SACK blocks are between the holes", "the samples show what was sent again, not the blocks"),
    Unasked("TCP: the timeout after a handshake", "no sample has it"),
    Unasked("TCP: ACK of a lone segment", "the time of an acknowledgment is in no sample"),
]


def lane(ahead: Lane, behind: Lane | None = None, **more: Any) -> dict[str, Any]:
    """A link of a plan."""
    behind = behind or ahead
    reverse = {"delay_ns": round(behind.delay_s * S), "rate_bps": round(behind.rate_bps)}
    return direction(round(ahead.rate_bps), round(ahead.delay_s * S), reverse=reverse, **more)


class Runs:
    """Runs of the simulator, each in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        """None yet."""
        self._folder, self._count = folder, 0

    def run(self, lanes: list[dict[str, Any]], ip: int, *, events: Any = (), **transfer: Any) -> Simulated:
        """Carry one transfer over these links."""
        self._count += 1
        plan = path_plan(lanes, ip=ip, mtu=MTU, **transfer) | {"events": list(events)}
        done = simulate(plan, self._folder / str(self._count))
        if done.status != 0:
            raise RuntimeError(done.error)
        return done


def wire(rate: RateClass, ip: int) -> list[Finding]:
    """Everything about the wire."""
    with a_folder() as folder:
        runs = Runs(folder)
        asked = (_times, _hops, _queue, _chances, _places)
        return [found for each in asked for found in each(rate, ip, runs)]


def _times(rate: RateClass, ip: int, runs: Runs) -> Iterable[Finding]:
    there, back = (lanes[:LINKS] for lanes in wire_lanes(rate))
    headers = theory.IP[ip] + theory.TCP + theory.TIMESTAMPS
    for name, ahead, behind in (("forward", there, back), ("reverse", back[::-1], there[::-1])):
        lanes = [lane(*pair) for pair in zip(ahead, behind, strict=True)]
        for size in (100, 576, MTU):
            run = runs.run(lanes, ip, bytes=size - headers)
            seen_s = run.result["streams"][0]["first_byte_ns"] / S - SENDS_AFTER_S
            yield within(f"one-way delay, {name}", seen_s, theory.one_way_s(size, ahead))
        told = run.result["calibration"]
        line = max(ahead, key=lambda each: each.takes_s(MTU))
        seen_s = MTU * 8 / told["rate_bps"]
        yield Finding("UDP train: a packet's time", seen_s, line.takes_s(MTU), max(1e-9, 1e-4 * seen_s), "s", "0.01 %")


def _hops(rate: RateClass, ip: int, runs: Runs) -> Iterable[Finding]:
    """The echo of each hop, as calibration derives it from the lanes that the transfer has."""
    there, back = (lanes[:LINKS] for lanes in wire_lanes(rate))
    run = runs.run([lane(*pair) for pair in zip(there, back, strict=True)], ip, bytes=1000)
    told = run.result["calibration"]
    yield exactly("traceroute: hops in their order", len(told["hops"]), LINKS)
    wanted_s = 0.0
    for place, hop in enumerate(told["hops"], start=1):
        size = ECHO[ip]
        wanted_s = theory.one_way_s(size, there[:place]) + theory.one_way_s(size, back[:place][::-1])
        yield within("traceroute: each hop's time", hop["rtt_ms"] / 1e3, wanted_s)
    yield within("ping -s", told["rtt_ms"] / 1e3, wanted_s)


def _queue(rate: RateClass, ip: int, runs: Runs) -> Iterable[Finding]:
    fast, slow = Lane(1e-3, rate.fast_bps), Lane(5e-3, rate.rate_bps)
    lanes = [lane(fast), lane(slow, queue_bytes=QUEUE_BYTES), lane(fast)]
    size = theory.mss(MTU, ip)
    run = runs.run(lanes, ip, bytes=BURST * size, initial_window_packets=BURST)
    passes = theory.burst_passes(BURST, MTU, fast.takes_s(MTU), slow.takes_s(MTU), QUEUE_BYTES)
    yield exactly("queue overflow: packets that pass", BURST - run.lane(1)["drops"], passes)
    yield exactly("queue: what is lost is sent again", run.result["bytes"], BURST * size)


def _share(name: str, count: int, tries: int, probability: float) -> Finding:
    mean, allowed = theory.binomial(tries, probability)
    return Finding(name, count, mean, allowed, "", "five standard deviations of a binomial count")


def _chances(rate: RateClass, ip: int, runs: Runs) -> Iterable[Finding]:
    """Losses among background packets at a quarter of the line and the transfer's own; the rest of its own alone.

    Background traffic leaves at the link's far end, where nobody would see it twice or damaged.
    """
    fast = Lane(1e-3, rate.fast_bps)
    sent_bps = round(rate.fast_bps / 4)
    lasts_ns = round(CHANCES * MTU * 8 / sent_bps * S)
    event = {"kind": "background", "at_ns": 1000, "duration_ns": lasts_ns, "rate_bps": sent_bps}
    event |= {"link": 1, "direction": "forward"}
    asked = {"window_bytes": 3000, "duration_ns": lasts_ns + S, "sample_interval_ns": lasts_ns}
    run = runs.run([lane(fast), lane(fast, seed=7, loss=0.02), lane(fast)], ip, events=[event], **asked)
    yield _share("loss", run.lane(1)["drops"], run.result["event_packets"][0] + run.lane(0)["packets"], 0.02)
    for name, key, share in (("duplicates", "duplicate", 0.02), ("corruption", "corrupt", 0.03)):
        lanes = [lane(fast), lane(fast) | {key: share, "seed": 7, "reverse": _plain(fast)}, lane(fast)]
        run = runs.run(lanes, ip, bytes=CHANCES * theory.mss(MTU, ip), sample_interval_ns=lasts_ns)
        entered = run.lane(0)["packets"]
        twice = run.lane(1)["packets"] - entered  # all have left when the last byte is there
        yield _share(name, twice if key == "duplicate" else run.result["corrupted_packets"], entered, share)


def _places(rate: RateClass, ip: int, runs: Runs) -> Iterable[Finding]:
    """One packet, over a link that may reorder and one with jitter, with many seeds."""
    if ip != 4:
        return  # where a packet comes to lie does not depend on its header
    lanes, size = [Lane(1e-3, rate.fast_bps), Lane(10e-3, rate.fast_bps), Lane(5e-3, rate.fast_bps)], 552
    base_s = theory.one_way_s(size, lanes)
    times: list[float] = []
    for seed in range(SEEDS):
        chance = [
            {},
            {"reorder": OVERTAKE, "seed": 2 * seed + 1},
            {"jitter_ns": round(JITTER_S * S), "seed": seed + 900},
        ]
        # Only the way of the data has chances: a lost answer would start another time.
        made = [lane(each) | more | {"reverse": _plain(each)} for each, more in zip(lanes, chance, strict=True)]
        run = runs.run(made, 4, bytes=500, sample_interval_ns=S)
        times.append(run.result["streams"][0]["first_byte_ns"] / S - base_s)
    early = [time + lanes[1].delay_s for time in times if time < -2 * JITTER_S]
    mean, allowed = theory.binomial(SEEDS, OVERTAKE)
    yield Finding("reorder: packets that overtake", len(early), mean, allowed, "", "five standard deviations")
    jitters = [*early, *(time for time in times if time >= -2 * JITTER_S)]
    distance = theory.uniform_distance(jitters, -JITTER_S, JITTER_S)
    why = "Kolmogorov's distance that one of a million passes"
    yield Finding("jitter: distance from uniform", distance, 0, theory.distance_bound(SEEDS), "", why)
    yield Finding("jitter: least", min(jitters), -JITTER_S, JITTER_S / 5, "s", "a fifth of it: one of 200 comes near")
    yield Finding("jitter: most", max(jitters), JITTER_S, JITTER_S / 5, "s", "a fifth of it: one of 200 comes near")


def _plain(one: Lane) -> dict[str, Any]:
    plain: dict[str, Any] = {"delay_ns": round(one.delay_s * S), "rate_bps": round(one.rate_bps)}
    return plain | {"reorder": 0, "jitter_ns": 0, "duplicate": 0, "corrupt": 0}
