"""Programs whose cause is known by construction, on paths and networks: what the judge of sockets tells."""

from pathlib import Path

import pytest

from tests.support.program_causes import PROGRAM_CASES, ProgramCase

QUICK = {"a window of 100 kB", "loss 1 %", "receive buffer of 300 kB, 200 ms", "a window beside a bulk program"}


@pytest.mark.guest
@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=() if case.name in QUICK else pytest.mark.slow) for case in PROGRAM_CASES],
)
def test_the_cause_that_was_built_in_is_told(case: ProgramCase, tmp_path: Path) -> None:
    bound = case.run(tmp_path)
    assert bound.kind == case.cause, str(bound)
    assert 0.99 < sum(bound.shares.values()) < 1.01, bound.shares
    assert bound.phases and str(bound).startswith(f"{case.cause}: {bound.explanation}")
