"""Bad scenarios: each is refused with file, line and column, the line shown, and what would be right."""

import os
import re
import time
from pathlib import Path

import pytest

from landspeed.base.errors import ScenarioError
from landspeed.scenario.file.load import load_scenario
from landspeed.worlds.registry import plan_for
from tests.support.scenario_errors import (
    GOOD,
    refused,
    write,
)

# what is replaced, with what, line, the text at the caret, what is said, what would be right
CASES = {
    "unknown key": ("title: a", "titel: a", 3, "titel", "unknown key 'titel'", "did you mean 'title'"),
    "unknown key deep": (
        "to: r, one", "to: r, latency: 1 ms, one", 8, "latency", "unknown key 'latency'", "one_way_delay",
    ),
    "unknown key in reverse": (
        "to: r, ", "to: r, reverse: {rtt: 1 ms}, ", 8, "rtt", "unknown key 'rtt'", "one_way_delay",
    ),
    "missing key": ("role: sender, ", "", 5, "a", "key 'role' is missing in hosts.a", "add role: sender"),
    "number without unit": ("10 ms", "264", 8, "264", "needs a unit", "write 264 ms"),
    "rate without unit": ("nic: 1 Gbit/s}\n  b", "nic: 1}\n  b", 5, "1", "needs a unit", "write 1 Gbit/s"),
    "unit of another tool": (
        "nic: 1 Gbit/s}\n  b", "nic: 1 Gbps}\n  b", 5, "1 Gbps", "'Gbps' is not a unit", "write 1 Gbit/s",
    ),
    "negative delay": ("10 ms", "-3 ms", 8, "-3 ms", "negative", "write 3 ms"),
    "count with a unit": ("streams: 1", "streams: 4 B", 11, "4 B", "is a count", "without a unit"),
    "no streams": ("streams: 1", "streams: 0", 11, "0", "too small", "at least 1"),
    "true as count": ("streams: 1", "streams: true", 11, "true", "is a count", "whole number"),
    "text that is a number": ("title: a small path", "title: 2004", 3, "2004", "is text", "'2004'"),
    "empty value": ("title: a small path", "title:", 3, "", "is text, not nothing", "write text"),
    "wrong word": (
        "role: sender", "role: sending", 5, "sending", "not a value of hosts.a.role", "'sender' or 'receiver'",
    ),
    "two senders": ("role: receiver", "role: sender", 6, "sender", "both sender", "role: receiver"),
    "name": ("to: r, ", "to: R1, ", 8, "R1", "is not a name", "lower-case"),
    "host name": ("\n  a: {", "\n  A_: {", 5, "A_", "is not a name", "lower-case"),
    "gap": ("from: r", "from: q", 9, "q", "gap in the path", "write from: r"),
    "loop": ("to: b, ", "to: r, ", 9, "r", "loop in the path", "each node once"),
    "host in the middle": ("to: r, one", "to: b, one", 8, "b", "host in the middle", "router"),
    "starts elsewhere": ("from: a", "from: c", 8, "c", "begins at c", "write a"),
    "ends elsewhere": ("to: b, ", "to: c, ", 9, "c", "ends at c", "write b"),
    "both delays": ("one_way_delay: 10 ms", "one_way_delay: 10 ms, rtt: 20 ms", 8, "rtt", "both rtt and", "keep one"),
    "rtt and reverse": (
        "one_way_delay: 10 ms", "rtt: 9 ms, reverse: {one_way_delay: 1 ms}", 8, "one_way_delay",
        "an rtt and a delay", "both",
    ),
    "no delay": ("one_way_delay: 10 ms, ", "", 8, "{", "has no delay", "add one_way_delay"),
    "jitter": (
        "one_way_delay: 5 ms", "one_way_delay: 5 ms, jitter: 6 ms", 9, "6 ms", "jitter is larger", "up to the delay",
    ),
    "sends at times": (
        "\nhosts:", "\nsend_jitter: 6 ms\nhosts:", 4, "6 ms", "above that link's least delay",
        "a longer delay",
    ),
    "a host sends at times": (
        "\n  a: {", "\n  a: {send_jitter: 11 ms, ", 5, "11 ms", "send_jitter of a, with", "a longer delay",
    ),
    "no rate": (", line_rate: 1 Gbit/s}\ntransfer", "}\ntransfer", 9, "{", "no line rate", "add line_rate"),
    "nic below the line": (
        "nic: 1 Gbit/s}\n  b", "nic: 1 Mbit/s}\n  b", 8, "1 Gbit/s", "higher line rate", "the same rate",
    ),
    "packet limit": (
        "to: r, ", "to: r, packet_limit: 1000, ", 8, "1000", "below what the delay needs", "packet_limit: 3314 or more",
    ),
    "queue of a packet without its header": (
        "to: r, ", "to: r, queue: 1500 B, ", 8, "1500 B", "does not hold one frame", "1514 B",
    ),
    "queue of less than a packet": (
        "to: r, ", "to: r, queue: 900 B, ", 8, "900 B", "does not hold one frame", "1514 B",
    ),
    "window": ("streams: 1", "window: 2 GiB", 11, "2 GiB", "a TCP window ends at 1 GiB", "at most 1 GiB"),
    "congestion control": (
        "streams: 1", "congestion_control: compound", 11, "compound", "not in the world 'emu'", "reno, cubic, bbr",
    ),
    "endless": ("  duration: 10 s\n", "", 10, "transfer", "has no end", "duration: 10 s"),
    "two ends": ("duration: 10 s", "duration: 10 s\n  bytes: 1 GB", 12, "duration", "both bytes and duration", "keep"),
    "sampling": ("streams: 1", "sample_interval: 1 ms", 11, "1 ms", "too small", "at least 10 ms"),
    "rate of the future": (
        "nic: 1 Gbit/s}\n  b", "nic: 2 Tbit/s}\n  b", 5, "2 Tbit/s", "too large", "at most 1 Tbit/s",
    ),
    "loss above one": ("to: r, ", "to: r, loss: 101 %, ", 8, "101 %", "too large", "100 %"),
    "loss without unit": ("to: r, ", "to: r, loss: 0.01, ", 8, "0.01", "needs a unit", "write 1 %"),
    "mtu": ("format: 1", "format: 1\nmtu: 500 B", 2, "500 B", "too small", "576 B"),
    "mtu of IPv6": ("format: 1", "format: 1\nmtu: 1200 B\nip: 6", 2, "1200 B", "cannot carry IPv6", "1280 B"),
    "ip": ("format: 1", "format: 1\nip: 5", 2, "5", "IP version 5", "4 or 6"),
    "format": ("format: 1", "format: 2", 1, "2", "format 2", "format: 1"),
    "duplicate key": ("title: a small path", "title: a\nname: again", 4, "name", "a second time", "keep one"),
    "router off the path": ("path:", "routers: {x: {place: X}}\npath:", 7, "x", "not on the path", "remove it"),
    "goodput without tolerance": (
        "path:", "expect: {source: x, goodput: 1 Mbit/s}\npath:", 7, "goodput", "needs a tolerance", "tolerance: 1 %",
    ),
    "bracket": ("{role: sender", "[{role: sender", 6, "", "begins in line 5", "close the bracket"),
    "tab": ("  streams: 1", "\tstreams: 1", 11, "", "not YAML", "spaces"),
    "tag": ("title: a small path", "title: !!python/name:os.system x", 3, "", "tag", "remove the tag"),
    "two documents": ("format: 1", "format: 1\n---\nformat: 1", 2, "", "not YAML", "one document"),
    "alias without anchor": ("title: a small path", "title: *nothing", 3, "", "not YAML", "anchor"),
    "alias in itself": ("title: a small path", "title: &x [*x]", 3, "", "contains itself", "remove"),
    "control character": ("title: a", "title: \x01a", 3, "", "U+0001", "remove"),
    "number of 5000 digits": ("streams: 1", "streams: " + "9" * 5000, 11, "", "not a number", "quotes"),
    "nested": ("title: a small path", "title: " + "[" * 60 + "]" * 60, 3, "", "nested too deeply", "32"),
    "nested further": ("title: a small path", "title: " + "[" * 5000 + "]" * 5000, 1, "", "nested too deeply", "32"),
}  # fmt: skip


