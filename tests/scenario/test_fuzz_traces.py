"""Whatever stands in the file of a trace: a trace comes of it, or an error with its line and column."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landspeed.base.errors import ScenarioError, Source, TextPosition
from landspeed.scenario.plan.trace import Trace
from landspeed.scenario.traces.trace_file import TraceSource, read_trace
from tests.support.fuzzing import damaged_bytes, examples

CSV = b"# a line\ntime [s],rate [Mbit/s],delay [ms],loss [%]\n0,40,15,0\n6.5,8,25,0.2\n9,0,25,0\n10,30,20,0\n"
OPPORTUNITIES = b"0\n0\n5\n100\n101\n350\n350\n420\n"
CELLS = st.one_of(
    st.sampled_from(["", "0", "1e9", "-1", "1e-99", ".5", "nan", "inf", "9" * 29, " 3 "]), st.text(max_size=4)
)
ROWS = st.lists(st.lists(CELLS, max_size=5).map(",".join), max_size=6).map("\n".join)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("traces") / "t.csv"


def read(file: Path, content: bytes, *, loop: bool) -> None:
    file.write_bytes(content)
    try:
        trace = read_trace(TraceSource(file=file.name, loop=loop), file, TextPosition(Source("s.yaml", ["trace"])), 38)
    except ScenarioError as error:
        for problem in error.problems:
            assert re.match(r"(\S+t\.csv|s\.yaml):\d+:\d+$", problem.place), problem
            assert problem.right
        return
    check(trace)


def check(trace: Trace) -> None:
    """What both worlds rely on."""
    assert trace.at_ns[0] == 0 and trace.at_ns == sorted(set(trace.at_ns))
    assert trace.at_ns[-1] < trace.lasts_ns if trace.loops else trace.at_ns[-1] <= trace.lasts_ns
    for values in (trace.rate_bps, trace.delay_ns, trace.loss):
        assert values is None or (len(values) == len(trace.at_ns) and min(values) >= 0)
        assert values is None or min(values) <= trace.mean(values, 10**10) * (1 + 1e-9) + 1e-9
    assert trace.rate_bps is None or (max(trace.rate_bps) > 0 and (trace.loops or trace.rate_bps[-1] > 0))


@examples(150)
@given(content=st.one_of(damaged_bytes(CSV), damaged_bytes(OPPORTUNITIES)), loop=st.booleans())
def test_a_trace_whose_bytes_are_damaged(content: bytes, loop: bool, file: Path) -> None:
    read(file, content, loop=loop)


@examples(150)
@given(
    head=st.sampled_from(["time [s],rate [Mbit/s]", "time [s],loss [%],delay [ms]", ""]), rows=ROWS, loop=st.booleans()
)
def test_any_rows(head: str, rows: str, loop: bool, file: Path) -> None:
    read(file, f"{head}\n{rows}".encode("utf-8", "surrogatepass"), loop=loop)


@examples(60)
@given(content=st.binary(max_size=200), loop=st.booleans())
def test_anything_at_all(content: bytes, loop: bool, file: Path) -> None:
    read(file, content, loop=loop)
