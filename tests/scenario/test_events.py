"""Events and queue disciplines: from the file to the plan, what is refused, what they mean for queues and limits."""

from pathlib import Path
from typing import Any

import pytest

from landspeed.base.errors import ScenarioError
from landspeed.scenario.file.events import KINDS
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.plan.direction import QueueParameters
from landspeed.scenario.plan.plan import Event, Plan
from landspeed.scenario.theory import physics as ph
from landspeed.worlds.emu.guest.shaping.packet_limit import enough_packets, packet_limit
from landspeed.worlds.registry import plan_for

TEXT = """\
format: 1
name: small
title: a small path
mtu: 1500 B
line_rate: 1 Gbit/s
hosts:
  a: {role: sender}
  b: {role: receiver}
path:
  - {from: a, to: r, one_way_delay: 10 ms}
  - {from: r, to: q, one_way_delay: 20 ms}
  - {from: q, to: b, one_way_delay: 5 ms}
transfer: {streams: 1, duration: 10 s, congestion_control: reno}
"""
FORWARD, BOTH = "from: r, to: q", "between: [r, q]"


def plan_with(folder: Path, *events: str, world: str = "sim", overrides: tuple[str, ...] = ()) -> Plan:
    path = folder / "s.yaml"
    listed = "".join(f"  - {{{event}}}\n" for event in events)
    path.write_text(TEXT + ("events:\n" + listed if events else ""))
    return plan_for(load_scenario(path, overrides), world)


def refused(folder: Path, *events: str, world: str = "sim", overrides: tuple[str, ...] = ()) -> str:
    with pytest.raises(ScenarioError) as caught:
        plan_with(folder, *events, world=world, overrides=overrides)
    assert len(caught.value.problems) == 1, str(caught.value)
    return str(caught.value)


def can_queue(plan: Plan) -> list[bool]:
    return [link.forward.can_queue for link in plan.links]


def test_every_kind_in_the_order_in_which_it_happens(tmp_path: Path) -> None:
    plan = plan_with(
        tmp_path,
        f"at: 5 s, background: 300 Mbit/s, for: 1 s, {FORWARD}",
        f"at: 1 s, loss: 3 packets, {FORWARD}",
        "at: 2 s, loss: 12.5 %, for: 100 ms, from: q, to: r",
        f"at: 3 s, line_rate: 100 Mbit/s, for: 2 s, {BOTH}",
        f"at: 4 s, one_way_delay: 30 ms, {FORWARD}",
        "at: 4 s, down: 500 ms, between: [b, q]",
    )
    second = 10**9
    assert plan.events == [
        Event(at_ns=second, kind="loss", link=1, direction="forward", packets=3),
        Event(at_ns=2 * second, kind="loss", link=1, direction="reverse", probability=0.125, duration_ns=10**8),
        Event(at_ns=3 * second, kind="rate", link=1, direction="both", rate_bps=10**8, duration_ns=2 * second),
        Event(at_ns=4 * second, kind="delay", link=1, direction="forward", delay_ns=30_000_000),
        Event(at_ns=4 * second, kind="down", link=2, direction="both", duration_ns=second // 2),
        Event(at_ns=5 * second, kind="background", link=1, direction="forward", rate_bps=3 * 10**8, duration_ns=second),
    ]
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    ("event", "caret", "what", "right"),
    [
        (f"at: -1 s, loss: 1 packet, {FORWARD}", "-1 s", "negative", "write 1 s"),
        (f"at: 1, loss: 1 packet, {FORWARD}", "1", "needs a unit", "1 s"),
        (f"at: 10 s, loss: 1 packet, {FORWARD}", "10 s", "the transfer ends at 10 s", "earlier"),
        (f"at: 1 s, {FORWARD}", "{", "does not say", "one_way_delay"),
        (f"at: 1 s, loss: 1 packet, down: 1 s, {FORWARD}", "down", "both loss and down", "two events"),
        (f"at: 1 s, loss: 1 packet, for: 1 s, {FORWARD}", "for", "at once", "loss: 100 %"),
        (f"at: 1 s, loss: 5 %, {FORWARD}", "loss", "needs a time", "for: 1 s"),
        (f"at: 1 s, loss: 0 packets, {FORWARD}", "0 packets", "not a loss", "1 packet"),
        (f"at: 1 s, loss: 3, {FORWARD}", "3", "needs a unit", "3 packets"),
        (f"at: 1 s, loss: 0 %, for: 1 s, {FORWARD}", "0 %", "not the probability of a loss", "more than 0 %"),
        (f"at: 1 s, loss: 101 %, for: 1 s, {FORWARD}", "101 %", "not the probability of a loss", "at most 100 %"),
        (f"at: 1 s, down: 1500 ms, for: 1 s, {FORWARD}", "for", "time itself", "down: 1.5 s"),
        (f"at: 1 s, background: 1 Mbit/s, {FORWARD}", "background", "needs a time", "for: 10 s"),
        ("at: 1 s, background: 1 Mbit/s, for: 1 s, from: a, to: r", "a", "a is a host", "next router"),
        ("at: 1 s, background: 1 Mbit/s, for: 1 s, between: [q, b]", "[", "b is a host", "next router"),
        ("at: 1 s, loss: 1 packet", "{", "names no link", "between: [a, b]"),
        ("at: 1 s, loss: 1 packet, from: r", "{", "'to' is missing", "from: and to:"),
        (f"at: 1 s, loss: 1 packet, {FORWARD}, {BOTH}", "between", "twice", "keep from and to"),
        ("at: 1 s, loss: 1 packet, from: r, to: x", "x", "no node x", "a, r, q, b"),
        ("at: 1 s, loss: 1 packet, between: [r, x]", "x", "no node x", "a, r, q, b"),
        ("at: 1 s, loss: 1 packet, from: a, to: q", "q", "not neighbours", "write r, next to a"),
        ("at: 1 s, loss: 1 packet, from: r, to: r", "r", "not neighbours", "write a or q, next to r"),
        ("at: 1 s, lost: 1 packet, from: r, to: q", "lost", "unknown key 'lost'", "'loss'"),
    ],
)
def test_refused_with_the_place(tmp_path: Path, event: str, caret: str, what: str, right: str) -> None:
    said = refused(tmp_path, event)
    assert what in said
    assert right in said
    line, carets = said.splitlines()[1:3]
    begin = carets.index("^")
    assert line[begin:].startswith(caret), said


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (f"at: 1 s, line_rate: 1 Mbit/s, for: 2 s, {FORWARD}", f"at: 2 s, line_rate: 2 Mbit/s, {BOTH}"),
        (f"at: 1 s, loss: 1 %, for: 2 s, {FORWARD}", f"at: 2 s, loss: 1 packet, {FORWARD}"),
        (f"at: 1 s, down: 2 s, {BOTH}", "at: 2 s, down: 1 s, from: q, to: r"),
        (f"at: 1 s, loss: 1 packet, {FORWARD}", f"at: 1 s, loss: 2 packets, {FORWARD}"),
        (f"at: 1 s, one_way_delay: 1 ms, for: 9 s, {FORWARD}", f"at: 1500 ms, one_way_delay: 2 ms, {FORWARD}"),
    ],
)
def test_two_of_a_kind_at_once_on_one_direction(tmp_path: Path, first: str, second: str) -> None:
    assert "still holds on this link" in refused(tmp_path, first, second)


