"""The trees that the lab's servers boot from: each made once by mmdebstrap, kept in the cache, never written.

It makes the tree that debootstrap makes, with a third of its work: apt resolves, and each package is unpacked once.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from landspeed.worlds.emu.kernel_build import cache_root

SUITE = "bookworm"
COMPONENTS = {"bookworm": "main", "trixie": "main", "noble": "main,universe"}
PACKAGES = [
    "systemd",
    "systemd-sysv",
    "dbus",
    "openssh-server",
    "python3",
    "sudo",
    "iproute2",
    "ethtool",
    "iputils-ping",
    "traceroute",
    "tcpdump",
    "nftables",
    "procps",
    "kmod",
    "libcjson1",
    "libsodium23",
    "liburing2",
]
OPERATOR = "otto"  # may become root
VISITOR = "vera"  # may not: for the message about it
CUSTOMIZE = f"""
set -eu
for user in {OPERATOR} {VISITOR}; do
    useradd --create-home --shell /bin/bash "$user"
done
echo '{OPERATOR} ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/{OPERATOR}
chmod 0440 /etc/sudoers.d/{OPERATOR}
systemctl mask --quiet console-getty.service getty.target apt-daily.timer apt-daily-upgrade.timer \\
    dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer \\
    systemd-networkd.service systemd-resolved.service
printf 'UseDNS no\\nPasswordAuthentication no\\nMaxStartups 100\\nHostKey /etc/ssh/ssh_host_ed25519_key\\n' \\
    >/etc/ssh/sshd_config.d/lab.conf
rm -f /etc/ssh/ssh_host_* /etc/machine-id
systemd-machine-id-setup  # with none, each boot would be a first one
"""
# Else a suite before 13 would get Perl, to move its files below /usr.
MERGED = "--hook-dir=/usr/share/mmdebstrap/hooks/maybe-merged-usr"
UNSIGNED = ("--aptopt=Acquire::AllowInsecureRepositories true", "--aptopt=APT::Get::AllowUnauthenticated true")


class TreeError(Exception):
    """The tree cannot be made; the message says what to do."""


def lab_cache() -> Path:
    """Folder of the lab's trees and of running labs."""
    return cache_root() / "lab"


def _key(suite: str) -> str:
    return hashlib.sha256("\n".join([suite, *PACKAGES, CUSTOMIZE]).encode()).hexdigest()[:12]


def find_or_make_tree(suite: str = SUITE) -> Path:
    """The tree of the present recipe (about a minute when it has to be made).

    Raises:
        TreeError: mmdebstrap is missing or failed.
    """
    tree = lab_cache() / f"{suite}-{_key(suite)}"
    lab_cache().mkdir(parents=True, exist_ok=True)
    with (lab_cache() / f"{suite}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not tree.is_dir():
            _make(tree, suite)
    return tree


def _make(tree: Path, suite: str) -> None:
    if not shutil.which("mmdebstrap"):
        raise TreeError("mmdebstrap is not installed; run `setup/setup.sh test` (Debian and Ubuntu: mmdebstrap)")
    partial = tree.with_name(tree.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    print(f"lab: making the tree {tree.name} (a minute, once)", file=sys.stderr, flush=True)
    options = ["--variant=minbase", "--mode=root", "--format=directory", MERGED]
    options += [f"--include={','.join(PACKAGES)}", f"--components={COMPONENTS[suite]}"]
    # A host without the keys of the other family checks no signatures, as debootstrap is told elsewhere.
    options += UNSIGNED if "--no-check-gpg" in os.environ.get("DEBOOTSTRAP_OPTIONS", "").split() else ()
    made = subprocess.run(["mmdebstrap", *options, suite, str(partial)], capture_output=True, text=True, check=False)
    if made.returncode:
        raise TreeError(f"mmdebstrap failed: {(made.stdout + made.stderr)[-800:]}")
    subprocess.run(["chroot", str(partial), "sh", "-c", CUSTOMIZE], check=True)
    for old in tree.parent.glob(f"{suite}-*"):
        if old != partial:
            shutil.rmtree(old, ignore_errors=True)
    partial.rename(tree)
