"""Imports from `ss`: of many connections only the transfer's count, and its congestion control is theirs."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landspeed.scenario.importers.import_files import import_files
from landspeed.scenario.importers.infer import infer
from landspeed.scenario.importers.path_evidence import (
    MeasuredTransfer,
    MeasurementError,
    PathEvidence,
    Socket,
    Traceroute,
)
from landspeed.scenario.importers.peers import of_one_path, plain_address
from landspeed.scenario.importers.readers.ss import read_ss
from tests.support.fuzzing import examples
from tests.support.places import TESTS

HERE = TESTS / "scenario" / "importer_inputs"
PEERS = HERE / "three-peers-ss.txt"


def transfer_to(receiver: str, *ports: int) -> MeasuredTransfer:
    return MeasuredTransfer("x.json", "iperf 3.12", 1e8, 10**8, 8.0, receiver=receiver, sender_ports=ports)


def of(sockets: list[Socket], *transfers: MeasuredTransfer) -> list[tuple[str, float | None]]:
    kept = of_one_path(PathEvidence(transfers=list(transfers), sockets=sockets)).sockets
    return [(each.peer, each.min_rtt_s) for each in kept]


def test_only_the_connections_to_the_transfer_s_peer_count() -> None:
    sockets = read_ss(PEERS).sockets
    assert {each.peer for each in sockets} == {"198.51.100.7", "192.0.2.6", "2001:db8::9"}
    assert of(sockets, transfer_to("192.0.2.6")) == [("192.0.2.6", pytest.approx(0.02002))]
    assert of(sockets, transfer_to("::ffff:192.0.2.6")) == [("192.0.2.6", pytest.approx(0.02002))]
    assert of(sockets, transfer_to("2001:db8:0::9")) == [("2001:db8::9", pytest.approx(0.1502))]


def test_of_several_to_the_peer_the_ports_tell_which() -> None:
    two = [Socket("ss.txt", "192.0.2.6", port, rtt_s) for port, rtt_s in ((42314, 0.02), (42316, 0.01))]
    assert of(two, transfer_to("192.0.2.6", 42314)) == [("192.0.2.6", 0.02)]
    assert len(of(two, transfer_to("192.0.2.6", 60000))) == 2  # of another run


def test_a_file_with_none_of_its_peers_is_refused() -> None:
    sockets = read_ss(PEERS).sockets
    with pytest.raises(MeasurementError, match=r"three-peers-ss.txt: no connection to 192.0.2.77.*ss -tin dst 192.0.2"):
        of(sockets, transfer_to("192.0.2.77"))
    trace = Traceroute("t.txt", "b.example.net", (), reached=False, address="192.0.2.6")
    assert [each.min_rtt_s for each in of_one_path(PathEvidence(traces=[trace], sockets=sockets)).sockets] == [0.02002]


def test_several_peers_and_nothing_that_tells_the_transfer_s_are_refused() -> None:
    with pytest.raises(MeasurementError, match="connections to 3 peers"):
        import_files({"ss": [PEERS]})
    with pytest.raises(MeasurementError, match="connections to 3 peers"):  # a name is no address
        of(read_ss(PEERS).sockets, transfer_to("b.example.net"))
    assert of([Socket("ss.txt", "192.0.2.6")], transfer_to("b.example.net")) == [("192.0.2.6", None)]


def test_the_congestion_control_is_read_from_the_line() -> None:
    made = import_files({"ss": [HERE / "bbr-ss.txt"]})
    assert made.loaded.scenario.transfer.congestion_control == "bbr"
    assert sum(link.rtt or 0 for link in made.loaded.scenario.path) == pytest.approx(100.028e6, rel=1e-4)
    (socket,) = read_ss(HERE / "bbr-ss.txt").sockets
    assert (socket.mss_bytes, socket.mtu_bytes, socket.packets, socket.retransmits) == (1448, 1500, 3762764, 44)


def test_lines_without_a_state_or_with_a_protocol(tmp_path: Path) -> None:
    """`ss -ti state established`, `ss -i`, options before the control, and one it does not know."""
    fields = "rto:224 rtt:36.5/1.1 mss:1448 bytes_acked:58000000 minrtt:20.02"
    for ends, info, control in (
        ("0 0 10.0.0.1:42314 192.0.2.6:5201", f"\t cubic {fields}", "cubic"),
        ("tcp ESTAB 0 0 10.0.0.1%eth0:42314 192.0.2.6%eth0:5201 users:((\"bbr\",pid=1,fd=3))",
         f"\t ts sack ecn ecnseen reno wscale:7,7 {fields}", "reno"),
        ("FIN-WAIT-1 0 9 [::ffff:10.0.0.1]:42314 [::ffff:192.0.2.6]:5201", f" prague wscale:7,7 {fields}", "prague"),
        (f"ESTAB 0 9 10.0.0.1:42314 192.0.2.6:5201 bbr wscale:7,7 {fields}", "", "bbr"),
    ):  # fmt: skip
        (tmp_path / "ss.txt").write_text(f"{ends}\n{info}\n")
        (socket,) = read_ss(tmp_path / "ss.txt").sockets
        assert (socket.peer, socket.local_port, socket.congestion_control) == ("192.0.2.6", 42314, control)


def test_an_old_ss_tells_a_bound_of_the_round_trip(tmp_path: Path) -> None:
    """Without minrtt, which came in 2016: the smoothed round trip, and what it may have in it is said."""
    (tmp_path / "ss.txt").write_text(
        "State       Recv-Q Send-Q Local Address:Port               Peer Address:Port\n"
        "ESTAB       0      1234560  198.51.100.10:42314                192.0.2.80:5201\n"
        "\t cubic wscale:7,7 rto:244 rtt:44/2.5 ato:40 mss:1448 cwnd:312 ssthresh:290 send 82.1Mbps retrans:0/12\n"
    )
    made = import_files({}, found=[tmp_path / "ss.txt"])
    assert sum(link.rtt or 0 for link in made.loaded.scenario.path) == pytest.approx(44e6, rel=1e-3)
    assert "ss.txt: the least smoothed RTT, an upper bound: its own queue may be in it" in made.text


def test_addresses_are_compared_in_one_form() -> None:
    assert plain_address("[fe80::1%eth0]") == "fe80::1"
    assert plain_address("2001:DB8:0:0::1") == "2001:db8::1"
    assert plain_address("::ffff:192.0.2.1") == "192.0.2.1"
    assert plain_address("b.example.net") == "b.example.net"


@examples(300)
@given(st.integers(0, 900), st.sampled_from(["", "x", "-1", "nan", "9" * 30, "\n", "1e9", ":", "/"]), st.integers(0, 9))
def test_whatever_stands_in_it_there_is_an_error_with_its_file(
    tmp_path_factory: pytest.TempPathFactory, at: int, text: str, less: int
) -> None:
    file = tmp_path_factory.getbasetemp() / "fuzzed-ss.txt"
    whole = PEERS.read_text()
    file.write_text(whole[:at] + text + whole[at + less :])
    try:
        import_files({"ss": [file]})
    except MeasurementError as error:
        assert re.match(r"\S*fuzzed-ss.txt", str(error)) and "give" in str(error)


def test_a_window_that_ss_shows_full_is_the_limit(tmp_path: Path) -> None:
    """`rwnd_limited`; where no program tells windows, such as iperf 3.1, and where there is no transfer at all."""
    fields = "cubic wscale:7,7 rto:300 rtt:100.05/0.02 mss:1448 pmtu:1500 busy:10000ms rwnd_limited:9800ms(98.0%)"
    (tmp_path / "ss.txt").write_text(
        f"ESTAB 0 9 192.0.2.10:40000 192.0.2.20:5201\n\t {fields} bytes_acked:499417816 minrtt:100 snd_wnd:3000320\n"
    )
    alone = import_files({"ss": [tmp_path / "ss.txt"]}).loaded.scenario.transfer
    assert (alone.window, alone.window_exact) == (3_000_320, True)
    old = PathEvidence(transfers=[transfer_to("192.0.2.20", 40000)], sockets=read_ss(tmp_path / "ss.txt").sockets)
    made = infer(old)
    assert (made.bound_by, made.sure) == ("window", "certain")
    assert made.why == "the receiver's window held it back for 98 % of its busy time, says ss.txt"
    (tmp_path / "ss.txt").write_text((tmp_path / "ss.txt").read_text().replace("9800ms(98.0%)", "400ms(4.0%)"))
    assert import_files({"ss": [tmp_path / "ss.txt"]}).loaded.scenario.transfer.window is None
