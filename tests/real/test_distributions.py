"""The collection's roles on Debian 13 and Ubuntu 24.04, each alone: in check mode, twice, and back to the byte.

Debian 12 is the other lab's (test_lab.py), where the other roles have a path. Where Ubuntu cannot be had, both machines
are Debian 13, and a test that is skipped says why. The packages of EL and openSUSE are not to be had where these tests
run.
"""

import difflib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from landspeed.worlds.engine.command import ENGINE_BINARY
from landspeed.worlds.real.inventory import ENGINE_UNIT, MAN_PAGE
from landspeed.worlds.real.runner import PLAYBOOKS
from tests.lab.lab import Lab
from tests.lab.tree import TreeError, find_or_make_tree
from tests.support.command import COMMAND
from tests.support.real_fixtures import ADDRESS, DUMP, modules_kept

pytestmark = [pytest.mark.root, pytest.mark.lab, pytest.mark.slow, pytest.mark.xdist_group("distributions")]
SUITES = {"sender": "trixie", "receiver": "noble"}
RELEASES = {"trixie": "debian 13", "noble": "ubuntu 24.04"}
TUNED = "0\n4096\t131072\t330000000\n"  # twice 10 Gbit/s × 264 ms / 2 streams
ENGINE = {
    "landspeed_engine_binary": str(ENGINE_BINARY),
    "landspeed_engine_man_page": str(MAN_PAGE),
    "landspeed_engine_unit": str(ENGINE_UNIT),
    "landspeed_engine_build": "landspeed-engine ",
    "landspeed_rehearsed_engine_build": "landspeed-engine ",
    "landspeed_unrehearsed": "",
    "landspeed_scenario_file": "none",
    "landspeed_engine_key": "",
    "landspeed_port": 5201,
    "landspeed_time_limit_s": 60,
}
PATH = {"tune_rate_bps": 10**10, "tune_rtt_ms": 264, "tune_streams": 2, "tune_congestion_control": "reno"}
PATH |= {"preflight_congestion_control": "reno"}  # what every container is allowed


