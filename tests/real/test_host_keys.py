"""Host keys at every door: a server that shows another key than the known one is never logged in to, whoever asks so.

The server is a sshd on the loopback device. It refuses every login, so that a play does nothing here whatever happens.
"""

import getpass
import hashlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from landspeed.cli.main import main
from landspeed.worlds.real.explanations import ask_ssh
from landspeed.worlds.real.runner import BIN, PLAYS
from tests.support.command_process import COMMAND, run
from tests.support.emu_fixtures import wait_until
from tests.support.real_fixtures import write_lab_scenario

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
needs_sshd = pytest.mark.skipif(not Path(SSHD).exists(), reason="openssh-server is not installed")
pytestmark = pytest.mark.slow  # Ansible


@dataclass
class Server:
    """A sshd on the loopback device.

    Attributes:
        folder: its files, and those of its clients.
        port: its port.
        key: its host key, as known_hosts has it; `other` is another one.
    """

    folder: Path
    port: int
    key: str
    other: str

    def log(self) -> str:
        """What it has written down."""
        return (self.folder / "sshd.log").read_text()

    def fingerprint(self) -> str:
        """Of the key that it shows."""
        words = ["ssh-keygen", "-lf", self.folder / "host.pub"]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[1]

    def config(self, folder: Path, *more: str, known: dict[str, str], checked: str = "yes") -> Path:
        """An ssh_config with the known keys by name; names are hosts that all are this server."""
        file = folder / "ssh_config"
        (folder / "known_hosts").write_text("".join(f"{name} {key}\n" for name, key in known.items()))
        lines = [f"Host {name}\n HostName 127.0.0.1\n HostKeyAlias {name}\n Port {self.port}" for name in known]
        lines += [*more, f"Host *\n IdentityFile {self.folder}/user\n IdentitiesOnly yes"]
        lines += [f" UserKnownHostsFile {folder}/known_hosts", " GlobalKnownHostsFile none"]
        file.write_text("\n".join([*lines, f" StrictHostKeyChecking {checked}\n"]))
        return file


@pytest.fixture(scope="module", name="server")
def server_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A sshd that logs; there is no key that it would accept."""
    folder = tmp_path_factory.mktemp("sshd")
    for name in ("host", "other", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", folder / name], check=True)
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    (folder / "authorized").touch()
    (folder / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nPidFile none\nStrictModes no\nUsePAM no\n"
        f"AuthorizedKeysFile {folder}/authorized\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        "MaxStartups 100\nLogLevel VERBOSE\n"
    )
    words = [SSHD, "-D", "-f", str(folder / "sshd_config"), "-E", str(folder / "sshd.log")]
    if os.geteuid() == 0:  # /run/sshd is wanted of root; it is there in this process's view of /run only
        words = [
            "unshare",
            "--mount",
            "sh",
            "-c",
            'mount -t tmpfs none /run && mkdir /run/sshd && exec "$@"',
            "-",
            *words,
        ]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL)
    keys = [(folder / f"{name}.pub").read_text().strip() for name in ("host", "other")]
    try:
        made = Server(folder, port, *keys)
        wait_until(lambda: (folder / "sshd.log").exists() and "Server listening" in made.log(), "sshd to listen")
        yield made
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(name="inventory")
def inventory_fixture(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """An inventory of hosts that are the server; the known key of the receiver is its key, the others' is another."""
    known = {"sender": server.other, "shaper": server.other, "receiver": server.key}
    return write_inventory(tmp_path, capsys, f"ssh_config={server.config(tmp_path, known=known)}", shaper="192.0.2.3")


def write_inventory(folder: Path, capsys: pytest.CaptureFixture[str], *options: str, **shaper: str) -> Path:
    """An inventory as the command writes it."""
    words = ["real", "inventory", str(write_lab_scenario(folder / "lab.yaml")), "--out", str(folder / "inventory")]
    for role, address in {"sender": "192.0.2.1", "receiver": "192.0.2.2", **shaper}.items():
        words += [f"--{role}", ",".join([f"{getpass.getuser()}@{role}", f"address={address}", *options])]
    assert main(words) == 0
    capsys.readouterr()
    return folder / "inventory"


