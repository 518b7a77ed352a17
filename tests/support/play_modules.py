"""The plays' own modules for tests: loaded here as Ansible lays them out on a host."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from landspeed.worlds.real.runner import PLAYBOOKS
from tests.support import stalls

SHARED = "ansible.module_utils.landspeed_"
ORDER = (
    "host",
    "kinds_nic",
    "kinds",
    "findings",
    "packages",
    "tracking",
    "preflight_nic",
    "preflight_machine",
    "persistent",
    "state",
)  # each after those that it imports


def _load(name: str, file: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def shared(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """What the modules share, by name, where they look for it."""
    monkeypatch.setitem(sys.modules, f"{SHARED}stalls", stalls.load())
    folder = PLAYBOOKS / "plugins" / "module_utils"
    return {name: _load(SHARED + name, folder / f"landspeed_{name}.py", monkeypatch) for name in ORDER}


def library(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module, such as `landspeed_preflight`; what it shares with others is loaded before."""
    return _load(f"ansible.modules.{name}", PLAYBOOKS / "plugins" / "modules" / f"{name}.py", monkeypatch)


class Ended(Exception):  # noqa: N818
    """A module's last words."""


def call(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch, *, check_mode: bool = False, **params: Any
) -> dict[str, Any]:
    """Run a module's `main` with these parameters, as Ansible does; what it says last, and whether it `failed`."""

    class Module:
        """As much of AnsibleModule as is used."""

        def __init__(self, argument_spec: dict[str, dict[str, Any]], supports_check_mode: bool = False) -> None:
            """Take the parameters, refuse what the module does not know, add what it has defaults for."""
            assert set(params) <= set(argument_spec)
            assert all(name in params for name, about in argument_spec.items() if about.get("required"))
            self.params = {name: about.get("default") for name, about in argument_spec.items()} | params
            self.check_mode = check_mode
            assert supports_check_mode

        def exit_json(self, **result: Any) -> None:
            """It is done."""
            raise Ended({"failed": False} | json.loads(json.dumps(result)))

        def fail_json(self, **result: Any) -> None:
            """It cannot go on."""
            raise Ended({"failed": True} | json.loads(json.dumps(result)))

    monkeypatch.setattr(module, "AnsibleModule", Module)
    with pytest.raises(Ended) as last:
        module.main()
    return last.value.args[0]
