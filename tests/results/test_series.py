"""Byte curves and sums of streams: what lies between samples, and where a curve ends."""

import pytest

from landspeed.results.series import ByteCurves, rounds_of, total_of


def curves(*samples: tuple[int, float, int]) -> ByteCurves:
    made = ByteCurves()
    for stream, time_s, count in samples:
        made.add(stream, time_s, count)
    return made


def test_a_curve_begins_at_zero() -> None:
    assert curves((3, 2.0, 100)).streams == {3: ([0.0, 2.0], [0, 100])}


def test_at_a_known_time_the_larger_count_holds() -> None:
    known = curves((0, 1.0, 50), (0, 1.0, 60), (0, 1.0, 55))
    assert known.streams[0] == ([0.0, 1.0], [0, 60])
    assert curves((0, 0.0, 7)).streams[0] == ([0.0], [7])
    assert curves((0, 2.0, 50), (0, 1.0, 50), (0, 1.0, 49)).streams[0] == ([0.0, 2.0], [0, 50])


def test_it_ends_with_the_last_byte() -> None:
    assert ByteCurves().end_s == 0.0
    assert curves((0, 1.0, 10), (0, 2.0, 30), (0, 3.0, 30)).end_s == 2.0
    assert curves((0, 1.0, 10), (1, 4.0, 5), (1, 5.0, 5)).end_s == 4.0
    assert curves((0, 1.0, 0)).end_s == 0.0


def test_bytes_between_samples() -> None:
    both = curves((0, 1.0, 100), (0, 3.0, 300), (1, 2.0, 1000))
    assert both.bytes_at(0.0) == 0
    assert both.bytes_at(0.25) == 25 + 125
    assert both.bytes_at(1.0) == 100 + 500
    assert both.bytes_at(2.5) == 250 + 1000
    assert both.bytes_at(9.0) == 300 + 1000
    assert both.bytes_at(-1.0) == 0
    assert curves((0, 0.0, 7), (0, 2.0, 9)).bytes_at(-1.0) == 7


def test_goodput_between_two_times() -> None:
    known = curves((0, 1.0, 1000), (0, 2.0, 3000), (0, 5.0, 3000))
    assert known.goodput_bps(1.0) == 16_000.0
    assert known.goodput_bps(0.0) == 12_000.0
    assert known.goodput_bps(0.5, 1.5) == 8 * 1500
    assert known.goodput_bps(0.0, 4.0) == 6000.0
    assert known.goodput_bps(2.0) is None
    assert known.goodput_bps(1.999) == pytest.approx(16_000.0)
    assert known.goodput_bps(3.0, 3.0) is None


def test_rounds_at_one_time() -> None:
    streams = {0: [(1.0, 10.0), (2.0, 20.0)], 1: [(1.0, 1.0), (2.0, 2.0)]}
    assert list(rounds_of(streams)) == [(1.0, [10.0, 1.0]), (2.0, [20.0, 2.0])]
    assert total_of(streams) == [(1.0, 11.0), (2.0, 22.0)]


def test_rounds_of_streams_that_report_at_their_own_times() -> None:
    """A round is whole when each stream under way has told something new."""
    streams = {0: [(1.0, 10.0), (2.0, 20.0), (3.0, 30.0)], 1: [(1.5, 1.0), (2.5, 2.0)]}
    assert list(rounds_of(streams)) == [(1.0, [10.0]), (2.0, [20.0, 1.0]), (3.0, [30.0])]


def test_a_stream_counts_from_its_first_row_to_its_last() -> None:
    streams = {0: [(1.0, 1.0), (2.0, 1.0), (3.0, 1.0), (4.0, 1.0)], 1: [(2.0, 10.0), (3.0, 10.0)], 2: []}
    assert total_of(streams) == [(1.0, 1.0), (2.0, 11.0), (3.0, 11.0), (4.0, 1.0)]
    assert total_of({}) == []
