"""Programs of other people for tests/probe_cases.py, each with the window that its documents or its source state."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from landspeed.testing.conditions import Listening

if TYPE_CHECKING:
    from probe_cases import Case

MIB = 1 << 20


def more_cases(folder: Path) -> list[Case]:
    """Those whose programs are here."""
    found: list[Case] = []
    if shutil.which("nghttpd"):
        found += http2(folder)
    if Path("/usr/sbin/sshd").exists():
        found += ssh(folder)
    if find_spec("aioquic"):
        found += quic(folder)
    return found


def http2(folder: Path) -> list[Case]:
    """Up: the server's window, which nghttpd's --window-bits sets as a power of two less one. Down: curl's window."""
    from probe_cases import Case

    big = _data(folder, "up", 30 * MIB)
    found: list[Case] = []
    for bits in (16, 18, 20):
        server = ["nghttpd", "--no-tls", "9000", "-d", str(folder), "-w", str(bits), "-W", str(bits)]
        client = ["curl", "-sS", "--http2-prior-knowledge", "-T", str(big), "-o", "/dev/null", "http://b:9000/up"]
        found.append(
            Case(
                f"HTTP/2 up, nghttpd -w {bits}",
                server,
                client,
                ("a", "b"),
                ("program window",),
                (1 << bits) - 1,
                source="nghttpd(1), --window-bits",
            )
        )
    if shutil.which("nghttp"):
        for bits in (16, 20):
            client = ["nghttp", "-n", "-w", str(bits), "-W", str(bits), f"http://b:9000/{big.name}"]
            server = ["nghttpd", "--no-tls", "9000", "-d", str(folder)]
            name = f"HTTP/2 down, nghttp -w {bits}"
            found.append(
                Case(name, server, client, ("b", "a"), ("program window",), (1 << bits) - 1, source="nghttp(1)")
            )
    return found


def ssh(folder: Path) -> list[Case]:
    """A channel's window is 64 packets of 32 KiB (OpenSSH, channels.h: CHAN_SES_WINDOW_DEFAULT)."""
    from probe_cases import Case

    home = folder / "ssh"
    make_ssh(home)
    server = ["/usr/sbin/sshd", "-D", "-e", "-f", str(home / "sshd_config")]
    big = _data(folder, "ssh-data", 100 * MIB)
    client = ["sh", "-c", f"ssh -F {home}/config b 'cat >/dev/null' <{big}"]
    return [Case("SSH, a pipe", server, client, ("a", "b"), ("program window",), 2 * MIB, source="OpenSSH, channels.h")]


def make_ssh(home: Path) -> None:
    """Keys and configurations of a server and a client that know each other."""
    home.mkdir(exist_ok=True)
    home.chmod(0o700)
    for name in ("host", "user"):
        if not (home / name).exists():
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(home / name)], check=True)
    (home / "authorized").write_text((home / "user.pub").read_text())
    (home / "known").write_text("* " + (home / "host.pub").read_text())
    (home / "sshd_config").write_text(
        f"Port 9000\nHostKey {home}/host\nPidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n"
        f"AuthorizedKeysFile {home}/authorized\nPasswordAuthentication no\nSubsystem sftp internal-sftp\n"
    )
    (home / "config").write_text(
        f"Host b\n Port 9000\n User root\n IdentityFile {home}/user\n UserKnownHostsFile {home}/known\n"
        " StrictHostKeyChecking yes\n BatchMode yes\n Compression no\n"
    )


def _data(folder: Path, name: str, count: int) -> Path:
    file = folder / name
    with file.open("wb") as handle:
        handle.truncate(count)
    return file


def quic(folder: Path) -> list[Case]:
    """aioquic: its flow control doubles as it is used, so only its congestion control is left (examples/README.md)."""
    from probe_cases import Case

    script = str(Path(__file__).resolve().parent.parent / "examples" / "quic_transfer.py")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-keyout", str(key), "-out", str(certificate), "-days", "36500", "-subj", "/CN=b"]
    subprocess.run(words, check=True, capture_output=True)
    server = [sys.executable, script, "serve", "4433", str(certificate), str(key)]
    client = [sys.executable, script, "send", "b", "4433", str(3 * MIB)]
    return [
        Case("QUIC, aioquic", server, client, ("a", "b"), ("program", "line", "slow start"),
             until=Listening(4433, "udp"), source="aioquic")
    ]  # fmt: skip
