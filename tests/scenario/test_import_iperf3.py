"""Imports from iperf3: over UDP, in both directions, several runs in a file, and what stands beside the JSON."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landspeed.base.errors import LandspeedError
from landspeed.scenario.importers.import_files import import_files
from landspeed.scenario.importers.infer import infer
from landspeed.scenario.importers.infer_form import InferredPath
from landspeed.scenario.importers.path_evidence import (
    GoodputInterval,
    MeasuredTransfer,
    MeasurementError,
    PathEvidence,
    Probes,
)
from landspeed.scenario.importers.readers.iperf3 import read_iperf3, transfer_of
from landspeed.scenario.importers.readers.pscheduler import read_pscheduler
from tests.support.fuzzing import damaged, examples
from tests.support.places import TESTS

HERE = TESTS / "scenario" / "importer_inputs"
QUEUE = (HERE / "queue-iperf3.json").read_text()
PING = Probes("ping", "ping", 0.02, 10, 0)


def imported(kind: str, name: str) -> Any:
    """The link that the import takes for the bottleneck, and the text."""
    made = import_files({kind: [HERE / name], "traceroute": [HERE / "twenty-ms-traceroute.txt"]})
    return made.loaded.scenario.path[1], made.text


# --- over UDP ---------------------------------------------------------------------------------------------------------


def test_a_queue_that_udp_overflowed_is_a_line_s_rate_and_no_loss() -> None:
    """150 Mbit/s sent into 100 Mbit/s: what arrived is the line's rate; 36 % are no loss of the path."""
    link, text = imported("iperf3", "udp-iperf3.json")
    assert link.line_rate == pytest.approx(100e6, rel=0.005)
    assert link.loss is None
    assert "taken as overflows of a full queue" in text and "A second reading is chance" in text


def test_the_rate_of_udp_is_what_arrived_in_every_version() -> None:
    """3.1 has the sender's figure and the losses only; pScheduler passes on the sender's."""
    (old,) = read_iperf3(HERE / "udp-old-iperf3.json").transfers
    assert (old.goodput_bps, old.offered_bps, old.lost, old.packets) == (60e6, 100e6, 4000, 10_000)
    (new,) = read_iperf3(HERE / "udp-iperf3.json").transfers
    assert new.goodput_bps == pytest.approx(95_243_612, abs=1)
    assert (new.packet_bytes, new.bytes) == (1448, pytest.approx(41_435 * 1448, rel=1e-4))
    (passed_on,) = read_pscheduler(HERE / "pscheduler-udp.json").transfers
    assert passed_on.goodput_bps == pytest.approx(231_688_696.7 * (198_390 - 110_810) / 198_390)
    data = json.loads((HERE / "udp-iperf3.json").read_text())
    data["end"]["sum_received"]["bits_per_second"] = data["end"]["sum_sent"]["bits_per_second"]  # a fault of some
    assert transfer_of(data, "x").goodput_bps == pytest.approx(149_970_977 * 41_435 / 64_732, abs=1)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("udp-all-lost", r"udp-all-lost-iperf3.json: none of its 10000 packets arrived; import a run in which some"),
        ("udp-nan", r"udp-nan-iperf3.json:67:22: -nan is no number: .*; import a run in which packets arrived"),
        ("bidir", r"bidir-iperf3.json: iperf3 sent both ways at once; import a run in one direction"),
    ],
)
def test_a_run_that_tells_nothing_of_one_way_is_refused(name: str, said: str) -> None:
    with pytest.raises(MeasurementError, match=said):
        read_iperf3(HERE / f"{name}-iperf3.json")


def udp(offered_bps: float, share: float) -> MeasuredTransfer:
    packets = 100_000
    lost = round(packets * share)
    return MeasuredTransfer(f"{offered_bps / 1e6:g}.json", "iperf 3.12", offered_bps * (1 - share), 0, 10.0, udp=True,
                    packets=packets, lost=lost, packet_bytes=1472, offered_bps=offered_bps)  # fmt: skip


def inferred(*transfers: MeasuredTransfer, probes: Probes = PING) -> InferredPath:
    return infer(PathEvidence(transfers=list(transfers), probes=[probes]))


