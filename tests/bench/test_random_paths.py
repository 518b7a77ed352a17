"""A few random scenarios in both worlds; `tests/bench/random_paths.py --examples 200` tries as many as wanted."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.bench.random_paths import check, scenario_of


@pytest.mark.guest
@settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
@given(number=st.integers(0, 2**32 - 1))
def test_what_is_right_passes_and_the_worlds_agree(number: int) -> None:
    with TemporaryDirectory() as folder:
        assert check(scenario_of(number), Path(folder)).faults == [], number