class Machines:
    """Two machines, and the collection as somebody installs it.

    Attributes:
        lacking: why one is not of the suite that is wanted; or nothing.
    """

    def __init__(self, lab: Lab, folder: Path, lacking: str) -> None:
        """An inventory by hand, and the collection built and installed."""
        self.lab, self.folder, self.lacking = lab, folder, lacking
        peers = {"sender": ADDRESS["receiver"], "receiver": ADDRESS["sender"]}
        hosts = {
            name: {"tune_peer": peer, "preflight_peer": peer, "landspeed_peer": peer} for name, peer in peers.items()
        }
        common = {"ansible_user": "otto", "ansible_ssh_common_args": f"-F {lab.folder}/ssh_config"}
        common["ansible_python_interpreter"] = "/usr/bin/python3"
        groups = {"landspeed_senders": {"hosts": {"sender": {}}}, "landspeed_receivers": {"hosts": {"receiver": {}}}}
        inventory = {"all": {"hosts": hosts, "vars": common, "children": groups}}
        (folder / "hosts.yml").write_text(json.dumps(inventory))
        self.tool("ansible-galaxy", "collection", "build", str(PLAYBOOKS), "--output-path", str(folder))
        (archive,) = folder.glob("*.tar.gz")
        words = ("--collections-path", str(folder / "collections"), "--offline")
        self.tool("ansible-galaxy", "collection", "install", str(archive), *words)

    def tool(self, name: str, *words: str, status: int = 0) -> str:
        """A tool of Ansible's on the operator's machine of the lab."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_NOCOLOR": "1",
        }
        environment |= {"ANSIBLE_COLLECTIONS_PATH": str(self.folder / "collections"), "ANSIBLE_PIPELINING": "1"}
        environment |= modules_kept(self.folder / "packed-modules")
        command = [str(COMMAND.parent / name), *words]
        done = self.lab.run(*command, env=environment, cwd=self.folder, timeout=400)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    def role(self, role: str, *words: str, **variables: Any) -> dict[str, int]:
        """Run a role of the collection on both machines.

        Returns:
            changes of each.
        """
        play = {"hosts": "all", "gather_facts": False, "become": role != "preflight"}
        play |= {"roles": [f"landspeed.dtn.{role}"]}
        (self.folder / "play.yml").write_text(json.dumps([play]))
        more = ["-e", json.dumps(PATH | variables)]
        said = self.tool("ansible-playbook", "-i", "hosts.yml", *more, *words, "play.yml")
        return {host: int(count) for host, count in re.findall(r"^(\w+) +: ok=\d+ +changed=(\d+)", said, re.MULTILINE)}

    def dump(self) -> dict[str, str]:
        """All that a role could change."""
        return {host: self.lab.root(host, DUMP) for host in SUITES}

    def assert_as(self, before: dict[str, str]) -> None:
        """See that the machines are as they were."""
        for host, now in self.dump().items():
            lines = difflib.unified_diff(before[host].splitlines(), now.splitlines(), lineterm="", n=0)
            difference = "\n".join(lines)
            assert not difference, f"{host} is not as before:\n{difference}"


@pytest.fixture(scope="module", name="machines")
def machines_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """The machines; skipped where Debian 13 cannot be had."""
    folder = tmp_path_factory.mktemp("distributions")
    suites, lacking = dict(SUITES), ""
    try:
        find_or_make_tree("trixie")
    except TreeError as error:
        pytest.skip(str(error))
    try:
        find_or_make_tree("noble")
    except TreeError as error:
        suites["receiver"] = "trixie"
        lacking = f"no Ubuntu 24.04: {error} (without its keys: DEBOOTSTRAP_OPTIONS=--no-check-gpg)"
    lab = Lab.up(f"dist-{folder.name}-{folder.parent.name}", suites=suites, shaper=False)
    try:
        yield Machines(lab, folder, lacking)
    finally:
        lab.down()


@pytest.fixture(scope="module", name="before")
def before_fixture(machines: Machines) -> dict[str, str]:
    """The machines before anything was done to them."""
    return machines.dump()


def test_they_are_what_they_are_said_to_be(machines: Machines) -> None:
    told = {host: machines.lab.root(host, ". /etc/os-release; echo $ID $VERSION_ID").strip() for host in SUITES}
    assert told["sender"] == RELEASES[SUITES["sender"]]
    if machines.lacking:
        pytest.skip(machines.lacking)
    assert told["receiver"] == RELEASES[SUITES["receiver"]]


def test_preflight_changes_nothing(machines: Machines, before: dict[str, str]) -> None:
    for _ in range(2):
        assert machines.role("preflight") == {"sender": 0, "receiver": 0}
    machines.assert_as(before)


@pytest.mark.parametrize("role", ["lease", "tune", "deploy"])
def test_a_role_alone_twice_and_back(machines: Machines, before: dict[str, str], role: str) -> None:
    """In check mode it says that it would change, and does not; the second time there is nothing to change.

    What was tuned to last is in force after a power cut; the engine runs there, which the role looks at.
    """
    given = {"tune": {"tune_persistent": True}, "deploy": ENGINE}.get(role, {})
    dry = machines.role(role, "--check", **given)
    machines.assert_as(before)
    first = machines.role(role, **given)
    assert all(dry.values()) and all(first.values()), (dry, first)
    assert machines.role(role, **given) == {"sender": 0, "receiver": 0}
    for host in SUITES if role == "tune" else ():
        machines.lab.cut_power(host)
        machines.lab.root(host, "systemctl is-system-running --wait || true")
        assert machines.lab.root(host, "systemctl show --property=Result landspeed-tune") == "Result=success\n"
        assert machines.lab.root(host, "sysctl -n net.ipv4.tcp_slow_start_after_idle net.ipv4.tcp_rmem") == TUNED
    assert all(machines.role("restore", restore_everything=True).values())
    machines.assert_as(before)
    assert machines.role("restore", restore_everything=True) == {"sender": 0, "receiver": 0}
