"""Inventories: any word for a host, and folders whose files are damaged, end in a sentence with a remedy."""

import contextlib
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landspeed.cli.main import main
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.resolve.resolve import make_plan
from landspeed.worlds.real.collected import unpack
from landspeed.worlds.real.errors import RealError
from landspeed.worlds.real.inventory import InventoryHost, read_hosts, read_plan, write_inventory
from landspeed.worlds.real.variables import read_variables
from tests.support.fuzzing import JSON, TEXTS, damaged, damaged_bytes, examples
from tests.support.real_fixtures import write_lab_scenario

HOSTS = {"sender": InventoryHost.parse("anna@192.0.2.1"), "receiver": InventoryHost.parse("ben@192.0.2.2")}
PARTS = st.sampled_from(
    ["a", "host", "user@", "@", ",", "=", "address", "interface", "jump", "192.0.2.1", "::1", "-o", " "]
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An inventory as it is written."""
    folder = tmp_path_factory.mktemp("inventory")
    loaded = load_scenario(write_lab_scenario(folder / "lab.yaml"))
    write_inventory(folder / "whole", loaded, make_plan(loaded), HOSTS)
    return folder / "whole"


@examples(150)
@given(text=st.one_of(st.lists(st.one_of(PARTS, TEXTS), max_size=8).map("".join), st.text(max_size=40)))
def test_any_words_for_a_host(text: str) -> None:
    """What is accepted has a name that ssh takes for no option, and known options only."""
    try:
        host = InventoryHost.parse(text)
    except RealError as error:
        assert "the form is user@host" in str(error)
        return
    assert host.name and not host.name.startswith("-") and not any(letter.isspace() for letter in host.name)
    assert set(host.options) <= {"address", "interface", "jump", "ssh_config"} and all(host.options.values())
    with contextlib.suppress(RealError):  # no address on the path is given; nobody asks a name server for one here
        assert InventoryHost(host.name, host.user, host.options | {"address": "192.0.2.7"}).variables(4, on_path=True)


@examples(40)
@given(data=st.data())
def test_a_plan_that_is_damaged_is_none(data: st.DataObject, whole: Path, tmp_path: Path) -> None:
    content = (whole / "plan.json").read_bytes()
    plan = json.loads(content)
    other: Any = data.draw(
        st.one_of(damaged(plan, JSON, most=1).map(json.dumps).map(str.encode), damaged_bytes(content))
    )
    (tmp_path / "plan.json").write_bytes(other)
    try:
        read_plan(tmp_path)
    except RealError as error:
        assert str(tmp_path) in str(error) and "landspeed real inventory" in str(error)


@examples(60)
@given(data=st.data(), name=st.sampled_from(["hosts.yml", "group_vars/all/plan.yml"]))
def test_variables_that_are_damaged(data: st.DataObject, name: str, whole: Path, tmp_path: Path) -> None:
    file = tmp_path / "variables.yml"
    file.write_bytes(data.draw(damaged_bytes((whole / name).read_bytes())))
    try:
        found = read_variables(file)
    except RealError as error:
        assert str(file) in str(error)
    else:
        assert isinstance(found, dict)


@examples(20)
@given(data=st.data(), name=st.sampled_from(["plan.json", "hosts.yml", "attempt"]))
def test_collect_of_a_damaged_inventory(data: st.DataObject, name: str, whole: Path, tmp_path: Path) -> None:
    """Bad input, or a play that cannot be run: exit status 2 with a sentence. No play is begun."""
    folder = tmp_path / "inventory"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    (folder / "attempt").write_text("20261101T000000Z\n")
    (folder / name).write_bytes(data.draw(damaged_bytes((folder / name).read_bytes())))
    (folder / "group_vars" / "all" / "vault.yml").write_text("$ANSIBLE_VAULT;1.1;AES256\n00\n")
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        assert main(["real", "collect", str(folder)]) == 2
    assert said.getvalue().startswith("Error: ")


@examples(30)
@given(content=st.binary(max_size=2000))
def test_what_was_collected_is_an_archive_or_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "host.tar").write_bytes(content)
    with contextlib.suppress(RealError):
        assert isinstance(unpack(tmp_path / "host.tar", "attempt"), dict)


@examples(40)
@given(data=st.data())
def test_hosts_that_are_damaged(data: st.DataObject, whole: Path, tmp_path: Path) -> None:
    tree = read_variables(whole / "hosts.yml")
    (tmp_path / "hosts.yml").write_text(json.dumps(data.draw(damaged(tree, JSON))))
    try:
        names = read_hosts(tmp_path)
    except RealError as error:
        assert str(tmp_path / "hosts.yml") in str(error)
    else:
        assert set(names) == {"sender", "receiver", "shaper"}
