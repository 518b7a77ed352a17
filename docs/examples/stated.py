"""What the examples share: a transfer whose window its documents or its source state, and what `landspeed probe` finds.

An example prints the probe's table for each of its transfers, at 0 (10 µs) to 264 ms, without loss and with one packet
in 10 000 lost, and the window that is stated beside the one found:

    python docs/examples/http2.py [NAME…] [--rtt "10 ms,100 ms"] [--loss "0,0.01 %"] [--bytes 2000000]
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import landspeed as ls
from landspeed.base.text import bytes_text
from landspeed.programs.conditions import Condition
from landspeed.programs.probe.table import tables

RTTS = "10 us,10 ms,50 ms,100 ms,264 ms"
LOSSES = "0,0.01 %"
LISTENS = ls.listening(9000)
WORKSPACE = Path(__file__).resolve().parents[2] / "build"  # a guest has a /tmp of its own


@dataclass(frozen=True)
class Transfer:
    """A client and a server of somebody else.

    Attributes:
        name: of the transfer.
        server, client: words; the server is at `b`, the client at `a`.
        way: the direction that carries the bytes.
        stated: where the window is stated: file and constant, or manual page.
        window_bytes: what is stated there; None: no window that stays the same.
        until: when the server is ready.
    """

    name: str
    server: Sequence[str]
    client: Sequence[str]
    way: tuple[str, str]
    stated: str
    window_bytes: int | None = None
    until: Condition = LISTENS

    def probe(self, rtts: Sequence[str], losses: Sequence[str] = (), folder: Path | None = None) -> ls.ProbeResult:
        """Run it over each path; arguments as those of `landspeed.probe`."""
        servers = [ls.Server("b", list(self.server), self.until)]
        return ls.probe(list(self.client), servers, at="a", rtts=rtts, losses=losses, folder=folder)


def data_file(folder: Path, count: int, name: str = "data") -> Path:
    """A file of so many bytes, which takes no room."""
    file = folder / name
    with file.open("wb") as handle:
        handle.truncate(count)
    return file


def missing(*programs: str) -> list[str]:
    """Which of these programs are not here."""
    return [each for each in programs if shutil.which(each) is None]


def main(transfers: Callable[[Path, int], list[Transfer]], usual_bytes: int) -> None:
    """Probe the transfers that are asked for, and print what was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="NAME", help="part of the name of a transfer (default: all)")
    parser.add_argument("--rtt", default=RTTS, help=f"round-trip times (default: {RTTS})")
    parser.add_argument("--loss", default=LOSSES, help=f"shares of packets lost (default: {LOSSES})")
    parser.add_argument("--bytes", type=int, default=usual_bytes, help=f"to move (default: {usual_bytes})")
    told = parser.parse_args()
    WORKSPACE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=WORKSPACE, prefix="example-") as scratch:
        for number, each in enumerate(transfers(Path(scratch), told.bytes)):
            if told.names and not any(name in each.name for name in told.names):
                continue
            found = each.probe(told.rtt.split(","), told.loss.split(","), Path(scratch) / f"probe-{number}")
            print(each.name, *tables(found), _beside(each, found), "", sep="\n", flush=True)


def _beside(transfer: Transfer, found: ls.ProbeResult) -> str:
    answer = found.direction(*transfer.way)
    seen = f"{answer.window_bytes:.0f} B" if answer.window_bytes else "no window of the program's"
    if transfer.window_bytes is None:
        return f"Found: {seen}. Stated: none that stays the same ({transfer.stated})"
    stated = f"{transfer.window_bytes} B ({bytes_text(transfer.window_bytes)}; {transfer.stated})"
    apart = f", {answer.window_bytes / transfer.window_bytes - 1:+.2%}" if answer.window_bytes else ""
    return f"Found: {seen}{apart}. Stated: {stated}"
