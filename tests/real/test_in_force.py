"""The role deploy on a host that is a network namespace here: who reaches the engine's port.

`nft` is that of the lab's servers.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from landspeed.cli.main import main
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


@pytest.fixture(scope="module", name="tree")
def tree_fixture() -> Path:
    """Files of a server of the lab: found before a test has a cache of its own, in which they would be made anew."""
    return find_or_make_tree()


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


def close_the_port(folder: Path, tree: Path, peer: str, address: str) -> None:
    """Load the firewall table of a plan of two hosts with these addresses at the receiver, by the role's tasks."""
    scenario = write_lab_scenario(folder / "lab.yaml")
    if ":" in peer:
        scenario.write_text(json.dumps(json.loads(scenario.read_text()) | {"ip": 6}))
    hosts = ["--sender", f"a@peer,address={peer}", "--receiver", f"b@receiver,address={address}"]
    assert main(["real", "inventory", str(scenario), "--out", str(folder / "inventory"), *hosts]) == 0
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    (folder / "inventory" / "host_vars" / "receiver.yml").write_text(json.dumps(local))
    include = {"include_role": {"name": "deploy", "tasks_from": "firewall"}}
    play = {"hosts": "landspeed_receivers", "gather_facts": False, "tasks": [include]}
    (folder / "play.yml").write_text(json.dumps([play]))
    (folder / "bin").mkdir()
    (folder / "bin" / "nft").write_text(f'#!/bin/sh\nexec chroot {tree} nft "$@"\n')
    (folder / "bin" / "nft").chmod(0o755)
    environment = os.environ | {"ANSIBLE_CONFIG": str(PLAYBOOKS / "ansible.cfg")}
    environment |= {name: str(folder / name) for name in ("ANSIBLE_LOCAL_TEMP", "ANSIBLE_REMOTE_TMP")}
    environment["PATH"] = f"{folder}/bin:{os.environ['PATH']}"
    # The state is written to a folder of its own.
    words = ["ip", "netns", "exec", RECEIVER, "unshare", "--mount", "sh", "-ec"]
    words += ['mount -t tmpfs none /var/lib; exec "$@"', "sh", str(Path(sys.executable).parent / "ansible-playbook")]
    words += ["-i", str(folder / "inventory" / "hosts.yml"), str(folder / "play.yml")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def reached(name: str, address: str, port: int) -> str:
    """`open`, or why it is not."""
    return in_namespace(name, sys.executable, "-c", CONNECT, address, str(port)).strip()


@pytest.mark.slow  # Ansible
@pytest.mark.parametrize("version", [4, 6])
def test_the_port_is_open_for_the_peers_address_alone(tmp_path: Path, tree: Path, wire: None, version: int) -> None:
    """Closed for every other address of both families, link-local ones too; another port is as it was."""
    four, six = "10.9.1.{}", "fd09:1::{}"
    own = four if version == 4 else six
    close_the_port(tmp_path, tree, own.format(2), own.format(1))
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
