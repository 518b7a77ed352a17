"""A host has one owner at a time: who comes meanwhile is told who has it, and takes it only by saying so."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support import play_modules

Modules = dict[str, ModuleType]
Ask = Callable[..., dict[str, Any]]
NOW = 1_790_000_000  # 2026-09-21 14:13:20 UTC


@pytest.fixture
def host(shared: Modules, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The time there, and the attempts that are under way."""
    about = {"now": NOW, "running": ""}
    module = play_modules.library("landspeed_lease", monkeypatch)
    monkeypatch.setattr(module, "run", lambda *_: about["running"])
    monkeypatch.setattr(module.time, "time", lambda: about["now"])
    return about | {"module": module, "set": about.__setitem__}


@pytest.fixture
def ask(host: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Asks for the host."""

    def call(owner: str = "anna", *, check_mode: bool = False, **more: Any) -> dict[str, Any]:
        params = {"owner": f"{owner}@desk", "inventory": f"/home/{owner}", "plan": "first (0123)", "hours": 2.0} | more
        return play_modules.call(host["module"], monkeypatch, check_mode=check_mode, **params)

    return call


def lease(shared: Modules) -> dict[str, Any] | None:
    """What the state file says."""
    state: Path = shared["state"].STATE
    return json.loads(state.read_text())["lease"] if state.exists() else None


def test_a_host_is_taken_once_and_kept(shared: Modules, host: dict[str, Any], ask: Ask) -> None:
    assert (ask(check_mode=True)["changed"], lease(shared)) == (True, None)
    assert [ask()["changed"], ask()["changed"]] == [True, False]
    mine = {"owner": "anna@desk", "inventory": "/home/anna", "plan": "first (0123)"}
    assert lease(shared) == mine | {"until_unix_s": NOW + 7200, "rollout": {}}
    ask(hours=0.5)  # an attempt makes it no shorter
    host["set"]("now", NOW + 3600)
    ask(hours=0)  # who only looks, no longer
    assert lease(shared) == mine | {"until_unix_s": NOW + 7200, "rollout": {}}
    ask(hours=2)
    assert (lease(shared) or {})["until_unix_s"] == NOW + 3600 + 7200


@pytest.mark.parametrize("hours", [0.0, 2.0])
@pytest.mark.parametrize("more", [{"owner": "ben"}, {"inventory": "/home/anna/other"}])
def test_somebody_else_is_told_whose_it_is(shared: Modules, ask: Ask, hours: float, more: dict[str, str]) -> None:
    ask()
    before = lease(shared)
    told = ask(**more, hours=hours)
    assert told["failed"] is True
    assert told["msg"] == (
        "the host is anna@desk's until 2026-09-21 16:13 UTC, for first (0123) (inventory /home/anna). "
        "Remedy: ask there, or wait; --force takes it"
    )
    assert lease(shared) == before
    told = ask(**more, hours=hours, force=True)
    assert (told["failed"], told["whose"][:15]) == (False, "anna@desk's unt")
    assert lease(shared) == (before if not hours else (before or {}) | {
        "owner": f"{more.get('owner', 'anna')}@desk", "inventory": more.get("inventory", "/home/ben")
    })  # fmt: skip


def test_a_lease_ends_at_its_time_but_not_within_an_attempt(shared: Modules, host: dict[str, Any], ask: Ask) -> None:
    ask(hours=1.0)
    host["set"]("now", NOW + 3601)
    host["set"]("running", "landspeed-send@first.service loaded active running landspeed-engine send\n")
    told = ask("ben")
    assert told["failed"] is True and ", and landspeed-send@first.service is running. Remedy: " in told["msg"]
    host["set"]("running", "")
    told = ask("ben")
    assert told["failed"] is False and told["whose"].startswith("anna@desk's until ")
    assert (lease(shared) or {})["owner"] == "ben@desk"


def test_what_made_a_host_ready_is_compared(shared: Modules, ask: Ask, tmp_path: Path, monkeypatch: Any) -> None:
    """Another plan, engine or set of playbooks, and a boot since then."""
    boot = tmp_path / "boot_id"
    boot.write_text("one")
    monkeypatch.setattr(shared["state"], "BOOT_ID", boot)
    needs = {"needs": ["tune", "deploy"]}
    told = ask(rollout="a", **needs)
    assert told["failed"] and "not made ready since it was started or restored. " in told["msg"]
    assert "Remedy: landspeed real tune, landspeed real deploy" in told["msg"]
    assert lease(shared) is None
    ask(ready="tune", rollout="a")
    ask(ready="deploy", rollout="a")
    assert ask(rollout="a", **needs)["failed"] is False
    ask(ready="tune", rollout="b")
    told = ask(rollout="b", **needs)
    assert told["failed"] and "deploy ran with another plan, engine or playbooks than these. " in told["msg"]
    assert "Remedy: landspeed real deploy" in told["msg"]
    ask(ready="deploy", rollout="b")
    assert ask(rollout="b", **needs)["failed"] is False
    boot.write_text("two")
    told = ask(rollout="b", **needs)
    assert told["failed"] and "not made ready since it was started or restored. " in told["msg"]


def test_restore_gives_a_host_up(shared: Modules, ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = play_modules.library("landspeed_restore", monkeypatch)
    ask()
    told = [
        play_modules.call(module, monkeypatch, check_mode=mode, roles=["tune"], attempts=str(tmp_path))["changed"]
        for mode in (True, False, False)
    ]
    assert (told, lease(shared)) == ([True, True, False], None)
    assert ask("ben")["failed"] is False
