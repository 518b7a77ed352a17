"""Dialects of the programs: traceroutes, pings and mtr of many systems, each in few lines with its right values."""

from pathlib import Path

import pytest

from landspeed.scenario.importers.path_evidence import PathEvidence
from landspeed.scenario.importers.registry import reader_of
from tests.support.trace_dialects import END, PINGS, TRACES


@pytest.mark.parametrize("name", TRACES)
def test_traces(name: str, tmp_path: Path) -> None:
    text, least_ms = TRACES[name]
    (trace,) = found(text, tmp_path).traces
    assert [min(hop.rtts_ms, default=None) for hop in trace.hops] == least_ms
    assert (trace.reached, trace.address) == (True, END)


@pytest.mark.parametrize("name", PINGS)
def test_pings(name: str, tmp_path: Path) -> None:
    text, (least_ms, sent, lost) = PINGS[name]
    (probes,) = found(text, tmp_path).probes
    assert probes.min_s == pytest.approx(least_ms / 1e3)
    assert (probes.sent, probes.lost) == (sent, lost)


def test_traceroute_tells_the_mtu_that_it_probed(tmp_path: Path) -> None:
    text = f"traceroute to {END} ({END}), 30 hops max\n 1  gw (198.51.100.1)  0.5 ms F=1500  0.4 ms\n 2  * F=1492 *\n"
    (trace,) = found(f"{text} 3  {END} ({END})  20.5 ms\n", tmp_path).traces
    assert trace.mtu_bytes == 1492


def found(text: str | bytes, folder: Path) -> PathEvidence:
    """What a file of this text tells, by the reader that it is for."""
    file = folder / "told.txt"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return reader_of(file).read(file)
