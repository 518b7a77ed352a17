"""Windows that a host does not grant: a warning says what was granted, by which end, and which sysctl allows it."""

import json
import os
import subprocess
from pathlib import Path

from tests.support.engine.fixtures import Bench, Program


def unprivileged(words: list[str]) -> list[str]:
    """The command without the capability that overrides the kernel's limits of buffers."""
    return ["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin", *words] if os.geteuid() == 0 else words


def core_limit(side: str) -> int:
    """What this host grants without the capability."""
    return int(Path(f"/proc/sys/net/core/{side}mem_max").read_text())


def test_a_window_that_is_refused_by_both_ends_is_a_warning_with_both_sysctls(bench: Bench) -> None:
    write, read = core_limit("w"), core_limit("r")
    asked = min(2 * max(write, read), 1 << 30)
    assert asked > max(write, read), "this host grants every window: lower net.core.wmem_max and rmem_max"
    words = unprivileged([str(bench.binary), "receive", "--one-off", "--port", str(bench.port)])
    receiver = Program(words, bench.folder, "unprivileged")
    bench.programs.append(receiver)
    receiver.wait_for("listening")
    words = ["send", "127.0.0.1", "--port", str(bench.port), "--window", str(asked), "--bytes", "1M", "--json", "-"]
    sender = subprocess.run(
        unprivileged([str(bench.binary), *words]), capture_output=True, text=True, check=False, timeout=60
    )
    assert sender.returncode == 0, sender.stderr
    assert receiver.wait() == 0, receiver.errors
    window = json.loads(sender.stdout)["window"]
    assert (window["sender_granted_bytes"], window["receiver_granted_bytes"]) == (write, read)
    for end, sysctl, granted in (("sender", "wmem_max", write), ("receiver", "rmem_max", read)):
        assert f"the {end} was granted {granted} of the {asked} bytes asked for" in window["warning"]
        assert f"sysctl -w net.core.{sysctl}={asked}" in window["warning"]


def test_a_window_that_is_not_granted_is_a_warning(bench: Bench) -> None:
    limit = core_limit("w")
    asked = 4 * limit
    assert asked <= 1 << 30, "this host grants every window: lower net.core.wmem_max"
    receiver = bench.receive("--one-off")
    words = ["send", "127.0.0.1", "--port", str(bench.port), "--window", str(asked), "--bytes", "1M", "--json", "-"]
    sender = subprocess.run(
        unprivileged([str(bench.binary), *words]), capture_output=True, text=True, check=False, timeout=60
    )
    assert sender.returncode == 0, sender.stderr
    window = json.loads(sender.stdout)["window"]
    assert window["asked_bytes"] == asked
    assert window["sender_granted_bytes"] == limit
    assert f"the sender was granted {limit} of the {asked} bytes asked for" in window["warning"]
    assert f"sysctl -w net.core.wmem_max={asked}" in window["warning"]
    assert "Warning: " in sender.stderr
    assert receiver.wait() == 0
