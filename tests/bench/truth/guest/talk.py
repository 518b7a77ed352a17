"""A TCP connection in the guest whose ends, losses and times are all in one hand. The standard library only.

One thread does everything: the clock is virtual, so between two lines of Python nothing passes but what a call takes.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from emu_probe import inside  # the folder of tests is in the path (ask.py)
from wire import Capture, Segment

SO_ATTACH_FILTER, SO_DETACH_FILTER, SO_MAX_PACING_RATE = 26, 27, 47
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
TCP_INFO, TCP_QUICKACK, TCP_CONGESTION, TCP_CC_INFO, TCP_MAXSEG = 11, 12, 13, 26, 2
FIRST_PORT = 7000
INFO = struct.Struct("8B24I4Q6I4Q2I2Q4I")
INFO_NAMES = (
    "state", "ca_state", "retransmits", "probes", "backoff", "options", "scales", "flags", "rto_us", "ato_us",
    "snd_mss", "rcv_mss", "unacked", "sacked", "lost", "retrans", "fackets", "last_data_sent", "last_ack_sent",
    "last_data_recv", "last_ack_recv", "pmtu", "rcv_ssthresh", "rtt_us", "rttvar_us", "ssthresh", "cwnd",
    "advmss", "reordering", "rcv_rtt", "rcv_space", "total_retrans", "pacing_rate", "max_pacing_rate",
    "bytes_acked", "bytes_received", "segs_out", "segs_in", "notsent", "min_rtt_us", "data_segs_in",
    "data_segs_out", "delivery_rate", "busy_us", "rwnd_limited_us", "sndbuf_limited_us", "delivered",
    "delivered_ce", "bytes_sent", "bytes_retrans", "dsack_dups", "reord_seen", "ooo", "snd_wnd",
)  # fmt: skip
KEPT = (
    "ca_state", "backoff", "rto_us", "ato_us", "snd_mss", "unacked", "sacked", "lost", "retrans", "rtt_us", "rttvar_us",
    "ssthresh", "cwnd", "total_retrans", "pacing_rate", "bytes_acked", "delivered", "min_rtt_us", "delivered_ce",
    "data_segs_out", "snd_wnd",
)  # fmt: skip
RET_NOTHING, RET_ALL = (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFFFFFF)
LOAD_SEQUENCE = (0x20, 0, 0, 4)  # ld [4]: a socket's filter begins at TCP's header


def dropping(lines: list[tuple[int, int, int, int]]) -> tuple[Any, bytes]:
    """A classic BPF program for SO_ATTACH_FILTER: what must stay in memory meanwhile, and the option's value."""
    kept = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    return kept, struct.pack("HL", len(lines), ctypes.addressof(kept))


