"""One lab for the session, as a molecule scenario has it: servers, what they were before, all plays once in order.

Also labs of a fleet, whose cables have no delay.
"""

import contextlib
import difflib
import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from landspeed.results.bundle import load_record
from landspeed.results.facts import RealFacts
from landspeed.results.record import RunRecord
from tests.lab.lab import Lab
from tests.lab.supervisor import DATA, NSPAWN_HOSTS
from tests.support.command_process import COMMAND, Server
from tests.support.real_fixtures import SecretWatch, Servers, write_lab_scenario
from tests.support.stalls import Beside


def fleet_flows(pairs: int) -> list[tuple[int, int]]:
    """Numbers of sender and receiver of each flow: the first sender has one to the second receiver, too."""
    return [*((number, number) for number in range(1, pairs + 1)), *([(1, 2)] if pairs > 1 else [])]


def fleet_hosts(pairs: int) -> tuple[str, ...]:
    """Names of a fleet's servers."""
    return tuple(f"{role}{number}" for role in ("sender", "receiver") for number in range(1, pairs + 1))


def fleet_network(pairs: int, duration: str) -> dict[str, object]:
    """Each sender sends to the receiver of its number."""
    links = [
        {"from": host, "to": "left" if host.startswith("sender") else "right", "one_way_delay": "10 us"}
        for host in fleet_hosts(pairs)
    ]
    return {
        "format": 1,
        "name": "fleet",
        "title": "As many as there are that send",
        "line_rate": "1 Gbit/s",
        "mtu": "9000 B",
        "queue": "1 MB",
        "links": [*links, {"from": "left", "to": "right", "one_way_delay": "10 us"}],
        "transfer": {"congestion_control": "reno", "duration": duration, "pacing": "20 Mbit/s", "receive": "verify"},
        "flows": [{"name": f"f{a}{b}", "from": f"sender{a}", "to": f"receiver{b}"} for a, b in fleet_flows(pairs)],
    }


@contextlib.contextmanager
def lab_and_operator(name: str, hosts: Sequence[str] = NSPAWN_HOSTS) -> Iterator[tuple[Lab, Server]]:
    """A lab, and what forks the command on its operator's machine.

    Yields:
        both, which go with the context.
    """
    lab = Lab.up(name, hosts)
    try:
        with Server({}, under=lab.operator_command()) as operator:
            yield lab, operator
    finally:
        lab.down()


@contextlib.contextmanager
def fleet_lab(folder: Path, pairs: int, duration: str = "5 s") -> Iterator[Servers]:
    """The servers of a fleet and an inventory of them, which the attempt is told.

    Yields:
        the servers, which go with the context.
    """
    (folder / "tmp").mkdir()
    (folder / "fleet.yaml").write_text(json.dumps(fleet_network(pairs, duration)))
    hosts = fleet_hosts(pairs)
    with lab_and_operator(f"fleet-{folder.parent.name}-{folder.name}", hosts) as (lab, operator):
        places = (folder, folder / "inventory", folder / "fleet.yaml", folder / "runs", folder / "tmp")
        made = Servers(lab, *places, operator)
        words = [
            word
            for host in hosts
            for word in ("--host", f"{host}=otto@{host},address={DATA[host][0]},ssh_config={lab.folder}/ssh_config")
        ]
        done = made.landspeed("real", "inventory", str(made.scenario), "--out", str(made.inventory), *words)
        assert done.returncode == 0, done.stderr
        other = "attempt_checks: [route, interface, link, path, path mtu]\npreflight_rtt_tolerance: 1000\n"
        (made.inventory / "group_vars" / "all" / "lab.yml").write_text(other)
        (folder / "vault-password").write_text("none\n")
        yield made


@pytest.fixture(scope="session", name="servers")
def servers_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """The lab, an inventory of it, and a rehearsal of the scenario that passed."""
    folder = tmp_path_factory.mktemp("real")
    scenario = write_lab_scenario(folder / "lab.yaml")
    runs = folder / "runs"
    rehearsed = subprocess.run(
        [COMMAND, "run", scenario, "--out", runs, "--quiet"], capture_output=True, text=True, check=False
    )
    assert rehearsed.returncode == 0, rehearsed.stderr
    with lab_and_operator(f"test-{folder.name}-{folder.parent.name}") as (lab, operator):
        (folder / "tmp").mkdir()
        made = Servers(lab, folder, folder / "inventory", scenario, runs, folder / "tmp", operator)
        made.make_inventory(made.inventory)
        (folder / "vault-password").write_text("a password for this test\n")
        made_key = made.landspeed(
            "real", "key", str(made.inventory), "--vault-password-file", str(folder / "vault-password")
        )
        assert made_key.returncode == 0, made_key.stderr
        yield made
    assert not lab.folder.exists()


