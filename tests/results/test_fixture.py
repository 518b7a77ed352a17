"""A synthetic run with plausible figures, for the tests of results/, and tests that it is what it claims."""

from pathlib import Path

from tests.support.results_fixture import (
    make_plan,
    write_samples,
)


def test_fixture_is_plausible(tmp_path: Path) -> None:
    read = write_samples(tmp_path, 20)
    assert len(read) == 8
    assert 5.5e9 < sum(read) * 8 / 20 < 6.63e9
    assert make_plan().physics.rtt_ns == 2 * sum(link.forward.delay_ns for link in make_plan().links)
