"""Installation of programs on this computer's distribution. Four families are known; others are told all of them."""

from __future__ import annotations

import platform

# program → its package on Debian and Ubuntu, on Fedora, on Arch; "" where the distribution has none
PACKAGES = {
    "ip": ("iproute2", "iproute", "iproute2"),
    "tc": ("iproute2", "iproute-tc", "iproute2"),
    "mnexec": ("mininet", "", ""),
    "ping": ("iputils-ping", "iputils", "iputils"),
    "traceroute": ("traceroute", "traceroute", "traceroute"),
    "iperf3": ("iperf3", "iperf3", "iperf3"),
    "tcpdump": ("tcpdump", "tcpdump", "tcpdump"),
    "tshark": ("tshark", "wireshark-cli", "wireshark-cli"),
    "ssh": ("openssh-client", "openssh-clients", "openssh"),
    "chromium": ("chromium", "chromium", "chromium"),
}
FAMILIES = {"debian": 0, "ubuntu": 0, "fedora": 1, "arch": 2}
INSTALL = ("apt-get install", "dnf install", "pacman -S")
NAMES = ("Debian, Ubuntu", "Fedora", "Arch")


def family() -> int | None:
    """Column of `PACKAGES` for this computer (os-release(5)); None: another one."""
    try:
        told = platform.freedesktop_os_release()
    except OSError:
        return None
    words = [told.get("ID", ""), *told.get("ID_LIKE", "").split()]
    return next((FAMILIES[word] for word in words if word in FAMILIES), None)


def how_to_install(*programs: str) -> str:
    """Give the command, to be run as root, that installs these programs; one for each family if this one is unknown."""
    known = family()
    if known is not None:
        return _words(known, programs)
    return "; ".join(f"{NAMES[each]}: {_words(each, programs)}" for each in range(len(INSTALL)))


def _words(which: int, programs: tuple[str, ...]) -> str:
    packages = {program: PACKAGES.get(program, (program,) * len(INSTALL))[which] for program in programs}
    without = [program for program, package in packages.items() if not package]
    parts = [f"{INSTALL[which]} {' '.join(dict.fromkeys(filter(None, packages.values())))}"]
    parts = parts if any(packages.values()) else []
    return "; ".join([*parts, *([f"no package has {', '.join(without)} here"] if without else [])])
