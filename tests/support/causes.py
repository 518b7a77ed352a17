"""Runs whose cause is known by construction, and what proves it: without the cause goodput rises, without another not.

The path is a – r – s – b: lines of 1 Gbit/s and one of 100 Mbit/s between r and s, 50 ms there and back, a FIFO of one
bandwidth-delay product. A case changes what it names.
"""

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from landspeed.scenario.file.model import TransferSection

Change = dict[str, Any]
"""Keys of the scenario: "link" (of r – s), "back" (of its way back), "transfer", "hosts", "events", "flows", …"""

FASTER: Change = {"link": {"line_rate": "200 Mbit/s"}}
LARGER: Change = {"transfer": {"window": "32 MB"}}
CLEAN: Change = {"link": {"loss": None, "corrupt": None, "duplicate": None, "reorder": None, "loss_burst": None}}


@dataclass(frozen=True)
class Case:
    """A run, the word that is right, and its counter-proofs.

    Attributes:
        name: of the case.
        cause: the word.
        change: what is different from the path above.
        without: a change that takes the cause away: goodput rises.
        idle: a change that takes another possible cause away: goodput does not rise; None: not tried.
        flow: of a network: the flow that is asked about.
        worlds: in which it is tried.
    """

    name: str
    cause: str
    change: Change
    without: Change
    idle: Change | None = None
    flow: str | None = None
    worlds: tuple[str, ...] = field(default=("sim", "emu"))


def of(**keys: Any) -> Change:
    """Keys of r – s, and keys of the transfer: their names tell them apart."""
    transfer = {key: keys.pop(key) for key in [*keys] if key in TransferSection.model_fields}
    return ({"link": keys} if keys else {}) | ({"transfer": transfer} if transfer else {})


def event_of(at: str, lasts: str | None = None, **event: Any) -> Change:
    return {"events": [{"at": at, "between": ["r", "s"], "for": lasts, **event}]}


BBR, RENO = {"congestion_control": "bbr"}, {"congestion_control": "reno"}
LONG = {"link": {"one_way_delay": "95 ms"}}
QUIET: Change = {"events": None}