def test_what_may_hold_at_once(tmp_path: Path) -> None:
    plan = plan_with(
        tmp_path,
        f"at: 1 s, line_rate: 1 Mbit/s, for: 2 s, {FORWARD}",
        f"at: 1 s, one_way_delay: 1 ms, for: 2 s, {FORWARD}",
        "at: 2 s, line_rate: 1 Mbit/s, for: 2 s, from: q, to: r",
        f"at: 3 s, line_rate: 2 Mbit/s, {FORWARD}",
        f"at: 4 s, line_rate: 3 Mbit/s, {FORWARD}",
        f"at: 4 s, background: 1 Mbit/s, for: 2 s, {FORWARD}",
        f"at: 5 s, background: 1 Mbit/s, for: 2 s, {FORWARD}",
    )
    assert len(plan.events) == 7


def test_with_bytes_an_event_may_come_too_late(tmp_path: Path) -> None:
    event = f"at: 10 h, loss: 1 packet, {FORWARD}"
    plan = plan_with(tmp_path, event, overrides=("transfer.bytes=1 kB",))
    assert plan.events[0].at_ns == 36_000 * 10**9


def test_where_events_make_a_queue_possible(tmp_path: Path) -> None:
    assert can_queue(plan_with(tmp_path)) == [False, False, False]
    slower = f"at: 1 s, line_rate: 999 Mbit/s, for: 1 s, {FORWARD}"
    assert can_queue(plan_with(tmp_path, slower)) == [False, True, False]
    faster = f"at: 1 s, line_rate: 2 Gbit/s, for: 1 s, {FORWARD}"  # what waited nowhere passes no faster than before
    assert can_queue(plan_with(tmp_path, faster)) == [False, False, False]
    background = f"at: 1 s, background: 1 Mbit/s, for: 1 s, {FORWARD}"  # the next link does not see it
    assert can_queue(plan_with(tmp_path, background)) == [False, True, False]
    reroute = f"at: 1 s, one_way_delay: 1 ms, {FORWARD}"  # the first of the short way meet the last of the long one
    assert can_queue(plan_with(tmp_path, reroute)) == [False, False, True]
    back = "at: 1 s, line_rate: 999 Mbit/s, for: 1 s, from: q, to: r"
    assert can_queue(plan_with(tmp_path, back)) == [False, False, False]
    # Slow from the start, fast for a while: then more leaves it than the next link takes.
    burst = ("path.1.line_rate=500 Mbit/s", "path.2.line_rate=600 Mbit/s")
    assert can_queue(plan_with(tmp_path, overrides=burst)) == [False, True, False]
    assert can_queue(plan_with(tmp_path, faster, overrides=burst)) == [False, True, True]


