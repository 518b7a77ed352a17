"""The roles on a host that is a network namespace here: who reaches the engine's port, and what an attempt looks at.

`nft` is that of the lab's servers.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from landspeed.cli.main import main
from landspeed.worlds.engine.command import ENGINE_BINARY
from landspeed.worlds.real.runner import PLAYBOOKS
from tests.lab.tree import find_or_make_tree
from tests.support.real_fixtures import write_lab_scenario

pytestmark = [pytest.mark.root, pytest.mark.lab]

RECEIVER, PEER, STRANGER = "lstest-receiver", "lstest-peer", "lstest-stranger"
ADDRESSES = {"peer": ("10.9.1", "fd09:1::"), "stranger": ("10.9.2", "fd09:2::")}  # .1 and ::1 are the receiver's
LISTEN = """
import socket, sys
each = [socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True) for port in (5201, 5203)]
print("ready", flush=True)
sys.stdin.read()
"""
CONNECT = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), 1).close()
    print("open")
except OSError as error:
    print(type(error).__name__)
"""


@pytest.fixture(name="wire")
def wire_fixture() -> Iterator[None]:
    """The receiver, with a cable to its peer and one to a stranger."""
    with contextlib.ExitStack() as undo:
        for name in (RECEIVER, PEER, STRANGER):
            subprocess.run(["ip", "netns", "add", name], check=True)
            undo.callback(subprocess.run, ["ip", "netns", "delete", name], check=True)
            in_namespace(name, "ip", "link", "set", "lo", "up")
        for name, (four, six) in ADDRESSES.items():
            other = PEER if name == "peer" else STRANGER
            in_namespace(RECEIVER, *f"ip link add {name} type veth peer name data0 netns {other}".split())
            for namespace, device, last in ((RECEIVER, name, 1), (other, "data0", 2)):
                in_namespace(namespace, *f"ip address add {four}.{last}/24 dev {device}".split())
                in_namespace(namespace, *f"ip address add {six}{last}/64 dev {device} nodad".split())
                in_namespace(namespace, "ip", "link", "set", device, "up")
        yield


def in_namespace(name: str, *words: str) -> str:
    """Output of a command there."""
    return subprocess.run(["ip", "netns", "exec", name, *words], check=True, capture_output=True, text=True).stdout


@pytest.fixture(name="steps")
def steps_fixture(tmp_path: Path, wire: None) -> Steps:
    """Tasks for the receiver."""
    return Steps(tmp_path)