PATHS = [
    # --- the line ---
    Case("line, CUBIC", "line rate", {}, FASTER, LARGER),
    Case("line, Reno", "line rate", of(congestion_control="reno"), FASTER, LARGER),
    Case("line, four streams", "line rate", of(streams=4), FASTER, LARGER),
    Case("line, deep queue", "line rate", of(queue="4 BDP"), FASTER, LARGER),
    Case("line, half a BDP", "line rate", of(queue="0.6 BDP"), FASTER, LARGER),
    Case("line, 10 Mbit/s", "line rate", of(line_rate="10 Mbit/s"), of(line_rate="20 Mbit/s"), LARGER),
    Case("line, FQ-CoDel, 12 ms", "line rate", of(discipline="fq_codel", one_way_delay="1 ms"), FASTER, LARGER),
    Case("line, slower for a time", "line rate", event_of("12 s", line_rate="50 Mbit/s", lasts="28 s"), QUIET, LARGER),
    Case("line, a loss in the start", "line rate", event_of("1 s", loss="3 packets"), FASTER, QUIET),
    Case("line, rare losses", "line rate", of(loss="0.0005 %", one_way_delay="5 ms"), FASTER, LARGER),
    # --- the window ---
    Case("window, 200 kB", "window", of(window="200 kB"), LARGER, FASTER),
    Case("window, 500 kB of Reno", "window", of(window="500 kB", congestion_control="reno"), LARGER, FASTER),
    Case("window, BBR", "window", of(window="200 kB", congestion_control="bbr"), LARGER, FASTER),
    Case("window, four streams", "window", of(window="60 kB", streams=4), LARGER, FASTER),
    Case("window, 200 ms", "window", LONG | of(window="800 kB"), LARGER, FASTER),
    Case(
        "window, longer for a time",
        "window",
        of(window="500 kB") | event_of("10 s", one_way_delay="120 ms", lasts="30 s"),
        LARGER,
        FASTER,
    ),
    Case("window, close samples", "window", LONG | of(window="800 kB", sample_interval="10 ms"), LARGER, FASTER),
    Case("window, deep queue", "window", of(window="300 kB", queue="8 BDP"), LARGER, FASTER),
    Case("window, few losses", "window", of(window="100 kB", loss="0.01 %"), LARGER, CLEAN),
    # --- losses ---
    Case("loss 1 %", "loss", of(loss="1 %"), CLEAN, FASTER),
    Case("loss 0.1 %", "loss", of(loss="0.1 %"), CLEAN, FASTER),
    Case("loss 0.1 %, Reno", "loss", of(loss="0.1 %", congestion_control="reno"), CLEAN, LARGER),
    Case("loss 2 %, 14 ms", "loss", of(loss="2 %", one_way_delay="2 ms"), CLEAN, LARGER),
    Case("loss 1 % in bursts", "loss", of(loss="1 %", loss_burst=4), CLEAN, FASTER),
    Case("loss 1 %, four streams", "loss", of(loss="1 %", streams=4), CLEAN, LARGER),
    Case("loss 5 %", "loss", of(loss="5 %"), CLEAN, FASTER),
    Case("corruption 0.5 %", "loss", of(corrupt="0.5 %"), CLEAN, LARGER),
    Case("loss 5 %, BBR", "loss", of(loss="5 %", congestion_control="bbr"), CLEAN, LARGER),
    Case("loss, a short queue", "loss", of(queue="20 kB"), of(queue="1 BDP"), LARGER),
    Case("loss, a short queue, Reno", "loss", of(queue="30 kB", congestion_control="reno"), of(queue="1 BDP"), LARGER),
    Case(
        "loss, a policer",
        "token bucket",
        of(discipline={"tbf": {"rate": "50 Mbit/s", "burst": "50 kB"}}, queue="15 kB"),
        of(discipline=None),
        LARGER,
        worlds=("emu",),
    ),
    # --- not lost, and not used ---
    # Linux learned how far (RFC 8985) in the first 10 s, and the judged time is that of a full line. Over 200 ms, most
    # of which a packet may skip, both ways, it never does. The simulated world refuses all of them.
    Case("reordering 1 %, Linux", "line rate", of(reorder="1 %"), FASTER, LARGER, worlds=("emu",)),
    Case(
        "reordering 3 %, Reno, RACK",
        "line rate",
        of(reorder="3 %", congestion_control="reno"),
        FASTER,
        LARGER,
        worlds=("emu",),
    ),
    Case(
        "reordering 5 %, 200 ms", "reordering", of(reorder="5 %", one_way_delay="95 ms"), CLEAN, LARGER, worlds=("emu",)
    ),
    # another window would be another pattern, which chance makes anything between 54 and 90 Mbit/s
    Case(
        "reordering 1 %, 200 ms, Reno",
        "reordering",
        of(reorder="1 %", one_way_delay="95 ms", congestion_control="reno"),
        CLEAN,
        worlds=("emu",),
    ),
    Case("duplicates 5 %", "duplicates", of(duplicate="5 %"), CLEAN, LARGER),
    Case("duplicates 10 %, Reno", "duplicates", of(duplicate="10 %", congestion_control="reno"), CLEAN, LARGER),
    Case(
        "probing, BBR",
        "RTT probing",
        of(congestion_control="bbr", duration="60 s"),
        of(congestion_control="cubic"),
        LARGER,
    ),
    Case(
        "probing, few losses",
        "RTT probing",
        of(congestion_control="bbr", duration="60 s", loss="0.01 %"),
        FASTER,
        CLEAN,
    ),
    # --- the start, the ends ---
    Case("start, 400 kB", "slow start", LONG | of(duration=None, bytes="400 kB"), of(initial_window=40), FASTER),
    Case(
        "start, 500 kB in six round trips",
        "slow start",
        of(duration=None, bytes="500 kB"),
        of(initial_window=100),
        FASTER,
    ),
    Case(
        "start, 40 kB in two round trips",
        "slow start",
        of(duration=None, bytes="40 kB"),
        of(one_way_delay="10 ms"),
        FASTER,
    ),
    Case("start, 1.2 s", "slow start", LONG | of(duration="1.2 s"), of(initial_window=300), LARGER),
    Case("pacing, 30 Mbit/s", "pacing", of(pacing="30 Mbit/s"), of(pacing=None), LARGER),
    Case("pacing, four streams", "pacing", of(pacing="10 Mbit/s", streams=4), of(pacing=None), FASTER),
    Case("pacing, BBR", "pacing", of(pacing="30 Mbit/s", congestion_control="bbr"), of(pacing=None), FASTER),
    Case(
        "bus of the sender",
        "bus",
        {"hosts": {"a": {"bus": {"rate": "50 Mbit/s"}}}},
        {"hosts": {"a": {"bus": None}}},
        FASTER,
    ),
    Case(
        "bus of the receiver",
        "bus",
        {"hosts": {"b": {"bus": {"rate": "50 Mbit/s"}}}},
        {"hosts": {"b": {"bus": None}}},
        FASTER,
    ),
    # --- the way back ---
    Case(
        "acknowledgments",
        "ack path",
        {"back": {"line_rate": "300 kbit/s", "queue": "10 kB"}},
        {"back": {"line_rate": "10 Mbit/s"}},
        LARGER,
    ),
    # --- marks and delay ---
    Case(
        "marks",
        "congestion window",
        of(
            discipline={"codel": {"target": "1 ms", "interval": "10 ms", "ecn": True}},
            ecn=True,
            congestion_control="reno",
        ),
        of(discipline=None),
        LARGER,
    ),
    # --- cuts ---
    Case("a cut of 8 s", "outage", event_of("10.5 s", down="8 s"), QUIET, LARGER),
    Case(
        "cuts again and again",
        "outage",
        {"events": [{"at": f"{at} s", "between": ["r", "s"], "down": "1 s"} for at in range(10, 38, 4)]},
        QUIET,
        LARGER,
    ),
]

