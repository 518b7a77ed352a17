"""The one reader of a bundle's time series: tables, series, figures, and what it says of files it cannot read."""

from pathlib import Path

import pytest
from pyarrow import parquet

from landspeed.results.bundle import LINKS, SAMPLES
from landspeed.results.sample_columns import LINK_COLUMNS, SAMPLE_COLUMNS, SamplesError, convert_links, convert_samples
from landspeed.results.samples_reader import Samples

ROOT = Path(__file__).resolve().parents[2]


def _line(**known: int) -> str:
    return ",".join(str(known.get(name, "")) for name in SAMPLE_COLUMNS)


@pytest.fixture
def samples(tmp_path: Path) -> Samples:
    """Two streams, two rows each; the second stream's packet size is not told."""
    header = ",".join(SAMPLE_COLUMNS)
    sent = [
        _line(time_ns=10**8, stream=0, bytes=0, cwnd_packets=10, mss_bytes=1000, snd_wnd_bytes=5000, srtt_us=2500),
        _line(time_ns=2 * 10**8, stream=0, bytes=9, cwnd_packets=20, mss_bytes=1000, snd_wnd_bytes=7000, srtt_us=3500),
        _line(time_ns=10**8, stream=1, bytes=0, cwnd_packets=3, mss_bytes=0, snd_wnd_bytes=100),
        _line(time_ns=2 * 10**8, stream=1, bytes=9, snd_wnd_bytes=90),
    ]
    read = [
        _line(time_ns=(1 + number) * 10**8, stream=stream, bytes=count)
        for stream, counts in enumerate(((12_500, 37_500), (25_000, 25_000)))
        for number, count in enumerate(counts)
    ]
    (tmp_path / "sender.csv").write_text("\n".join([header, *sent]) + "\n")
    (tmp_path / "receiver.csv").write_text("\n".join([header, *read]) + "\n")
    convert_samples(tmp_path / "sender.csv", tmp_path / "receiver.csv", tmp_path / SAMPLES)
    rows = [
        "-5,0,0,0,10,1,900,1,2",
        "100000000,0,0,8000,70,4,1500,1,7",
        "0,0,1,0,5,0,0,0,0",
        "100000000,0,1,99,35,0,0,0,0",
    ]
    (tmp_path / "links.csv").write_text("\n".join([",".join(LINK_COLUMNS), *rows]) + "\n")
    convert_links(tmp_path / "links.csv", tmp_path / LINKS)
    return Samples(tmp_path)


def test_tables_of_each_end(samples: Samples) -> None:
    assert (samples.sender.num_rows, samples.receiver.num_rows, samples.links.num_rows) == (4, 4, 4)
    assert samples.to_arrow().column_names == ["end", *SAMPLE_COLUMNS, "goodput_bps", "flow"]
    assert set(samples.sender["end"].to_pylist()) == {"sender"}
    assert samples.links.column_names == [*LINK_COLUMNS, "rate_bps"]


def test_goodput_of_a_stream_and_of_all(samples: Samples) -> None:
    assert samples.goodput(0) == [(0.1, 1e6), (0.2, 2e6)]
    assert samples.goodput() == [(0.1, 3e6), (0.2, 2e6)]
    assert samples.goodput(7) == []


def test_columns_by_stream(samples: Samples) -> None:
    assert samples.by_stream("sender", "srtt_us", per=1e3) == {0: [(0.1, 2.5), (0.2, 3.5)]}
    assert samples.windows(500) == {0: [(0.1, 10_000), (0.2, 20_000)], 1: [(0.1, 1500)]}
    assert samples.windows(500, per=1e3)[0] == [(0.1, 10.0), (0.2, 20.0)]


def test_byte_curves(samples: Samples) -> None:
    assert samples.curves is not None
    assert samples.curves.streams == {
        0: ([0.0, 0.1, 0.2], [0, 12_500, 37_500]),
        1: ([0.0, 0.1, 0.2], [0, 25_000, 25_000]),
    }
    assert samples.curves.end_s == 0.2
    assert samples.curves.bytes_at(0.15) == 50_000
    assert samples.curves.goodput_bps(0.1) == pytest.approx(25_000 * 8 / 0.1, rel=1e-12)


def test_figures(samples: Samples) -> None:
    assert samples.largest_send_window() == 7100
    assert samples.drops_by_link() == {(0, "forward"): 3}
    assert samples.passed_by_link("marks") == {(0, "forward"): 5, (0, "reverse"): 0}
    assert samples.passed_by_link("packets") == {(0, "forward"): 60, (0, "reverse"): 30}
    assert samples.backlogs(per=1e3)[0, "forward"] == [(0.1, 1.5)]  # before the start nothing counts


