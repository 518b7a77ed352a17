"""A host for tests of what plays set: its state file is here, its programs say what they are told."""

from tests.support.settings_fixtures import ask_fixture, programs_fixture, restore_fixture, shared_fixture

__all__ = ["ask_fixture", "programs_fixture", "restore_fixture", "shared_fixture"]
