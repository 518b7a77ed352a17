"""A path that is run, measured and imported is the same path, within 2 %: one bound by its line, one by its window."""

from pathlib import Path

import pytest

from tests.bench.import_round_trips import RoundTripPath, there_and_back


@pytest.mark.guest
@pytest.mark.parametrize("number", [2, 3])
def test_what_comes_back_is_the_path(number: int, tmp_path: Path) -> None:
    found = there_and_back(RoundTripPath.random(number), tmp_path)
    assert found.same, str(found)
    assert ("rate" in found.off) == (number == 2)
