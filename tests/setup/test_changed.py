"""`make test-changed` picks the tests that import what changed, and the room's for what cannot be imported."""

from __future__ import annotations

from tests.support.changed import concerned

THIS = "tests/setup/test_changed.py"


def test_a_helper_concerns_who_imports_it() -> None:
    assert concerned(["tests/support/changed.py"]) == [THIS]


def test_a_test_concerns_itself() -> None:
    assert concerned([THIS]) == [THIS]


def test_what_all_import_is_reached_through_others() -> None:
    found = concerned(["landspeed/base/errors.py"])
    assert "tests/scenario/test_plan.py" in found
    assert THIS not in found


def test_what_is_not_python_concerns_its_room() -> None:
    found = concerned(["scenarios/first.yaml"])
    assert found
    assert all(each.startswith("tests/scenario/") for each in found)


def test_the_conftest_concerns_all() -> None:
    assert set(concerned(["tests/conftest.py"])) > set(concerned(["landspeed/base/errors.py"]))


def test_nothing_concerns_nothing() -> None:
    assert concerned([]) == []
