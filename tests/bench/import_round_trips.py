"""Random paths there and back: each is run, what iperf3, ping, traceroute and tcpdump say of it is imported.

    python -m tests.bench.import_round_trips --count 50    # a line for each path, and how many are the same within 2 %

The bottleneck is the link with most delay, where the import puts it: which link it is, no end can tell. The others are
ten times as fast. Compared are the round trip, every link's delay, the line's rate or the window, MTU and control.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import landspeed as ls
from landspeed.scenario.importers.import_files import import_files
from tests.bench.random_paths import Choice

SAME = 0.02
SHORT_MS = 0.2  # a link's delay may be off by this much: routers' answers have a packet's time on every line in them
FILES = ("iperf3-sender.json", "evidence/ping-sender.txt", "evidence/traceroute-sender.txt",
         "evidence/traceroute-receiver.txt", "evidence/capture-sender.pcap")  # fmt: skip


@dataclass(frozen=True)
class RoundTripPath:
    """A path, and the figures that are to come back.

    Attributes:
        window_bytes: that limits it; None: its line does.
    """

    number: int
    rtts_ms: list[float]
    rate_bps: float
    mtu: int
    control: str
    window_bytes: int | None = None

    @classmethod
    def random(cls, number: int) -> RoundTripPath:
        """The path of a number: the same everywhere."""
        choice = Choice(number)
        rtts = [choice.logarithmic(2, 60) for _ in range(choice.randrange(2, 6))]
        rate = choice.logarithmic(5e6, 25e6)
        window = choice.uniform(0.2, 0.6) * rate / 8 * sum(rtts) / 1e3 if choice.one_in(2) else None
        enough = window is not None and window > 20_000  # of fewer packets Linux makes another window
        mtu = choice.choice((1500, 1400, 1500))
        return cls(number, rtts, rate, mtu, choice.choice(("cubic", "reno")), round(window or 0) if enough else None)

    def scenario(self) -> str:
        """The file's text."""
        ends = ["a", *(f"r{number}" for number in range(1, len(self.rtts_ms))), "b"]
        narrow = self.rtts_ms.index(max(self.rtts_ms[1:]), 1)
        lines = [
            "format: 1", "name: there-and-back", "title: There and back",
            f"mtu: {self.mtu} B", f"line_rate: {10 * self.rate_bps:.0f} bit/s",
            "hosts: {a: {role: sender}, b: {role: receiver}}", "path:",
        ]  # fmt: skip
        for number, rtt_ms in enumerate(self.rtts_ms):
            own = f", line_rate: {self.rate_bps:.0f} bit/s, queue: 0.7 BDP" if number == narrow else ""
            lines.append(f"  - {{from: {ends[number]}, to: {ends[number + 1]}, rtt: {rtt_ms:g} ms{own}}}")
        lines += [f"transfer: {{duration: 6 s, congestion_control: {self.control}"]
        lines[-1] += f", window: {self.window_bytes} B}}" if self.window_bytes else ", window: 16 MB}"
        return "\n".join(lines) + "\n"


@dataclass
class Returned:
    """What came back: of each figure how far it is off, and what is another one altogether."""

    path: RoundTripPath
    off: dict[str, float] = field(default_factory=dict[str, float])
    wrong: list[str] = field(default_factory=list[str])

    @property
    def same(self) -> bool:
        """True if it is the same path within 2 %."""
        return not self.wrong and all(abs(each) <= SAME for each in self.off.values())

    def __str__(self) -> str:
        told = ", ".join(f"{what} {each:+.2%}" for what, each in self.off.items())
        path = self.path
        size = f"{path.rate_bps / 1e6:.4g} Mbit/s, {sum(path.rtts_ms):.4g} ms, {len(path.rtts_ms)} links"
        return f"{path.number:3} {'same' if self.same else 'DIFFERS'}: {size}: {'; '.join([told, *self.wrong])}"


def there_and_back(path: RoundTripPath, folder: Path) -> Returned:
    """Run the path, unless the folder has a run of it, and import what was measured on it."""
    file = folder / f"path{path.number}.yaml"
    if file.exists() and file.read_text() == path.scenario() and (kept := sorted(folder.glob(f"{path.number}/*[!l]"))):
        run = ls.Run.load(kept[-1])
    else:
        file.write_text(path.scenario())
        run = ls.run(file, runs_dir=folder / str(path.number), tool="iperf3", capture="full", report=False)
    made = import_files({}, found=[run.bundle / name for name in FILES]).loaded.scenario
    found = Returned(path)
    known: Any = made.path
    rtts_ms = [(link.rtt or 0) / 1e6 for link in known]
    total_ms = sum(path.rtts_ms)
    found.off["round trip"] = sum(rtts_ms) / total_ms - 1
    if len(rtts_ms) != len(path.rtts_ms):
        found.wrong.append(f"{len(rtts_ms)} links")
    else:
        apart = [each - true for each, true in zip(rtts_ms, path.rtts_ms, strict=True)]
        found.off["link"] = max(
            max(abs(each) - SHORT_MS, 0) / true for each, true in zip(apart, path.rtts_ms, strict=True)
        )
    if path.window_bytes is None:
        narrow = min(known, key=lambda link: link.line_rate or 1e18)
        found.off["rate"] = (narrow.line_rate or 0) / path.rate_bps - 1
    else:
        offered = statistics.median(
            run.samples.sender["snd_wnd_bytes"].to_pylist()
        )  # what Linux made of what was asked
        found.off["window"] = (made.transfer.window or 0) / (offered or 1) - 1
    for what, value, true in (
        ("mtu", made.mtu, path.mtu),
        ("control", made.transfer.congestion_control or "cubic", path.control),
    ):
        if value != true:
            found.wrong.append(f"{what} {value} for {true}")
    return found


def main() -> int:
    """Print each path; exit status 1: one is not the same."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the runs there; those that are there serve again"
    )
    parsed = parser.parse_args()
    same = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = parsed.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(parsed.first, parsed.first + parsed.count):
            found = there_and_back(RoundTripPath.random(number), folder)
            same += found.same
            print(found, flush=True)
    print(f"{same} of {parsed.count} paths are the same within {SAME:.0%}")
    return 0 if same == parsed.count else 1


if __name__ == "__main__":
    sys.exit(main())
