"""ECN in the simulated world: marks instead of drops, and what a mark does to the window (RFC 3168)."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.support.sim_fixtures import MS, S, Simulated, direction, path_plan, simulate

RATE_BPS, ONE_WAY_NS = 50_000_000, 20 * MS
# It marks everything that waited 20 ms, and drops nothing.
MARKING = {"codel": {"ecn": True, "target": "60 s", "interval": "60 s", "ce_threshold": "20 ms"}}


def run(folder: Path, discipline: dict[str, Any], **transfer: Any) -> Simulated:
    """A stream over a managed queue that slow start cannot overflow."""
    slow = direction(RATE_BPS, ONE_WAY_NS, queue_bytes=5_000_000, discipline=discipline)
    asked = {"duration_ns": 8 * S, "window_bytes": 1_000_000, "sample_interval_ns": 10 * MS} | transfer
    done = simulate(path_plan([direction(10 * RATE_BPS, MS), slow], mtu=1500, **asked), folder)
    assert done.status == 0, done.error
    return done


def counted(done: Simulated) -> tuple[int, int, int]:
    """Packets marked and dropped at the queue, and sent again."""
    last = [row for row in done.rows("links") if (row["link"], row["direction"]) == (1, 0)][-1]
    again = done.rows("sender")[-1]["retransmits"]
    return last["marks"] or 0, last["drops"] or 0, again or 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["red", "codel", "fq_codel", "pie", "fq_pie"])
def test_a_discipline_marks_instead_of_dropping(tmp_path: Path, kind: str) -> None:
    """PIE drops still where its probability passes 10 % (RFC 8033 section 5.1): at slow start's end."""
    marks, drops, again = counted(run(tmp_path / "run", {kind: {"ecn": True}}, ecn=True))
    assert marks > 0
    if "pie" not in kind:
        assert (drops, again) == (0, 0)


def test_what_did_not_negotiate_it_is_dropped(tmp_path: Path) -> None:
    marks, drops, again = counted(run(tmp_path / "run", {"codel": {"ecn": True}}))
    assert marks == 0
    assert 0 < drops <= again


@pytest.mark.slow
def test_a_mark_halves_reno_s_window(tmp_path: Path) -> None:
    """As a loss does (RFC 3168 section 6.1.2), and nothing is lost. CoDel marks everything that waited 20 ms here."""
    done = run(tmp_path / "run", MARKING, ecn=True, duration_ns=20 * S)
    rows = [row for row in done.rows("sender") if (row["time_ns"] or 0) > 5 * S]
    changes = [(before, after) for before, after in itertools.pairwise(rows) if before["state"] == 0 != after["state"]]
    assert changes
    for before, after in changes:
        assert after["ssthresh_packets"] == pytest.approx((before["cwnd_packets"] or 0) / 2, abs=1)
    # Once for each time that the queue becomes too long: the next window is not marked.
    halves = [row["cwnd_packets"] or 0 for row in rows if row["state"] == 0]
    assert min(halves) >= 0.45 * max(halves)
    # 42 ms and 20 ms of waiting hold 62 ms of the line.
    most = (2 * (ONE_WAY_NS + MS) + 20 * MS) / S * RATE_BPS / 8 / 1538
    assert max(row["cwnd_packets"] or 0 for row in rows) == pytest.approx(most, rel=0.05)
    assert counted(done)[1:] == (0, 0)


@pytest.mark.slow
def test_h_tcp_counts_the_time_from_a_mark_too(tmp_path: Path) -> None:
    """As from a loss (Leith and Shorten 2004): else it grows faster and faster, and 13 s see 20 reductions, not 4."""
    done = run(tmp_path / "run", MARKING, ecn=True, duration_ns=13 * S, congestion_control="htcp")
    states = [row["state"] for row in done.rows("sender") if (row["time_ns"] or 0) > S]
    reductions = sum(before == 0 != after for before, after in itertools.pairwise(states))
    assert 3 <= reductions <= 5


@pytest.mark.slow
@pytest.mark.parametrize("control", ["reno", "htcp", "westwood"])
def test_the_window_is_the_threshold_when_a_reduction_ends(tmp_path: Path, control: str) -> None:
    """Westwood+ decides on it only there (Linux, tcp_westwood_event): 25 packets after slow start, not 116."""
    rows = run(tmp_path / "run", MARKING, ecn=True, duration_ns=3 * S, congestion_control=control).rows("sender")
    ends = [after for before, after in itertools.pairwise(rows) if before["state"] != 0 == after["state"]]
    assert ends
    for row in ends:
        assert row["cwnd_packets"] == pytest.approx(row["ssthresh_packets"], abs=2)