def test_a_queue_ends_what_came_before_it(tmp_path: Path) -> None:
    """What a queue held back leaves it packed together, at the rate of its link: slower than that it was before."""
    background = f"at: 1 s, background: 1 Mbit/s, for: 1 s, {FORWARD}"
    slow_first = ("path.0.line_rate=500 Mbit/s", "path.2.line_rate=600 Mbit/s")
    assert can_queue(plan_with(tmp_path, overrides=slow_first)) == [False, False, False]
    assert can_queue(plan_with(tmp_path, background, overrides=slow_first)) == [False, True, True]


@pytest.mark.parametrize(
    ("where", "copies"),
    [
        (FORWARD, "path.1.duplicate=1 %"),
        (BOTH, "path.1.reverse={duplicate: 1 %}"),
        ("from: q, to: r", "path.1.duplicate=1 %"),  # the reverse is the same unless it says otherwise
    ],
)
def test_a_number_of_packets_cannot_be_lost_among_copies_in_the_guest(tmp_path: Path, where: str, copies: str) -> None:
    event = f"at: 1 s, loss: 2 packets, {where}"
    said = refused(tmp_path, event, world="emu", overrides=(copies,))
    assert "a number of packets cannot be lost where link 2 duplicates, in the world 'emu'" in said
    assert "--world sim" in said
    assert plan_with(tmp_path, event, overrides=(copies,)).events  # the simulator can
    assert plan_with(tmp_path, f"at: 1 s, loss: 50 %, for: 1 s, {where}", world="emu", overrides=(copies,)).events


def test_the_packet_limit_counts_the_longest_delay_and_the_fastest_rate(tmp_path: Path) -> None:
    changed = plan_with(
        tmp_path, f"at: 1 s, one_way_delay: 200 ms, {FORWARD}", f"at: 1 s, line_rate: 2 Gbit/s, {FORWARD}"
    )
    plan = plan_with(tmp_path)
    before, after = plan.links[1], changed.links[1]
    wanted = enough_packets(2 * 10**9, 200_000_000, after.forward.queue_bytes, 38, 4)
    assert packet_limit(changed, after, forward=True) == wanted > packet_limit(plan, before, forward=True)
    assert packet_limit(changed, after, forward=False) == packet_limit(plan, before, forward=False)
    assert after.reverse == before.reverse
    assert changed.physics.rtt_ns == 70_000_000  # the path is calibrated as it is at the start


def test_disciplines(tmp_path: Path) -> None:
    overrides = ("path.1.discipline=red", "path.1.reverse={discipline: fq_codel}", "path.2.discipline=fq_codel")
    plan = plan_with(tmp_path, overrides=overrides)
    assert [(link.forward.discipline, link.reverse.discipline) for link in plan.links] == [
        ("fifo", "fifo"), ("red", "fq_codel"), ("fq_codel", "fq_codel"),
    ]  # fmt: skip
    assert ph.red_thresholds_bytes(1_200_000) == (100_000, 300_000)
    assert plan.links[1].forward.parameters == QueueParameters(
        ecn=True,
        probability=ph.RED_MAX_PROBABILITY,
        weight_log=9,
        **dict(
            zip(("min_bytes", "max_bytes"), ph.red_thresholds_bytes(plan.links[1].forward.queue_bytes), strict=True)
        ),
    )
    assert plan.links[0].forward.parameters is None


def test_red_s_weight_is_what_linux_can_keep(tmp_path: Path) -> None:
    """Of the threshold, also where the file says it: with 1/512 Linux would refuse one of 4 MB. Every world has it."""
    for queue, red, weight_log in (("16 MB", "red", 9), ("64 MB", "red", 7), ("16 MB", "{red: {max: 15 MB}}", 7)):
        plan = plan_with(tmp_path, overrides=(f"path.1.queue={queue}", f"path.1.discipline={red}"))
        parameters = plan.links[1].forward.parameters
        assert parameters and parameters.weight_log == weight_log, (queue, red)


