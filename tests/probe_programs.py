"""Programs of other people for tests/probe_cases.py, each with the window that its documents or its source state."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

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
    import subprocess

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