EDGES = [
    {"from": "near", "to": "r", "one_way_delay": "5 ms", "line_rate": "1 Gbit/s"},
    {"from": "far", "to": "r", "one_way_delay": "5 ms", "line_rate": "1 Gbit/s"},
    {"from": "r", "to": "s", "one_way_delay": "15 ms", "line_rate": "100 Mbit/s", "queue": "500 kB"},
    {"from": "s", "to": "near-sink", "one_way_delay": "5 ms", "line_rate": "1 Gbit/s"},
    {"from": "s", "to": "far-sink", "one_way_delay": "5 ms", "line_rate": "1 Gbit/s"},
]
NEAR = {"name": "near", "from": "near", "to": "near-sink"}
FAR = {"name": "far", "from": "far", "to": "far-sink"}


def _edges(changes: dict[int, Change]) -> list[Change]:
    return [edge | changes.get(number, {}) for number, edge in enumerate(EDGES)]


def two_flows(near: Change, far: Change, edges: dict[int, Change] | None = None) -> Change:
    return {"links": _edges(edges or {}), "flows": [NEAR | near, FAR | far]}


# How two Reno flows share a drop-tail queue is one pattern of drops: any change gives another one.
NETWORKS = [
    Case("share, two CUBIC", "shared line", two_flows({}, {}), {"flows": [NEAR]}, LARGER, "near"),
    Case("share, Reno", "shared line", two_flows(RENO, RENO), {"flows": [NEAR]}, None, "near"),
    Case(
        "share, the longer of two",
        "shared line",
        two_flows({}, {}, {1: {"one_way_delay": "20 ms"}}),
        {"flows": [FAR]},
        LARGER,
        "far",
    ),
    Case("share, BBR beside CUBIC", "shared line", two_flows(BBR, {}), {"flows": [NEAR]}, LARGER, "near"),
    Case(
        "share, FQ-CoDel",
        "shared line",
        two_flows({}, {}, {2: {"discipline": "fq_codel"}}),
        {"flows": [NEAR]},
        LARGER,
        "near",
    ),
    Case(
        "window beside a bulk flow",
        "window",
        two_flows({"window": "60 kB"}, {}, {2: {"queue": "2 MB"}}),
        {"flows": [NEAR, FAR]},
        None,
        "near",
    ),
    Case(
        "bulk beside a small window",
        "shared line",
        two_flows({"window": "200 kB"}, {}),
        {"flows": [FAR]},
        LARGER,
        "far",
    ),
    Case("loss at the edge", "loss", two_flows({}, {}, {0: {"loss": "2 %"}}), {"links": EDGES}, None, "near"),
    Case(
        "a slow edge", "line rate", two_flows({}, {}, {0: {"line_rate": "20 Mbit/s"}}), {"links": EDGES}, None, "near"
    ),
    Case(
        "pacing beside a bulk flow",
        "pacing",
        two_flows({"pacing": "10 Mbit/s"}, {}, {2: {"discipline": "fq_codel"}}),
        {"flows": [NEAR, FAR]},
        None,
        "near",
    ),
    Case(
        "two that share nothing",
        "line rate",
        {
            "links": [
                {"from": "near", "to": "near-sink", "one_way_delay": "15 ms", "line_rate": "100 Mbit/s"},
                {"from": "far", "to": "far-sink", "one_way_delay": "15 ms", "line_rate": "100 Mbit/s"},
            ],
            "flows": [NEAR, FAR],
        },
        {
            "links": [
                {"from": "near", "to": "near-sink", "one_way_delay": "15 ms", "line_rate": "200 Mbit/s"},
                {"from": "far", "to": "far-sink", "one_way_delay": "15 ms", "line_rate": "100 Mbit/s"},
            ]
        },
        LARGER,
        "near",
    ),
]
CASES = [*PATHS, *NETWORKS]


