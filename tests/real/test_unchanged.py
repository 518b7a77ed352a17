"""What runs is what was rehearsed: no figure of the plan can be changed in an inventory."""

from pathlib import Path

import pytest

from landspeed.cli.main import main
from landspeed.worlds.real import runner
from landspeed.worlds.real.runner import PLAYS
from tests.support.real_fixtures import write_lab_scenario


@pytest.fixture(name="inventory")
def inventory_fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An inventory as the command writes it; a play that is begun with it is an error."""
    scenario, folder = write_lab_scenario(tmp_path / "lab.yaml"), tmp_path / "inventory"
    hosts = ["--sender", "anna@192.0.2.1", "--receiver", "ben@192.0.2.2", "--shaper", "carl@192.0.2.3"]
    words = [*hosts, "--late-timers", "7 ms"]
    assert main(["real", "inventory", str(scenario), "--out", str(folder), *words]) == 0
    monkeypatch.setattr(runner, "run_play", lambda *_, **__: pytest.fail("begun"))
    return folder


def play(word: str, inventory: Path) -> int:
    """Exit status of a play without a rehearsal."""
    words = ["--unrehearsed", "a test"] if word in ("deploy", "attempt", "site") else []
    words += ["--attempt", "first"] if word in ("attempt", "collect", "site") else []
    return main(["real", word, str(inventory), *words])


@pytest.mark.parametrize("word", sorted({*PLAYS} - {"restore", "stop", "collect"}))
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("--time 6", "--time 25", "landspeed_send_options is "),
        ("landspeed_stream_bytes: 1650000", "landspeed_stream_bytes: 1", "landspeed_stream_bytes is 1, by the plan"),
        ("landspeed_port: 5201\n", "", "landspeed_port is missing, by the plan"),
        ("landspeed_engine_build: ", "landspeed_engine_build: 0", "; has the engine been built anew?"),
        ("rate 100000000bit", "rate 90000000bit", "landspeed_shape is "),
    ],
)
def test_an_edited_figure_is_refused(  # noqa: PLR0917
    inventory: Path, word: str, old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = inventory / "group_vars" / "all" / "plan.yml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    capsys.readouterr()
    assert play(word, inventory) == 2
    err = capsys.readouterr().err
    assert f"{file}: " in err and said in err
    assert "change the scenario, not the inventory, and rehearse it; mend it, or write the inventory again" in err
    assert not (inventory / "attempt").exists()


@pytest.mark.parametrize(
    "name", ["group_vars/all/zz.yml", "group_vars/landspeed_senders", "host_vars/192.0.2.1.json", "hosts.yml"]
)
def test_a_figure_that_is_said_elsewhere_is_refused(
    inventory: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ansible would take it from there."""
    file = inventory / name
    if name == "hosts.yml":
        file.write_text(
            file.read_text().replace("      hosts:", "      vars: {landspeed_time_limit_s: 9}\n      hosts:", 1)
        )
    else:
        file.write_text('{"landspeed_time_limit_s": 9}')
    assert play("attempt", inventory) == 2
    assert f"{file}: landspeed_time_limit_s is the plan's figure" in capsys.readouterr().err


def test_what_is_of_a_host_or_a_machine_may_be_said(inventory: Path) -> None:
    """An inventory as it was written, with a host's own variables and with an engine for another kind of machine."""
    (inventory / "host_vars" / "192.0.2.1.yml").write_text(
        "landspeed_numa_node: 1\nlandspeed_engine_binary: /arm/landspeed-engine\ntune_backlog_packets: 9\n"
        "own: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  00\n"
    )
    (inventory / "group_vars" / "all" / "vault.yml").write_text("$ANSIBLE_VAULT;1.1;AES256\n00\n")
    with pytest.raises(pytest.fail.Exception, match="begun"):
        main(["real", "tune", str(inventory), "--vault-password-file", str(inventory / "hosts.yml")])


@pytest.mark.parametrize("word", ["restore", "stop", "collect"])
def test_what_only_ends_or_fetches_is_always_possible(inventory: Path, word: str) -> None:
    file = inventory / "group_vars" / "all" / "plan.yml"
    file.write_text(file.read_text().replace("--time 6", "--time 25"))
    with pytest.raises(pytest.fail.Exception, match="begun"):
        play(word, inventory)
