"""What arrives of files that are all hole, or hole in part, when they are spliced; prints a JSON object.

For any Linux with root's rights and a network namespace of its own: its loopback delays packets of up to 180 kB and
loses some, so that they are queued, merged, cut and sent again. Each part of a stream is a mark, and a piece of a file.
"""

import json
import os
import random
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator

FILE_BYTES = 1 << 20
PIECES = 400
PACKET_BYTES = 180_000
LOOPBACK = ("ip link set lo up", "tc qdisc add dev lo root netem delay 1ms loss 2% limit 100000")
RTM_NEWLINK, REQUEST_ACK = 16, 5  # linux/rtnetlink.h, linux/netlink.h
GSO_IPV4_MAX_SIZE = 63  # linux/if_link.h


def set_up_loopback() -> None:
    """Delay and losses; it takes IPv4's packets beyond 64 KB, which iproute2 can say from its version 6.3 on."""
    for words in LOOPBACK:
        subprocess.run(words.split(), check=True)
    body = struct.pack("BxHiII", 0, 0, socket.if_nametoindex("lo"), 0, 0)
    body += struct.pack("HHI", 8, GSO_IPV4_MAX_SIZE, PACKET_BYTES)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW) as netlink:
        netlink.send(struct.pack("IHHII", 16 + len(body), RTM_NEWLINK, REQUEST_ACK, 1, 0) + body)
        (error,) = struct.unpack_from("i", netlink.recv(4096), 16)
    assert error == 0, os.strerror(-error)


def memory_file(written: dict[int, bytes]) -> tuple[int, bytes]:
    """A file with some bytes at these places, and what is in it."""
    file = os.memfd_create("hole")
    os.ftruncate(file, FILE_BYTES)
    content = bytearray(FILE_BYTES)
    for at, text in written.items():
        os.pwrite(file, text, at)
        content[at : at + len(text)] = text
    return file, bytes(content)


def drawn_pieces(chance: random.Random) -> Iterator[tuple[int, int]]:
    """Places and sizes: small ones, whole pages, and more than a pipe's."""
    for _ in range(PIECES):
        at = chance.choice([0, 4096 * chance.randrange(200), chance.randrange(FILE_BYTES - 1)])
        size = chance.choice([1, 4096, 65_536, 262_144, chance.randrange(1, 10_000), chance.randrange(1, FILE_BYTES)])
        yield at, min(size, FILE_BYTES - at)


def splice_all(source: int, at: int, size: int, target: int) -> None:
    """Splice a piece of the file into the target through a pipe, as much at once as that takes."""
    out, into = os.pipe()
    while size:
        moved = os.splice(source, into, size, offset_src=at)
        at, size = at + moved, size - moved
        while moved:
            moved -= os.splice(out, target, moved)
    os.close(out)
    os.close(into)


def read_all(source: int, at: int, size: int) -> bytes:
    """Read a piece of the file by a pipe, odd numbers of bytes at once."""
    out, into = os.pipe()
    found = bytearray()
    while size:
        moved = os.splice(source, into, size, offset_src=at)
        at, size = at + moved, size - moved
        while moved:
            found += (part := os.read(out, min(moved, 9_973)))
            moved -= len(part)
    os.close(out)
    os.close(into)
    return bytes(found)


def streamed(file: int, content: bytes, seed: int) -> bool:
    """Whether what comes out of a connection is what went into it."""
    expected, arrived = bytearray(), bytearray()
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as sender:
        receiver, _ = server.accept()

        def receive() -> None:
            while part := receiver.recv(1 << 20):
                arrived.extend(part)

        thread = threading.Thread(target=receive)
        thread.start()
        for at, size in drawn_pieces(random.Random(seed)):
            mark = f"{at} {size};".encode()
            sender.sendall(mark)
            splice_all(file, at, size, sender.fileno())
            expected += mark + content[at : at + size]
        sender.shutdown(socket.SHUT_WR)
        thread.join()
        receiver.close()
    return arrived == expected


def main() -> None:
    """Look at three files, both ways."""
    set_up_loopback()
    files = {
        "all hole": memory_file({}),
        "one page": memory_file({300_000: b"x"}),
        "some bytes at both ends": memory_file({0: b"begin", FILE_BYTES - 3: b"end"}),
    }
    found: dict[str, list[bool]] = {}
    for name, (file, content) in files.items():
        whole = all(read_all(file, at, n) == content[at : at + n] for at, n in drawn_pieces(random.Random(2)))
        found[name] = [whole, streamed(file, content, seed=3)]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
