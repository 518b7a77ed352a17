"""A run survives what TCP survives, in both worlds: outages of minutes, round trips of a minute, very slow lines."""

import itertools
from pathlib import Path
from typing import Any

import pytest

import landspeed as ls
from landspeed.base.failures import RunFailed
from landspeed.results.samples_reader import Samples
from landspeed.runs.one_run import RunRecord
from tests.support.emu_fixtures import plan_of, scenario

S = 10**9
WORLDS = pytest.mark.parametrize("world", ["sim", "emu"])
LINE = {"line_rate": "10 Mbit/s", "nic": "10 Mbit/s"}


def far(delay: str, *, queue: str = "300 kB", down: str | None = None, **more: Any) -> dict[str, Any]:
    """A line of 10 Mbit/s that is cut at 10 s, if so."""
    cut = [{"at": "10 s", "down": down, "between": ["r1", "omega"]}] if down else []
    links = [{"one_way_delay": "1 ms"}, {"one_way_delay": delay, "queue": queue, **more.pop("link", {})}]
    return scenario(links, **LINE | {"events": cut, "transfer": {"duration": "1 h"}} | more)


def stall_s(folder: Path, content: dict[str, Any]) -> float | None:
    stall_ns = plan_of(folder, content).transfer.stall_ns
    return None if stall_ns is None else stall_ns / S


def run(folder: Path, content: dict[str, Any], world: str) -> tuple[RunRecord, Path]:
    made = ls.run(ls.Scenario.build(content), world=world, runs_dir=folder)
    return made.record, made.bundle


def rests(bundle: Path) -> tuple[float, float]:
    """The longest time in which the receiver read nothing: its beginning and its end."""
    times: dict[int, int] = {}
    for row in Samples(bundle).receiver.to_pylist():
        times.setdefault(row["bytes"], row["time_ns"])
    pairs = itertools.pairwise(sorted(times.values()))
    begins_ns, ends_ns = max(pairs, key=lambda pair: pair[1] - pair[0])
    return begins_ns / S, ends_ns / S


def test_the_usual_patience_is_enough_for_a_usual_path(tmp_path: Path) -> None:
    """Also for a short cut, and for losses of a percent."""
    assert stall_s(tmp_path, far("24 ms")) is None
    assert stall_s(tmp_path, far("24 ms", down="8 s")) is None
    assert stall_s(tmp_path, far("24 ms", link={"loss": "1 %"})) is None


def test_patience_is_longer_than_the_outage_and_the_timeout_that_follows_it(tmp_path: Path) -> None:
    """A round trip fifteen times, where nothing queues; the outage; as long again, and a quarter of that."""
    within = pytest.approx(15 * (0.05 + 2 * 1538 * 8 / 10e6 + 2 * 90 * 8 / 10e6), rel=1e-3)
    assert (stall_s(tmp_path, far("24 ms", down="20 s")) or 0) - 20 - 1.25 * 20 == within
    assert (stall_s(tmp_path, far("24 ms", down="300 s")) or 0) - 300 - 1.25 * 120 == within
    lossy = [{"at": "10 s", "loss": "90 %", "for": "300 s", "from": "r1", "to": "omega"}]
    assert stall_s(tmp_path, far("24 ms", events=lossy)) == stall_s(tmp_path, far("24 ms", down="300 s"))


def test_patience_follows_round_trips_rates_and_losses(tmp_path: Path) -> None:
    assert stall_s(tmp_path, far("30 s")) == pytest.approx(15 * (60 + 0.24), rel=0.01)
    slow = [{"at": "10 s", "line_rate": "1 kbit/s", "from": "r1", "to": "omega"}]
    # 300 kB at 1 kbit/s are 40 min: fifteen of them are 10 h.
    assert stall_s(tmp_path, far("24 ms", events=slow)) == pytest.approx(15 * (2400 + 12.3), rel=0.01)
    # Of packets of which a half is lost, twenty in a row are lost once in a million times: TCP's last try.
    half = stall_s(tmp_path, far("24 ms", queue="3 kB", link={"loss": "50 %"})) or 0
    assert half == pytest.approx(sum(min(0.25 * 2**number, 120) for number in range(15)), rel=0.03)