def content(case: Case, *more: Change | None) -> dict[str, Any]:
    """The scenario of a case, with further changes."""
    made: dict[str, Any] = {
        "format": 1,
        "name": "cause",
        "title": case.name,
        "mtu": "1500 B",
        "transfer": {"congestion_control": "cubic", "duration": "40 s", "window": "16 MB"},
    }
    changes = [copy.deepcopy(each) for each in (case.change, *more) if each]
    if case.flow is None:
        made["hosts"] = {name: {"role": role, "nic": "1 Gbit/s"} for name, role in (("a", "sender"), ("b", "receiver"))}
        fast = {"line_rate": "1 Gbit/s"}
        made["path"] = [
            {"from": "a", "to": "r", "one_way_delay": "4 ms", **fast},
            {"from": "r", "to": "s", "one_way_delay": "20 ms", "line_rate": "100 Mbit/s", "queue": "1 BDP"},
            {"from": "s", "to": "b", "one_way_delay": "1 ms", **fast},
        ]
    for change in changes:
        for key, value in change.items():
            if key == "link":
                made["path"][1] |= value
            elif key == "back":
                made["path"][1]["reverse"] = made["path"][1].get("reverse", {}) | value
            elif key == "hosts":
                for host, keys in value.items():
                    made["hosts"][host] |= keys
            elif key == "transfer":
                made["transfer"] |= value
            else:
                made[key] = value
    return _bare(made)


def _bare(value: Any) -> Any:
    """Without what is None."""
    if isinstance(value, dict):
        return {key: _bare(each) for key, each in value.items() if each is not None}
    return [_bare(each) for each in value] if isinstance(value, list) else value


def write(folder: Path, case: Case, *more: Change | None) -> Path:
    """The scenario of a case as a file (JSON is YAML)."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "scenario.yaml"
    file.write_text(json.dumps(content(case, *more)))
    return file
