"""Traces: what their files say, and what is refused of them."""

import hashlib
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from landspeed.base.errors import ScenarioError
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.plan.direction import Direction
from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.plan.trace import Trace
from landspeed.scenario.traces import made_traces
from landspeed.worlds.registry import plan_for
from tests.support.command import landspeed_here
from tests.support.emu_fixtures import plan_of, scenario, write_scenario

MS, S = 10**6, 10**9
MTU, FRAME, PAYLOAD = 1500, 1538, 1448
CSV = "time [s],rate [Mbit/s],delay [ms],loss [%]\n0,10,20,0\n2.5,20,10.5,1\n4,0,5,0.5\n5,1,5,0\n"


def traced(folder: Path, text: str | bytes, name: str = "t.csv", **keys: Any) -> Direction:
    """The direction of a link whose file this is."""
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    link = {"trace": name, "one_way_delay": "5 ms", **keys}
    return plan_of(folder, scenario([{"one_way_delay": "1 ms"}, link], transfer={"duration": "10 s"})).links[1].forward


# --- What a file says ------------------------------------------------------------------------------------------------


def test_csv_has_units_in_its_header(tmp_path: Path) -> None:
    lane = traced(tmp_path, CSV)
    made = Trace(
        file="t.csv",
        at_ns=[0, 2500 * MS, 4 * S],  # the last row says when it ends
        lasts_ns=5 * S,
        loops=True,
        rate_bps=[10_000_000, 20_000_000, 0],
        delay_ns=[20 * MS, 10_500_000, 5 * MS],
        loss=[0, 0.01, 0.005],
    )
    assert lane.trace == made
    # Theory goes by the means over the transfer: 10 s, two turns of 5 s.
    assert lane.rate_bps == (2.5 * 10 + 1.5 * 20) / 5 * 1e6
    assert lane.delay_ns == round((2.5 * 20 + 1.5 * 10.5 + 5) / 5 * MS)
    assert lane.loss == pytest.approx((1.5 * 0.01 + 0.005) / 5)
    assert (min(lane.rates_bps), max(lane.rates_bps), max(lane.delays_ns)) == (0, 20_000_000, 20 * MS)


def test_the_same_in_other_words(tmp_path: Path) -> None:
    """Another order, other units, comments, spaces, line ends of Windows and a byte order mark."""
    text = "\ufeff# ours\r\n LOSS (ppm) , Time (ms), rate [kbit/s],delay [us]\r\n\r\n0,0,10000,20000\r\n"
    text += "10000,2500,2e4,10500\r\n5000,4000,0,5000\r\n0,5000,1000,5000\r\n"
    assert traced(tmp_path, text).trace == traced(tmp_path, CSV).trace


def test_an_ended_trace_holds_its_last_row(tmp_path: Path) -> None:
    lane = traced(tmp_path, CSV, trace={"file": "t.csv", "loop": False})
    assert lane.trace is not None
    assert (lane.trace.at_ns[-1], lane.trace.loops) == (5 * S, False)
    assert lane.rate_bps == (2.5 * 10 + 1.5 * 20 + 5 * 1) / 10 * 1e6
    assert list(lane.trace.steps()) == [(0, 0), (2500 * MS, 1), (4 * S, 2), (5 * S, 3)]


def test_a_loop_begins_again(tmp_path: Path) -> None:
    trace = traced(tmp_path, CSV).trace
    assert trace is not None
    steps = trace.steps()
    assert [next(steps) for _ in range(5)] == [(0, 0), (2500 * MS, 1), (4 * S, 2), (5 * S, 0), (7500 * MS, 1)]
    assert trace.mean(trace.rate_bps or [], 7 * S) == pytest.approx((2.5 * 10 + 1.5 * 20 + 2 * 10) / 7 * 1e6)
    assert trace.mean(trace.rate_bps or [], 1 * S) == 10e6


def test_columns_may_be_left_out(tmp_path: Path) -> None:
    lane = traced(tmp_path, "time [s],delay [ms]\n0,3\n1,4\n2,4\n")
    assert lane.trace is not None
    assert (lane.rate_bps, lane.loss, lane.trace.rate_bps, lane.delay_ns) == (10**9, 0, None, 3_500_000)