@pytest.fixture(scope="session", name="before")
def before_fixture(servers: Servers) -> dict[str, str]:
    """Every server as it was before anything was done to it."""
    return servers.dump()


@pytest.fixture(scope="session", name="key")
def key_fixture(servers: Servers) -> str:
    """The engine's key in clear."""
    vault = servers.inventory / "group_vars" / "all" / "vault.yml"
    words = ["view", "--vault-password-file", servers.folder / "vault-password", vault]
    shown = subprocess.run([COMMAND.parent / "ansible-vault", *words], capture_output=True, text=True, check=True)
    match = re.search(r"landspeed_engine_key: ([0-9a-f]{64})", shown.stdout)
    assert match
    return match[1]


@pytest.fixture(scope="session", name="beside")
def beside_fixture() -> Beside:
    """The machine's stalls while `converged` was made."""
    return Beside()


@pytest.fixture(scope="session", name="converged")
def converged_fixture(
    servers: Servers, before: dict[str, str], key: str, beside: Beside
) -> subprocess.CompletedProcess[str]:
    """All plays in order, with an attempt that is collected. Nobody sees the key meanwhile."""

    def undo() -> None:
        servers.must("restore", "--remove-engine")

    try:
        with SecretWatch(key, servers.temporary) as watch, beside:
            done = servers.measured("site", "--attempt", "first", "--capture", "50", again=undo)
        assert done.returncode == 0, done.stdout + done.stderr
        assert watch.looks > 10
        assert not watch.found, watch.found
    except (AssertionError, subprocess.TimeoutExpired):  # a second try of this has to find the servers as the first did
        forget(servers, "first")
        undo()
        raise
    return done


def assert_as_before(servers: Servers, before: dict[str, str]) -> None:
    assert not list(servers.temporary.iterdir())
    for host, now in servers.dump().items():
        difference = "\n".join(difflib.unified_diff(before[host].splitlines(), now.splitlines(), lineterm="", n=0))
        assert not difference, f"{host} is not as before:\n{difference}"


def bundle_of(servers: Servers, attempt: str) -> tuple[RunRecord, Path]:
    for folder in servers.runs.iterdir():
        record = load_record(folder)
        if isinstance(record.world_facts, RealFacts) and record.world_facts.attempt == attempt:
            return record, folder
    raise AssertionError(f"there is no bundle of the attempt {attempt}")


def lend(servers: Servers, program: str) -> None:
    """Put a program of this machine, which is of the servers' release, and the libraries that they lack there."""
    found = shutil.which(program)
    assert found, program
    linked = subprocess.run(["ldd", found], capture_output=True, text=True, check=True).stdout
    for host in ("sender", "receiver"):
        for file in [found, *re.findall(r" (/\S+)", linked)]:
            place = servers.lab.place(host, str(Path(file).resolve().with_name(Path(file).name)))
            if not place.exists():
                shutil.copy(file, place)


def leave_nothing_uncollected(servers: Servers) -> None:
    """Collect the attempt that was killed, and remove others by hand: until then nothing that was begun is removed."""
    done = servers.play("restore", "--remove-engine")
    assert done.returncode == 1
    (left,) = {*re.findall(r"sender: not collected: ([^.]*)\. Nothing was removed\.", done.stderr)}
    assert "killed" in left.split(", ")
    servers.play("collect", "--attempt", "killed")  # its engine may have left no result, and the bundle says so
    by_hand(servers, {*left.split(", ")} - {"killed"})


def forget(servers: Servers, attempt: str) -> None:
    """Remove an attempt from the servers, whether it was collected or not, and its bundle."""
    by_hand(servers, {attempt})
    with contextlib.suppress(AssertionError):  # it has none
        shutil.rmtree(bundle_of(servers, attempt)[1])


def by_hand(servers: Servers, attempts: set[str]) -> None:
    """Remove attempts that nobody wants, as `restore` says."""
    removed = " ".join(f"{name} {name}.*" for name in sorted(attempts))
    for host in servers.lab.hosts:
        if host != "shaper":
            servers.lab.root(host, f"cd /var/lib/landspeed/attempts && rm -rf {removed}")
