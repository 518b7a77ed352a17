"""Runs inside the guest: a program as people write them, with threads, processes, random numbers and HTTP requests.

python repeat_program.py               at the client: everything it saw of time and chance, a line each
python repeat_program.py serve ADDRESS at the server
"""

from __future__ import annotations

import http.client
import http.server
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

PORT = 8000
PAGE_BYTES = 300_000
CALLS = 12


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers calls with what they brought, and hands out a page."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """A remote procedure call."""
        self._answer(self.rfile.read(int(self.headers["Content-Length"])))

    def do_GET(self) -> None:
        """A page."""
        self._answer(os.urandom(PAGE_BYTES))

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def call(thread: int, seen: list[str]) -> None:
    """Some calls over one connection, with a pause by chance between them, then a page."""
    connection = http.client.HTTPConnection("omega", PORT)
    for number in range(CALLS):
        time.sleep(random.expovariate(1000))
        connection.request("POST", "/", body=os.urandom(random.randrange(1, 20_000)))
        length = len(connection.getresponse().read())
        port = connection.sock.getsockname()[1]
        seen.append(f"{thread} {number} {length} {port} {time.monotonic_ns()}")
    connection.request("GET", "/")
    seen.append(f"{thread} {hash(connection.getresponse().read())} {time.monotonic_ns()}")


def main() -> None:
    """Start the server in its node, call it from four threads, and tell."""
    if sys.argv[1:2] == ["serve"]:
        server = http.server.ThreadingHTTPServer((sys.argv[2], PORT), Handler)
        print("ready", flush=True)
        server.serve_forever()
    words = ["ip", "netns", "exec", "omega", sys.executable, __file__, "serve", os.environ["LANDSPEED_OMEGA"]]
    server = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert server.stdout is not None
    server.stdout.readline()
    seen = [f"{os.getpid()} {random.random()} {time.time_ns()} {tempfile.mkdtemp()}"]
    threads = [threading.Thread(target=call, args=(number, seen)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    server.kill()
    server.wait()
    print(*seen, sep="\n")


if __name__ == "__main__":
    main()
