"""Evidence of a run, taken around its transfer: captures by tcpdump, pings, traceroutes, settings before and after.

Real programs at both hosts of a flow, their output in the folder `evidence` of the bundle, or, in a network, of the
flow. Each start costs tens of ms of wall time; a capture ends by itself after its first megabytes, so that it does not
slow the transfer, unless it is to be whole: then every node of the path has one. A host that sends over one link and
receives over another has a second one, of the answers.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from landspeed.scenario.theory.timing import path_mtu
from landspeed.worlds.emu.guest.files import OUT
from landspeed.worlds.emu.guest.network.flow_path import FlowPath

CAPTURE_BYTES, WHOLE_BYTES = 20_000_000, 1 << 62
PING_COUNT = 10
# The kernel's memory for packets that tcpdump has not read yet, all of it touched at its start. In virtual time no time
# passes until it has read them.
BUFFER_KIB, REAL_BUFFER_KIB = 8 << 10, 64 << 10
HANDED_OVER_S = 1.5  # libpcap gives tcpdump what the kernel has kept each second, and not at its end
ICMP_HEADER_BYTES = 8
IP_HEADER_BYTES = {4: 20, 6: 40}


class EvidenceGatherer:
    """Gathers it around one flow's transfer."""

    def __init__(
        self, network: FlowPath, port: int, folder: str, *, whole: bool = False, real_clock: bool = False
    ) -> None:
        """Make the folder.

        Args:
            network: the path of the flow.
            port: on which its receiver listens.
            folder: of the flow, in that of the run.
            whole: capture to the end, at every node.
            real_clock: packets come while tcpdump waits for a processor.
        """
        self.network = network
        self.port = port
        self.out = Path(OUT, folder)
        self.folder = self.out / "evidence"
        self.folder.mkdir(exist_ok=True)
        last = len(network.nodes) - 1
        self.ends = (
            ("sender", 0, last, network.interface_name(0)),
            ("receiver", last, 0, network.interface_name(last)),
        )
        self._limit_bytes = WHOLE_BYTES if whole else CAPTURE_BYTES
        self._buffer_kib = REAL_BUFFER_KIB if real_clock else BUFFER_KIB
        self._devices = [(end, network, position, device) for end, position, _, device in self.ends]
        if whole:
            self._devices += [(f"hop{hop}", network, hop, network.interface_name(hop)) for hop in range(1, last)]
        if (back := network.returning()) is not None:
            far = len(back.nodes) - 1
            passed = {(name, network.interface_name(place)) for place, name in enumerate(network.names)}
            places = (
                ("receiver-back", 0),
                ("sender-back", far),
                *((f"back{hop}", hop) for hop in range(1, far) if whole),
            )
            self._devices += [
                (end, back, place, device)
                for end, place in places
                if (back.names[place], device := back.interface_name(place)) not in passed
            ]
        self._captures: list[tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]] = []

    def before(self) -> None:
        """Ping (don't fragment, jumbo) and traceroute both ways, and the settings; then start the captures."""
        # iputils' ping takes a clock in its first second for one that it has not read yet, and sends without pause.
        time.sleep(max(0.0, 2.0 - time.monotonic()))
        version = self.network.plan.ip_version
        for end, position, other, _ in self.ends:
            target, mtu = self.network.names[other], path_mtu(self.network.plan, forward=position == 0)
            payload = str(mtu - IP_HEADER_BYTES[version] - ICMP_HEADER_BYTES)
            self._run(f"ping-{end}.txt", position, ["ping", f"-{version}", "-n", "-c", str(PING_COUNT), "-M", "do",
                                                    "-s", payload, target])  # fmt: skip
            self._run(f"traceroute-{end}.txt", position, ["traceroute", f"-{version}", "-m", "64", target])
        self._settings("before")
        for each in self._devices:
            self._capture(*each)

    def after(self) -> None:
        """End the captures that have not ended, and note the settings again."""
        if any(head.poll() is None for _, head in self._captures):
            time.sleep(HANDED_OVER_S)
        for tcpdump, head in self._captures:
            if head.poll() is None:  # fewer bytes than it would take
                tcpdump.send_signal(signal.SIGTERM)
            head.wait()
            tcpdump.wait()
        self._settings("after")

    def _settings(self, when: str) -> None:
        script = (
            "sysctl -a 2>/dev/null | grep -E '^net.(core|ipv4.tcp)'; ip -s -d link show; ip addr show; tc -s -d qdisc"
        )
        for end, position, _, _ in self.ends:
            self._run(f"settings-{end}-{when}.txt", position, ["sh", "-c", script], quiet=True)

    def _run(self, name: str, position: int, command: list[str], *, quiet: bool = False) -> None:
        with (self.folder / name).open("wb") as output:
            if not quiet:
                output.write(f"{self.network.names[position]}$ {' '.join(command)}\n".encode())
                output.flush()
            with self.network.nodes[position].inside():
                subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, check=False)

    def _capture(self, end: str, path: FlowPath, position: int, device: str) -> None:
        """`tcpdump | head -c`: tcpdump cannot stop after an amount, and ends when nobody reads.

        It writes when its buffer is full (without -U), and what is left at its end: a packet is not a system call.
        """
        log = self.out / "log" / f"tcpdump-{end}.log"
        words = ["tcpdump", "-i", device, "-n", "-s", "0", "-B", str(self._buffer_kib), "-Z", "root", "-w", "-"]
        # The control connection opens first, then the data connections. Another flow's receiver may have this port.
        words += ["tcp", "port", str(self.port), "and", "host", self.network.address(len(self.network.nodes) - 1)]
        with (
            log.open("wb") as errors,
            (self.folder / f"capture-{end}.pcap").open("wb") as output,
            path.nodes[position].inside(),
        ):
            tcpdump = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
            assert tcpdump.stdout is not None
            head = subprocess.Popen(
                ["head", "-c", str(self._limit_bytes)], stdin=tcpdump.stdout, stdout=output, stderr=subprocess.DEVNULL
            )
            tcpdump.stdout.close()
        self._captures.append((tcpdump, head))
        _wait_for_text(log, b"listening on", tcpdump)


def _wait_for_text(path: Path, text: bytes, program: subprocess.Popen[Any]) -> None:
    while text not in path.read_bytes() and program.poll() is None:
        signal.sigtimedwait([], 0.01)  # in virtual time this costs nothing
    os.sched_yield()
