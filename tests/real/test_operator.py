"""An operator's machine: what it needs for `landspeed real`, and what plays leave on the hosts that they work on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from landspeed.worlds.real import runner
from landspeed.worlds.real.errors import PlayFailed
from landspeed.worlds.real.variables import read_variables
from tests.support.real_fixtures import write_lab_scenario

pytestmark = pytest.mark.slow

WITHOUT = """
import sys
sys.modules |= {name: None for name in ("pyroute2", "mininet")}
from landspeed.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_an_operators_machine_needs_neither_netlink_nor_mininet(tmp_path: Path) -> None:
    """Those build the emulated world's network, in its guest; a shaping box gets lines for tc."""
    scenario = write_lab_scenario(tmp_path / "lab.yaml")
    hosts = ["--sender", "a@192.0.2.1", "--receiver", "b@192.0.2.2", "--shaper", "c@192.0.2.3"]
    words = ["real", "inventory", str(scenario), "--out", str(tmp_path / "inventory"), *hosts]
    done = subprocess.run([sys.executable, "-c", WITHOUT, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    links = read_variables(tmp_path / "inventory" / "group_vars" / "all" / "plan.yml")["landspeed_shape"]
    assert [link["name"] for link in links] == ["link 1 (alpha – r1)", "link 2 (r1 – r2)", "link 3 (r2 – omega)"]


@pytest.mark.parametrize("ending", ["well", "badly"])
@pytest.mark.parametrize("plugin", [True, False], ids=["ours", "ansibles-own"])
def test_a_play_leaves_no_folder_of_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, plugin: bool
) -> None:
    """On a host that is this machine; with Ansible's own shell it stays, empty."""
    here = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"hosts": {"here": here}}}))
    tasks = [
        {"name": "Write", "copy": {"content": "text", "dest": str(tmp_path / "written"), "mode": "0600"}},
        {"name": "End", "command": "true" if ending == "well" else "false"},
    ]
    (tmp_path / "preflight.yml").write_text(json.dumps([{"hosts": "here", "gather_facts": False, "tasks": tasks}]))
    (tmp_path / "ansible.cfg").symlink_to(runner.PLAYBOOKS / "ansible.cfg")
    for folder in ("shell_plugins", "group_vars") if plugin else ():
        (tmp_path / folder).symlink_to(runner.PLAYBOOKS / folder)
    monkeypatch.setattr(runner, "PLAYBOOKS", tmp_path)
    monkeypatch.setattr(runner, "REMOTE_TEMPORARY", str(tmp_path / "landspeed-ansible"))
    if ending == "well":
        runner.run_play("preflight", tmp_path, hosts=["here"])
    else:
        with pytest.raises(PlayFailed):
            runner.run_play("preflight", tmp_path, hosts=["here"])
    assert (tmp_path / "written").read_text() == "text"
    left = list(tmp_path.glob("landspeed-ansible*"))
    assert len(left) == (0 if plugin else 1)
    assert not [file for folder in left for file in folder.iterdir()]


def test_each_module_is_carried_to_a_host_with_all_that_it_imports(tmp_path: Path) -> None:
    """On a host that is this machine: each begins there, and asks for its own parameters."""
    modules = sorted(file.stem for file in (runner.PLAYBOOKS / "plugins" / "modules").glob("*.py"))
    assert "landspeed_preflight" in modules
    tasks = [{"name": name, name: {"no_such": 1}, "register": name, "ignore_errors": True} for name in modules]
    told = "{{ {" + ", ".join(f"'{name}': {name}.msg" for name in modules) + "} | to_json }}"
    tasks += [{"name": "Tell", "copy": {"content": told, "dest": str(tmp_path / "told.json"), "mode": "0600"}}]
    (tmp_path / "play.yml").write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    environment = os.environ | {"ANSIBLE_CONFIG": str(runner.PLAYBOOKS / "ansible.cfg")}
    environment |= {name: str(tmp_path / name) for name in ("ANSIBLE_LOCAL_TEMP", "ANSIBLE_REMOTE_TMP")}
    words = ["-i", "localhost,", "-c", "local", "-e", f"ansible_python_interpreter={sys.executable}"]
    play = [Path(sys.executable).parent / "ansible-playbook", *words, tmp_path / "play.yml"]
    done = subprocess.run(play, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for name, said in json.loads((tmp_path / "told.json").read_text()).items():
        assert said.startswith((f"Unsupported parameters for ({name})", "missing required arguments")), (name, said)


def test_the_clock_of_a_host_is_compared_by_round_trips(tmp_path: Path) -> None:
    """Of a host that is this machine; one whose `date` is an hour ahead is an hour ahead."""
    (tmp_path / "date").write_text('#!/bin/sh\nexec /bin/date --date=+1hour "$@"\n')
    (tmp_path / "date").chmod(0o755)
    tasks = [
        {"name": "Compare", "landspeed_clock": {}, "register": "clock"},
        {"name": "Tell", "copy": {"content": "{{ clock | to_json }}", "dest": "{{ told }}", "mode": "0600"}},
    ]
    (tmp_path / "play.yml").write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    for ahead_s, path in ((0.0, os.environ["PATH"]), (3600.0, f"{tmp_path}:{os.environ['PATH']}")):
        environment = os.environ | {"ANSIBLE_CONFIG": str(runner.PLAYBOOKS / "ansible.cfg"), "PATH": path}
        environment |= {name: str(tmp_path / name) for name in ("ANSIBLE_LOCAL_TEMP", "ANSIBLE_REMOTE_TMP")}
        words = ["-i", "localhost,", "-c", "local", "-e", f"told={tmp_path / 'told.json'}"]
        words += ["-e", f"ansible_python_interpreter={sys.executable}", str(tmp_path / "play.yml")]
        play = [str(Path(sys.executable).parent / "ansible-playbook"), *words]
        done = subprocess.run(play, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        clock = json.loads((tmp_path / "told.json").read_text())
        assert clock["within_s"] > 0
        assert abs(clock["offset_s"] - ahead_s) <= clock["within_s"]  # one clock: no farther than the round trip says
