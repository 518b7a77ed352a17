"""Packet captures as input: of landspeed's own runs, whose figures are known, and of packets made here in each form."""

import gzip
import re
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import landspeed as ls
from landspeed.base.captures import Capture, CaptureError
from landspeed.report import submission
from landspeed.scenario.file.load import ScenarioError
from landspeed.scenario.importers.import_files import InferredScenario, import_files
from landspeed.scenario.importers.path_evidence import MeasuredTransfer, MeasurementError, PathEvidence
from landspeed.scenario.importers.readers.capture import read_capture
from landspeed.scenario.importers.registry import reader_of
from tests.support.fuzzing import damaged_bytes, examples
from tests.support.packets import RECEIVER, block, frame, pcap, pcapng, sawtooth, talk


def read(tmp_path: Path, content: bytes, name: str = "x.pcap") -> PathEvidence:
    (tmp_path / name).write_bytes(content)
    assert reader_of(tmp_path / name).kind == "capture"
    return read_capture(tmp_path / name)


def transfer_of(tmp_path: Path, content: bytes) -> MeasuredTransfer:
    (transfer,) = read(tmp_path, content).transfers
    return transfer


def figures(told: PathEvidence) -> tuple[object, ...]:
    (transfer,) = told.transfers
    return (transfer.bytes, transfer.duration_s, transfer.sender, transfer.receiver, transfer.sender_ports,
            transfer.mss_bytes, transfer.mtu_bytes, transfer.retransmits, [each.min_rtt_s for each in told.sockets],
            [each.window_bytes for each in transfer.intervals])  # fmt: skip


def test_the_forms_of_a_capture_are_the_same_to_it(tmp_path: Path) -> None:
    packets = talk()
    plain = read(tmp_path, pcap(packets))
    (transfer,) = plain.transfers
    assert figures(plain)[:9] == (
        400_000, pytest.approx(0.439), "192.0.2.1", "192.0.2.2", (40000,), 1000, 1040, 0, [0.04],
    )  # fmt: skip
    assert {each.window_bytes for each in transfer.intervals[1:]} == {500 << 7}
    assert transfer.captured_at == "the sender"
    sll = [(at, bytes(14) + data[12:]) for at, data in packets]
    sll2 = [(at, data[12:14] + bytes(18) + data[14:]) for at, data in packets]
    for content in (
        pcap(packets, order=">"), pcap(packets, nanoseconds=False), pcap(packets, order=">", nanoseconds=False),
        pcapng(packets), pcapng(packets, order=">", resolution=6), pcapng(packets, offset_s=10**8),
        gzip.compress(pcap(packets), mtime=0), pcap([(at, data[14:]) for at, data in packets], link_type=101),
        pcap(talk(link=bytes(12) + b"\x81\x00\x00\x05")), pcap(sll, link_type=113), pcap(sll2, link_type=276),
        pcap([(at, b"\x02\0\0\0" + data[14:]) for at, data in packets], link_type=0),
        pcap(talk(first=2**32 - 50_000)),  # sequence numbers begin again at 0
    ):  # fmt: skip
        assert figures(read(tmp_path, content)) == figures(plain)
    (coarse,) = read(tmp_path, pcapng(packets, resolution=0x8A)).transfers  # 1/1024 s
    assert coarse.duration_s == pytest.approx(0.439, abs=0.001)
    assert figures(read(tmp_path, pcap(talk(version=6))))[2:7] == ("2001:db8::1", "2001:db8::2", (40000,), 1000, 1060)


@pytest.mark.parametrize(("behind_ms", "place"), [(0, "the sender"), (40, "the receiver"), (15, "a place in between")])
def test_the_round_trip_is_the_path_s_wherever_it_was_captured(behind_ms: float, place: str, tmp_path: Path) -> None:
    told = read(tmp_path, pcap(talk(behind_ms=behind_ms)))
    assert told.transfers[0].captured_at == place
    assert [each.min_rtt_s for each in told.sockets] == [pytest.approx(0.04)]
    assert f"captured {40 - behind_ms:g} ms from the receiver and {behind_ms:g} ms from the sender" in told.notes[0]


