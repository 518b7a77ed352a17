"""Packages that a host needs, as its distribution names them."""

from __future__ import annotations

from .landspeed_findings import text

FAMILIES = {"debian": 0, "ubuntu": 0, "rhel": 1, "fedora": 1, "suse": 2, "opensuse": 2, "arch": 3}
INSTALL = ("apt-get install", "dnf install", "zypper install", "pacman -S")
NAMES = ("Debian, Ubuntu", "EL, Fedora", "openSUSE", "Arch")
# program or library → its package in each family
PACKAGES = {
    "ip": ("iproute2", "iproute", "iproute2", "iproute2"),
    "tc": ("iproute2", "iproute-tc", "iproute2", "iproute2"),
    "ethtool": ("ethtool", "ethtool", "ethtool", "ethtool"),
    "ping": ("iputils-ping", "iputils", "iputils", "iputils"),
    "traceroute": ("traceroute", "traceroute", "traceroute", "traceroute"),
    "nft": ("nftables", "nftables", "nftables", "nftables"),
    "chronyc": ("chrony", "chrony", "chrony", "chrony"),
    "libcjson.so.1": ("libcjson1", "cjson", "libcjson1", "cjson"),
    "libcrypto.so.3": ("libssl3", "openssl-libs", "libopenssl3", "openssl"),
    "libmnl.so.0": ("libmnl0", "libmnl", "libmnl0", "libmnl"),
    "libsodium.so.23": ("libsodium23", "libsodium", "libsodium23", "libsodium"),
    "liburing.so.2": ("liburing2", "liburing", "liburing2", "liburing"),
    "libxxhash.so.0": ("libxxhash0", "xxhash-libs", "libxxhash0", "xxhash"),
}


def family() -> int | None:
    """Column of `PACKAGES` for this host (os-release(5)); None: another one."""
    pairs = (line.partition("=") for line in text("/etc/os-release").splitlines())
    told = {name: value.strip("\"'") for name, _, value in pairs}
    words = [told.get("ID", ""), *told.get("ID_LIKE", "").split()]
    return next((FAMILIES[word.partition("-")[0]] for word in words if word.partition("-")[0] in FAMILIES), None)


def how_to_install(*names: str) -> str:
    """Command that installs these programs and libraries here; one for each family where this one is unknown."""
    known = family()
    lines: list[str] = []
    for column in range(len(INSTALL)) if known is None else [known]:
        packages = [PACKAGES[name][column] if name in PACKAGES else name for name in names]
        lines.append(f"{INSTALL[column]} {' '.join(dict.fromkeys(packages))}")
    if known is not None:
        return lines[0]
    return "; ".join(f"{name}: {line}" for name, line in zip(NAMES, lines, strict=True))
