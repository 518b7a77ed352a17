"""What newer releases of Linux have and the usual one has not: DualPI2, accurate ECN; the engine on such a kernel."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from landspeed.results.record import RunRecord
from landspeed.results.samples_reader import Samples
from landspeed.worlds.emu.kernel_build import Kernel
from landspeed.worlds.emu.kernel_choice import available
from landspeed.worlds.emu.kernel_source import KernelError
from landspeed.worlds.emu.refusals import check_kernel
from tests.support.emu_fixtures import plan_of, scenario, transfer

OLD = Kernel(Path("linux"), "0" * 16, "6.12.117", {})
RATE_BPS = 50e6


def newer(able: Callable[[Kernel], bool]) -> str:
    """Key of a kernel of the cache that can do something; without one the test is skipped."""
    for kernel in available():
        if able(kernel):
            return kernel.key
    pytest.skip("no kernel here has it: `landspeed kernel build 7.3` makes one")


def path(**link: Any) -> dict[str, Any]:
    links = [{"one_way_delay": "5 ms"}, {"one_way_delay": "10 ms", **link}, {"one_way_delay": "1 ms"}]
    return scenario(links, transfer={"duration": "6 s", "congestion_control": "cubic"})


def run(folder: Path, kernel: str, content: dict[str, Any], *overrides: str) -> tuple[RunRecord, Samples]:
    folder.mkdir()
    record, bundle = transfer(plan_of(folder, content, *overrides), folder, kernel=kernel)
    return record, Samples(bundle)


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("path.1.discipline=dualpi2", r"link 2 .*: dualpi2 is in Linux from 6.17 on, and Linux 6.12.117 .* lacks it"),
        ("transfer.accurate_ecn=true", r"accurate_ecn is in Linux from 7.0 on, and Linux 6.12.117 .* lacks it"),
    ],
)
def test_a_kernel_that_lacks_it_is_refused_by_name(tmp_path: Path, override: str, said: str) -> None:
    old = replace(OLD, executable=tmp_path / "linux")
    old.executable.write_bytes(b"\0tcp_ecn\0tcp_ecn_fallback\0")
    with pytest.raises(KernelError, match=said):
        check_kernel(plan_of(tmp_path, path(line_rate="50 Mbit/s"), override), old)
    check_kernel(plan_of(tmp_path, path(line_rate="50 Mbit/s")), old)


def test_accurate_ecn_is_known_by_its_sysctl(tmp_path: Path) -> None:
    """A compiler may leave no symbol of it: gcc 12 puts `__tcp_accecn_process` of 7.3 into its caller."""
    able = Kernel(tmp_path / "linux", "0" * 16, "7.3.4", {})
    able.executable.write_bytes(b"\0tcp_ecn\0tcp_ecn_option\0tcp_ecn_fallback\0")
    check_kernel(plan_of(tmp_path, path(line_rate="50 Mbit/s"), "transfer.accurate_ecn=true"), able)


@pytest.mark.guest
def test_dualpi2_keeps_the_queue_short_and_marks_what_can_be_marked(tmp_path: Path) -> None:
    """CUBIC is in its classic queue, which aims at 15 ms; without it CUBIC fills 240 ms."""
    kernel = newer(lambda each: each.can_dualpi2)
    content = path(line_rate="50 Mbit/s", queue="1500 kB", discipline="dualpi2")
    record, samples = run(tmp_path / "drops", kernel, content)
    assert "qdisc dualpi2 3: dev eth1 parent 2:1" in record.guest.qdiscs["r1"]
    waiting = [number * 8e3 / RATE_BPS for time_s, number in samples.backlogs()[1, "forward"] if time_s >= 3]
    assert 2 < sum(waiting) / len(waiting) < 20  # milliseconds
    assert samples.passed_by_link("drops")[1, "forward"] > 0
    assert samples.passed_by_link("marks")[1, "forward"] == 0

    record, samples = run(tmp_path / "marks", kernel, content, "transfer.ecn=true")
    assert samples.passed_by_link("marks")[1, "forward"] > 0
    assert (samples.passed_by_link("drops")[1, "forward"], record.retransmits) == (0, 0)


@pytest.mark.guest
def test_dualpi2_s_parameters_reach_the_kernel(tmp_path: Path) -> None:
    """A third of the target: the queue is shorter."""
    kernel = newer(lambda each: each.can_dualpi2)
    means = list[float]()
    for number, target in enumerate(("15 ms", "5 ms")):
        link = {"line_rate": "50 Mbit/s", "queue": "1500 kB", "discipline": {"dualpi2": {"target": target}}}
        _, samples = run(tmp_path / str(number), kernel, path(**link), "transfer.ecn=true")
        waiting = [number for time_s, number in samples.backlogs()[1, "forward"] if time_s >= 3]
        means.append(sum(waiting) / len(waiting))
    assert means[1] < 0.7 * means[0]


@pytest.mark.guest
def test_accurate_ecn_is_negotiated(tmp_path: Path) -> None:
    """Its option takes 12 of a segment's 1448 bytes; PI2 at 15 ms leaves the line no gap."""
    kernel = newer(lambda each: each.can_accurate_ecn)
    content = path(line_rate="50 Mbit/s", queue="1500 kB", discipline="dualpi2")
    record, samples = run(tmp_path / "run", kernel, content, "transfer.accurate_ecn=true")
    marks = samples.passed_by_link("marks")[1, "forward"]
    assert marks > 0
    assert record.retransmits == 0
    curves = samples.curves
    assert curves is not None
    assert curves.goodput_bps(4.0) == pytest.approx(RATE_BPS * 1436 / 1538, rel=0.002)
    # Both ends count what the line marked, and the sender knows it from the receiver's option (RFC 9768 section 3.2.3).
    (stream,) = json.loads((samples.bundle / "engine.json").read_text())["streams"]
    sender, receiver = stream["sender_tcp_info"], stream["receiver_tcp_info"]
    assert sender["delivered_ce"] == receiver["received_ce"] == marks
    assert sender["delivered_ce_bytes"] == receiver["received_ce_bytes"] == marks * 1436
    assert sender["delivered_e0_bytes"] + sender["delivered_ce_bytes"] == sender["bytes_acked"] - 1  # the SYN
    assert receiver["received_e0_bytes"] + receiver["received_ce_bytes"] == receiver["bytes_received"]


@pytest.mark.guest
def test_the_engine_s_window_grows_on_a_newer_kernel(tmp_path: Path) -> None:
    """There SO_RCVBUF clamps the window of the listener, and connections take their window scale from that: 131 kB."""
    kernel = newer(lambda each: each.can_accurate_ecn)
    record, _ = run(tmp_path / "run", kernel, path(line_rate="200 Mbit/s"))
    assert record.limited_by != "window", record.limited_by_why
    assert (record.goodput_bps or 0) > 150e6
