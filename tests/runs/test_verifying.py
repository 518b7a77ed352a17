"""`import --verify`: the imported scenario run in both worlds, and what differs from what was measured."""

from pathlib import Path

import pytest

from landspeed.runs.verifying import Verification, verify
from landspeed.scenario.importers.import_files import import_files
from landspeed.scenario.importers.path_evidence import MeasurementError
from tests.support.places import TESTS

HERE = TESTS / "scenario" / "importer_inputs"


def verified(folder: Path, *names: str) -> Verification:
    return verify(import_files({}, found=[HERE / name for name in names]), folder)


@pytest.mark.guest
def test_a_right_reading_is_shown_by_both_worlds(tmp_path: Path) -> None:
    done = verified(tmp_path, "slow10-iperf3.json", "slow10-ss.txt")
    assert [each.record.world for each in done.runs] == ["emu", "sim"]
    figures = {each.what: each for each in done.figures}
    assert list(figures) == ["goodput", "idle round trip", "under load", "retransmits", "bound by"]
    for what in ("goodput", "idle round trip", "under load", "bound by"):
        assert not any(figures[what].apart), figures[what]
    lines = list(done.lines())
    assert lines[0].split() == ["measured", "emu", "sim"]
    assert lines[5].split("  ")[-1].strip() == "line rate"
    assert done.agrees == (not figures["retransmits"].apart[1])


@pytest.mark.guest
def test_a_reading_that_does_not_fit_is_told_with_the_second_one(tmp_path: Path) -> None:
    """A policer's losses come in bursts; taken for chance, they let TCP carry something else."""
    done = verified(tmp_path, "policer-iperf3.json", "policer-ss.txt")
    assert not done.agrees
    lines = list(done.lines())
    assert any(line.startswith("differs: ") for line in lines)
    assert lines[-1] == "The reading was: loss (one of two). The second one is: a policer."


def test_without_a_transfer_there_is_nothing_to_verify(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match=r"--verify: no file tells of a transfer.*add iperf3's JSON or a packet"):
        verified(tmp_path, "ping.txt")