def test_opportunities_carry_what_they_carry(tmp_path: Path) -> None:
    """Mahimahi: a packet of 1500 B for each line, in steps of 100 ms; none is lost or added."""
    times = [0, 0, 5, 100, 101, 350, 350, 420]
    lane = traced(tmp_path, "\n".join(map(str, times)) + "\n", "t.mahimahi")
    trace = lane.trace
    assert trace is not None and trace.rate_bps is not None
    assert (trace.at_ns, trace.lasts_ns) == ([0, 100 * MS, 200 * MS, 300 * MS, 400 * MS], 420 * MS)
    assert [rate * 0.1 / 8 / FRAME for rate in trace.rate_bps[:4]] == pytest.approx([4, 1, 0, 2])
    assert trace.rate_bps[4] * 0.02 / 8 / FRAME == pytest.approx(1)
    assert lane.rate_bps == pytest.approx(len(times) * FRAME * 8 / 0.42, rel=0.02)  # 10 s are 23.8 turns


def test_one_direction_or_both(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(CSV)
    (tmp_path / "u.csv").write_text("time [s],rate [Mbit/s]\n0,1\n9,1\n")
    cases: list[tuple[dict[str, Any], list[str | None]]] = [
        ({}, ["t.csv", "t.csv"]),
        ({"reverse": {"trace": "none"}, "one_way_delay": "1 ms"}, ["t.csv", None]),
        ({"reverse": {"trace": "u.csv", "one_way_delay": "1 ms"}}, ["t.csv", "u.csv"]),
    ]
    for keys, wanted in cases:
        plan = plan_of(tmp_path, scenario([{"one_way_delay": "1 ms"}, {"trace": "t.csv", **keys}]))
        made = [lane.trace for lane in (plan.links[1].forward, plan.links[1].reverse)]
        assert [trace.file if trace else None for trace in made] == wanted
        assert plan.links[1].forward.can_queue, "a line that stands still cannot be proved to be fast enough"


def test_the_file_is_found_beside_the_scenario_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    base = write_scenario(tmp_path / "below", scenario([{"one_way_delay": "1 ms"}, {"trace": "t.csv"}]))
    (tmp_path / "below/t.csv").write_text(CSV)
    (tmp_path / "t.csv").write_text("time [s],rate [Mbit/s],delay [ms]\n0,7,1\n9,7,1\n")
    above = tmp_path / "above.yaml"
    above.write_text(f"extends: {base.relative_to(tmp_path)}\nformat: 1\nname: above\n")
    assert max(plan_for(load_scenario(above)).links[1].forward.rates_bps) == 20_000_000
    override = plan_for(load_scenario(above, ["path.1.trace=t.csv"]))
    assert max(override.links[1].forward.rates_bps) == 7_000_000


def test_a_link_of_a_network_has_one_too(tmp_path: Path) -> None:
    """Its means are those up to the end of the last flow; what is wrong stands under `links`."""
    (tmp_path / "t.csv").write_text("time [s],rate [Mbit/s]\n0,50\n2,10\n4,10\n")
    links = [{"from": "a", "to": "r", "one_way_delay": "1 ms"}, {"from": "b", "to": "r", "one_way_delay": "1 ms"}]
    links.append({"from": "r", "to": "c", "one_way_delay": "5 ms", "trace": "t.csv"})
    flows = [
        {"name": "one", "from": "a", "to": "c", "duration": "5 s"},
        {"name": "two", "from": "b", "to": "c", "duration": "4 s", "start": "2 s"},
    ]
    content = {"format": 1, "name": "n", "title": "n", "line_rate": "1 Gbit/s", "links": links, "flows": flows}
    assert plan_of(tmp_path, content).links[2].forward.rate_bps == round((4 * 50 + 2 * 10) / 6 * 1e6)
    links[2]["trace"] = "gone.csv"
    assert "the trace 'gone.csv' is not a file" in problems(tmp_path, content)


def test_the_trace_is_work_and_its_name_is_not(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(CSV)
    plan = plan_of(tmp_path, scenario([{"one_way_delay": "1 ms"}, {"trace": "t.csv"}]))
    assert Plan.from_json(plan.to_json()) == plan
    lane = plan.links[1].forward
    assert lane.trace is not None

    def with_trace(**changes: Any) -> str:
        assert lane.trace is not None
        link = replace(plan.links[1], forward=replace(lane, trace=replace(lane.trace, **changes)))
        return replace(plan, links=[plan.links[0], link]).sha256

    assert with_trace(file="other.csv") == plan.sha256
    assert with_trace(lasts_ns=6 * S) != plan.sha256
    assert with_trace(rate_bps=[1, 2, 3]) != plan.sha256


# The runs that documents show depend on these bytes.
SHIPPED = {
    "cellular-downlink.mahimahi": "83a1b5a95c807bfdec680386e458936542fd2ee52bc317a30c686ffcb8fe5204",
    "degrading-line.csv": "30f37bd44be58bbd9332251bb925003bae2e653a02cde929cc8f6aa19e55d007",
    "low-orbit.csv": "de07efdfd8fe758f38ce63db8f8fea2f774a40ce7b574728bf2e6898325cf41f",
}


def test_the_shipped_traces_are_made_when_they_are_first_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By several at once; a file of that name elsewhere is the user's, or missing."""
    assert made_traces.TRACES.keys() == SHIPPED.keys()
    folder = tmp_path / "scenarios" / "traces"
    monkeypatch.setattr(made_traces, "FOLDER", folder)
    content = scenario([{"one_way_delay": "1 ms"}, {"one_way_delay": "1 ms"}])
    for name, sha256 in SHIPPED.items():
        content["path"][1]["trace"] = f"elsewhere/{name}"
        assert f"the trace 'elsewhere/{name}' is not a file" in problems(tmp_path, content)
        content["path"][1]["trace"] = f"scenarios/traces/{name}"
        file = write_scenario(tmp_path, content)
        with ThreadPoolExecutor() as threads:
            plans = list(threads.map(partial(plan_of, tmp_path), [file] * 4))
        assert all(plan == plans[0] for plan in plans)
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == sha256
    assert sorted(path.name for path in folder.iterdir()) == sorted(SHIPPED)


# --- What is refused -------------------------------------------------------------------------------------------------

HEAD = "time [s],rate [Mbit/s]\n"
BAD = {  # text, line, column, what is wrong, what would be right
    "backwards": (HEAD + "0,1\n2,1\n1,1\n", 4, 1, "time goes backwards: the row before is of 2 s", "a later time"),
    "standing": (HEAD + "0,1\n2,1\n2,1\n", 4, 1, "time stands still", "a later time"),
    "too close": (HEAD + "0,1\n0.0001,2\n", 3, 1, "100 µs after the row before", "1 ms or more apart"),
    "no unit": ("time [s],rate\n0,1\n", 1, 10, "the column 'rate' has no unit", "write rate [Gbit/s] (units: bit/s"),
    "no unit of time": ("time,rate [Mbit/s]\n0,1\n", 1, 1, "the column 'time' has no unit", "write time [ms]"),
    "unit of another tool": ("time [s], rate [Mbps]\n0,1\n", 1, 11, "'Mbps' is not a unit of a rate", "Mbit/s"),
    "negative rate": (HEAD + "0,1\n1,-3\n", 3, 3, "a rate of -3 Mbit/s is negative", "zero or more"),
    "negative time": (HEAD + "-1,1\n", 2, 1, "a time of -1 s is negative", "zero or more"),
    "too fast": (HEAD + "0,1e9\n", 2, 3, "too large", "at most 1 Tbit/s"),
    "too lossy": ("time [s],loss [%]\n0,101\n", 2, 3, "a loss of 101 % is too large", "at most 100 %"),
    "too far": ("time [s],delay [s]\n0,61\n", 2, 3, "too large", "at most 60 s"),
    "late": (HEAD + "1,1\n2,1\n", 2, 1, "begins at 1 s", "of time 0"),
    "a word": (HEAD + "0,fast\n", 2, 3, "'fast' is not a number", "its unit, Mbit/s, stands in the header"),
    "unit in a row": (HEAD + "0, 3 Mbit/s\n", 2, 4, "is not a number", "stands in the header"),
    "nothing": (HEAD + "0,\n", 2, 3, "no rate here", "write a number"),
    "too few": (HEAD + "0\n", 2, 1, "1 values, and the header has 2 columns", "time, rate"),
    "too many": (HEAD + "0,1,5\n", 2, 3, "3 values", "time, rate"),
    "unknown column": ("time [s],speed [Mbit/s]\n", 1, 10, "'speed [Mbit/s]' is no column", "time [s],rate [Mbit/s]"),
    "twice": ("time [s],rate [Mbit/s],rate [Gbit/s]\n", 1, 24, "a second time", "keep one"),
    "no time": ("rate [Mbit/s],loss [%]\n", 1, 1, "no column 'time'", "time [s]"),
    "only time": ("time [s]\n", 1, 1, "a time and nothing else", "time [s],rate"),
    "one row": (HEAD + "0,1\n", 2, 1, "fewer than two rows", "the time of its end"),
    "no header": ("0,1\n1,1\n", 1, 1, "'0' is no column", "time [s],rate"),
    "no rate ever": (HEAD + "0,0\n1,0\n", 3, 1, "a rate of 0 from the beginning to the end", "above 0"),
    "empty": ("# only this\n", 1, 1, "the trace is empty", "time [s]"),
    "Mahimahi backwards": ("5\n9\n7\n", 3, 1, "time goes backwards: the line before is of 9 ms", "in order"),
    "Mahimahi negative": ("5\n -9\n", 2, 2, "negative", "0 or more"),
    "Mahimahi fraction": ("5\n9.5\n", 2, 1, "not a time in whole milliseconds", "may leave"),
    "Mahimahi at once": ("0\n0\n", 2, 1, "no length", "later times"),
    "Mahimahi endless": ("0\n99999999999\n", 2, 1, "too long", "at most"),
}


def problems(folder: Path, content: dict[str, Any]) -> str:
    with pytest.raises(ScenarioError) as caught:
        plan_of(folder, content)
    return str(caught.value)


@pytest.mark.parametrize("case", BAD)
def test_bad_traces_are_refused_where_they_are_bad(tmp_path: Path, case: str) -> None:
    text, line, column, what, right = BAD[case]
    file = tmp_path / "t.csv"
    file.write_text(text)
    message = problems(tmp_path, scenario([{"one_way_delay": "1 ms"}, {"trace": "t.csv", "one_way_delay": "1 ms"}]))
    assert message.startswith(f"{file}:{line}:{column}: "), message
    assert what in message and right in message, message
    assert message.count("t.csv:") == 1, "both directions have it, and it is wrong once"


def test_an_ended_trace_that_ends_with_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(HEAD + "0,5\n1,0\n")
    link = {"trace": {"file": "t.csv", "loop": False}, "one_way_delay": "1 ms"}
    message = problems(tmp_path, scenario([{"one_way_delay": "1 ms"}, link]))
    assert "t.csv:3:1: the trace ends with a rate of 0, which would hold for good" in message
    assert "loop: true" in message


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(HEAD.encode() + b"0,1\n1,\xff\n")
    message = problems(tmp_path, scenario([{"one_way_delay": "1 ms"}, {"trace": "t.csv", "one_way_delay": "1 ms"}]))
    assert "t.csv:3:3: byte 0xff is not UTF-8" in message


def _named(folder: Path, name: str) -> str:
    text = json.dumps(scenario([{"one_way_delay": "1 ms"}, {"trace": name, "one_way_delay": "1 ms"}]), indent=1)
    file = folder / "scenario.yaml"
    file.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        plan_for(load_scenario(file))
    line = next(number for number, each in enumerate(text.split("\n"), 1) if '"trace"' in each)
    message = str(caught.value)
    assert re.match(rf"{re.escape(str(file))}:{line}:13: ", message), message
    return message


def test_what_is_no_file_of_a_trace_is_told_where_it_is_named(tmp_path: Path) -> None:
    assert "the trace 'gone.csv' is not a file" in _named(tmp_path, "gone.csv")
    (tmp_path / "folder").mkdir()
    assert "the trace 'folder' is a folder" in _named(tmp_path, "folder")
    os.mkfifo(tmp_path / "pipe")
    assert "the trace 'pipe' is not a file" in _named(tmp_path, "pipe")
    assert "the trace '/dev/zero' is not a file" in _named(tmp_path, "/dev/zero")
    assert "cannot be read" in _named(tmp_path, "x" * 300)


def test_two_gigabytes_are_refused_at_once(tmp_path: Path) -> None:
    with (tmp_path / "big.csv").open("wb") as file:
        file.write(HEAD.encode())
        file.truncate(2 * 10**9)
    message = _named(tmp_path, "big.csv")
    assert "the trace 'big.csv' has 2000 MB" in message
    assert "write at most 20 MB and 100000 rows" in message


@pytest.mark.slow
def test_too_many_rows(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time [ms],rate [Mbit/s]\n" + "".join(f"{at},1\n" for at in range(100_001)))
    message = problems(tmp_path, scenario([{"one_way_delay": "1 ms"}, {"trace": "t.csv", "one_way_delay": "1 ms"}]))
    assert "t.csv:100002:1: a trace has at most 100000 rows" in message


@pytest.mark.parametrize(
    ("keys", "text", "said"),
    [
        ({}, HEAD + "0,1\n1,1\n", "has no delay in one direction"),
        ({"reverse": {"one_way_delay": "1 ms"}}, HEAD + "0,1\n1,1\n", "has no delay in one direction"),
        (
            {"one_way_delay": "1 ms", "jitter": "2 ms"},
            HEAD + "0,1\n1,1\n",
            "than the least delay of the link r1 – omega, 1 ms",
        ),
        ({"one_way_delay": "1 ms", "loss": "1 %", "loss_burst": 3}, CSV, "bursts of losses beside a trace of losses"),
        ({"one_way_delay": "9 ms", "jitter": "6 ms"}, CSV, "larger than the least delay of the link r1 – omega, 5 ms"),
        ({"trace": {"loop": True}}, CSV, "key 'file' is missing"),
        ({"trace": {"file": "t.csv", "speed": 2}}, CSV, "unknown key 'speed'"),
        ({"trace": 7}, CSV, "path.1.trace"),
    ],
)
def test_what_a_trace_and_its_link_must_agree_on(tmp_path: Path, keys: dict[str, Any], text: str, said: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    message = problems(tmp_path, scenario([{"one_way_delay": "1 ms"}, {"trace": "t.csv", **keys}]))
    assert said in message, message
    assert re.match(r"\S+scenario\.yaml:\d+:\d+: ", message)


def test_a_line_rate_is_needed_where_no_trace_says_it(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(HEAD + "0,1\n1,1\n")
    link = {"one_way_delay": "1 ms", "trace": "t.csv", "reverse": {"trace": "none"}}
    content = {**scenario([{"one_way_delay": "1 ms", "line_rate": "1 Gbit/s"}, link]), "line_rate": None}
    assert "has no line rate in one direction" in problems(tmp_path, content)


@pytest.mark.guest
def test_the_command_ends_with_status_2_and_the_real_world_refuses(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(HEAD + "0,1\n2,1\n1,1\n")
    file = write_scenario(tmp_path, scenario([{"one_way_delay": "1 ms"}, {"trace": "t.csv", "one_way_delay": "1 ms"}]))
    done = landspeed_here("check", file)
    assert done.returncode == 2
    assert "t.csv:4:1: time goes backwards" in done.stderr
    (tmp_path / "t.csv").write_text(HEAD + "0,1\n2,1\n")
    assert landspeed_here("check", file).returncode == 0
    with pytest.raises(ScenarioError, match=r"a trace is not in the world 'real'(.|\n)*--world emu"):
        plan_for(load_scenario(file), "real")


# --- What the worlds make of it --------------------------------------------------------------------------------------

# Rates of whole packets a second; a second without any; a fall that fills the queue, a rise that must not wait.