def test_a_bundle_from_before_marks_were_counted(samples: Samples) -> None:
    file = samples.bundle / LINKS
    parquet.write_table(parquet.read_table(file).drop_columns(["marks"]), file)
    again = Samples(samples.bundle)
    assert again.passed_by_link("marks") == {}
    assert again.passed_by_link("packets") == {(0, "forward"): 60, (0, "reverse"): 30}


def test_a_bundle_without_samples(tmp_path: Path) -> None:
    empty = Samples(tmp_path)
    assert (empty.to_arrow().num_rows, empty.links.num_rows) == (0, 0)
    assert empty.curves is None
    assert empty.goodput() == []
    assert empty.windows(1448) == {}
    assert empty.largest_send_window() is None
    assert empty.drops_by_link() == {}
    assert not empty.backs_off()


@pytest.mark.parametrize("kept", [0, 3, 200])
def test_a_damaged_file_is_named(samples: Samples, kept: int) -> None:
    file = samples.bundle / SAMPLES
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(SamplesError, match=r"samples\.parquet: "):
        Samples(samples.bundle).goodput()


def test_a_file_is_read_once_and_not_before_it_is_asked_for(samples: Samples) -> None:
    assert samples.goodput(0)
    (samples.bundle / SAMPLES).unlink()
    (samples.bundle / LINKS).unlink()
    assert samples.goodput(0)
    assert samples.links.num_rows == 0  # had not been opened


def test_a_pandas_frame_has_the_same_rows(samples: Samples) -> None:
    frame = samples.to_pandas()
    assert frame["bytes"].tolist() == samples.to_arrow()["bytes"].to_pylist()
    assert set(frame["end"]) == {"sender", "receiver"}


def test_nobody_else_opens_a_parquet_file() -> None:
    found = {
        file.relative_to(ROOT).as_posix()
        for file in (ROOT / "landspeed").rglob("*.py")
        if "read_table" in file.read_text() or "ParquetFile" in file.read_text()
    }
    assert found == {"landspeed/results/parquet_file.py"}


def test_a_recovery_is_counted_once_in_a_round_trip(tmp_path: Path) -> None:
    counts = [(0.1, 0), (0.2, 3), (0.3, 5), (0.4, 5), (0.5, 6), (0.6, 6)]
    rows = [_line(time_ns=round(at_s * 1e9), stream=one, retransmits=count) for one in (0, 1) for at_s, count in counts]
    (tmp_path / "sender.csv").write_text("\n".join([",".join(SAMPLE_COLUMNS), *rows]) + "\n")
    convert_samples(tmp_path / "sender.csv", tmp_path / "receiver.csv", tmp_path / SAMPLES)
    assert Samples(tmp_path).recoveries(rtt_s=0.05) == 2 * 3
    assert Samples(tmp_path).recoveries(rtt_s=0.2) == 2 * 2


@pytest.mark.parametrize(
    ("retransmitted_s", "end_s", "state", "waits"),
    [
        ((6.7, 8.9, 13.7), 20.0, 4, True),  # the next was due at 23.3 s
        ((6.7, 8.9, 13.7), 23.4, 4, False),  # and did not come
        ((6.7,), 9.8, 4, True),  # a first one, 1.6 s after the last acknowledgment
        ((6.7,), 10.0, 4, False),
        ((6.7, 8.9, 13.7), 20.0, 3, False),  # it recovers: no timeout
        ((), 20.0, 4, False),
    ],
)
def test_who_waits_for_a_timeout_is_told_from_who_stands(
    tmp_path: Path, retransmitted_s: tuple[float, ...], end_s: float, state: int, waits: bool
) -> None:
    def row(time_s: float, stream: int) -> str:
        again = sum(each <= time_s for each in retransmitted_s)
        return _line(time_ns=round(time_s * 1e9), stream=stream, bytes=97016, retransmits=again, state=state)

    times_s = [5.1, 5.2, *retransmitted_s, end_s]
    rows = [_line(time_ns=5 * 10**9, stream=one, bytes=0, retransmits=0, state=0) for one in (0, 1)]
    rows += [row(time_s, stream) for stream in (0, 1) for time_s in times_s]
    (tmp_path / "sender.csv").write_text("\n".join([",".join(SAMPLE_COLUMNS), *rows]) + "\n")
    convert_samples(tmp_path / "sender.csv", tmp_path / "receiver.csv", tmp_path / SAMPLES)
    assert Samples(tmp_path).backs_off() is waits


def test_who_does_not_tell_retransmissions_waits_for_nothing_known(tmp_path: Path) -> None:
    rows = [_line(time_ns=time_s * 10**9, stream=0, bytes=1, state=4) for time_s in (1, 2, 3)]
    (tmp_path / "sender.csv").write_text("\n".join([",".join(SAMPLE_COLUMNS), *rows]) + "\n")
    convert_samples(tmp_path / "sender.csv", tmp_path / "receiver.csv", tmp_path / SAMPLES)
    assert not Samples(tmp_path).backs_off()
