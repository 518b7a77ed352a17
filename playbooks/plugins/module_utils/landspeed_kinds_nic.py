"""Kinds of settings of a NIC: what `ip link` and `ethtool` show and set, and which processor an interrupt goes to."""

from __future__ import annotations

import re
from pathlib import Path

from .landspeed_host import Unavailable, run


class LinkSetting:
    """A number of a network interface that `ip link set` takes."""

    def __init__(self, word: str, attribute: str) -> None:
        """`word` is ip's, `attribute` the name in /sys/class/net."""
        self.word, self.attribute = word, attribute

    def read(self, name: str) -> str:
        """The number, as text."""
        try:
            return Path("/sys/class/net", name, self.attribute).read_text().strip()
        except OSError as error:
            raise Unavailable(f"{name}: no such interface") from error

    def write(self, name: str, value: object) -> None:
        """Set it."""
        run("ip", "link", "set", "dev", name, self.word, str(value))


class EthtoolSetting:
    """Several values of an interface that ethtool shows as `Name: value` lines."""

    def __init__(
        self, show: str, change: str, *, current_after: str | None = None, words: dict[str, str] | None = None
    ) -> None:
        """`current_after` begins the part of the output that counts; `words` maps shown names to ethtool's."""
        self.show, self.change, self.current_after, self.words = show, change, current_after, words or {}

    def _values(self, text: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for line in text.replace("  TX: ", "\nAdaptive TX: ").splitlines():  # of coalescing both stand in one line
            name, colon, value = line.strip().partition(":")
            if colon and "[fixed]" not in value and value.split()[:1] not in ([], ["n/a"]):
                found[self.words.get(name, name.lower())] = value.split()[0]
        return found

    def read(self, name: str) -> dict[str, str]:
        """All values that can be changed."""
        text = run("ethtool", self.show, name)
        if self.current_after:
            text = text.partition(self.current_after)[2]
        values = self._values(text)
        if not values:
            raise Unavailable(f"{name}: ethtool {self.show} shows nothing to set")
        return values

    def wanted(self, name: str, value: dict[str, object]) -> dict[str, str]:
        """The values asked for; `max` is the largest that the driver has."""
        largest: dict[str, str] = {}
        if self.current_after and "max" in value.values():
            largest = self._values(run("ethtool", self.show, name).partition(self.current_after)[0])
        return {key: largest.get(key, "0") if each == "max" else str(each) for key, each in value.items()}

    def write(self, name: str, value: dict[str, str]) -> None:
        """Set those that differ: together, or each on its own where the driver refuses one of them.

        Raises:
            Unavailable: it refuses some; the message has them all.
        """
        present = self.read(name)
        changes = [(key, each) for key, each in value.items() if present.get(key, each) != each]
        if not changes:
            return
        try:
            run("ethtool", self.change, name, *(word for change in changes for word in change))
        except Unavailable:
            if len(changes) == 1:
                raise
            refused: list[str] = []
            for change in changes:
                try:
                    run("ethtool", self.change, name, *change)
                except Unavailable as reason:
                    refused.append(str(reason))
            if refused:
                raise Unavailable("; ".join(refused)) from None


class LinkSizes:
    """Sizes up to which packets are joined and left uncut (BIG TCP), as ip-link(8) names them."""

    NAMES = ("gso_max_size", "gro_max_size", "gso_ipv4_max_size", "gro_ipv4_max_size")

    def _shown(self, name: str) -> dict[str, str]:
        return dict(re.findall(r"\b(\w+_size) (\d+)", run("ip", "-d", "-o", "link", "show", "dev", name)))

    def read(self, name: str) -> dict[str, str]:
        """Sizes that this kernel has."""
        return {key: value for key, value in self._shown(name).items() if key in self.NAMES}

    def wanted(self, name: str, value: dict[str, object]) -> dict[str, str]:
        """Sizes asked for, at most what the NIC cuts (`tso_max_size`)."""
        largest = int(self._shown(name).get("tso_max_size", 1 << 32))
        return {key: str(min(int(str(each)), largest)) for key, each in value.items()}

    def write(self, name: str, value: dict[str, str]) -> None:
        """Set the sizes."""
        run("ip", "link", "set", "dev", name, *(word for pair in value.items() for word in pair))


def interrupt(name: str) -> Path:
    """File of an interrupt's processors. `eth0 2` is the third of a NIC: that stays so when it has other numbers.

    Raises:
        Unavailable: it has no such interrupt.
    """
    nic, _, position = name.partition(" ")
    numbers = interrupts(Path("/sys/class/net", nic))
    if int(position) >= len(numbers):
        raise Unavailable(f"{nic}: no interrupt {position}")
    return Path("/proc/irq", numbers[int(position)], "smp_affinity")


def interrupts(nic: Path) -> list[str]:
    """Numbers of the message-signalled interrupts of a NIC, whose folder in /sys/class/net this is."""
    return sorted((each.name for each in nic.glob("device/msi_irqs/*")), key=int)
