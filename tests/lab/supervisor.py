"""PID 1 of a lab: builds the wires, boots the servers, waits. When it ends, by whatever means, all of it is gone.

It runs in PID, mount and network namespaces of its own (lab.py starts it so). The servers' processes are in the PID
namespace, their file systems and network namespaces' names in the mount namespace, so the kernel takes everything down
with this process. Its own network namespace is the operator's machine.

    operator (here) ── mgmt ──┬── sender    mgmt0
                              ├── receiver  mgmt0
                              └── shaper    vec2
    sender  data0 ── lan-a ── vec0  shaper  vec1 ── lan-b ── data0  receiver

A fleet is several of each (sender1 …, receiver1 …), and the wire routes between them.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

KEPT_CODE = "kept_code.py"
HERE = Path(__file__).resolve().parent
MANAGEMENT = {"operator": "10.77.0.1", "sender": "10.77.0.11", "receiver": "10.77.0.12", "shaper": "10.77.0.13"}
DATA = {"sender": ("10.78.1.2", "10.78.1.1"), "receiver": ("10.78.2.2", "10.78.2.1")}  # own address, gateway
FLEET = tuple(f"{role}{number}" for role in ("sender", "receiver") for number in range(1, 5))
MANAGEMENT |= {host: f"10.77.0.{20 + number}" for number, host in enumerate(FLEET)}
DATA |= {
    host: (f"10.78.{1 + number // 4}.{11 + number % 4}", f"10.78.{1 + number // 4}.1")
    for number, host in enumerate(FLEET)
}
DATA_MTU_BYTES = 9000
WIRE = "wire"  # namespace of the bridges and the shaper's taps
NSPAWN_HOSTS = ("sender", "receiver")
SHAPER_MEMORY = "768M"
CGROUP_ROOT = Path("/sys/fs/cgroup")
# cgroup v2 alone, or the hierarchies of a mixed mount that systemd-nspawn uses.
CGROUPS = [path for path in (CGROUP_ROOT / "unified", CGROUP_ROOT / "systemd") if path.is_dir()] or [CGROUP_ROOT]


def ip(*words: str, namespace: str | None = None) -> None:
    """Run `ip`, in a namespace."""
    subprocess.run(["ip", *(["-n", namespace] if namespace else []), *words], check=True)


def build_wires(hosts: list[str]) -> None:
    """Namespaces, bridges, veth pairs and taps; addresses of the servers."""
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    ip("link", "set", "lo", "up")
    ip("netns", "add", WIRE)
    for bridge in ("mgmt", "lan-a", "lan-b"):
        ip("link", "add", "name", bridge, "type", "bridge", namespace=WIRE)
        ip("link", "set", bridge, "mtu", str(DATA_MTU_BYTES if bridge != "mgmt" else 1500), "up", namespace=WIRE)
    _plug(None, "mgmt0", "mgmt", "m-operator")
    ip("addr", "add", f"{MANAGEMENT['operator']}/24", "dev", "mgmt0")
    ip("link", "set", "mgmt0", "up")
    for host in hosts:
        build_network(host)
    for tap, bridge, mtu in (
        ("tap-a", "lan-a", DATA_MTU_BYTES),
        ("tap-b", "lan-b", DATA_MTU_BYTES),
        ("tap-m", "mgmt", 1500),
    ):
        ip("tuntap", "add", "dev", tap, "mode", "tap", namespace=WIRE)
        # UML's driver reads packets of the MTU. A super-packet that a host leaves for its NIC to cut it would cut off
        # after 9000 B, and lose it: the tap passes on single packets.
        ip("link", "set", tap, "gso_max_segs", "1", "mtu", str(mtu), "master", bridge, "up", namespace=WIRE)


def build_network(host: str) -> None:
    """A server's namespace with its NICs, which have the same addresses after each boot."""
    ip("netns", "add", host)
    _plug(host, "mgmt0", "mgmt", f"m-{host}")
    _plug(host, "data0", "lan-a" if host.startswith("sender") else "lan-b", f"d-{host}")
    own, gateway = DATA[host]
    ip("link", "set", "lo", "up", namespace=host)
    for device, address in (("mgmt0", MANAGEMENT[host]), ("data0", own)):
        mac = zlib.crc32(f"{host} {device}".encode()).to_bytes(4, "big").hex(":")
        ip("link", "set", device, "address", f"02:4c:{mac}", namespace=host)
        ip("addr", "add", f"{address}/24", "dev", device, namespace=host)
        ip("link", "set", device, "up", namespace=host)
    ip("route", "add", "10.78.0.0/16", "via", gateway, namespace=host)


def boot_again(folder: Path, host: str, group: str) -> subprocess.Popen[bytes]:
    """A server whose power was cut: what was on its disk is there, what its kernel knew of the network is not."""
    for port in (f"m-{host}", f"d-{host}"):
        ip("link", "delete", port, namespace=WIRE)
    ip("netns", "delete", host)
    build_network(host)
    return boot_server(Path("/run/lab") / host / "root", folder, host, group)


def _plug(namespace: str | None, device: str, bridge: str, port: str) -> None:
    """A veth pair from a server to a bridge. None: this namespace."""
    mtu = str(DATA_MTU_BYTES if bridge != "mgmt" else 1500)
    inside = ["netns", namespace] if namespace else ["netns", str(os.getpid())]
    ip("link", "add", port, "mtu", mtu, "type", "veth", "peer", "name", device, "mtu", mtu, *inside, namespace=WIRE)
    ip("link", "set", port, "master", bridge, "up", namespace=WIRE)