def test_what_is_asked_for_holds_and_makes_no_other_work(tmp_path: Path) -> None:
    asked = plan_of(tmp_path, far("24 ms", down="300 s", transfer={"duration": "1 h", "stall": "5 s"}))
    assert asked.transfer.stall_ns == 5 * S
    assert asked.sha256 == plan_of(tmp_path, far("24 ms", down="300 s")).sha256


@pytest.mark.guest
@WORLDS
def test_an_outage_of_five_minutes_is_survived(tmp_path: Path, world: str) -> None:
    """From 10 s to 310 s nothing moves; TCP tries again after as long as it has waited, two minutes at most."""
    content = far("24 ms", down="300 s", transfer={"duration": "450 s", "sample_interval": "1 s"})
    record, bundle = run(tmp_path, content, world)
    begins_s, ends_s = rests(bundle)
    assert record.complete
    assert begins_s == pytest.approx(11, abs=1)
    assert 310 < ends_s < 310 + 120 * 1.15
    assert (record.goodput_bps or 0) > 0.9 * 9.41e6 * (450 - (ends_s - begins_s)) / 450 - 0.4e6


@pytest.mark.guest
@WORLDS
def test_an_outage_that_outlasts_tcp_breaks_the_run(tmp_path: Path, world: str) -> None:
    """Linux gives a connection up after 15 retransmissions (tcp_retries2), 15 minutes and more."""
    content = far("24 ms", down="1500 s", transfer={"duration": "2000 s", "sample_interval": "10 s"})
    with pytest.raises(RunFailed, match="stream 0 was lost"):
        run(tmp_path, content, world)


@pytest.mark.guest
@WORLDS
@pytest.mark.parametrize("delay", ["29999 ms", "44999 ms"])
def test_a_round_trip_of_a_minute_and_more(tmp_path: Path, world: str, delay: str) -> None:
    """Slow start doubles ten packets in each round trip, and the first come after half of one."""
    rtt_s = 2 * (float(delay.split(maxsplit=1)[0]) / 1e3 + 0.001)
    asked = {"duration": f"{round(4.5 * rtt_s)} s", "sample_interval": "1 s", "streams": 2}
    record, bundle = run(tmp_path, far(delay, queue="1 MB", transfer=asked), world)
    assert record.complete
    by_then = [
        max(
            row["bytes"]
            for row in Samples(bundle).receiver.to_pylist()
            if row["time_ns"] < trips * rtt_s * S and not row["stream"]
        )
        for trips in (2, 3, 4)
    ]
    assert by_then == [10 * 1448 * (2**trips - 1) for trips in (2, 3, 4)]


@pytest.mark.guest
@WORLDS
def test_a_line_of_a_kilobit_for_an_hour(tmp_path: Path, world: str) -> None:
    """A full queue takes two minutes to empty. 1448 of 1538 B are payload; the window needs some time to open."""
    links = [{"one_way_delay": "1 ms"}, {"one_way_delay": "24 ms"}]
    asked = {"duration": "3600 s", "sample_interval": "10 s"}
    record, _ = run(tmp_path, scenario(links, line_rate="1 kbit/s", nic="1 kbit/s", transfer=asked), world)
    assert record.complete
    assert record.goodput_bps == pytest.approx(1000 * 1448 / 1538, rel=0.03)


@WORLDS
@pytest.mark.guest
def test_a_transfer_that_rests_for_longer_than_asked_is_given_up(tmp_path: Path, world: str) -> None:
    asked = {"duration": "60 s", "sample_interval": "1 s", "stall": "5 s"}
    with pytest.raises(RunFailed, match="the receiver took no data for 5 s"):
        run(tmp_path, far("24 ms", down="30 s", transfer=asked), world)