def test_instant_thresholds_are_of_the_queue_itself(tmp_path: Path) -> None:
    """Its average has the weight 1, so it is the queue."""
    red = "path.1.discipline={red: {min: 30280 B, max: 30281 B, probability: 100 %, instant: true}}"
    parameters = plan_with(tmp_path, overrides=("path.1.queue=700 kB", red)).links[1].forward.parameters
    assert parameters == QueueParameters(ecn=True, probability=1, weight_log=0, min_bytes=30_280, max_bytes=30_281)


@pytest.mark.parametrize(
    ("said", "parameters"),
    [
        ("codel", {"target_ns": 5_000_000, "interval_ns": 100_000_000, "ecn": False}),
        ("{codel: {target: 10 ms, ecn: true, ce_threshold: 1 ms}}",
         {"target_ns": 10_000_000, "interval_ns": 100_000_000, "ecn": True, "ce_threshold_ns": 1_000_000}),
        ("{fq_codel: {}}", {"target_ns": 5_000_000, "interval_ns": 100_000_000, "ecn": True, "flows": 1024}),
        ("pie", {"target_ns": 15_000_000, "update_ns": 15_000_000, "alpha": 2, "beta": 20, "ecn": False}),
        ("{fq_pie: {quantum: 3 kB}}", {"target_ns": 15_000_000, "update_ns": 15_000_000, "alpha": 2, "beta": 20,
                                       "ecn": False, "flows": 1024, "quantum_bytes": 3000}),
        ("{dualpi2: {coupling: 3}}", {"target_ns": 15_000_000, "update_ns": 16_000_000, "alpha": 41, "beta": 819,
                                      "ce_threshold_ns": 1_000_000, "coupling": 3, "classic_share": 10}),
        ("{sfq: {perturb: 10 s}}", {"perturb_ns": 10**10, "depth_packets": 127, "flows": 127}),
        ("cake", {"rtt_ns": 100_000_000, "ack_filter": False, "isolation": "triple-isolate"}),
        ("{tbf: {rate: 100 Mbit/s, burst: 30 kB}}", {"rate_bps": 100_000_000, "burst_bytes": 30_000}),
    ],
)  # fmt: skip
def test_each_discipline_has_tc_s_defaults(tmp_path: Path, said: str, parameters: dict[str, Any]) -> None:
    direction = plan_with(tmp_path, world="emu", overrides=(f"path.1.discipline={said}",)).links[1].forward
    assert direction.discipline in said
    assert direction.parameters == QueueParameters(**parameters)


@pytest.mark.parametrize(
    ("discipline", "said"),
    [
        ("foo", "discipline 'foo' is not known"),
        ("{codel: {targt: 1 ms}}", "unknown key 'targt'"),
        ("{codel: {}, pie: {}}", "one name"),
        ("7", "one name"),
        ("{tbf: {rate: 1 Mbit/s}}", "burst"),
        ("{tbf: {rate: 900 Gbit/s, burst: 1 MB}}", "faster than the line"),
        ("{tbf: {rate: 1 Mbit/s, burst: 1 kB}}", "lets no packet"),
        ("{red: {min: 2 kB, max: 1 kB}}", "thresholds"),
        ("{pie: {alpha: 33}}", "32"),
    ],
)
def test_a_discipline_that_cannot_be_is_refused(tmp_path: Path, discipline: str, said: str) -> None:
    assert said in refused(tmp_path, world="emu", overrides=(f"path.1.discipline={discipline}",))


def test_ns3_has_not_all_disciplines_and_says_who_has(tmp_path: Path) -> None:
    said = refused(tmp_path, overrides=("path.1.discipline=cake",))
    assert "queue discipline 'cake' is not in the world 'sim'" in said
    assert "the world emu can (--world emu)" in said


def test_a_world_refuses_what_it_cannot_do_and_names_one_that_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from landspeed.scenario.file.capabilities import Capabilities
    from landspeed.worlds.emu.world import EmuWorld

    fewer = Capabilities(disciplines=("fifo",), events=tuple(set(KINDS) - {"background"}))
    monkeypatch.setattr(EmuWorld, "capabilities", fewer)
    event = f"at: 1 s, background: 1 Mbit/s, for: 1 s, {FORWARD}"
    said = refused(tmp_path, event, world="emu")
    assert "background is not in the world 'emu'" in said
    assert "can (--world sim)" in said
    assert said.splitlines()[0].endswith("s.yaml:15:15: an event of the kind background is not in the world 'emu'")
    said = refused(tmp_path, world="emu", overrides=("path.1.reverse={discipline: red}",))
    assert "queue discipline 'red' is not in the world 'emu'" in said
    assert "the world sim or real can (--world sim)" in said
