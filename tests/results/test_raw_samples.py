"""CSV to parquet: the figures, the bytes, and files cut short."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from landspeed.results.parquet_file import read_parquet
from landspeed.results.sample_columns import (
    LINK_COLUMNS,
    SAMPLE_COLUMNS,
    RawFlow,
    SamplesError,
    convert_flows,
    convert_links,
    convert_samples,
)
from tests.support.results_fixture import write_samples

HEADER = ",".join(SAMPLE_COLUMNS)


def _row(time_ns: int, stream: int, count: int) -> str:
    return ",".join(map(str, [time_ns, stream, count, *range(len(SAMPLE_COLUMNS) - 3)]))


def test_goodput_of_each_interval(tmp_path: Path) -> None:
    rows = [_row(100_000_000, 0, 1_000_000), _row(100_000_000, 1, 0), _row(300_000_000, 0, 3_500_000)]
    (tmp_path / "receiver.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    assert convert_samples(None, tmp_path / "receiver.csv", tmp_path / "out.parquet") == 3
    table = parquet.read_table(tmp_path / "out.parquet")
    assert table.column_names == ["end", *SAMPLE_COLUMNS, "goodput_bps"]
    assert table["end"].to_pylist() == ["receiver"] * 3
    assert table["stream"].to_pylist() == [0, 0, 1]
    assert table["goodput_bps"].to_pylist() == [80e6, 100e6, 0.0]


def test_both_ends_and_row_at_time_zero(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(f"{HEADER}\n{_row(0, 0, 0)}\n{_row(1_000_000_000, 0, 125)}\n")
    (tmp_path / "r.csv").write_text(f"{HEADER}\n{_row(1_000_000_000, 0, 250)}\n")
    convert_samples(tmp_path / "s.csv", tmp_path / "r.csv", tmp_path / "out.parquet")
    rows = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert [(row["end"], row["goodput_bps"]) for row in rows] == [
        ("receiver", 2000.0),
        ("sender", None),
        ("sender", 1000.0),
    ]


def test_same_csv_same_bytes(tmp_path: Path) -> None:
    write_samples(tmp_path, 20)
    for out in ("a", "b"):
        convert_samples(tmp_path / "sender.csv", tmp_path / "receiver.csv", tmp_path / f"{out}.parquet")
        convert_links(tmp_path / "links.csv", tmp_path / f"{out}.links.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert (tmp_path / "a.links.parquet").read_bytes() == (tmp_path / "b.links.parquet").read_bytes()


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(cut=st.integers(min_value=0, max_value=3 * 90))
def test_file_cut_anywhere_gives_its_whole_rows(cut: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("cut")
    text = "\n".join([HEADER, *(_row(number * 10**8, 0, number * 1000) for number in range(1, 7))]) + "\n"
    kept = text[: max(len(text) - cut, len(HEADER) + 1)]
    (folder / "receiver.csv").write_text(kept)
    assert convert_samples(None, folder / "receiver.csv", folder / "out.parquet") == kept.count("\n") - 1


@pytest.mark.parametrize("content", ["", "time_ns,str", "\0" * 100])
def test_nothing_but_a_beginning_gives_no_rows(tmp_path: Path, content: str) -> None:
    (tmp_path / "receiver.csv").write_text(content)
    assert convert_samples(None, tmp_path / "receiver.csv", tmp_path / "out.parquet") == 0
    assert parquet.read_table(tmp_path / "out.parquet").num_rows == 0


def test_hole_at_the_end_of_a_killed_guest(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(f"{HEADER}\n{_row(10**8, 0, 5)}\n{_row(2 * 10**8, 0, 9)[:30]}" + "\0" * 4096)
    assert convert_samples(None, tmp_path / "r.csv", tmp_path / "out.parquet") == 1


def test_empty_fields_are_null(tmp_path: Path) -> None:
    row = ["100000000", "0", "1000"] + [""] * (len(SAMPLE_COLUMNS) - 3)
    (tmp_path / "r.csv").write_text(f"{HEADER}\n{','.join(row)}\n")
    convert_samples(None, tmp_path / "r.csv", tmp_path / "out.parquet")
    (only,) = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert only["cwnd_packets"] is None
    assert only["goodput_bps"] == 80_000.0


def test_wrong_columns_and_wrong_lines_are_named(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    file.write_text(HEADER.replace("cwnd_packets", "cwnd") + "\n")
    with pytest.raises(SamplesError, match=r"r\.csv:1: columns missing: \['cwnd_packets'\]; unknown: \['cwnd'\]"):
        convert_samples(None, file, tmp_path / "out.parquet")
    file.write_text(f"{HEADER}\n{_row(1, 0, 1)}\n{_row(2, 0, 1).replace('2', 'two', 1)}\n{_row(3, 0, 1)}\n")
    with pytest.raises(SamplesError, match="two"):
        convert_samples(None, file, tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("change", ["", "empty line", "columns turned round", "wrong line"])
def test_files_of_many_flows_are_read_as_each_alone(tmp_path: Path, change: str) -> None:
    flows = [
        RawFlow(None, tmp_path / f"{name}.csv", name, begins_ns) for name, begins_ns in (("a", 0), ("b", 5), ("c", 7))
    ]
    for number, flow in enumerate(flows[:2]):
        rows = [HEADER, *(_row(at_ns, at_ns % 2, 100 * number + at_ns) for at_ns in (3, 1, 2))]
        if number == 1 and change == "empty line":
            rows.insert(2, "")
        if number == 1 and change == "columns turned round":
            rows = [",".join(reversed(row.split(","))) for row in rows]
        if number == 1 and change == "wrong line":
            rows[2] = rows[2].replace("1", "one", 1)
        (tmp_path / f"{flow.flow}.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "c.csv").write_text("")
    if change == "wrong line":
        with pytest.raises(SamplesError, match=r"b\.csv: .*one"):
            convert_flows(flows, tmp_path / "out.parquet")
        return
    assert convert_flows(flows, tmp_path / "out.parquet") == 6
    found = parquet.read_table(tmp_path / "out.parquet").select(["flow", "stream", "time_ns", "bytes"]).to_pylist()
    assert [tuple(row.values()) for row in found] == [
        *(("a", 0, 2, 2), ("a", 1, 1, 1), ("a", 1, 3, 3)),
        *(("b", 0, 7, 102), ("b", 1, 6, 101), ("b", 1, 8, 103)),
    ]


def test_links(tmp_path: Path) -> None:
    rows = ["0,0,0,1000,1,0,0,0,0", "100000000,0,0,126000,3,0,50,1,0", "100000000,0,1,7,1,2,0,0,0"]
    (tmp_path / "links.csv").write_text("\n".join([",".join(LINK_COLUMNS), *rows]) + "\n")
    assert convert_links(tmp_path / "links.csv", tmp_path / "links.parquet") == 3
    found = parquet.read_table(tmp_path / "links.parquet").to_pylist()
    assert [(row["direction"], row["rate_bps"]) for row in found] == [
        ("forward", None),
        ("forward", 10e6),
        ("reverse", None),
    ]


def test_links_count_from_the_transfers_start(tmp_path: Path) -> None:
    """The link watch tells the calendar's time; rows before the transfer have times below 0."""
    start_ns = 1_790_000_000_123_456_789
    rows = [f"{start_ns + at},0,0,{count},0,0,0,0,0" for at, count in ((-5, 0), (10**9, 1000))]
    (tmp_path / "links.csv").write_text("\n".join([",".join(LINK_COLUMNS), *rows]) + "\n" + str(start_ns))
    convert_links(tmp_path / "links.csv", tmp_path / "links.parquet", start_ns)
    table = read_parquet(tmp_path / "links.parquet")
    assert table["time_ns"].to_pylist() == [-5, 10**9]
    assert table["rate_bps"].to_pylist() == [None, pytest.approx(8000, rel=1e-8)]
