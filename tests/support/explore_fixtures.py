"""A page that `landspeed explore --serve` serves, in the world that computes."""

import contextlib
import http.client
import json
import signal
import subprocess
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support.command_process import COMMAND, run, start
from tests.support.toy_world import environment


def explore(site: Path, folder: Path, *more: object) -> subprocess.CompletedProcess[str]:
    """`landspeed explore` to its end."""
    words = (COMMAND, "explore", "--world", "toy", "--runs", folder, *more)
    return run(words, capture_output=True, text=True, env=environment(site), timeout=300)


@dataclass
class Served:
    """A server under way."""

    address: str
    process: subprocess.Popen[str]

    @property
    def port(self) -> int:
        """Where it listens."""
        found = urlsplit(self.address).port
        assert found is not None
        return found

    @property
    def token(self) -> str:
        """What the address has that a stranger lacks."""
        return urlsplit(self.address).path.strip("/")

    def ask(
        self, path: str, body: Any = None, token: str | None = None, method: str | None = None, **headers: str
    ) -> tuple[int, Any, http.client.HTTPMessage]:
        """Status, body and headers; `body` is sent as JSON, bytes as they are. `Content_Type` is Content-Type."""
        sent = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        given = {"Content-Type": "application/json"} | {name.replace("_", "-"): text for name, text in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            way = f"/{self.token if token is None else token}/{path}"
            connection.request(method or ("GET" if body is None else "POST"), way, sent, given)
            answer = connection.getresponse()
            content = answer.read()
            kind = answer.headers.get_content_type()
            return answer.status, json.loads(content) if kind == "application/json" else content, answer.headers

    def runs(self) -> list[dict[str, Any]]:
        """Everything that was asked, as the first of the news tells it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request("GET", f"/{self.token}/news")
            line = connection.getresponse().readline()
            return json.loads(line.removeprefix(b"data: "))

    def state(self, number: int) -> str:
        """Of a run."""
        return next(each["state"] for each in self.runs() if each["id"] == number)

    def end(self) -> int:
        """As by Ctrl-C; returns the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(60)


@contextlib.contextmanager
def serving(site: Path, folder: Path, *more: object) -> Generator[Served]:
    """Serve, and end it."""
    words = (COMMAND, "explore", "--serve", "--world", "toy", "--runs", folder, *more)
    process = start(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(site))
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, process.communicate()[1]
        yield Served(address, process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