def test_the_line_s_rate_is_what_came_while_a_queue_stood(tmp_path: Path) -> None:
    """Five times in a second the window is half of what the path holds: every interval has times of an idle line."""
    (tmp_path / "x.pcap").write_bytes(pcap(sawtooth(rate_bps=16e6, rtt_ms=12, least=14, most=36)))
    made = import_files({}, found=[tmp_path / "x.pcap"])
    assert made.loaded.scenario.path[-1].line_rate == pytest.approx(16e6, rel=0.002)
    assert re.search(r"line_rate: .*in \d+ intervals with a queue", made.text)
    assert (
        transfer_of(tmp_path, pcap(talk(behind_ms=15))).busy == ()
    )  # of the way to a place in between it tells nothing


def test_captures_of_both_ends_in_one_file_are_told_with_their_cause(tmp_path: Path) -> None:
    both = sorted([*talk(rtt_ms=40), *talk(rtt_ms=40, behind_ms=20)], key=lambda each: each[0])
    (tmp_path / "both.pcap").write_bytes(pcap(both))
    with pytest.raises(MeasurementError, match=r"both.pcap: packets stand twice in it \(400 of 400 .*mergecap") as told:
        read_capture(tmp_path / "both.pcap")
    assert "give the capture of one place" in str(told.value)


def test_a_clock_that_is_set_back_is_said(tmp_path: Path) -> None:
    """In the midst of a queue: least round trips below zero, and times of no length."""
    packets = sawtooth(rate_bps=16e6, rtt_ms=12, least=14, most=36, seconds=1)
    middle = len(packets) // 2
    back = [*packets[:middle], *((at - 10 * 10**9, data) for at, data in packets[middle:])]
    with pytest.raises(MeasurementError, match=r"x\.pcap: .* is no rate of a transfer; give the whole"):
        read(tmp_path, pcap(back))


def test_several_connections_between_two_hosts_are_one_transfer(tmp_path: Path) -> None:
    packets = sorted(talk() + talk(port=40001) + talk(port=40002, packets=20), key=lambda each: each[0])
    transfer = transfer_of(tmp_path, pcap(packets))
    assert (transfer.streams, transfer.bytes, set(transfer.sender_ports)) == (2, 800_000, {40000, 40001})


def test_losses_before_and_behind_the_place_are_told_from_reordering(tmp_path: Path) -> None:
    packets = talk()
    data = [each for each in packets if len(each[1]) > 1000]
    lost = [each for each in packets if each is not data[100]]
    late = (data[100][0] + 50 * 10**6, data[100][1])  # more than a round trip after the next one: sent again
    soon = (data[100][0] + 5 * 10**6, data[100][1])
    for changed, resent, overtaken in (
        ([*lost, late], 1, 0),  # lost before the capture
        ([*packets, late], 1, 0),  # lost behind it
        ([*lost, soon], 0, 1),
    ):
        transfer = transfer_of(tmp_path, pcap(sorted(changed, key=lambda each: each[0])))
        assert (transfer.retransmits, transfer.overtaken, transfer.bytes) == (resent, overtaken, 400_000)


def test_what_had_come_already_is_not_lost(tmp_path: Path) -> None:
    """D-SACK (RFC 2883): the first block is below what is acknowledged."""
    packets = talk()
    data = [each for each in packets if len(each[1]) > 1000]
    again = (data[100][0] + 30 * 10**6, data[100][1])
    block_ = struct.pack(">BBII", 5, 10, 1000 + 100 * 1000, 1000 + 101 * 1000)
    told = (again[0] + 40 * 10**6, frame(RECEIVER, 7000, 1000 + 130 * 1000, 16, options=b"\x01\x01" + block_))
    transfer = transfer_of(tmp_path, pcap(sorted([*packets, again, told], key=lambda each: each[0])))
    assert (transfer.retransmits, transfer.needless) == (0, 1)