def route_without_shaper() -> None:
    """No kernel that shapes: the wire itself routes, so that everything but `shape` can be tried."""
    for bridge, (_, gateway) in zip(("lan-a", "lan-b"), (DATA[host] for host in NSPAWN_HOSTS), strict=True):
        ip("addr", "add", f"{gateway}/24", "dev", bridge, namespace=WIRE)
    forward = "echo 1 >/proc/sys/net/ipv4/ip_forward"
    subprocess.run(["ip", "netns", "exec", WIRE, "sh", "-c", forward], check=True)


def make_root(tree: Path, folder: Path, host: str) -> Path:
    """A server's root: the tree, and what it writes in memory over it."""
    place = Path("/run/lab") / host
    for name in ("memory", "root"):
        (place / name).mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(place / "memory")], check=True)
    upper, work = place / "memory/upper", place / "memory/work"
    upper.mkdir()
    work.mkdir()
    options = f"lowerdir={tree},upperdir={upper},workdir={work}"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, str(place / "root")], check=True)
    root = place / "root"
    (root / "etc/hostname").write_text(host + "\n")
    names = "".join(f"{address} {name}\n" for name, address in MANAGEMENT.items())
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n" + names)
    shutil.copy(folder / f"host_{host}", root / "etc/ssh/ssh_host_ed25519_key")
    shutil.copy(folder / f"host_{host}.pub", root / "etc/ssh/ssh_host_ed25519_key.pub")
    for user in json.loads((folder / "lab.json").read_text())["users"]:
        keys = root / "home" / user / ".ssh"
        keys.mkdir(mode=0o700)
        shutil.copy(folder / "operator.pub", keys / "authorized_keys")
        subprocess.run(["chroot", str(root), "chown", "-R", f"{user}:", f"/home/{user}/.ssh"], check=True)
    keep_code(root / "usr/lib/python3/dist-packages")
    return root


def keep_code(packages: Path) -> None:
    """Have a server's Python keep what it compiles of Ansible's modules, whoever runs them."""
    shutil.copy(HERE / KEPT_CODE, packages)
    (packages / "lab.pth").write_text(f"import {Path(KEPT_CODE).stem}\n")
    kept = packages / "kept-code"
    kept.mkdir()
    kept.chmod(0o1777)


def boot_server(root: Path, folder: Path, host: str, group: str) -> subprocess.Popen[bytes]:
    """A server under systemd-nspawn, in its own network namespace and control group."""
    for hierarchy in CGROUPS:
        (hierarchy / group / host).mkdir(parents=True, exist_ok=True)

    def enter() -> None:
        for hierarchy in CGROUPS:
            (hierarchy / group / host / "cgroup.procs").write_text("0")

    words = ["systemd-nspawn", "--quiet", "--boot", "--register=no", "--keep-unit", f"--machine=lab-{host}"]
    words += [f"--directory={root}", f"--hostname={host}", f"--network-namespace-path=/run/netns/{host}"]
    words += [
        "--link-journal=no",
        "--resolv-conf=off",
        "--timezone=off",
        "--console=pipe",
        "--capability=CAP_NET_ADMIN",
    ]
    with (folder / f"{host}.log").open("wb") as log:
        return subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=enter,  # noqa: PLW1509 (one thread here)
            env={**os.environ, "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "network"},
        )


def boot_shaper(root: Path, folder: Path, kernel: list[str]) -> subprocess.Popen[bytes]:
    """The shaper: User-Mode Linux in real time, whose network devices are the taps."""
    init = root / "sbin/lab-init"
    shutil.copy(HERE / "shaper-init", init)
    init.chmod(0o755)
    vec = [
        f"vec{number}:transport=tap,ifname={tap},depth=128,mtu={mtu}"
        for number, tap, mtu in ((0, "tap-a", DATA_MTU_BYTES), (1, "tap-b", DATA_MTU_BYTES), (2, "tap-m", 1500))
    ]
    words = [*kernel, f"mem={SHAPER_MEMORY}", "root=/dev/root", "rootfstype=hostfs", f"rootflags={root}", "rw", "quiet"]
    words += ["uml_dir=/run/", "umid=shaper", "con=null", "con0=null,fd:1", "init=/sbin/lab-init", *vec]
    shm = Path("/run/lab/shm")
    shm.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "exec", "tmpfs", str(shm)], check=True)
    with (folder / "shaper.log").open("wb") as log:
        return subprocess.Popen(
            ["ip", "netns", "exec", WIRE, *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={"PATH": os.environ["PATH"], "TMPDIR": str(shm)},
            # A path keeps its delay on a busy machine too: the shaper runs before everything else, and needs little.
            preexec_fn=lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10)),  # noqa: PLW1509
        )


def main() -> None:
    """Build and boot what `lab.json` in the folder asks for, then wait for the end."""
    folder = Path(sys.argv[1])
    job = json.loads((folder / "lab.json").read_text())
    build_wires(job["hosts"])
    running = {}
    for host in job["hosts"]:
        running[host] = boot_server(make_root(Path(job["trees"][host]), folder, host), folder, host, job["group"])
    if job["kernel"]:
        running["shaper"] = boot_shaper(
            make_root(Path(job["trees"]["shaper"]), folder, "shaper"), folder, job["kernel"]
        )
    else:
        route_without_shaper()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    (folder / "booting").touch()
    while True:
        try:
            os.wait()  # a first process has to
        except ChildProcessError:
            time.sleep(1)
        for host, process in running.items():
            if process.returncode is None and process.poll() is not None:
                if (folder / f"{host}.again").exists():
                    (folder / f"{host}.again").unlink()
                    running[host] = boot_again(folder, host, job["group"])
                else:
                    (folder / f"{host}.ended").write_text(str(process.returncode))


if __name__ == "__main__":
    main()
