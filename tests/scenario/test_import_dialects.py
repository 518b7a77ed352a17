"""Dialects of the programs: traceroutes, pings and mtr of many systems, each in few lines with its right values."""

from __future__ import annotations

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


def found(text: str, folder: Path) -> PathEvidence:
    """What a file of this text tells, by the reader that it is for."""
    file = folder / "told.txt"
    file.write_text(text)
    return reader_of(file).read(file)