def test_losses_are_chance_only_where_the_path_is_known_to_carry_what_was_sent() -> None:
    tcp = MeasuredTransfer("tcp.json", "iperf 3.12", 90e6, 10**8, 8.0, mss_bytes=1448,
                   intervals=tuple(GoodputInterval(n, n + 1, 90e6, 0.02, None, 0) for n in range(8)))  # fmt: skip
    slow = inferred(udp(50e6, 0.01), tcp)
    assert slow.loss is not None
    assert slow.loss.value == 1000 / 100_010  # the ten pings count, too
    both = inferred(udp(50e6, 0.01), udp(150e6, 0.36))  # the faster run shows that 50 Mbit/s pass
    assert both.loss is not None and both.rate is not None
    assert (both.loss.value, both.rate_known) == (1000 / 100_010, True)
    assert both.rate.value == pytest.approx(96e6 * 1538 / 1472)
    alone = inferred(udp(50e6, 0.01))  # may be a queue: neither a loss nor a rate
    assert (alone.loss, alone.rate_known) == (None, False)
    assert any("a full queue or chance" in each for each in alone.assumptions)
    lost_pings = inferred(udp(150e6, 0.36), probes=Probes("ping", "ping", 0.02, 100, 2))
    assert lost_pings.loss is not None
    assert lost_pings.loss.value == 0.02  # of the pings alone


def test_a_loss_is_put_on_the_way_of_the_data_only() -> None:
    made = import_files({"iperf3": [HERE / "loss-iperf3.json"], "ss": [HERE / "loss-ss.txt"]})
    (link,) = [link for link in made.loaded.scenario.path if link.loss]
    assert link.reverse is not None
    assert link.reverse.loss == 0


def test_a_policer_is_said_beside_the_loss() -> None:
    """A policed path of 40 ms: flat goodput, losses in bursts, no queue; random losses are no policer."""
    made = import_files({"iperf3": [HERE / "policer-iperf3.json"], "ss": [HERE / "policer-ss.txt"]})
    (rate,) = re.findall(r"or a policer at ([\d.]+) Mbit/s", made.text)
    assert float(rate) == pytest.approx(19.1, rel=0.05)
    assert "a policer" not in import_files({"iperf3": [HERE / "loss-iperf3.json"], "ss": [HERE / "loss-ss.txt"]}).text


# --- what stands in a file --------------------------------------------------------------------------------------------


def read(folder: Path, text: str | bytes) -> list[MeasuredTransfer]:
    (folder / "x.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_iperf3(folder / "x.json").transfers


def test_lines_before_and_behind_the_json_are_passed_over(tmp_path: Path) -> None:
    (plain,) = read(tmp_path, QUEUE)
    assert read(tmp_path, "warning: this system does not seem to support IPv6 - trying IPv4\n" + QUEUE) == [plain]
    assert read(tmp_path, QUEUE + "\niperf3: error - the client has terminated\n") == [plain]
    assert read(tmp_path, QUEUE.encode("utf-16")) == [plain]  # PowerShell's >
    assert read(tmp_path, b"\xef\xbb\xbf" + QUEUE.encode()) == [plain]


def test_several_runs_in_a_file_are_several_transfers(tmp_path: Path) -> None:
    found = read(tmp_path, f"{QUEUE}\n{QUEUE}")
    line = QUEUE.count("\n") + 2
    assert [each.source for each in found] == ["x.json:1", f"x.json:{line}"]
    assert found[0].goodput_bps == found[1].goodput_bps
    failed = '{"start": {}, "intervals": [], "end": {}, "error": "the server is busy"}'
    with pytest.raises(MeasurementError, match=rf"x.json:{line}: this run of iperf3 failed: the server is busy"):
        read(tmp_path, f"{QUEUE}\n{failed}")
    with pytest.raises(MeasurementError, match=f"cut off in line {line + 20}"):
        read(tmp_path, f"{QUEUE}\n" + "\n".join(QUEUE.split("\n")[:21]))


@examples(150)
@given(st.data())
def test_whatever_stands_in_it_there_is_an_error_with_its_file(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = json.loads(QUEUE)
    whole["intervals"] = whole["intervals"][:4]
    file = tmp_path_factory.getbasetemp() / "fuzzed.json"
    text = json.dumps(data.draw(damaged(whole)), indent=1)
    cut = data.draw(st.one_of(st.none(), st.integers(1, len(text))))
    file.write_text(text[:cut])
    try:
        import_files({"iperf3": [file]})
    except LandspeedError as error:
        assert re.search(r"(fuzzed\.json|imported|no round-trip time)", str(error)), str(error)


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("server", [False, True])
def test_before_iperf_3_7_who_sent_is_what_was_asked_for(tmp_path: Path, reverse: int, server: bool) -> None:
    """Its streams have no member `sender`: the client sends unless --reverse; a server's file is the other end's."""
    data = json.loads((HERE / "queue-iperf3.json").read_text())
    for each in data["intervals"]:
        for stream in each["streams"]:
            del stream["sender"]
    data["start"]["test_start"]["reverse"] = reverse
    if server:
        data["start"]["accepted_connection"] = {"host": "x", "port": 1}
    (tmp_path / "old.json").write_text(json.dumps(data))
    here, there = (data["start"]["connected"][0][f"{end}_host"] for end in ("local", "remote"))
    (found,) = read_iperf3(tmp_path / "old.json").transfers
    assert (found.sender, found.receiver) == ((here, there) if bool(reverse) == server else (there, here))
