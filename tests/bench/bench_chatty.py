"""`.venv/bin/python -m tests.bench.bench_chatty`: programs that make many calls, in the guest beside native.

100 000 system calls that do nothing, an HTTP server that is asked 1000 small things one after the other, and a Redis
benchmark (if redis-server and redis-benchmark are in PATH). Over loopback: natively here, and by `landspeed exec`, by
turns. What a guest takes to start is measured by itself and taken off. And iperf3 on one core (`--core 0`) and with a
second one that is free.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.bench import COMMAND, LAN, ROOT, Row, run, told

TURNS = 3
CALLS = "import os\nfor _ in range(100_000): os.getppid()"
HTTP = """
import http.client, http.server, threading
class Small(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # one packet an answer: natively two would wait 40 ms for an acknowledgment
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 8080), Small)
threading.Thread(target=server.serve_forever, daemon=True).start()
line = http.client.HTTPConnection("127.0.0.1", 8080)
for _ in range(1000):
    line.request("GET", "/")
    assert line.getresponse().read() == b"ok"
"""
REDIS = """
redis-server --port 7777 --save '' > /dev/null & server=$!
until redis-cli -p 7777 ping > /dev/null 2>&1; do sleep 0.05; done
redis-benchmark -p 7777 -n 10000 -c 50 -t get,set -q > /dev/null
kill $server
"""


def seconds(words: list[str]) -> float:
    """Wall time of a command."""
    began = time.monotonic()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def measured(name: str, program: list[str], file: Path) -> Row:
    """A program natively and in a guest, by turns; the medians."""
    guest = [str(COMMAND), "exec", str(file), "--quiet", "--no-calibration", "--at", "a", "--"]
    ways = program, [*guest, "true"], [*guest, *program]
    times = [[seconds(words) for words in ways] for _ in range(TURNS)]
    native, empty, whole = (statistics.median(each) for each in zip(*times, strict=True))
    shown = f"{native:.2f} s natively, {whole - empty:.2f} s in the guest"
    return Row(f"{name}: wall time", shown, "", kept=True)


def iperf3(name: str, scenario: Path, *options: str) -> Row:
    """Wall times of iperf3's transfer on one core, and with a second one while it is free, by turns; the medians."""
    with tempfile.TemporaryDirectory(prefix="landspeed-bench-") as folder:
        words = ["--tool", "iperf3", *options]
        ways: tuple[list[str], ...] = [*words, "--core", "0"], words
        times = [
            [run(scenario, *way, out=Path(folder, f"{turn}-{len(way)}"))["transfer_wall_s"] for way in ways]
            for turn in range(TURNS)
        ]
    one, two = (statistics.median(each) for each in zip(*times, strict=True))
    return Row(
        f"iperf3, {name}: wall time", f"{one:.2f} s on one core, {two:.2f} s with a free second one", "", kept=True
    )


def main() -> int:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="landspeed-bench-") as folder:
        file = Path(folder, "lan.yaml")
        file.write_text(json.dumps(LAN))
        rows = [
            measured("100 000 system calls", [sys.executable, "-c", CALLS], file),
            measured("1000 small requests of HTTP", [sys.executable, "-c", HTTP], file),
        ]
        if shutil.which("redis-server") and shutil.which("redis-benchmark"):
            rows.append(measured("20 000 requests of Redis, 50 at once", ["sh", "-c", REDIS], file))
        rows.append(iperf3("3 s of 1 Gbit/s over 40 µs", file))
        ten = ("--set", "transfer.duration=10 s", "--set", "expect=null")
        rows.append(iperf3("10 s of 1 Gbit/s over 50 ms", ROOT / "scenarios" / "examples" / "first.yaml", *ten))
    return told(rows)


if __name__ == "__main__":
    sys.exit(main())