class Talk:
    """A connection from `alpha` to `omega`, captured at both.

    Attributes:
        samples: what TCP_INFO and BBR said, with `time_ns`, each time `sample` was called.
        notes: what was done to it, and when.
    """

    def __init__(self, asked: dict[str, Any], number: int) -> None:
        """Listen and connect.

        Args:
            asked: `address`, `control`, and where wanted `receive_bytes` (SO_RCVBUF), `pacing_bps`, `ecn`; `idle`:
                nobody reads at the receiver until `read`; `captured`: False where nobody wants the segments.
            number: of the connection in this guest; each has a port of its own.
        """
        self.asked, port = asked, FIRST_PORT + number
        captured = asked.get("captured", True)
        family = socket.AF_INET6 if ":" in asked["address"] else socket.AF_INET
        with inside("omega"):
            self._sysctl("tcp_ecn", 1)
            self.far = Capture(1, port if captured else None)
            listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, asked.get("receive_bytes", 1 << 28))
        listening.bind((asked["address"], port))
        listening.listen(1)
        with inside("alpha"):
            self._sysctl("tcp_ecn", 1 if asked.get("ecn") else 0)
            self._sysctl("tcp_no_metrics_save", 1)
            self.near = Capture(0, port if captured else None)
            self.sender = socket.socket(family, socket.SOCK_STREAM)
        self.sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 29)
        self.sender.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, asked["control"].encode())
        self.sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if "pacing_bps" in asked:
            rate = struct.pack("Q", asked["pacing_bps"] // 8)
            self.sender.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, rate)
        self.sender.connect((asked["address"], port))
        self.receiver, _ = listening.accept()
        listening.close()
        self.sender.setblocking(False)
        self.samples: list[dict[str, int]] = []
        self.notes: list[dict[str, Any]] = []
        self.read_bytes = 0
        self.mss = self.info()["snd_mss"]
        if not asked.get("idle"):
            threading.Thread(target=self._read_all, daemon=True).start()

    @staticmethod
    def _sysctl(name: str, value: int) -> None:
        with open(f"/proc/sys/net/ipv4/{name}", "w") as handle:  # noqa: PTH123
            handle.write(str(value))

    # --- Data --------------------------------------------------------------------------------------------------------

    def send(self, segments: float) -> None:
        """Full segments, as far as the socket takes them (its buffer is large)."""
        left = round(segments * self.mss)
        while left > 0:
            left -= self.sender.send(bytes(min(left, 1 << 20)))

    def _read_all(self) -> None:
        with suppress(OSError):  # the end of the connection
            while got := len(self.receiver.recv(1 << 20)):
                self.read_bytes += got

    def read(self) -> None:
        """From now on the receiver reads, if it was idle."""
        threading.Thread(target=self._read_all, daemon=True).start()

    def info(self) -> dict[str, int]:
        """TCP_INFO of the sender."""
        data = self.sender.getsockopt(socket.IPPROTO_TCP, TCP_INFO, INFO.size)
        return dict(zip(INFO_NAMES, INFO.unpack(data.ljust(INFO.size, b"\0")), strict=True))

    def sample(self) -> dict[str, int]:
        """One more of `samples`."""
        told = self.info()
        found = {name: told[name] for name in KEPT} | {"time_ns": time.time_ns()}
        if self.asked["control"] == "bbr":
            low, high, min_rtt_us, pacing, window = struct.unpack(
                "5I", self.sender.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 20)
            )
            found |= {"bbr_bw": (high << 32 | low) * 8, "bbr_min_rtt_us": min_rtt_us}
            found |= {"pacing_gain": pacing, "cwnd_gain": window}
        self.samples.append(found)
        return found

    # --- Time --------------------------------------------------------------------------------------------------------

    def run(self, seconds: float, step_s: float, *, until: Callable[[], Any] | None = None) -> bool:
        """Let time pass: sample at each step, until the time is over or `until` is true.

        Returns:
            whether `until` came true.
        """
        end = time.time() + seconds
        while time.time() < end:
            time.sleep(min(step_s, max(end - time.time(), 1e-9)))
            self.sample()
            if until is not None and until():
                return True
        return False

    # --- Losses ------------------------------------------------------------------------------------------------------

    @property
    def first_seq(self) -> int:
        """Sequence number of the first byte of data."""
        return (next(each.seq for each in self.near.read() if each.out and each.flags & 2) + 1) & 0xFFFFFFFF

    def drop(self, segments: list[int] | None) -> None:
        """From now on the receiver loses these segments (by their number, the first is 0), or all if None."""
        lines: list[tuple[int, int, int, int]] = [] if segments is None else [LOAD_SEQUENCE]
        places = [] if segments is None else segments
        for left, place in zip(range(len(places), 0, -1), places, strict=True):
            seq = (self.first_seq + place * self.mss) & 0xFFFFFFFF
            lines.append((0x15, left, 0, seq))  # jeq: over the rest and the return of all
        lines += [RET_NOTHING] if segments is None else [RET_ALL, RET_NOTHING]
        kept, program = dropping(lines)
        self.receiver.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
        del kept

    def keep(self) -> None:
        """It loses nothing any more."""
        self.receiver.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)

    def arrived(self, segment: int) -> bool:
        """Whether that segment has come to the receiver's card."""
        seq = (self.first_seq + segment * self.mss) & 0xFFFFFFFF
        return any(not each.out and each.seq == seq and each.length for each in self.far.read())

    def lose(self, segments: list[int], step_s: float) -> None:
        """Lose the first copies of these segments, and nothing else; returns when they have come."""
        self.drop(segments)
        self.run(600, step_s, until=lambda: all(self.arrived(each) for each in segments))
        self.keep()

    # --- The end -----------------------------------------------------------------------------------------------------

    def quickly(self, on: int) -> None:
        """TCP_QUICKACK of the receiver: 0 lets it delay."""
        self.receiver.setsockopt(socket.IPPROTO_TCP, TCP_QUICKACK, on)

    def end(self) -> dict[str, Any]:
        """Close; everything that was seen."""
        segments: list[Segment] = self.near.read() + self.far.read()
        first = self.first_seq if self.asked.get("captured", True) else 0
        for each in (self.near, self.far):
            each.close()
        self.sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset, no farewell
        self.sender.close()
        self.receiver.close()
        return {
            "mss": self.mss,
            "first_seq": first,
            "segments": segments,
            "samples": self.samples,
            "notes": self.notes,
        }
