"""A host for tests of what plays set: its state file is here, its programs say what they are told to."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support import play_modules

Modules = dict[str, ModuleType]
Ask = Callable[..., dict[str, Any]]


@pytest.fixture(name="shared")
def shared_fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Modules:
    """What the plays' modules share, with the state's folder here."""
    modules = play_modules.shared(monkeypatch)
    monkeypatch.setattr(modules["state"], "FOLDER", tmp_path / "landspeed")
    monkeypatch.setattr(modules["state"], "STATE", tmp_path / "landspeed" / "state" / "state.json")
    return modules


@pytest.fixture(name="ask")
def ask_fixture(shared: Modules, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Asks for settings, in the name of the role `tune`."""
    module = play_modules.library("landspeed_settings", monkeypatch)

    def call(*settings: dict[str, Any], check_mode: bool = False, **more: bool) -> dict[str, Any]:
        asked = {"role": "tune", "settings": list(settings), **more}
        return play_modules.call(module, monkeypatch, check_mode=check_mode, **asked)

    return call


@pytest.fixture(name="restore")
def restore_fixture(tmp_path: Path, shared: Modules, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Puts former values back."""
    module = play_modules.library("landspeed_restore", monkeypatch)

    def call(*roles: str, check_mode: bool = False) -> dict[str, Any]:
        attempts = str(tmp_path / "attempts")
        return play_modules.call(module, monkeypatch, check_mode=check_mode, roles=list(roles), attempts=attempts)

    return call


def saved(shared: Modules) -> list[tuple[str, Any]]:
    """Names and former values in the state file."""
    state: Path = shared["state"].STATE
    entries = json.loads(state.read_text())["entries"] if state.exists() else []
    return [(entry["name"], entry["former"]) for entry in entries]


class Programs:
    """ethtool, tc, systemctl and others of a host: what each says, and what was asked of it."""

    def __init__(self, unavailable: type[Exception]) -> None:
        """Nothing is known."""
        self.unavailable = unavailable
        self.said: dict[str, str] = {}
        self.then: dict[str, dict[str, str]] = {}  # what is said otherwise after a command
        self.broken: set[str] = set()
        self.asked: list[str] = []

    def __call__(self, *words: str, given: str = "") -> str:
        """As `run` of the modules."""
        line = " ".join(words)
        self.asked += [line, *([f"given: {given}"] if given else [])]
        if any(line.startswith(each) for each in self.broken):
            raise self.unavailable(f"{line}: not supported")
        self.said |= next((more for command, more in self.then.items() if line.startswith(command)), {})
        return next((text for command, text in self.said.items() if line.startswith(command)), "")

    def changes(self, *beginnings: str) -> list[str]:
        """What was asked for that begins so; then it is forgotten."""
        found = [line for line in self.asked if line.startswith(beginnings)]
        self.asked.clear()
        return found


@pytest.fixture(name="programs")
def programs_fixture(shared: Modules, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Those of a host."""
    made = Programs(shared["host"].Unavailable)
    for name in ("kinds", "kinds_nic"):
        monkeypatch.setattr(shared[name], "run", made)
    return made