def test_at_the_sender_selective_acknowledgments_tell_what_overtook(tmp_path: Path) -> None:
    """A hole that closes without anything sent again, or of which the receiver got all twice, was a late packet."""
    packets = talk()
    data = [each for each in packets if len(each[1]) > 1000]

    def told(after_ms: float, acknowledged: int, *blocks: tuple[int, int]) -> tuple[int, bytes]:
        edges = b"".join(struct.pack(">II", 1000 + 1000 * begin, 1000 + 1000 * end) for begin, end in blocks)
        options = b"\x01\x01" + bytes((5, 2 + len(edges))) + edges
        return data[100][0] + int(after_ms * 1e6), frame(
            RECEIVER, 7000, 1000 + 1000 * acknowledged, 16, options=options
        )

    # The packet 100 is late: 101 and 102 come before it, and the next acknowledgment is that of 104.
    gone = [data[number][0] + 40 * 10**6 for number in range(100, 104)]
    without = [each for each in packets if each[0] not in gone or len(each[1]) > 1000]
    early = [told(41, 100, (101, 102)), told(42, 100, (101, 103))]
    again = (data[100][0] + 43 * 10**6, data[100][1])
    for more, counted in (
        ([], 1),
        ([again], 0),  # lost and sent again, as far as one knows
        ([again, told(90, 130, (100, 101))], 1),  # the receiver got it twice
    ):
        transfer = transfer_of(tmp_path, pcap(sorted([*without, *early, *more], key=lambda each: each[0])))
        assert transfer.overtaken == counted


def test_a_window_without_its_factor_is_not_taken(tmp_path: Path) -> None:
    told = read(tmp_path, pcap(talk(opened=False)))
    assert {each.window_bytes for each in told.transfers[0].intervals} == {None}
    assert any(note.startswith("Window. x.pcap begins after the connection") for note in told.notes)
    assert told.transfers[0].min_rtt_s == pytest.approx(0.04)
    assert not told.sockets