def test_the_good_file_is_good(tmp_path: Path) -> None:
    plan_for(load_scenario(write(tmp_path, GOOD)))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_bad_scenario(tmp_path: Path, case: str) -> None:
    old, new, line, at, what, right = CASES[case]
    assert GOOD.count(old) >= 1
    text = GOOD.replace(old, new, 1)
    path = write(tmp_path, text)
    message = refused(path)
    wanted = [
        block for block in re.split(r"\n(?=\S)", message) if re.match(rf"{re.escape(str(path))}:{line}:\d+: ", block)
    ]
    assert wanted, message
    block = next((each for each in wanted if what in each), "")
    assert what in block, message
    head, shown, caret, *_ = block.split("\n")
    assert shown.startswith(f"{line:5d} | ")
    column = int(head.removeprefix(f"{path}:{line}:").split(":")[0]) - 1
    source = text.split("\n")[line - 1]
    if at:
        assert source[column : column + len(at)] == at, block
        assert caret.index("^") - len("      | ") == column
    assert right in block.split("\n")[-1], message


def test_all_problems_at_once(tmp_path: Path) -> None:
    text = (
        GOOD.replace("10 ms", "10")
        .replace("5 ms", "-5 ms")
        .replace("title", "titel")
        .replace("streams: 1", "streams: x")
    )
    with pytest.raises(ScenarioError) as caught:
        load_scenario(write(tmp_path, text))
    lines = [problem.mark.line + 1 for problem in caught.value.problems if problem.mark]
    assert lines == sorted(lines)
    assert set(lines) >= {3, 8, 9, 11}


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["congestion_controls=[cubic, bbr]"], "2 congestion controls for 1 streams"),
        (["streams=2", "congestion_controls=[cubic, warp]"], "congestion control 'warp' is not in the world 'emu'"),
        (["send=splice", "receive=verify"], "write send: write, zerocopy or io_uring"),
        (["send=carrier-pigeon"], "'write', 'sendfile'"),
        (["protect=ktls"], "protect: ktls, and the receiver looks at none of the data"),
        (
            ["protect=ktls", "receive=memory", "send=zerocopy"],
            "write send: write or sendfile or splice, or leave it out",
        ),
        (["protect=mac", "receive=memory", "send=sendfile"], "write send: write, or leave it out"),
        (["protect=tls"], "'mac', 'aead'"),
        (["protect=ktls", "receive=memory", "mptcp=true"], "Linux has no TLS over MPTCP"),
    ],
)
def test_what_the_engine_is_told_must_agree(tmp_path: Path, overrides: list[str], said: str) -> None:
    file = write(tmp_path, GOOD)
    assert said in refused(file, *(f"transfer.{override}" for override in overrides))


