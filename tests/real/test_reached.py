"""A play that did not reach its hosts is no success; an inventory that cannot be read is found before any play."""

import json
import sys
from pathlib import Path

import pytest

from landspeed.cli.main import main
from landspeed.worlds.real import runner
from landspeed.worlds.real.errors import PlayFailed, RealError
from landspeed.worlds.real.runner import PLAYS
from tests.support.real_fixtures import write_lab_scenario

OWN_ADDRESS = (
    "landspeed_address is each host's own IP address on the path, all of one version, and not 192.0.2.1: 192.0.2.1, "
    "192.0.2.2: "
)


@pytest.fixture(name="inventory")
def inventory_fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An inventory as the command writes it; no play may be begun with it."""
    scenario, folder = write_lab_scenario(tmp_path / "lab.yaml"), tmp_path / "inventory"
    hosts = ["--sender", "anna@192.0.2.1", "--receiver", "ben@192.0.2.2"]
    assert main(["real", "inventory", str(scenario), "--out", str(folder), *hosts]) == 0
    monkeypatch.setattr(runner, "run_play", lambda *_, **__: pytest.fail("a play was begun"))
    return folder


def refused(inventory: Path, word: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What is said of an inventory that cannot be used; nothing is written into it."""
    before = {file: file.read_bytes() for file in inventory.rglob("*") if file.is_file()}
    (inventory.parent / "password").write_text("a password\n")
    words = ["--vault-password-file", str(inventory.parent / "password")]
    words += ["--unrehearsed", "a test"] if word in ("deploy", "attempt", "site") else []
    words += ["--attempt", "first"] if word in ("attempt", "collect", "site") else []
    capsys.readouterr()
    assert main(["real", word, str(inventory), *words]) == 2
    assert {file: file.read_bytes() for file in inventory.rglob("*") if file.is_file()} == before
    return capsys.readouterr().err


@pytest.mark.parametrize("word", [*PLAYS, "key"])
@pytest.mark.parametrize("name", ["hosts.yml", "group_vars/all/plan.yml", "host_vars/192.0.2.1.yaml"])
def test_a_file_that_is_no_yaml_is_named_with_its_line(
    inventory: Path, word: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = inventory / name
    text = file.read_text() if file.exists() else "landspeed_numa_node: 1\n"
    file.write_text(text + "x: {bad: [\n")
    said = refused(inventory, word, capsys)
    assert f"{file}:{text.count(chr(10)) + 2}: not YAML: " in said  # it ends within the brackets
    assert "mend it, or write the inventory again with `--again`" in said


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("landspeed_senders", "senders", "a host in landspeed_senders and one in landspeed_receivers are wanted"),
        ("192.0.2.2:", "192.0.2.1:", "192.0.2.1 has two roles"),
        ("192.0.2.2:", "host[1:3]:", "host[1:3] is a range; write each host by its name"),
        ("landspeed_address: 192.0.2.2", "x: 1", f"{OWN_ADDRESS}missing; mend it"),
        ("landspeed_address: 192.0.2.2", "landspeed_address: here", f"{OWN_ADDRESS}here; mend it"),
        ("landspeed_address: 192.0.2.2", "landspeed_address: 192.0.2.1", f"{OWN_ADDRESS}192.0.2.1; mend it"),
        ("landspeed_address: 192.0.2.2", "landspeed_address: '2001:db8::1'", f"{OWN_ADDRESS}2001:db8::1; mend it"),
    ],
)
def test_groups_that_no_play_could_use(
    inventory: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, words: str
) -> None:
    file = inventory / "hosts.yml"
    file.write_text(file.read_text().replace(old, new, 1))
    assert f"{file}: {words}" in refused(inventory, "tune", capsys)


def test_a_key_in_the_vault_is_no_mapping(inventory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (inventory / "group_vars" / "all" / "vault.yml").write_text("$ANSIBLE_VAULT;1.1;AES256\n00\n")
    (inventory / "host_vars" / "a.yml").write_text("one: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  00\n")
    assert main(["real", "tune", str(inventory)]) == 2
    assert "has an encrypted key: give --vault-password-file FILE" in capsys.readouterr().err


def play_here(folder: Path, monkeypatch: pytest.MonkeyPatch, hosts: str, inventory: str) -> None:
    """A play on hosts that are this machine, which does nothing."""
    tasks = [{"name": "Nothing", "command": "true"}]
    (folder / "preflight.yml").write_text(json.dumps([{"hosts": hosts, "gather_facts": False, "tasks": tasks}]))
    (folder / "hosts.yml").write_text(inventory)
    monkeypatch.setattr(runner, "PLAYBOOKS", folder)
    monkeypatch.setattr(runner, "REMOTE_TEMPORARY", str(folder / "landspeed-ansible"))
    runner.run_play("preflight", folder, hosts=["one", "two"], say=lambda _: None)


HERE = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}


@pytest.mark.slow  # Ansible
@pytest.mark.parametrize(("hosts", "missed"), [("nobody", "one, two"), ("one", "two")])
def test_a_play_that_missed_a_host_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hosts: str, missed: str
) -> None:
    with pytest.raises(PlayFailed, match=f"preflight failed\n  {missed}: not reached") as failed:
        play_here(tmp_path, monkeypatch, hosts, json.dumps({"all": {"hosts": {"one": HERE, "two": HERE}}}))
    assert failed.value.exit_status == 1


@pytest.mark.slow  # Ansible
def test_an_inventory_that_ansible_cannot_read_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not an inventory without hosts, also where the operator's environment says so."""
    monkeypatch.setenv("ANSIBLE_INVENTORY_UNPARSED_FAILED", "false")
    monkeypatch.setenv("ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED", "false")
    with pytest.raises(RealError, match=r"preflight could not be run: .*hosts\.yml") as failed:
        play_here(tmp_path, monkeypatch, "one", "all: {x: {bad: [\n")
    assert failed.value.exit_status == 2


@pytest.mark.slow  # Ansible
def test_a_play_that_reached_all_succeeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play_here(tmp_path, monkeypatch, "all", json.dumps({"all": {"hosts": {"one": HERE, "two": HERE}}}))