def test_a_capture_that_ends_in_a_packet_is_used_up_to_there(tmp_path: Path) -> None:
    whole = pcap(talk())
    told = read(tmp_path, whole[: len(whole) // 2])
    assert told.transfers[0].bytes == 163_000  # acknowledged by then
    assert "x.pcap ends in the middle of a packet" in told.notes[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (pcap([]), r"x\.pcap: no transfer over TCP of 100.* in 0 packets; give a capture of one"),
        (pcap(talk(packets=20)), r"no transfer over TCP of 100.* in 43 packets; give"),
        (pcap(talk(), link_type=105), r"link type 105, which is not known; capture on"),
        (b"\xd4\xc3\xb2\xa1" + bytes(20) + b"\xff" * 40, r"x\.pcap: byte 24: a packet of 4294967295 bytes.*; give"),
        (pcapng(talk())[:28] + b"\xff" * 40, r"x\.pcap: byte 28: a block of 4294967295 bytes.*; give what"),
        (pcapng([]) + block("<", 3, bytes(40)), r"a packet without its time"),
        (pcapng([]) + block("<", 6, struct.pack("<5I", 7, 0, 0, 4, 4) + bytes(4)), r"interface 7, which"),
        (gzip.compress(pcap(talk()), mtime=0)[:300], r"x\.pcap: not gzip as it says .*; give the whole file"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_what_is_no_transfer_is_refused_with_its_remedy(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "x.pcap").write_bytes(content)
    with pytest.raises(MeasurementError, match=said):
        import_files({}, found=[tmp_path / "x.pcap"])


def test_a_file_that_is_no_capture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.pcap").write_bytes(b"hello")
    with pytest.raises(CaptureError, match="no capture in the form of pcap or pcapng; give what"):
        list(Capture(tmp_path / "x.pcap"))


@examples(60)
@given(st.data(), st.sampled_from([pcap(talk(packets=120)), pcapng(talk(packets=120))]))
def test_whatever_stands_in_it_there_is_a_scenario_or_an_error_with_a_remedy(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, content: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "fuzzed.pcap"
    file.write_bytes(data.draw(damaged_bytes(content)))
    try:
        import_files({"capture": [file]})
    except MeasurementError as error:
        assert re.search(r"fuzzed\.pcap.*(give|capture on)|no round-trip time", str(error)), str(error)
    except ScenarioError as error:
        assert all(problem.place and problem.right for problem in error.problems)


# --- landspeed's own runs ---------------------------------------------------------------------------------------------

PATH = {"mtu": "1500 B", "line_rate": "20 Mbit/s", "path.0.line_rate": "1 Gbit/s"}
RUNS = {
    "queue": {**PATH, "queue": "50 kB", "transfer.duration": "7 s"},
    "window": {**PATH, "ip": 6, "transfer.window": "50 kB", "transfer.duration": "3 s"},
    "loss": {**PATH, "line_rate": "100 Mbit/s", "path.1.loss": "0.5 %", "transfer.congestion_control": "reno",
             "transfer.duration": "8 s"},
    "reorder": {**PATH, "path.1.reorder": "2 %", "transfer.streams": 2, "transfer.duration": "3 s"},
    "bbr": {**PATH, "line_rate": "5 Mbit/s", "transfer.congestion_control": "bbr", "transfer.duration": "13 s"},
}  # fmt: skip

RATES = {"queue": 20e6, "window": 20e6, "loss": 100e6, "reorder": 20e6, "bbr": 5e6}


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ls.Run]:
    """Runs with captures at both ends."""
    folder = tmp_path_factory.mktemp("captured")
    first = ls.Scenario.load("first")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(submission, "print_pdf", lambda _: None)  # which takes a browser a second
        return {name: ls.run(first.with_(values), runs_dir=folder, evidence=True) for name, values in RUNS.items()}


def imported(run: ls.Run, *ends: str) -> InferredScenario:
    return import_files({}, found=[run.bundle / "evidence" / f"capture-{end}.pcap" for end in ends or ("sender",)])


@pytest.mark.guest
@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_captures_of_own_runs_tell_what_is_known_of_them(captured: dict[str, ls.Run], end: str) -> None:
    for name, run in captured.items():
        (transfer,) = read_capture(run.bundle / "evidence" / f"capture-{end}.pcap").transfers
        assert transfer.captured_at == f"the {end}", name
        assert transfer.streams == RUNS[name].get("transfer.streams", 1), name
        # The capture goes on until the queue is empty, which the run's own count does not.
        assert transfer.retransmits == pytest.approx(run.record.retransmits, abs=2), name
        assert transfer.goodput_bps == pytest.approx(run.goodput_bps, rel=0.05), name
        scenario = imported(run, end).loaded.scenario
        narrow = scenario.path[1]
        others_ms = 4 * 98 * 8 / RATES[name] * 1e3  # of three lines in a row the import knows one: small packets on two
        assert sum(link.rtt or 0 for link in scenario.path) / 1e6 == pytest.approx(50 + others_ms, rel=0.003), name
        assert scenario.mtu == 1500, name
        if name in ("queue", "reorder", "bbr"):
            assert narrow.line_rate == pytest.approx(RATES[name], rel=0.015), name


@pytest.mark.guest
def test_queue_window_loss_and_reordering_are_those_of_the_run(captured: dict[str, ls.Run]) -> None:
    queue = imported(captured["queue"]).loaded.scenario.path[1].queue
    assert queue is not None
    # A packet in service, framing, and the two lines of the same rate behind it: the import knows one.
    assert queue.bytes == pytest.approx(50_000, rel=0.08)
    window = imported(captured["window"]).loaded.scenario
    assert (window.ip, window.transfer.window_exact) == (6, True)
    assert window.transfer.window == pytest.approx(50_000, rel=0.03)  # Linux makes whole packets of it
    loss = imported(captured["loss"]).loaded.scenario.path[1]
    assert loss.loss == pytest.approx(0.005, rel=0.45)  # some twenty packets: two standard deviations
    for end in ("receiver", "sender"):  # of which one sees it, and the other is told by selective acknowledgments
        reorder = imported(captured["reorder"], end).loaded.scenario.path[1]
        assert reorder.reorder == pytest.approx(0.02, rel=0.25), end


@pytest.mark.guest
def test_the_control_is_guessed_at_the_sender_and_said_to_be_a_guess(captured: dict[str, ls.Run]) -> None:
    for name, control in (("queue", "cubic"), ("loss", "reno"), ("bbr", "bbr")):
        made = imported(captured[name])
        assert made.loaded.scenario.transfer.congestion_control == control
        assert re.search(rf"congestion_control: {control}  # guessed from capture-sender.pcap \(\w+\): ", made.text)
        assert "No file tells it: CUBIC is assumed" in imported(captured[name], "receiver").text
    both = imported(captured["queue"], "receiver", "sender")
    assert "capture-sender.pcap and capture-receiver.pcap are of the same transfer" in both.text
    assert both.loaded.scenario.transfer.congestion_control == "cubic"
    assert "the median of" not in both.text
