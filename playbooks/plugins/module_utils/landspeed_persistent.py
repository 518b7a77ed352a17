"""Files that make settings last beyond a boot: sysctl.d(5), a unit of systemd, a rule of udev for later NICs."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

UNIT = "landspeed-tune.service"
SYSCTLS = "/etc/sysctl.d/90-landspeed.conf"
UNIT_FILE = f"/etc/systemd/system/{UNIT}"
RULES = "/etc/udev/rules.d/90-landspeed.rules"
HEAD = "# Written by landspeed's role tune; its role restore removes it.\n"


def lasting_files(settings: Iterable[tuple[str, str, Any]]) -> dict[str, str]:
    """Paths and texts for settings, each a kind, a name and a value as the kind reads it."""
    sysctls: list[str] = []
    commands: list[str] = []
    nics: list[str] = []
    for kind, name, value in settings:
        if kind == "sysctl":
            sysctls.append(f"-{name} = {value}\n")  # `-`: a kernel without it is no failed unit
        else:
            commands += [_line(words) for words in COMMANDS[kind](name, value)] if kind in COMMANDS else []
            nics += [name] if kind == "mtu" else []
    unit = f"{HEAD}[Unit]\nDescription=Settings for fast data transfer\nAfter=network.target systemd-sysctl.service\n\n"
    unit += f"[Service]\nType=oneshot\n{''.join(commands)}\n[Install]\nWantedBy=multi-user.target\n"
    rules = [
        f'ACTION=="add", SUBSYSTEM=="net", KERNEL=="{nic}", TAG+="systemd", ENV{{SYSTEMD_WANTS}}+="{UNIT}"\n'
        for nic in nics
    ]
    files = {SYSCTLS: HEAD + "".join(sysctls), UNIT_FILE: unit}
    if Path(RULES).parent.is_dir():  # a container has no udev
        files[RULES] = HEAD + "".join(rules)
    return files


def _statements(lines: list[str]) -> str:
    """Lines of nft as one, in which a statement ends with a semicolon."""
    words = (line.strip() for line in lines)
    return " ".join(line if line.endswith(("{", ";")) else f"{line};" for line in words if line)


def _line(words: list[str]) -> str:
    """A command of a unit, which may fail (systemd.service(5), "Command lines")."""
    plain = set(string.ascii_letters + string.digits + "-_./:=")
    return f"ExecStart=-{' '.join(word if {*word} <= plain else _quoted(word) for word in words)}\n"


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _echo(value: str, path: str) -> list[str]:
    return ["sh", "-c", f"echo {value} >{path}"]


def _link(name: str, pairs: Iterable[tuple[str, str]]) -> list[str]:
    return ["ip", "link", "set", "dev", name, *(word for pair in pairs for word in pair)]


def _ethtool(option: str) -> Callable[[str, Any], list[list[str]]]:
    """Each part on its own: a driver may refuse one of them."""
    return lambda name, value: [["ethtool", option, name, *pair] for pair in value.items()]


def _interrupt(name: str) -> str:
    """File of an interrupt's processors, found when the unit runs: its number is another after a boot."""
    nic, _, position = name.partition(" ")
    number = f"ls /sys/class/net/{nic}/device/msi_irqs | sort -n | sed -n {int(position) + 1}p"
    return f"/proc/irq/$({number})/smp_affinity"


COMMANDS: dict[str, Callable[[str, Any], list[list[str]]]] = {
    "mtu": lambda name, value: [_link(name, [("mtu", value)])],
    "link_sizes": lambda name, value: [_link(name, value.items())],
    "ring": _ethtool("-G"),
    "coalesce": _ethtool("-C"),
    "offload": _ethtool("-K"),
    "pause": _ethtool("-A"),
    "qdisc": lambda name, value: [["tc", "qdisc", "replace", "dev", name, *line.split()] for line in value],
    "nft_table": lambda name, value: [["nft", _statements([f"table {name}", f"delete table {name}", *value])]],
    "irq": lambda name, value: [_echo(value, _interrupt(name))],
    "sysfs": lambda name, value: [_echo(value, name)],
    "cpumask": lambda name, value: [_echo(value, name)],
}
"""Commands that set a setting, by its kind; others are on the disk themselves."""
