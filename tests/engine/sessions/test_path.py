"""The way of the data connections: address, device, code point, segment size, window, pacing, MPTCP, processors."""

import contextlib
import ctypes
import os
import signal
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engine.fixtures import Bench, Program, wait_until
from tests.support.stopwatch import Disturbed, one_of_few, undisturbed

ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
ETH_P_IP = 0x0800
SO_ATTACH_FILTER = 26


def transfer(bench: Bench, *options: str) -> dict:
    """One transfer over the loopback device that both ends call complete; its result."""
    receiver = bench.receive("--one-off")
    sender = bench.send(*options)
    assert sender.wait() == 0, sender.errors
    assert receiver.wait() == 0, receiver.errors
    return bench.result()


@pytest.fixture(name="namespace")
def namespace_fixture() -> Iterator[str]:
    """A network namespace of the test's own, with its loopback device up."""
    name = f"lse-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        yield name
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


def start_inside(bench: Bench, namespace: str, command: str, *options: str, host: str | None = None) -> Program:
    """As Bench.start, in the namespace."""
    files = ["--json", str(bench.folder / f"{command}.json")]
    words = ["ip", "netns", "exec", namespace, str(bench.binary), command, *([host] if host else [])]
    program = Program([*words, "--port", str(bench.port), *files, *options], bench.folder, f"{command}-{namespace}")
    bench.programs.append(program)
    return program


def sysctl(namespace: str, name: str, value: str) -> None:
    """Set one in the namespace."""
    words = ["ip", "netns", "exec", namespace, "sysctl", "-qw", f"{name}={value}"]
    subprocess.run(words, check=True, capture_output=True)


@pytest.mark.slow
def test_warm_up_is_left_out_of_bytes_and_time(bench: Bench) -> None:
    def attempt(_: int) -> None:
        result = transfer(bench, "--omit", "0.4", "--time", "0.6", "--streams", "2", "--pacing", "200M")
        assert result["duration_s"] == 0.6
        assert result["omitted_s"] == 0.4
        assert result["goodput_bps"] == pytest.approx((result["bytes"] - result["early_bytes"]) * 8 / 0.6, rel=1e-6)
        assert sum(stream["bytes"] for stream in result["streams"]) == result["bytes"]
        # Paced from the first byte on: what is left out and what counts are in the proportion of their times.
        share = result["omitted_bytes"] / result["bytes"]
        undisturbed(share == pytest.approx(0.4 / 0.6, rel=0.15), f"{share:.2f} of what counts was left out")

    one_of_few(attempt)


@pytest.mark.slow
def test_bytes_of_the_warm_up_belong_to_the_limit(bench: Bench) -> None:
    def attempt(_: int) -> None:
        result = transfer(bench, "--omit", "0.2", "--bytes", "20M", "--pacing", "400M")
        assert result["bytes"] + result["omitted_bytes"] == 20_000_000
        undisturbed(result["omitted_bytes"] > 0, "nothing came within the warm-up")

    one_of_few(attempt)


def test_a_transfer_that_ends_within_its_warm_up_has_no_figures(bench: Bench) -> None:
    receiver = bench.receive("--one-off")
    sender = bench.send("--omit", "60", "--bytes", "1M")
    assert sender.wait() == 1
    assert receiver.wait() == 1
    assert "within its warm-up" in bench.result()["error"]


def test_each_stream_takes_the_next_congestion_control_of_the_list(bench: Bench) -> None:
    first, second, *_ = [*ALLOWED.read_text().split(), "reno"]  # whoever runs this: a host may allow but one
    result = transfer(bench, "--streams", "3", "--bytes", "10M", "--congestion", f"{first},{second}")
    assert [stream["congestion_control"] for stream in result["streams"]] == [first, second, first]


def only_packets_to(wire: socket.socket, address: str) -> None:
    """Others' traffic on the loopback device would fill the packet socket: the kernel drops it (classic BPF)."""
    (wanted,) = struct.unpack("!I", socket.inet_aton(address))
    load, jump, give = 0x20, 0x15, 0x06  # a word of the packet; if it is the one; so many bytes
    steps = ((load, 0, 0, 16), (jump, 0, 1, wanted), (give, 0, 0, 1 << 17), (give, 0, 0, 0))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = struct.pack("HP", len(steps), ctypes.addressof(code))
    wire.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)


