"""Traces of every system, whatever their times: each line is read, and no link gets less than no delay."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landspeed.base.errors import ScenarioError
from landspeed.scenario.importers.import_files import import_files
from landspeed.scenario.importers.infer import infer
from landspeed.scenario.importers.path_evidence import (
    GoodputInterval,
    MeasuredTransfer,
    MeasurementError,
    PathEvidence,
    Traceroute,
    TracerouteHop,
)
from landspeed.scenario.importers.probes_at_once import least_ms
from landspeed.scenario.importers.readers.traceroute import read_traceroute
from landspeed.scenario.importers.write import write_scenario
from tests.support.fuzzing import damaged_bytes, examples
from tests.support.places import TESTS

HERE = TESTS / "scenario" / "importer_inputs"


def links_ms(*traces: str) -> list[float]:
    """The round trip of each link that is imported from these files."""
    made = import_files({"traceroute": [HERE / name for name in traces]})
    return [(link.rtt or 0) / 1e6 for link in made.loaded.scenario.path]


def test_a_hop_that_answers_no_later_than_the_one_before_has_a_link_without_a_delay() -> None:
    made = import_files({"traceroute": [HERE / "two-hops-traceroute.txt"]})
    first, last = made.loaded.scenario.path
    assert (first.rtt, last.rtt) == (5_007_000, 0)
    assert "before answered no sooner than the receiver: the link between them has the least delay" in made.text


TIMES = st.lists(st.floats(0, 400).map(lambda ms: round(ms, 3)), max_size=3).map(tuple)


@examples(200)
@given(st.lists(TIMES, max_size=30), st.lists(TIMES, max_size=30), TIMES.filter(any), st.booleans(), st.booleans())
def test_no_trace_makes_a_negative_delay(
    there: list[tuple[float, ...]], back: list[tuple[float, ...]], last: tuple[float, ...], reached: bool, same: bool
) -> None:
    """Random lists of both ends: links ≥ 0 that add up to the round trip, and a text without a negative number."""
    back = there[::-1] if same else back
    traces = [
        Traceroute(
            name, "b", (*(TracerouteHop(f"r{n}", ms) for n, ms in enumerate(times)), TracerouteHop("b", last)), reached
        )
        for name, times in (("there", there), ("back", back))
    ]
    evidence = PathEvidence(traces=traces)
    made = infer(evidence)
    assert min(made.round_trip.links_ms) >= 0
    assert sum(made.round_trip.links_ms) == pytest.approx(made.round_trip.delay.value * 1e3, abs=1e-9)
    written = [line.split("#")[0] for line in write_scenario(made, evidence, "x").splitlines() if "  rtt:" in line]
    assert written and not [line for line in written if "-" in line]


@pytest.mark.parametrize(
    ("name", "target", "hops"),
    [
        ("mtr.txt", "192.0.2.80", [("198.51.100.1", 0.4), ("", None), ("192.0.2.80", 80.1)]),
        ("cisco-traceroute.txt", "192.0.2.80", [("198.51.100.1", 11), ("198.51.100.5", 40), ("192.0.2.80", 43)]),
        ("six-traceroute.txt", "host.example.net", [("2001:db8:1::1", 0.5), ("2001:db8:2::1", 10.1),
                                                    ("2001:db8::80", 20.1)]),
        *(
            (f"{name}-tracert.txt", "ziel.example.net", [("192.168.0.1", 0.5), ("gw.example.org [198.51.100.1]", 8),
                                                         ("", None), ("ziel.example.net [192.0.2.80]", 23)])
            for name in ("german", "german-cp850")
        ),
    ],
)  # fmt: skip
def test_what_every_system_prints_is_read(name: str, target: str, hops: list[tuple[str, float | None]]) -> None:
    (trace,) = read_traceroute(HERE / name).traces
    assert [(hop.label, min(hop.rtts_ms, default=None)) for hop in trace.hops] == hops
    assert (trace.target, trace.reached) == (target, True)


def test_a_trace_over_ipv6_gives_a_path_of_ipv6() -> None:
    assert import_files({"traceroute": [HERE / "six-traceroute.txt"]}).loaded.scenario.ip == 6
    assert import_files({"traceroute": [HERE / "cisco-traceroute.txt"]}).loaded.scenario.ip == 4


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("  0  192.0.2.80  9 ms  9 ms  9 ms", "no hop of a traceroute answered"),
        ("  1  192.0.2.1  1 ms  2 ms  1 ms\n  2  192.0.2.80  " + "9" * 400 + " ms", "inf ms is no round trip"),
        ("  1  192.0.2.80  2000000 ms", r"2e\+06 ms is no round trip"),
    ],
)
def test_a_number_of_no_hop_or_a_time_of_no_trip_is_refused(lines: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "trace").write_text(f"traceroute to x.example (192.0.2.80), 30 hops max, 60 byte packets\n{lines}\n")
    with pytest.raises(MeasurementError, match=f"trace: {said}; give what `traceroute"):
        read_traceroute(tmp_path / "trace")


@pytest.mark.parametrize(
    ("printed", "off"),
    [("30.877", "5.0 µs"), ("24.1", "50 µs"), ("30", "500 µs")],
)
def test_a_round_trip_is_as_exact_as_its_last_digit(printed: str, off: str, tmp_path: Path) -> None:
    (tmp_path / "ping").write_text(f"192.0.2.80 : xmt/rcv/%loss = 20/20/0%, min/avg/max = {printed}/40.5/50.9\n")
    assert f"least of 20; ± {off}" in import_files({"ping": [tmp_path / "ping"]}).text


def test_a_time_of_zero_is_half_of_the_last_digit(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("Tracing the route to 192.0.2.80\n  1 192.0.2.80 0 msec 0 msec 1 msec\n")
    (trace,) = read_traceroute(tmp_path / "t.txt").traces
    assert trace.hops[0].rtts_ms == (0.5, 0.5, 1.0)


def test_what_probes_waited_for_each_other_is_no_delay() -> None:
    """Measured in the guest: 5.818 Mbit/s between b and r3; the true round trips are 32.67, 35.027 and 42.687 ms."""

    def told(*hops: tuple[float, ...]) -> Traceroute:
        return Traceroute("t.txt", "a", tuple(TracerouteHop(f"r{n}", ms) for n, ms in enumerate(hops)), reached=False)

    slow = told((32.978, 33.151, 33.324), (35.769, 35.942, 36.116), (43.863, 44.036, 44.210))
    assert least_ms(slow) == [32.978, pytest.approx(35.365, abs=0.01), pytest.approx(43.05, abs=0.02)]
    fast = told((50.281, 50.298, 50.315), (58.011, 58.028, 58.046), (60.438, 60.456, 60.473))
    noisy = told((32.978, 33.151, 33.324), (35.769, 36.942, 36.116), (43.863, 44.036, 44.210))
    for plain in (fast, noisy):
        assert least_ms(plain) == [min(hop.rtts_ms) for hop in plain.hops]


def test_a_packet_s_time_on_the_bottleneck_is_no_link_s_delay() -> None:
    """Of 1 Mbit/s: the hop behind it answers 1.8 ms later than by the delays alone, and the last link keeps its own."""
    line_ms = (60 + 88 + 2 * 38) * 8 / 1e3
    hops = [TracerouteHop("r1", (5.0,)), TracerouteHop("r2", (25.0 + line_ms,)), TracerouteHop("b", (30.0 + line_ms,))]
    evidence = PathEvidence(
        transfers=[
            MeasuredTransfer(
                "x.json", "iperf 3.12", 940e3, 10**6, 8.0, mss_bytes=1448,
                intervals=tuple(GoodputInterval(n, n + 1, 941.5e3, rtt_s=0.2) for n in range(8)),
            )
        ],
        traces=[Traceroute("t.txt", "b", tuple(hops), reached=True)],
    )  # fmt: skip
    assert infer(evidence).round_trip.links_ms == pytest.approx([5, 20, 5], abs=0.02)


NAMES = ["mtr.txt", "cisco-traceroute.txt", "six-traceroute.txt", "german-tracert.txt", "two-hops-traceroute.txt"]


@examples(300)
@given(st.data(), st.sampled_from(NAMES))
def test_whatever_stands_in_it_there_is_an_error_with_its_file(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, name: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "fuzzed.txt"
    file.write_bytes(data.draw(damaged_bytes((HERE / name).read_bytes())))
    try:
        import_files({"traceroute": [file]})
    except MeasurementError as error:
        assert ("fuzzed.txt" in str(error) and "give" in str(error)) or "no round-trip time" in str(error)
    except ScenarioError as error:  # more hops than there can be
        assert all(problem.place and problem.right for problem in error.problems)
