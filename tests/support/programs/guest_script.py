"""Runs inside the guest at the sender: the engine over a path that swallows every packet for a time.

    python guest_script.py PLAN.json RESULT.json

The plan is a list of acts, done in order: ["receive", NAME, WORDS], ["send", NAME, WORDS], ["sleep", SECONDS],
["dark"], ["light"], ["wait", NAME], ["start", NAME, WORDS] (a program here that says when it listens), ["run", WORDS]
(to its end). HOST in words is the receiver's address. A dark path takes the sender's packets and loses them: its next
hop has another hardware address. The result has each program's exit status and the (virtual) time of its end, in
seconds after the first `send`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FAR = "omega"
NOBODY = "02:00:00:00:00:99"


def ip(*words: str) -> Any:
    """One iproute2 command, its JSON."""
    out = subprocess.run(["ip", "-j", *words], check=True, capture_output=True, text=True).stdout
    return json.loads(out) if out.strip() else None


class Way:
    """The way from here to the receiver."""

    def __init__(self) -> None:
        far = next(
            address["local"]
            for interface in ip("-n", FAR, "addr", "show")
            for address in interface["addr_info"]
            if address["scope"] == "global"
        )
        self.receiver: str = far
        route = ip("route", "get", far)[0]
        self.device, self.hop = route["dev"], route.get("gateway", far)
        self.lladdr = ip("neigh", "show", self.hop, "dev", self.device)[0]["lladdr"]

    def next_hop(self, lladdr: str) -> None:
        """Who takes the packets."""
        ip("neigh", "replace", self.hop, "lladdr", lladdr, "dev", self.device, "nud", "permanent")


def main(plan_file: str, result_file: str) -> None:
    """Do the acts."""
    way = Way()
    programs: dict[str, subprocess.Popen[bytes]] = {}
    result: dict[str, dict[str, float]] = {}
    start = 0.0
    for act, *words in json.loads(Path(plan_file).read_text()):
        if act in ("receive", "start"):
            name, command = words
            command = [way.receiver if word == "HOST" else word for word in command]
            at = ["ip", "netns", "exec", FAR] if act == "receive" else []
            programs[name] = subprocess.Popen([*at, *command], stderr=subprocess.PIPE)
            stderr = programs[name].stderr
            while stderr and b"listening" not in (line := stderr.readline()):
                assert line, f"{name} ended"
        elif act == "run":
            subprocess.run(words[0], check=True)
        elif act == "send":
            name, command = words
            start = start or time.monotonic()
            programs[name] = subprocess.Popen([way.receiver if word == "HOST" else word for word in command])
        elif act == "sleep":
            time.sleep(words[0])
        elif act == "dark":
            way.next_hop(NOBODY)
        elif act == "light":
            way.next_hop(way.lladdr)
        elif act == "wait":
            status = programs[words[0]].wait()
            result[words[0]] = {"status": status, "end_s": time.monotonic() - start}
    Path(result_file).write_text(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