@pytest.mark.root
def test_code_point_and_segment_size_are_on_the_wire(bench: Bench) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0) as wire:  # hears nothing until it is bound
        wire.setblocking(False)
        host = f"127.{os.getpid() >> 8 & 255}.{os.getpid() & 255}.9"  # nobody else's packets
        only_packets_to(wire, host)
        wire.bind(("lo", ETH_P_IP))
        receiver = bench.receive("--one-off", "--bind", host)
        sender = bench.send("--bytes", "200k", "--dscp", "46", "--mss", "1000", host=host)
        marked = set()

        def packets_with_payload() -> bool | None:
            while True:
                try:
                    packet = wire.recv(1 << 17)
                except BlockingIOError:
                    return True if sender.process.poll() is not None else None
                head = (packet[0] & 15) * 4
                if len(packet) > 10_000:
                    marked.add((packet[1], int.from_bytes(packet[head + 2 : head + 4], "big") == bench.port))

        wait_until(packets_with_payload, 30)
        assert sender.wait() == 0, sender.errors
        assert receiver.wait() == 0
    assert marked == {(46 << 2, True)}
    assert 900 < bench.result()["streams"][0]["mss_bytes"] <= 1000


def test_source_address_and_device(bench: Bench) -> None:
    result = transfer(bench, "--bind", "127.0.0.77", "--bind-device", "lo", "--bytes", "1M")
    assert bench.result("receive")["peer"].startswith(("127.0.0.77:", "[::ffff:127.0.0.77]:"))
    assert result["path"]["device"] == "lo"
    for options, said in (
        (["--bind-device", "no-such-dev"], "no-such-dev"),
        (["--bind", "203.0.113.9"], "cannot connect from 203.0.113.9"),
        (["--bind", "::1"], "family (IPv4)"),
    ):
        sender = bench.send(*options)
        assert sender.wait() == 1
        assert said in bench.result()["error"]


def test_threads_run_where_they_were_told(bench: Bench) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    wanted = allowed[-1]
    receiver = bench.receive("--one-off", "--affinity", str(wanted))
    sender = bench.send("--streams", "2", "--time", "60", "--pacing", "100M", "--affinity", str(wanted))

    def pinned(program: Program) -> bool | None:
        masks = []
        for task in Path(f"/proc/{program.process.pid}/task").iterdir():
            with contextlib.suppress(ProcessLookupError):  # it ended meanwhile
                masks.append(os.sched_getaffinity(int(task.name)))
        return sum(mask == {wanted} for mask in masks) == 2 or None

    if len(allowed) > 1:
        wait_until(lambda: pinned(sender), 20, sender.process)
    sender.process.send_signal(signal.SIGINT)  # its time is long, so that it can be looked at
    assert sender.wait() == 1
    assert receiver.wait() == 1
    assert bench.result()["path"]["affinity"] == f"processors {wanted}: asked for"
    assert bench.result()["path"]["receiver_affinity"] == f"processors {wanted}: asked for"


def test_automatic_affinity_names_the_device(bench: Bench) -> None:
    result = transfer(bench, "--affinity", "auto", "--bytes", "1M")
    assert "device lo" in result["path"]["affinity"]


def test_processors_that_may_not_be_used(bench: Bench) -> None:
    receiver = bench.receive()
    sender = bench.send("--affinity", "1023")
    assert sender.wait() == 1
    assert "may not use all processors of '1023'" in bench.result()["error"]
    assert receiver.process.poll() is None


@pytest.mark.slow
def test_total_pacing_is_shared_and_a_missing_fq_is_told(bench: Bench) -> None:
    result = transfer(bench, "--pacing-total", "400M", "--streams", "4", "--time", "1", "--omit", "0.3")
    assert result["path"]["stream_pacing_bps"] == 100_000_000
    assert result["path"]["paced_by"] == "TCP"
    assert "no fq on lo" in result["path"]["warning"]
    assert result["goodput_bps"] < 1.1 * 400e6


@pytest.mark.skipif("bbr" not in AVAILABLE.read_text().split(), reason="this kernel has no BBR")
def test_nothing_waits_in_the_socket_for_the_timers_of_bbr(bench: Bench) -> None:
    """Within a site and without fq; what was asked for is kept, and so is what holds for made blocks."""

    def unsent(*options: str) -> int | None:
        return transfer(bench, "--bytes", "1M", *options)["path"]["notsent_lowat_bytes"]

    def within_a_site(number: int) -> None:
        if unsent("--congestion", "bbr") != 1:
            raise Disturbed(f"the handshake of try {number} took a millisecond over the loopback device")

    one_of_few(within_a_site)
    assert unsent("--congestion", "cubic") is None
    assert unsent("--congestion", "bbr", "--notsent-lowat", "1M") == 1_000_000
    assert unsent("--congestion", "bbr", "--receive", "verify") == 4 << 20
    if Path("/proc/sys/net/mptcp/enabled").exists():
        assert unsent("--congestion", "bbr", "--mptcp") is None  # else its sockets are never writable


