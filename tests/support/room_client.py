"""A browser of a room, for tests and benches: it keeps its cookie, counts its answers, and knows the slowest."""

import http.client
import json
import time
from urllib.parse import urlencode


class RoomClient:
    """Asks a server of a room on this machine."""

    def __init__(self, port: int) -> None:
        """Know where; ask nothing yet."""
        self._port, self._cookie = port, ""
        self.slowest_s, self.answers = 0.0, 0

    def ask(self, method: str, path: str, **form: str) -> tuple[int, str]:
        """Send a request; status and text of the answer."""
        began = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        head = {"Cookie": self._cookie, "Content-Type": "application/x-www-form-urlencoded"}
        connection.request(method, path, urlencode(form) if method == "POST" else None, head)
        answer = connection.getresponse()
        self._cookie = (answer.getheader("Set-Cookie") or self._cookie).partition(";")[0]
        told = answer.read().decode()
        connection.close()
        self.answers += 1
        self.slowest_s = max(self.slowest_s, time.monotonic() - began)
        return answer.status, told

    def enter(self, name: str) -> int:
        """Tell a name."""
        return self.ask("POST", "/enter", name=name, lesson="delay")[0]

    def job(self, path: str, **form: str) -> int:
        """Ask for a run; its number."""
        status, told = self.ask("POST", path, **form)
        assert status == 202, told
        return json.loads(told)["job"]

    def told(self, number: int, deadline_s: float = 120, every_s: float = 0.05) -> str:
        """What a job has told, once it is done."""
        end = time.monotonic() + deadline_s
        while time.monotonic() < end:
            found = json.loads(self.ask("GET", f"/job/{number}")[1])
            if found["done"]:
                return found["told"]
            time.sleep(every_s)
        raise AssertionError(f"waited {deadline_s:.0f} s in vain for job {number}")