class Steps:
    """Tasks that are run on the receiver, on folders of its own where plays write."""

    def __init__(self, folder: Path) -> None:
        """An inventory, and `nft`."""
        self.folder, self.tasks = folder, list[dict[str, object]]()
        (folder / "bin").mkdir()
        (folder / "bin" / "nft").write_text(f'#!/bin/sh\nexec chroot {find_or_make_tree()} nft "$@"\n')
        (folder / "bin" / "nft").chmod(0o755)

    def inventory(self, peer: str, address: str) -> None:
        """Write it; a plan of two hosts with these addresses."""
        scenario = write_lab_scenario(self.folder / "lab.yaml")
        if ":" in peer:
            scenario.write_text(json.dumps(json.loads(scenario.read_text()) | {"ip": 6}))
        hosts = ["--sender", f"a@peer,address={peer}", "--receiver", f"b@receiver,address={address}"]
        out = self.folder / "inventory"
        assert main(["real", "inventory", str(scenario), "--out", str(out), *hosts]) == 0
        local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        # Not of a namespace but of this machine: they stay as they are.
        local |= {"tune_machine": [], "tune_affinity": [], "landspeed_unrehearsed": "a test"}
        (out / "host_vars" / "receiver.yml").write_text(json.dumps(local))

    def role(self, name: str, tasks_from: str = "main", **variables: object) -> None:
        """A role, or a part of it; what it says when it fails is told."""
        include = {"include_role": {"name": name, "tasks_from": tasks_from}, "vars": variables}
        failed = (
            "(ansible_failed_result.results | default([ansible_failed_result]) | selectattr('failed', 'true') | first)"
        )
        said = {"set_fact": {"said": f"{{{{ said + [{failed}.msg] }}}}"}}
        self.tasks.append({"block": [include, {"set_fact": {"said": "{{ said + ['done'] }}"}}], "rescue": [said]})

    def command(self, words: str) -> None:
        """A command there."""
        self.tasks.append({"command": words})

    def run(self) -> list[str]:
        """Run them; `done`, or what it said, of each role."""
        told = self.folder / "told.json"
        first = {"set_fact": {"said": []}}
        last = {"copy": {"content": "{{ said | to_json }}", "dest": str(told), "mode": "0600"}}
        play = {"hosts": "landspeed_receivers", "gather_facts": False, "tasks": [first, *self.tasks, last]}
        (self.folder / "play.yml").write_text(json.dumps([play]))
        self.tasks.clear()
        environment = os.environ | {"ANSIBLE_CONFIG": str(PLAYBOOKS / "ansible.cfg")}
        environment |= {name: str(self.folder / name) for name in ("ANSIBLE_LOCAL_TEMP", "ANSIBLE_REMOTE_TMP")}
        environment["PATH"] = f"{self.folder}/bin:{os.environ['PATH']}"
        words = ["ip", "netns", "exec", RECEIVER, "unshare", "--mount", "sh", "-ec"]
        script = "for each in /var/lib /usr/local/bin; do mount -t tmpfs none $each; done; "
        script += f'cp {ENGINE_BINARY} /usr/local/bin; exec "$@"'
        play_words = [Path(sys.executable).parent / "ansible-playbook", "-i", self.folder / "inventory" / "hosts.yml"]
        done = subprocess.run(
            [*words, script, "sh", *play_words, self.folder / "play.yml"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(told.read_text())


def reached(name: str, address: str, port: int) -> str:
    """`open`, or why it is not."""
    return in_namespace(name, sys.executable, "-c", CONNECT, address, str(port)).strip()


@pytest.mark.slow  # Ansible
@pytest.mark.parametrize("version", [4, 6])
def test_the_port_is_open_for_the_peers_address_alone(steps: Steps, version: int) -> None:
    """Closed for every other address of both families, link-local ones too; another port is as it was."""
    four, six = "10.9.1.{}", "fd09:1::{}"
    own = four if version == 4 else six
    steps.inventory(own.format(2), own.format(1))
    steps.role("deploy", "firewall")
    assert steps.run() == ["done"]
    shown = in_namespace(RECEIVER, *["ip", "-o", "-6", "address", "show", "dev", "stranger", "scope", "link"])
    link_local = shown.split()[3].partition("/")[0] + "%data0"
    words = ["ip", "netns", "exec", RECEIVER, sys.executable, "-c", LISTEN]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as listening:
        assert listening.stdout is not None and listening.stdout.readline() == "ready\n"
        for name, address, opened in (
            (PEER, four.format(1), version == 4),
            (PEER, six.format(1), version == 6),
            (STRANGER, "10.9.2.1", False),
            (STRANGER, "fd09:2::1", False),
            (STRANGER, link_local, False),
            (RECEIVER, "127.0.0.1", False),
            (RECEIVER, "::1", False),
        ):
            assert reached(name, address, 5201) == ("open" if opened else "TimeoutError"), (name, address)
            assert reached(name, address, 5203) == "open", (name, address)
        listening.communicate("")


@pytest.mark.slow  # Ansible
def test_an_attempt_looks_whether_all_is_in_force(steps: Steps) -> None:
    """Not made ready, in force, a setting changed, the table gone, and the name of an attempt that there is."""
    steps.inventory("10.9.1.2", "10.9.1.1")
    steps.role("attempt")
    steps.role("tune")
    steps.role("deploy", "firewall")
    steps.role("lease", lease_ready="deploy")
    steps.role("attempt")
    steps.command("sysctl net.ipv4.tcp_rmem='4096 131072 262144'")
    steps.role("attempt")
    steps.role("tune")
    steps.command("nft delete table inet landspeed")
    steps.role("attempt")
    steps.role("deploy", "firewall")
    steps.command("mkdir -p /var/lib/landspeed/attempts/manual")
    steps.role("attempt")
    unready, *made, ready, changed, tuned, open_port, closed, twice = steps.run()
    assert made == ["done"] * 3 and (tuned, closed) == ("done", "done")
    assert "not made ready since it was started or restored. Remedy: landspeed real tune" in unready
    assert ready.startswith("receiver: rtt: "), ready  # all before it was as it should be
    assert "receiver: settings are not in force (sysctl net.ipv4.tcp_rmem: 4096 131072 262144), wanted: " in changed
    assert changed.endswith("sysctl net.ipv4.tcp_rmem: 4096 131072 3300000. Remedy: landspeed real tune.")
    assert open_port == (
        "receiver: the firewall table that closes port 5201 is not in force. Remedy: landspeed real deploy."
    )
    assert twice.startswith("receiver: there is an attempt manual already; nothing was sent. Remedy: another name")
