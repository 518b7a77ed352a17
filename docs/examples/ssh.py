"""OpenSSH: a pipe, scp, sftp and rsync. Every channel has a window, in both directions: 64 packets of 32 KiB."""

from __future__ import annotations

import subprocess
from pathlib import Path

from docs.examples.stated import Transfer, data_file, main, missing

PROGRAMS = ("ssh", "scp", "sftp", "rsync", "ssh-keygen", "sshd")
USUAL_BYTES = 40_000_000
WINDOW = 64 * 32 * 1024
STATED = "OpenSSH, channels.h: CHAN_SES_WINDOW_DEFAULT, 64 * CHAN_SES_PACKET_DEFAULT"


def transfers(folder: Path, count: int = USUAL_BYTES) -> list[Transfer]:
    """The same file by each program, up and down; keys and configurations are made in the folder."""
    file, ssh = data_file(folder, count), make_ssh(folder / "ssh")
    server = ["sh", "-c", f"mkdir -p /run/sshd; exec {sshd()} -D -e -f {folder}/ssh/sshd_config"]
    config, shell = ssh[2], " ".join(ssh)
    clients = {
        "a pipe": (["sh", "-c", f"{shell} b 'cat >/dev/null' <{file}"], True),
        "a pipe, down": (["sh", "-c", f"{shell} b 'cat {file}' >/dev/null"], False),
        "scp": (["scp", "-qF", config, str(file), "b:/tmp/got"], True),
        "scp, down": (["scp", "-qF", config, f"b:{file}", "/tmp/got"], False),
        "sftp": (["sh", "-c", f"echo 'put {file} /tmp/got' | sftp -qF {config} -b - b"], True),
        "rsync": (["rsync", "--whole-file", "-e", shell, str(file), "b:/tmp/got"], True),
    }
    return [
        Transfer(name, server, client, ("a", "b") if up else ("b", "a"), STATED, WINDOW)
        for name, (client, up) in clients.items()
    ]


def sshd() -> str:
    """Its whole path: it insists on that, and is not in everybody's PATH."""
    return "/usr/sbin/sshd"


def make_ssh(home: Path) -> list[str]:
    """Keys and configurations of a server and a client that know each other; the client's words."""
    home.mkdir(mode=0o700)
    for name in ("host", "user"):
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
    return ["ssh", "-F", str(home / "config")]


if __name__ == "__main__":
    if absent := missing(*PROGRAMS[:-1], sshd()):
        raise SystemExit(f"not installed: {', '.join(absent)} (Debian: openssh-client, openssh-server, rsync)")
    main(transfers, USUAL_BYTES)