@pytest.mark.root
def test_autotuning_reports_its_ceiling(bench: Bench, namespace: str) -> None:
    sysctl(namespace, "net.ipv4.tcp_rmem", "4096 131072 3000000")
    sysctl(namespace, "net.ipv4.tcp_wmem", "4096 131072 5000000")
    receiver = start_inside(bench, namespace, "receive", "--one-off")
    receiver.wait_for("listening")
    sender = start_inside(bench, namespace, "send", "--bytes", "10M", host="127.0.0.1")
    assert sender.wait() == 0, sender.errors
    assert receiver.wait() == 0, receiver.errors
    path = bench.result()["path"]
    assert path["autotuning_window_ceiling_bytes"] == 1_500_000
    assert path["autotuning_sender_ceiling_bytes"] == 5_000_000


@pytest.mark.root
def test_no_route_is_an_error_of_its_own(bench: Bench, namespace: str) -> None:
    sender = start_inside(bench, namespace, "send", "--bytes", "1M", host="203.0.113.1")
    assert sender.wait() == 1
    assert "cannot connect to 203.0.113.1" in bench.result()["error"]
    assert "Network is unreachable" in bench.result()["error"]


MPTCP = Path("/proc/sys/net/mptcp/enabled")


@pytest.mark.skipif(not MPTCP.exists() or MPTCP.read_text() == "0\n", reason="this kernel has no MPTCP")
@pytest.mark.parametrize(
    ("server", "asked", "rate"), [(["--max-rate", "20M"], [], "20"), ([], ["--pacing", "10M"], "10")], ids=str
)
def test_mptcp_that_cannot_be_paced_says_so(bench: Bench, server: list[str], asked: list[str], rate: str) -> None:
    bench.receive(*server)
    sender = bench.send("--mptcp", "--time", "1", *asked)
    if sender.wait() == 0:
        pytest.skip("this kernel paces MPTCP")
    said = f"--mptcp cannot be paced, and {rate} Mbit/s are asked for (--pacing, --pacing-total, or the server's"
    assert bench.result()["error"].startswith(said)


@pytest.mark.parametrize("size", ["1", "48", "10k", "65535"])
def test_mptcp_that_could_write_nothing_is_refused(bench: Bench, size: str) -> None:
    sender = bench.send("--mptcp", "--notsent-lowat", size, "--bytes", "1M")
    assert sender.wait() == 2
    assert "a socket of MPTCP takes nearly nothing with less than 64Ki" in sender.errors


@pytest.mark.skipif(not MPTCP.exists() or MPTCP.read_text() == "0\n", reason="this kernel has no MPTCP")
def test_mptcp_writes_with_the_least_that_is_taken(bench: Bench) -> None:
    bench.receive()
    sender = bench.send("--mptcp", "--notsent-lowat", "64Ki", "--bytes", "20M")
    assert sender.wait(20) == 0, sender.errors


@pytest.mark.root
def test_absent_mptcp_is_an_error_and_tcp_at_the_other_end_a_warning(bench: Bench, namespace: str) -> None:
    """Where the kernel has no MPTCP at all both ends say so; where it has, it is switched off for the test."""
    switch = Path("/proc/sys/net/mptcp/enabled")
    if switch.exists():
        sysctl(namespace, "net.mptcp.enabled", "0")
    receiver = start_inside(bench, namespace, "receive")
    receiver.wait_for("listening")
    sender = start_inside(bench, namespace, "send", "--mptcp", "--bytes", "1M", host="127.0.0.1")
    assert sender.wait() == 1
    assert "MPTCP is not to be had" in bench.result()["error"]
    if switch.exists():
        result = transfer(bench, "--mptcp", "--bytes", "10M", "--streams", "2")
        assert result["path"]["mptcp"] is True
        assert result["path"]["warning"] is None
        for stream in result["streams"]:
            (only,) = stream["subflows"]
            # Nobody announces a second address here. What a subflow carried includes the hello, and what MPTCP, whose
            # timer does not know how busy the machine is, gave to it once more.
            assert 5_000_000 <= only["bytes"] <= 5_000_200 + stream["bytes_retransmitted"]
            assert only["retransmits"] == stream["retransmits"]