def test_the_simulator_has_no_engine_to_tell(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"transfer.send is not in the world 'sim'(.|\n)*leave it out"):
        plan_for(load_scenario(write(tmp_path, GOOD), ["transfer.send=write"]), "sim")
    asked = ["transfer.protect=ktls", "transfer.receive=memory"]
    for world in ("sim", "real"):
        with pytest.raises(ScenarioError, match=f"transfer.protect is not in the world '{world}'"):
            plan_for(load_scenario(write(tmp_path, GOOD), asked), world)


def test_plan_problems_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("streams: 1", "congestion_control: x").replace("to: b,", "to: b, packet_limit: 3,")
    message = refused(write(tmp_path, text))
    assert "'x' is not in the world" in message
    assert "packet_limit: " in message


@pytest.mark.parametrize("text", ["", "# nothing\n", "- a\n- b\n", "just text\n", "42\n"])
def test_not_a_mapping(tmp_path: Path, text: str) -> None:
    message = refused(write(tmp_path, text))
    assert re.search(r"s\.yaml:1:1: the file (is empty|holds)", message)
    assert "format: 1" in message


def test_ten_megabytes_are_refused_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, "a: 1\n" * 2_000_000)
    start = time.process_time()  # work, not what others do meanwhile
    message = refused(path)
    assert time.process_time() - start < 1
    assert "larger than 1 MB" in message
    assert str(path) in message


def test_anchors_cannot_multiply(tmp_path: Path) -> None:
    bomb = "a: &a [1,1,1,1,1,1,1,1,1]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        bomb += f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n"
    start = time.process_time()  # work, not what others do meanwhile
    assert "more than 20000 values" in refused(write(tmp_path, bomb))
    assert time.process_time() - start < 2


def test_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_bytes(GOOD.replace("a small path", "Genf – Z").encode().replace("–".encode(), b"\xff"))
    assert ":3:13: byte 0xff is not UTF-8" in refused(path)


def test_no_such_file_names_the_near_one(tmp_path: Path) -> None:
    write(tmp_path, GOOD, "geneva.yaml")
    message = refused(tmp_path / "genva.yaml")
    assert "no such file" in message
    assert "did you mean" in message
    assert "geneva.yaml" in message


def test_unreadable(tmp_path: Path) -> None:
    assert "cannot be read" in refused(tmp_path)
    if os.geteuid():
        path = write(tmp_path, GOOD)
        path.chmod(0)
        assert "cannot be read" in refused(path)


def test_shown_line_cannot_move_the_cursor(tmp_path: Path) -> None:
    message = refused(write(tmp_path, GOOD.replace("title: a small path", 'titel: "\u202e \u009b2J"')))
    assert message.isprintable() or all(c.isprintable() or c == "\n" for c in message)


def test_long_lines_are_shown_around_the_place(tmp_path: Path) -> None:
    text = GOOD.replace("to: r, one_way_delay: 10 ms", f"to: r, mtu: {' ' * 900} 9000 B, one_way_delay: 10")
    message = refused(write(tmp_path, text))
    assert "one_way_delay: 10" in message
    assert max(len(line) for line in message.split("\n")) < 250


def test_problems_as_data(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(write(tmp_path, GOOD.replace("10 ms", "264")))
    (problem,) = caught.value.problems
    assert problem.mark is not None
    assert (problem.mark.line, problem.mark.column) == (7, 36)
    assert "264" in problem.what
