"""A new scenario file from a few answers: commented, a path of two links with the slow line behind a router."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from landspeed.base.errors import Source
from landspeed.base.units import RATE, SECOND, TIME, UnitError, format_exact, format_round, parse
from landspeed.scenario.file.document import parse_yaml
from landspeed.scenario.file.load import LoadedScenario, check_tree

LEAST_NIC_BPS = 10 * 10**9
GOAL_SHARE = 0.9  # of the line rate: what a goal may be, headers and slow start left out
COMMENT_COLUMN = 25


@dataclass(frozen=True)
class Question:
    """Question for a new scenario: the option, what is asked for, and the answer that is taken without one."""

    option: str
    text: str
    usual: str


QUESTIONS = (
    Question("rate", "line rate from the sender to the receiver, framing included", "1 Gbit/s"),
    Question("back", "line rate of the way back (default: the same)", ""),
    Question("rtt", "round-trip time of the empty path", "50 ms"),
    Question("queue", "buffer in front of the line, in bytes or as a multiple of rate × RTT", "1 BDP"),
    Question("loss", "probability that the line loses a packet", "0 %"),
    Question("mtu", "largest IP packet", "1500 B"),
    Question("streams", "TCP connections in parallel", "1"),
    Question("congestion-control", "congestion control of the sender", "cubic"),
    Question("duration", "how long to send", "10 s"),
)


def template(name: str, answers: Mapping[str, str]) -> str:
    """The file's text. `answers`: by option; what is missing is as usual.

    Raises:
        UnitError: a rate or a time, of which others are computed, cannot be read.
    """
    told = {each.option: answers.get(each.option) or each.usual for each in QUESTIONS}
    back = told["back"] or told["rate"]
    nic = format_exact(RATE, max(LEAST_NIC_BPS, parse(RATE, told["rate"]), parse(RATE, back)))
    rtt_ns = parse(TIME, told["rtt"])
    if not 20 <= rtt_ns <= 1000 * SECOND:
        raise UnitError(f"'{told['rtt']}' is no round-trip time of a path", "write 1 us to 1000 s, such as 50 ms")
    near_ns = rtt_ns // 20 * 2  # of both directions together: an even number, and so is what is left if the whole is
    near, far = (format_exact(TIME, each) for each in (near_ns, rtt_ns - near_ns))
    goal = format_round(RATE, parse(RATE, told["rate"]) * GOAL_SHARE, 3)
    over = "" if back == told["rate"] else f", {back} back"
    text = f"""\
# Made by `landspeed new`: change it as you like. Every quantity has a unit.
#   landspeed check {name}.yaml    is it right?
#   landspeed show {name}.yaml     the path hop by hop, and what theory expects
#   landspeed run {name}.yaml      the transfer, in virtual time
#   landspeed help window{" " * len(name)}    what a key means: here window
format: 1
name: {name} # folders of its results begin with it
title: From sender to receiver, {told["rate"]}{over} over {told["rtt"]}

mtu: {told["mtu"]} # the largest IP packet of every link
queue: {told["queue"]} # the buffer in front of each line; such as 256 kB, or 1 BDP (rate × RTT)

hosts: # the two ends, and the rates of their network cards
  sender: {{role: sender, nic: {nic}}}
  receiver: {{role: receiver, nic: {nic}}}

path: # the links in order; what stands between the hosts is a router. Add links as your path has them
  - {{from: sender, to: router, rtt: {near}, line_rate: {nic}}}
  - from: router # the slow line: its queue stands here
    to: receiver
    rtt: {far} # of both directions together; or one_way_delay
    line_rate: {told["rate"]}
    loss: {told["loss"]} # per packet, in both directions
    reverse: {{line_rate: {back}}} # what differs on the way back

transfer:
  streams: {told["streams"]} # TCP connections in parallel
  congestion_control: {told["congestion-control"]}
  duration: {told["duration"]} # or bytes: 1 GB
  # window: 16 MB         # of each stream; without it the system chooses (autotuning)

# expect:                 # with this, the run fails when it misses the goal
#   goodput: {goal}
#   tolerance: 5 %
#   from: 5 s             # after slow start
#   source: what we want of this path
"""
    return "\n".join(map(_aligned, text.split("\n")))


def check_template(text: str, file: Path) -> LoadedScenario:
    """The scenario of a text that is not written yet. Raises ScenarioError."""
    source = Source(str(file), text.split("\n"))
    tree = parse_yaml(text, source)
    assert tree is not None
    return check_tree(tree, file, ())


def _aligned(line: str) -> str:
    """The line with its comment in the column of all comments."""
    content, sign, comment = line.partition(" # ")
    return f"{content:<{COMMENT_COLUMN}} # {comment}" if content.strip(" #") and sign and "#" not in content else line
