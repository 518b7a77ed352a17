"""Packets of a transfer over TCP, made here, and captures of them in each form."""

import struct
from collections.abc import Iterable

SENDER, RECEIVER = 1, 2
Packet = tuple[int, bytes]  # ns, frame


def frame(
    source: int, sequence: int, acknowledged: int, flags: int, *, window: int = 500, payload: int = 0,
    options: bytes = b"", version: int = 4, link: bytes = bytes(12), port: int = 40000,
) -> bytes:  # fmt: skip
    """A frame of Ethernet; `link`: what stands before the type."""
    ends = (source, 3 - source)
    ports = (port, 5201) if source == SENDER else (5201, port)
    options += bytes(-len(options) % 4)
    words = (*ports, sequence & 0xFFFFFFFF, acknowledged & 0xFFFFFFFF, (5 + len(options) // 4) << 4, flags, window)
    tcp = struct.pack(">HHIIBBHHH", *words, 0, 0) + options + bytes(payload)
    if version == 4:
        addresses = b"".join(bytes((192, 0, 2, each)) for each in ends)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0) + addresses
        return link + b"\x08\x00" + ip + tcp
    addresses = b"".join(b"\x20\x01\x0d\xb8" + bytes(11) + bytes((each,)) for each in ends)
    return link + b"\x86\xdd" + struct.pack(">IHBB", 0x60000000, len(tcp), 6, 64) + addresses + tcp


def talk(
    *, rtt_ms: float = 40, packets: int = 400, first: int = 1000, behind_ms: float = 0, opened: bool = True,
    version: int = 4, link: bytes = bytes(12), port: int = 40000,
) -> list[Packet]:  # fmt: skip
    """One packet of 1000 B of payload each ms, each acknowledged; captured `behind_ms` from the sender."""
    same = {"version": version, "link": link, "port": port}
    options = b"\x02\x04\x03\xe8\x03\x03\x07\x00"  # MSS 1000, scale 7
    there, back = behind_ms * 1e6, (rtt_ms - behind_ms) * 1e6
    begin = 10**18
    told: list[Packet] = []
    if opened:
        told = [
            (begin, frame(SENDER, first - 1, 0, 2, options=options, **same)),
            (begin + int(back), frame(RECEIVER, 6999, first, 18, options=options, **same)),
            (begin + int(back + there), frame(SENDER, first, 7000, 16, **same)),
        ]
    for number in range(packets):
        at = begin + int(rtt_ms * 1e6) + number * 10**6
        sequence = first + 1000 * number
        told.append((at, frame(SENDER, sequence, 7000, 16, payload=1000, **same)))
        told.append((at + int(back), frame(RECEIVER, 7000, sequence + 1000, 16, **same)))
    return sorted(told, key=lambda each: each[0])


def sawtooth(*, rate_bps: float, rtt_ms: float, least: int, most: int, seconds: float = 6) -> list[Packet]:
    """A window of packets of 1000 B that grows by one each round trip, and from `most` goes back to `least`.

    They pass a line of that rate, framing included, whose queue is never full; captured at the sender.
    """
    told = talk(rtt_ms=rtt_ms, packets=0)
    begin, rtt_ns, takes_ns = 10**18, round(rtt_ms * 1e6), round((1040 + 38) * 8e9 / rate_bps)
    window, grown, free_ns = float(least), 0, 0
    acked_ns: list[int] = []
    at = begin + rtt_ns
    while at < begin + seconds * 1e9:
        number = len(acked_ns)
        if number >= int(window):
            at = max(at, acked_ns[number - int(window)])
        free_ns = max(free_ns, at) + takes_ns
        acked_ns.append(free_ns + rtt_ns - takes_ns)
        sequence = 1000 + 1000 * number
        told.append((at, frame(SENDER, sequence, 7000, 16, payload=1000)))
        told.append((acked_ns[-1], frame(RECEIVER, 7000, sequence + 1000, 16)))
        if number - grown >= window:
            grown, window = number, window + 1 if window < most else least
    return sorted(told, key=lambda each: each[0])


def pcap(packets: Iterable[Packet], *, order: str = "<", nanoseconds: bool = True, link_type: int = 1) -> bytes:
    unit = 1 if nanoseconds else 1000
    magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, link_type)]
    for at, data in packets:
        parts += [struct.pack(order + "IIII", at // 10**9, at % 10**9 // unit, len(data), len(data)), data]
    return b"".join(parts)


def block(order: str, kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    return struct.pack(order + "II", kind, len(body) + 12) + body + struct.pack(order + "I", len(body) + 12)


def pcapng(packets: Iterable[Packet], *, order: str = "<", resolution: int = 9, offset_s: int = 0) -> bytes:
    options = struct.pack(order + "HHB3x", 9, 1, resolution) + struct.pack(order + "HHq", 14, 8, offset_s) + bytes(4)
    parts = [
        block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)),
        block(order, 1, struct.pack(order + "HHI", 1, 0, 0) + options),
    ]
    for at, data in packets:
        since = at - offset_s * 10**9
        units = since // 10 ** (9 - resolution) if resolution < 0x80 else (since << (resolution & 0x7F)) // 10**9
        parts.append(
            block(order, 6, struct.pack(order + "IIIII", 0, units >> 32, units & 0xFFFFFFFF, *[len(data)] * 2) + data)
        )
    return b"".join(parts)
