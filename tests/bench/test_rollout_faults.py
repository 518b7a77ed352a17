"""The order in which the bench of a rollout's faults takes its cells, without a lab."""

from pathlib import Path

import pytest

from tests.bench.rollout_faults import Table, is_operators

ASSERTS = "attempt: Stop if it is not the one deployed: receiver1 ok"
LOOKS = "attempt: Look at the host and the path: receiver1 ok"
WRITES = "attempt: Write the attempt's folder and options: receiver1 changed"


@pytest.mark.parametrize(
    ("step", "alone"),
    [
        (ASSERTS, True),
        ("attempt: Watch the host: receiver1 ok", True),  # it includes the role
        ("watch: Begin to watch: receiver1 ok", False),
        ("fleet: Set the time at which all begin: receiver1 ok", True),
        ("fleet: See whether any is left, and none was ended by a rule: receiver1 ok", True),  # run_once, a comment
        ("watch: End the watch: receiver1 ok", False),  # the role fleet has a task of nearly this name, which includes
        ("lease: See whose the host is: receiver1 ok", False),
        ("Let several flows run on a host: receiver1 ok", True),  # a play's own task
        (LOOKS, False),
        (WRITES, False),
    ],
)
def test_a_step_of_the_operators_machine_is_known(step: str, alone: bool) -> None:
    assert is_operators(step) is alone


def test_what_changes_comes_first_and_what_no_server_hears_of_last(tmp_path: Path) -> None:
    table, steps = Table(tmp_path / "cells"), [ASSERTS, LOOKS, WRITES]
    table.add({"fault": "kill", "play": "attempt", "step": WRITES, "took_s": 1.0, "differs": []})
    again = Table(tmp_path / "cells")  # goes on
    taken = [again.take(["kill", "disk"], "attempt", steps) for _ in range(3)]
    assert taken == [("disk", WRITES), ("kill", LOOKS), ("disk", LOOKS)]
    again.give_back("disk", "attempt", WRITES)
    assert again.take(["kill", "disk"], "attempt", steps) == ("disk", WRITES)
    assert [cell[2] for cell in again.left(["kill", "disk"], "attempt", steps)] == [ASSERTS, ASSERTS]
    again.ended = True
    assert again.take(["kill", "disk"], "attempt", steps) is None
