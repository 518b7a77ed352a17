"""The plays against real Debian servers with systemd and sshd, booted here: rollout, undoing, kill -9, bad days.

One lab for all tests of this file. The tests use it one after the other, and each that changes a server puts it back.
"""

from __future__ import annotations

import difflib
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from emu_fixtures import wait_until
from lab.lab import Lab
from landspeed.results.bundle import load_record
from real_fixtures import COMMAND, Servers, write_lab_scenario

UNIT_EXPOSURE_AT_MOST = 2.5


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """The lab, an inventory of it, and a rehearsal of the scenario that passed."""
    folder = tmp_path_factory.mktemp("real")
    scenario = write_lab_scenario(folder / "lab.yaml")
    runs = folder / "runs"
    rehearsed = subprocess.run(
        [COMMAND, "run", scenario, "--out", runs, "--quiet"], capture_output=True, text=True, check=False
    )
    assert rehearsed.returncode == 0, rehearsed.stderr
    lab = Lab.up(f"test-{folder.name}-{folder.parent.name}")
    try:
        made = Servers(lab, folder, folder / "inventory", scenario, runs)
        made.make_inventory(made.inventory)
        (folder / "vault-password").write_text("a password for this test\n")
        made_key = made.landspeed(
            "real", "key", str(made.inventory), "--vault-password-file", str(folder / "vault-password")
        )
        assert made_key.returncode == 0, made_key.stderr
        yield made
    finally:
        lab.down()
    assert not lab.folder.exists()


@pytest.fixture(scope="session")
def before(servers: Servers) -> dict[str, str]:
    """Every server as it was before anything was done to it."""
    return servers.dump()


def _assert_as_before(servers: Servers, before: dict[str, str]) -> None:
    for host, now in servers.dump().items():
        difference = "\n".join(difflib.unified_diff(before[host].splitlines(), now.splitlines(), lineterm="", n=0))
        assert not difference, f"{host} is not as before:\n{difference}"


def _key(servers: Servers) -> str:
    """The engine's key in clear."""
    shown = subprocess.run(
        [
            COMMAND.parent / "ansible-vault",
            "view",
            "--vault-password-file",
            servers.folder / "vault-password",
            servers.inventory / "group_vars" / "all" / "vault.yml",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    match = re.search(r"landspeed_engine_key: ([0-9a-f]{64})", shown.stdout)
    assert match
    return match[1]


def test_rollout_twice_then_restore(servers: Servers, before: dict[str, str]) -> None:
    """First run works, second changes nothing, the attempt is a bundle, and restore leaves no trace."""
    dry = servers.play("tune", "--check")
    assert dry.returncode == 0, dry.stderr
    _assert_as_before(servers, before)  # check mode changed nothing …
    assert "tcp_congestion_control: bbr → reno" in dry.stderr  # … and said what it would change

    assert all(count > 0 for host, count in servers.must("tune").items() if host != "shaper")
    assert all(count > 0 for count in servers.must("deploy").values())
    if "shaper" in servers.lab.hosts:
        assert servers.must("shape")["shaper"] > 0
    servers.must("attempt", "--attempt", "first", "--capture", "50")
    collected = servers.play("collect")
    (bundle,) = [folder for folder in servers.runs.iterdir() if load_record(folder).world == "real"]
    record = load_record(bundle)
    assert record.complete and record.bytes and record.bytes > 0, collected.stdout
    assert record.verdicts[0].name == "rehearsal" and record.verdicts[0].ok is True
    assert {file.name for file in (bundle / "log").iterdir()} >= {
        f"{host}-{when}.txt" for host in ("sender", "receiver") for when in ("before", "after")
    }
    assert "Recorded" in (bundle / "report.html").read_text() or "The result" in (bundle / "report.html").read_text()
    if "shaper" in servers.lab.hosts:
        assert record.rtt_ms == pytest.approx(264.0, rel=0.01)
        assert record.passed, collected.stdout

    for play in ("tune", "deploy", *(["shape"] if "shaper" in servers.lab.hosts else [])):
        again = servers.must(play)
        assert set(again.values()) == {0}, f"{play}, the second time: {again}"
    assert set(servers.must("attempt", "--attempt", "first").values()) == {0}  # it was made

    for side in ("send", "receive"):
        shown = servers.lab.root("sender", f"systemd-analyze security landspeed-{side}@first.service | tail -n 1")
        exposure = re.search(r"exposure level for \S+: ([0-9.]+)", shown)
        assert exposure and float(exposure[1]) <= UNIT_EXPOSURE_AT_MOST, shown

    key = _key(servers)
    for host in ("sender", "receiver"):
        assert servers.lab.root(host, "cat /etc/landspeed/key").strip() == key
        assert servers.lab.root(host, "stat -c '%a %U' /etc/landspeed/key").strip() == "400 root"
        traces = servers.lab.root(host, f"journalctl --no-pager | grep -c {key} || true")
        assert traces.strip() in ("0", "1"), traces  # our own grep, as root through sudo, is logged
    written = [file for folder in (servers.runs, servers.inventory) for file in folder.rglob("*") if file.is_file()]
    assert not [file for file in written if key.encode() in file.read_bytes()]

    servers.must("restore")
    for host in ("sender", "receiver"):  # settings are back, the engine stays until asked
        servers.lab.root(host, "test -x /usr/local/bin/landspeed-engine")
    servers.must("restore", "--remove-engine")
    _assert_as_before(servers, before)
    assert set(servers.must("restore", "--remove-engine").values()) == {0}


@pytest.mark.parametrize(
    ("play", "line"),
    [("tune", "Find the NIC of the path: sender"), ("deploy", "Install its units: receiver")],
)
def test_restore_after_kill_in_the_middle(servers: Servers, before: dict[str, str], play: str, line: str) -> None:
    """kill -9 of the play and of everything it started on the operator's machine."""
    servers.kill_during(play, line)
    servers.must("restore", "--remove-engine")
    _assert_as_before(servers, before)


def test_the_lab_leaves_nothing(tmp_path: Path) -> None:
    """A second lab beside the first, taken down by kill -9 of its first process and `down`."""
    lab = Lab.up(f"brief-{tmp_path.name}")
    children = Path(f"/proc/{lab.pid}/task/{lab.pid}/children").read_text().split()
    lab.down()
    # Reaped by the host's first process, in its own time.
    wait_until(lambda: not any(Path("/proc", child).exists() for child in children), "the lab's processes to be gone")
    assert not lab.folder.exists()
    mounts = Path("/proc/self/mounts").read_text()
    assert lab.folder.name not in mounts
    assert not list(Path("/sys/fs/cgroup").glob(f"*/landspeed-lab-{lab.folder.name}"))
    assert shutil.which("systemd-nspawn")
