"""Evidence of a net of Mininet: captures at its hosts' links, and the settings of its nodes at its begin and end.

It sends nothing: a ping of ours would fill tables that the script looks at.
"""

from __future__ import annotations

import os
import subprocess
import time
from typing import Any

from landspeed.worlds.emu.guest.script import beside

CAPTURE_BYTES = 20_000_000  # of each file: it ends there, so that it does not slow what follows
RINGS_KB = 512 << 10  # of all captures together, in which the kernel keeps packets until tcpdump reads them
MOST_RING_KB = 64 << 10
SETTINGS = (
    "ip -s -d link show; ip addr show; ip route show; ip neighbour show; tc -s -d qdisc; "
    "sysctl -a 2>/dev/null | grep -E '^net.(core|ipv4.(ip_forward|tcp))'"
)


class Evidence:
    """Evidence of one net, from its start on."""

    def __init__(self, net: Any, folder: str, *, whole: bool) -> None:
        """Note the settings, and begin the captures; returns when they have begun.

        Args:
            net: of Mininet.
            folder: of the net in the run's, with all of its files.
            whole: capture to the end, not the first megabytes.

        Raises:
            OSError: a file cannot be written, or a program is missing.
        """
        self._net, self._folder = net, f"{folder}/evidence"
        os.makedirs(self._folder)  # noqa: PTH103
        self._settings("before")
        ends = [(host, each.name) for host in net.hosts for each in host.intfList() if each.link]
        ring_kb = str(min(MOST_RING_KB, RINGS_KB // max(1, len(ends))))
        # It cannot stop by itself after an amount: its last byte ends it.
        words = ["tcpdump"] if whole else ["prlimit", f"--fsize={CAPTURE_BYTES}", "tcpdump"]
        words += ["-n", "-s", "0", "-B", ring_kb, "-Z", "root"]
        self._captures = [
            beside.begin([*words, "-i", name, "-w", f"{self._folder}/capture-{name}.pcap"], self._log(name), host)
            for host, name in ends
        ]
        for (_, name), capture in zip(ends, self._captures, strict=True):
            while b"listening on" not in _read(self._log(name)) and capture.poll() is None:
                time.sleep(0.01)

    def end(self) -> None:
        """End the captures, and note the settings again."""
        if any(each.poll() is None for each in self._captures):
            time.sleep(beside.PATIENCE_S)
        for each in self._captures:
            beside.end(each)
        self._settings("after")

    def _log(self, interface: str) -> str:
        return f"{self._folder}/tcpdump-{interface}.log"

    def _settings(self, when: str) -> None:
        """Keep each namespace's once: switches share that of the guest."""
        named = {node.name: node for node in self._net.hosts if node.inNamespace}
        if shared := [each for each in self._net.switches if not each.inNamespace]:
            named["switches"] = shared[0]
        for name, node in named.items():
            with open(f"{self._folder}/settings-{name}-{when}.txt", "wb") as output, beside.inside_node(node):  # noqa: PTH123
                subprocess.run(["sh", "-c", SETTINGS], stdin=subprocess.DEVNULL, stdout=output, check=False)


def _read(path: str) -> bytes:
    with open(path, "rb") as handle:  # noqa: PTH123
        return handle.read()
