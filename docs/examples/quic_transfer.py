"""One stream over QUIC by aioquic, as its documentation has it: a server that reads, a client that sends.

quic_transfer.py serve PORT CERTIFICATE KEY
quic_transfer.py send HOST PORT BYTES
"""

from __future__ import annotations

import asyncio
import ssl
import sys

from aioquic.asyncio.client import connect
from aioquic.asyncio.server import serve
from aioquic.quic.configuration import QuicConfiguration

PIECE = 1 << 16
ANSWER = b"done"


async def read_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read a stream to its end, and say so."""
    while await reader.read(PIECE):
        pass
    writer.write(ANSWER)
    writer.write_eof()


def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A stream begins."""
    tasks.add(asyncio.get_running_loop().create_task(read_all(reader, writer)))


tasks: set[asyncio.Task[None]] = set()


async def serve_for_ever(port: int, certificate: str, key: str) -> None:
    """The server."""
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["hq"])
    configuration.load_cert_chain(certificate, key)
    await serve("0.0.0.0", port, configuration=configuration, stream_handler=handle)
    await asyncio.Event().wait()


async def send(host: str, port: int, count: int) -> None:
    """The client."""
    configuration = QuicConfiguration(is_client=True, alpn_protocols=["hq"], verify_mode=ssl.CERT_NONE)
    async with connect(host, port, configuration=configuration) as client:
        reader, writer = await client.create_stream()
        writer.write(bytes(count))
        writer.write_eof()
        if await reader.read() != ANSWER:
            raise SystemExit("the server did not say that it is done")


def main(words: list[str]) -> None:
    """One of the two."""
    if words[0] == "serve":
        asyncio.run(serve_for_ever(int(words[1]), words[2], words[3]))
    else:
        asyncio.run(send(words[1], int(words[2]), int(words[3])))


if __name__ == "__main__":
    main(sys.argv[1:])
