"""`make test-changed` picks the tests that import what changed, and the room's for what cannot be imported."""

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


def test_what_a_guest_runs_concerns_the_tests_of_its_world() -> None:
    """No test imports it: the guest's agent does, and the tests start guests."""
    found = concerned(["landspeed/worlds/emu/guest/script/changes.py"])
    assert found and all(each.startswith("tests/emu/") for each in found)


def test_a_subcommand_concerns_the_tests_of_the_command() -> None:
    assert "tests/cli/test_run.py" in concerned(["landspeed/cli/run_command.py"])


def test_a_program_of_the_tests_concerns_who_starts_it() -> None:
    """It is named in a helper, which these tests import."""
    found = concerned(["tests/support/programs/emu_probe.py"])
    assert "tests/emu/network/test_shaping.py" in found and "tests/scenario/test_units.py" not in found


def test_a_fixture_concerns_the_folder_of_the_conftest_that_has_it() -> None:
    assert "tests/engine/sessions/test_names.py" in concerned(["tests/support/engine/third_party.py"])
