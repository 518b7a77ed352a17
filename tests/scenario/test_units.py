"""Quantities: what is read, what is written, and that one inverts the other."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landspeed.base import units as u

KINDS = [u.TIME, u.RATE, u.SIZE, u.DISTANCE, u.SCORE]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (u.TIME, "264 ms", 264_000_000),
        (u.TIME, "62.745ms", 62_745_000),
        (u.TIME, "1037.2 s", 1_037_200_000_000),
        (u.TIME, "3 us", 3000),
        (u.TIME, "3 µs", 3000),
        (u.TIME, "1 min", 60 * 10**9),
        (u.TIME, "0.5 h", 1800 * 10**9),
        (u.TIME, "0 ms", 0),
        (u.RATE, "6626.513 Mbit/s", 6_626_513_000),
        (u.RATE, "1e3 kbit/s", 1_000_000),
        (u.RATE, "0.1 Tbit/s", 10**11),
        (u.SIZE, "9000 B", 9000),
        (u.SIZE, "64 MB", 64 * 10**6),
        (u.SIZE, "64 MiB", 64 * 2**20),
        (u.SIZE, "1 GiB", 2**30),
        (u.SIZE, "0.5 KiB", 512),
        (u.SIZE, "3 TiB", 3 * 2**40),
        (u.SIZE, "2 kB", 2000),
        (u.SIZE, "2 TB", 2 * 10**12),
        (u.SIZE, "859052.821760 MB", 859_052_821_760),
        (u.DISTANCE, "7067 km", 7_067_000),
        (u.DISTANCE, "1 mi", 1609),
        (u.SCORE, "104.52858 Pbit·m/s", 104_528_580_000_000_000),
        (u.SCORE, "1.0452858e17 bit*m/s", 104_528_580_000_000_000),
    ],
)
def test_reads(kind: u.Kind, text: str, value: int) -> None:
    assert u.parse(kind, text) == value


@pytest.mark.parametrize(
    ("kind", "text", "what", "right"),
    [
        (u.TIME, "264", "needs a unit", "write 264 ms"),
        (u.TIME, "1e400 s", "not a unit", "write 1 ms"),
        (u.TIME, "-5 ms", "negative", "write 5 ms"),
        (u.TIME, "62,3 ms", "comma", "write 62.3 ms"),
        (u.TIME, "0.3 ns", "finer than 1 ns", "whole number of ns"),
        (u.TIME, "5 MS", "not a unit", "write 5 ms"),
        (u.TIME, "5 m", "not a unit", "write 5 min"),
        (u.TIME, "fast", "not a time", "264 ms"),
        (u.TIME, "", "not a time", "264 ms"),
        (u.TIME, "1" * 100, "100 characters", "264 ms"),
        (u.RATE, "10 Gbps", "not a unit", "write 10 Gbit/s"),
        (u.RATE, "10 gbit/s", "not a unit", "write 10 Gbit/s"),
        (u.RATE, "10", "needs a unit", "write 10 Gbit/s"),
        (u.RATE, "10000000000", "needs a unit", "write 10000000000 bit/s"),
        (u.SIZE, "64 KB", "not a unit", "write 64 kB"),
        (u.SIZE, "64 MBytes", "not a unit", "write 64 MB"),
        (u.SIZE, "1.5 B", "finer than 1 B", "whole number"),
        (u.DISTANCE, "3 miles", "not a unit", "write 3 mi"),
        (u.PROBABILITY, "0.01", "needs a unit", "write 1 %"),
        (u.PROBABILITY, "5", "needs a unit", "write 5 %"),
    ],
)
def test_refuses_and_says_what_would_be_right(kind: u.Kind, text: str, what: str, right: str) -> None:
    with pytest.raises(u.UnitError) as caught:
        u.parse(kind, text)
    assert what in caught.value.what
    assert right in caught.value.right


@pytest.mark.parametrize("kind", KINDS)
@given(value=st.integers(min_value=0, max_value=10**20))
def test_writing_and_reading_invert_each_other(kind: u.Kind, value: int) -> None:
    text = u.format_exact(kind, value)
    assert u.parse(kind, text) == value
    assert re.fullmatch(u.quantity_schema(kind)["pattern"], text)


@given(value=st.integers(min_value=0, max_value=10**20), kind=st.sampled_from(KINDS))
def test_rounded_text_is_within_its_digits(value: int, kind: u.Kind) -> None:
    number, unit = u.format_round(kind, value).split()
    assert float(number) * float(kind.factors[unit]) == pytest.approx(value, rel=1e-3, abs=1e-9)


@given(text=st.text(max_size=80), kind=st.sampled_from([*KINDS, u.PROBABILITY]))
def test_any_text_is_read_or_refused_with_advice(text: str, kind: u.Kind) -> None:
    try:
        assert u.parse_exact(kind, text) >= 0
    except u.UnitError as error:
        assert error.what
        assert error.right


@given(value=st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.lists(st.integers(), max_size=2)))
def test_no_bare_value_is_a_quantity(value: object) -> None:
    with pytest.raises(Exception, match=r"unit|expected|not a|negative"):
        u.Quantity(u.TIME).validate(value)


def test_queue() -> None:
    assert u.parse_queue("0.5 BDP").resolve(330_000_000) == 165_000_000
    assert u.parse_queue("64 MB").resolve(1) == 64_000_000
    assert str(u.parse_queue("0.5 BDP")) == "0.5 BDP"
    for bad in ("101 BDP", "5", "-1 BDP", "1 bdp"):
        with pytest.raises(u.UnitError):
            u.parse_queue(bad)


def test_parse_size_is_for_the_command_line() -> None:
    assert u.parse_size("4GiB") == 4 * 2**30
