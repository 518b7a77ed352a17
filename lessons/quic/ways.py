"""A page by TCP, TLS and QUIC, and numbered messages by TCP and QUIC; a router loses some of them.

    ways.py server FOLDER ROUTER EVERY_MS   serves; certificate.pem and key.pem are in FOLDER
    ways.py page                            prints for each way: ms from the first packet until the page is read
    ways.py messages COUNT                  prints of each message: way, number, when it was written and read in ms

Of a QUIC connection, each message has a stream of its own.
"""

import asyncio
import ssl
import subprocess
import sys
import time
from asyncio import StreamReader
from importlib import import_module
from pathlib import Path
from typing import Any

from aioquic.quic.configuration import QuicConfiguration

QUIC: Any = import_module("aioquic.asyncio")  # whose types are partly unknown
PAGE_BYTES = MESSAGE_BYTES = 1000
LOSES = 50  # one of so many messages is lost
REQUEST_BYTES = 4  # how many messages are asked for; 0: the page
kept: set[Any] = set()


class Server:
    """Answers; its router drops what goes to the client while a message is to be lost."""

    def __init__(self, folder: str, router: str, every_ms: str) -> None:
        """Read the certificate."""
        self._every_s = float(every_ms) / 1e3
        self._tickets: dict[bytes, Any] = {}
        self._route = ["ip", "-n", router, "rule"]
        keys = (Path(folder, "certificate.pem"), Path(folder, "key.pem"))
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(*keys)
        self._quic: Any = QuicConfiguration(is_client=False, alpn_protocols=["page"])
        self._quic.load_cert_chain(*keys)

    async def run(self) -> None:
        """Serve for ever."""
        await asyncio.start_server(self.answer, "", 80)
        await asyncio.start_server(self.answer, "", 443, ssl=self._tls)
        await QUIC.serve(
            "0.0.0.0",
            443,
            configuration=self._quic,
            stream_handler=self.begin,
            session_ticket_fetcher=self.fetch,
            session_ticket_handler=self.remember,
        )
        await asyncio.Event().wait()

    def begin(self, reader: StreamReader, writer: Any) -> None:
        """Answer on a stream."""
        keep(self.answer(reader, writer))

    def remember(self, ticket: Any) -> None:
        """Keep what a ticket stands for."""
        self._tickets[ticket.ticket] = ticket

    def fetch(self, ticket: bytes) -> Any:
        """Find it, once."""
        return self._tickets.pop(ticket, None)

    async def answer(self, reader: StreamReader, writer: Any) -> None:
        """Send the page, or so many messages."""
        count = int.from_bytes(await reader.readexactly(REQUEST_BYTES))
        if not count:
            writer.write(bytes(PAGE_BYTES))
        line = getattr(writer.transport, "protocol", None)  # of QUIC
        began = time.monotonic()
        for number in range(1, count + 1):
            await until(began + number * self._every_s)
            lost = number % LOSES == 0
            if lost:
                subprocess.run([*self._route, "add", "priority", "1", "iif", "eth0", "blackhole"], check=True)
            _, one = await line.create_stream(is_unidirectional=True) if line else (None, writer)
            one.write(number.to_bytes(4) + time.monotonic_ns().to_bytes(8) + bytes(MESSAGE_BYTES - 12))
            if lost:
                await until(began + (number + 0.5) * self._every_s)
                subprocess.run([*self._route, "del", "priority", "1"], check=True)


async def until(instant: float) -> None:
    """Sleep."""
    await asyncio.sleep(instant - time.monotonic())


def keep(coroutine: Any) -> None:
    """Begin it, and let nobody forget it."""
    kept.add(asyncio.get_running_loop().create_task(coroutine))


async def page_by_tcp(port: int, tls: ssl.SSLContext | None = None) -> float:
    """Seconds until the page is read."""
    began = time.monotonic()
    reader, writer = await asyncio.open_connection("server", port, ssl=tls)
    writer.write(bytes(REQUEST_BYTES))
    await reader.readexactly(PAGE_BYTES)
    return time.monotonic() - began


async def page_by_quic(quic: QuicConfiguration, tickets: list[Any]) -> float:
    """Seconds until the page is read; then the server's ticket for the next time comes."""
    began = time.monotonic()
    early = quic.session_ticket is not None
    line = QUIC.connect(
        "server", 443, configuration=quic, session_ticket_handler=tickets.append, wait_connected=not early
    )
    async with line as talk:
        reader, writer = await talk.create_stream()
        writer.write(bytes(REQUEST_BYTES))
        talk.transmit()
        await reader.readexactly(PAGE_BYTES)
        took_s = time.monotonic() - began
        await asyncio.sleep(1)
    return took_s


def client_settings() -> tuple[ssl.SSLContext, QuicConfiguration]:
    """Settings that take any certificate."""
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    return tls, QuicConfiguration(alpn_protocols=["page"], verify_mode=ssl.CERT_NONE)


def tell(way: str, took_s: float) -> None:
    """Print a way and its time."""
    print(f"{way}: {1e3 * took_s:.3f} ms")


async def page() -> None:
    """Ask for it in four ways."""
    tls, quic = client_settings()
    tickets: list[Any] = []
    tell("TCP", await page_by_tcp(80))
    tell("TCP and TLS 1.3", await page_by_tcp(443, tls))
    tell("QUIC", await page_by_quic(quic, tickets))
    quic.session_ticket = tickets[-1]
    tell("QUIC with a ticket", await page_by_quic(quic, tickets))


async def read_message(way: str, reader: StreamReader) -> None:
    """Read one, and print when it was written and when it was read: both hosts have one clock."""
    read = await reader.readexactly(MESSAGE_BYTES)
    print(way, int.from_bytes(read[:4]), int.from_bytes(read[4:12]) / 1e6, time.monotonic_ns() / 1e6)


async def messages(count: int) -> None:
    """Get so many by TCP, then by QUIC."""
    reader, writer = await asyncio.open_connection("server", 80)
    writer.write(count.to_bytes(REQUEST_BYTES))
    for _ in range(count):
        await read_message("TCP", reader)
    arrived: asyncio.Queue[None] = asyncio.Queue()

    async def of_stream(reader: StreamReader) -> None:
        await read_message("QUIC", reader)
        arrived.put_nowait(None)

    def begins(reader: StreamReader, _: Any) -> None:
        keep(of_stream(reader))

    _, quic = client_settings()
    async with QUIC.connect("server", 443, configuration=quic, stream_handler=begins) as talk:
        _, writer = await talk.create_stream()
        writer.write(count.to_bytes(REQUEST_BYTES))
        talk.transmit()
        for _ in range(count):
            await arrived.get()


if sys.argv[1] == "server":
    asyncio.run(Server(*sys.argv[2:]).run())
elif sys.argv[1] == "page":
    asyncio.run(page())
else:
    asyncio.run(messages(int(sys.argv[2])))