def play(name: str, inventory: Path, *more: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a play as an operator does."""
    words = ["--unrehearsed", "a test"] if name in ("deploy", "attempt", "site") else []
    words += ["--attempt", "first"] if name in ("attempt", "collect", "site") else []
    done = run(
        [COMMAND, "real", name, inventory, *words, *more],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done


def assert_refused(server: Server, done: subprocess.CompletedProcess[str], host: str = "sender") -> None:
    """The message says what, where and what would be right."""
    assert f"{host}: host key verification failed: the key of {host} ({server.fingerprint()})" in done.stderr
    assert f"ssh-keygen -f {Path(done.args[3]).parent}/known_hosts -R {host}" in done.stderr


@pytest.mark.guest
@needs_sshd
@pytest.mark.parametrize("name", PLAYS)
def test_every_play_refuses_a_wrong_key(server: Server, inventory: Path, name: str) -> None:
    done = play(name, inventory)
    assert_refused(server, done, "shaper" if name == "shape" else "sender")  # the box is first there
    assert (
        name in ("shape", "mesh") or "receiver: ssh refuses the login" in done.stderr
    )  # its key is the known one; a mesh begins at the senders


@pytest.mark.guest
@needs_sshd
@pytest.mark.parametrize("door", ["ssh_config", "inventory", "environment", "arguments", "plain ansible-playbook"])
def test_nobody_switches_it_off(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], door: str) -> None:
    known = {"sender": server.other, "receiver": server.key}
    config = server.config(tmp_path, known=known, checked="no" if door == "ssh_config" else "yes")
    folder = write_inventory(tmp_path, capsys, f"ssh_config={config}")
    if door == "inventory":
        (folder / "host_vars" / "sender.yml").write_text(
            "ansible_host_key_checking: false\nansible_ssh_args: -o StrictHostKeyChecking=no\n"
        )
    environment = {"environment": {"ANSIBLE_HOST_KEY_CHECKING": "False"}}.get(door, {})
    if door == "arguments":
        environment = {"ANSIBLE_SSH_ARGS": "-o StrictHostKeyChecking=no -o NoHostAuthenticationForLocalhost=yes"}
    if door == "plain ansible-playbook":
        words = [COMMAND.parent / "ansible-playbook", "-i", folder / "hosts.yml", "stop.yml"]
        env = {**os.environ, "ANSIBLE_HOST_KEY_CHECKING": "False", "ANSIBLE_LOCAL_TEMP": str(tmp_path / "local")}
        done = subprocess.run(words, cwd=BIN.parent, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 4  # hosts were unreachable
        assert server.fingerprint() in done.stdout and "Host key verification failed" in done.stdout
    else:
        assert_refused(server, play("stop", folder, **environment))


@pytest.mark.guest
@needs_sshd
@pytest.mark.parametrize("door", ["jump=", "ProxyJump", "ProxyCommand"])
def test_a_jump_host_is_checked_too(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], door: str
) -> None:
    """Its ssh gets no option of the one that begins it."""
    known = {"gate": server.other, "sender": server.key, "receiver": server.key}
    ways = {"ProxyJump": "ProxyJump gate", "ProxyCommand": f"ProxyCommand ssh -F {tmp_path}/ssh_config -W %h:%p gate"}
    more = [f"Host sender receiver\n {ways[door]}"] if door in ways else []
    config = server.config(tmp_path, *more, known=known, checked="no")
    folder = write_inventory(tmp_path, capsys, f"ssh_config={config}", *(["jump=gate"] if door == "jump=" else []))
    done = play("stop", folder)
    for host in ("sender", "receiver"):
        assert f"{host}: host key verification failed: the key of gate ({server.fingerprint()})" in done.stderr
    assert f"ssh-keygen -f {tmp_path}/known_hosts -R gate" in done.stderr


@pytest.mark.guest
@needs_sshd
def test_a_connection_that_another_began_is_not_used(server: Server, inventory: Path, tmp_path: Path) -> None:
    """Ansible names its sockets by host, port and user: those of another inventory, or of no check, are the same."""
    user, config = getpass.getuser(), tmp_path / "ssh_config"
    with tempfile.TemporaryDirectory() as sockets:  # of a short name
        own = f"{sockets}/{hashlib.sha1(f'sender-None-{user}'.encode()).hexdigest()[:10]}"
        authorized = server.folder / "authorized"
        authorized.write_text('restrict,command="exit 9" ' + (server.folder / "user.pub").read_text())
        words = ["ssh", "-F", config, "-o", f"ControlPath={own}", "-o", "StrictHostKeyChecking=no", f"{user}@sender"]
        try:
            subprocess.run([*words, "-fNM"], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            authorized.write_text("")
            assert subprocess.run([*words, "-n"], check=False).returncode == 9  # it can be used
            done = play("stop", inventory, ANSIBLE_SSH_CONTROL_PATH_DIR=sockets)
        finally:
            authorized.write_text("")
            subprocess.run([*words, "-O", "exit"], check=False, capture_output=True)
    assert_refused(server, done)


@needs_sshd
@pytest.mark.parametrize("program", ["ssh", "sftp", "scp"])
def test_every_program_of_openssh_refuses_a_wrong_key(server: Server, tmp_path: Path, program: str) -> None:
    """Ansible begins all three."""
    config = server.config(tmp_path, known={"sender": server.other})
    (tmp_path / "file").touch()
    last = {"ssh": ["sender", "true"], "sftp": ["-b", "-", "sender"], "scp": [tmp_path / "file", "sender:/nowhere"]}
    words = [program, "-F", config, "-o", "StrictHostKeyChecking=no", *last[program]]
    path = os.pathsep.join([str(BIN), os.environ["PATH"]])
    options = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL}
    done = subprocess.run(["env", f"PATH={path}", *words], check=False, **options)
    assert done.returncode == 255 and "Host key verification failed" in done.stderr
    assert "known_hosts:1" in done.stderr


@pytest.mark.guest
@needs_sshd
def test_an_unknown_host_is_no_question(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = server.config(tmp_path, known={"sender": server.key, "receiver": server.key})
    (tmp_path / "known_hosts").write_text(f"receiver {server.key}\n")
    done = play("stop", write_inventory(tmp_path, capsys, f"ssh_config={config}"))
    assert "sender: host key verification failed: the key of sender is not known" in done.stderr
    assert "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub" in done.stderr


@pytest.mark.guest
@needs_sshd
def test_the_right_key_is_let_through(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = server.config(tmp_path, known={"sender": server.key, "receiver": server.key})
    done = play("stop", write_inventory(tmp_path, capsys, f"ssh_config={config}"))
    assert "host key" not in done.stderr
    assert [done.stderr.count(f"{host}: ssh refuses the login") for host in ("sender", "receiver")] == [1, 1]


@pytest.mark.parametrize("way", ["direct", "a dry run", "by a jump host", "it can be reached then"])
def test_what_ssh_says_is_asked_for_where_ansible_lost_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    """It gives up 1 ms after ssh has closed its input, and an ssh that ends may take longer on a busy machine.

    In place of ssh is a program that closes its input and takes half a second to end.
    """
    inventory = write_inventory(tmp_path, capsys)
    said = "No ED25519 host key is known for sender and you have requested strict checking.\n"
    said += "Host key verification failed.\n"
    lines = [f"echo >>{tmp_path}/asked", "exec <&-", "sleep 0.5", f"echo '{said}' >&2", "exit 255"]
    if way == "by a jump host":  # whose ssh speaks into the log (bin/ssh)
        lines[3] = f"echo '{said}' >>$LANDSPEED_PLAY/jump.log; echo 'Connection closed by UNKNOWN port 65535' >&2"
    if way == "it can be reached then":
        lines.insert(1, f"[ $(wc -l <{tmp_path}/asked) -le 2 ] || exit 0")
    (tmp_path / "bin").mkdir()
    slow = tmp_path / "bin" / "ssh"
    slow.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    slow.chmod(0o755)
    more = ["--check"] if way == "a dry run" else []
    done = play("tune", inventory, *more, PATH=f"{slow.parent}:{os.environ['PATH']}")
    for host in ("sender", "receiver"):
        if way == "it can be reached then":
            assert re.search(rf"{host}: cannot be reached over ssh \(.*Data could not be sent", done.stderr)
        else:
            assert f"{host}: host key verification failed: the key of sender is not known" in done.stderr
    assert (tmp_path / "asked").stat().st_size == 4  # each by a task with input, and by one without


@pytest.mark.parametrize(
    ("prints", "found"),
    [
        ('a | UNREACHABLE! => {"msg": "x"}\nb | SUCCESS => {}', {"a": {"msg": "x"}}),
        ("a | UNREACHABLE! =>\n    msg: x", {}),
        ('a | UNREACHABLE! => {"msg": ', {}),
        ('[WARNING]: x\nb | UNREACHABLE! => {"msg": "y"}\na | UNREACHABLE! => {', {"b": {"msg": "y"}}),
    ],
)
def test_answers_of_ssh_that_cannot_be_read_are_none(
    tmp_path: Path, prints: str, found: dict[str, dict[str, str]]
) -> None:
    program = tmp_path / "ansible"
    program.write_text(f"#!/bin/sh\ncat <<'end'\n{prints}\nend\n")
    program.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert ask_ssh(["a", "b"], tmp_path / "hosts.yml", [], environment, tmp_path) == found
    assert ask_ssh(["a", "b"], tmp_path / "hosts.yml", [], {"PATH": "/nowhere"}, tmp_path) == {}
