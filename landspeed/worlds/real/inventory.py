"""The inventory of a real attempt, written from a scenario: hosts, and the plan's figures as variables.

    FOLDER/hosts.yml                    who is sender, receiver, shaper; add host_vars/ as you like
    FOLDER/group_vars/all/plan.yml      the plan's figures
    FOLDER/group_vars/all/rehearsal.yml the rehearsal that allows it, written by the gate
    FOLDER/group_vars/all/vault.yml     the engine's key, encrypted by Ansible Vault (`landspeed real key`)
    FOLDER/plan.json, scenario.yaml     what was asked for

Nothing secret is in what is written here.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import re
import shlex
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode

from landspeed.base.json_form import object_of
from landspeed.scenario.file.load import LoadedScenario
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.engine.command import ENGINE_BINARY, ENGINE_PORT, receive_command, send_command
from landspeed.worlds.engine.identity import engine_build
from landspeed.worlds.real.errors import RealError
from landspeed.worlds.real.shaping import LATE_TIMERS_NS, shape_links
from landspeed.worlds.real.variables import (
    AGAIN,
    read_mapping,
    read_variables,
    variable_files,
    variable_names,
    yaml_text,
)

MAN_PAGE = ENGINE_BINARY.parent.parent / "landspeed-engine.1"
ENGINE_UNIT = MAN_PAGE.parent / "systemd" / "landspeed-engine.service"
HOST_OPTIONS = ("address", "interface", "jump", "ssh_config")
HOST_FORM = "user@host, with any of ,address=IP ,interface=NIC ,jump=user@host ,ssh_config=FILE"
OF_A_MACHINE = (
    "landspeed_scenario_file",
    "landspeed_engine_sha256",
    "landspeed_engine_libraries",
    "landspeed_engine_binary",
    "landspeed_engine_man_page",
    "landspeed_engine_unit",
)
"""Figures that say where something is here, or how it was built; a host of another kind may have its own engine."""
FREE: dict[str, Any] = {
    "landspeed_interface": "",
    "landspeed_numa_node": -1,
    "landspeed_engine_key": "",
    "landspeed_rehearsal": "",
    "landspeed_rehearsed_engine_build": "",
    "landspeed_unrehearsed": "",
    "landspeed_attempt": "manual",
    "landspeed_capture_packets": 0,
}
"""What other files of the inventory, or words of the command line, may say otherwise."""
GROUPS = {"sender": "landspeed_senders", "receiver": "landspeed_receivers", "shaper": "landspeed_shapers"}


@dataclass(frozen=True)
class InventoryHost:
    """A host as given on the command line: `user@host,address=…`."""

    name: str
    user: str | None
    options: dict[str, str]

    @classmethod
    def parse(cls, text: str) -> InventoryHost:
        """Read it.

        Raises:
            RealError: it has another form.
        """
        login, *rest = text.split(",")
        user, _, name = login.rpartition("@")
        options = {part.partition("=")[0]: part.partition("=")[2] for part in rest}
        wrong = [key for key, value in options.items() if key not in HOST_OPTIONS or not value]
        if not re.fullmatch(r"([a-z_][a-z0-9_-]*@)?[A-Za-z0-9][A-Za-z0-9._:-]*", login) or wrong:
            raise RealError(f"'{text}' is not a host; the form is {HOST_FORM}")
        return cls(name, user or None, options)

    def variables(self, version: int, *, on_path: bool) -> dict[str, Any]:
        """Host variables of the inventory.

        Raises:
            RealError: its address on the path is not known.
        """
        found: dict[str, Any] = {"ansible_host": self.name}
        if self.user:
            found["ansible_user"] = self.user
        words: list[str] = []
        if "jump" in self.options:
            words += ["-o", f"ProxyJump={self.options['jump']}"]
        if "ssh_config" in self.options:
            words += ["-F", self.options["ssh_config"]]
        if words:
            found["ansible_ssh_common_args"] = shlex.join(words)
        if on_path:
            found["landspeed_address"] = self._address(version)
        if "interface" in self.options:
            found["landspeed_interface"] = self.options["interface"]
        return found

    def _address(self, version: int) -> str:
        text = self.options.get("address", self.name)
        family = socket.AF_INET6 if version == 6 else socket.AF_INET
        try:
            address = text if "address" in self.options else socket.getaddrinfo(text, None, family)[0][4][0]
            if ipaddress.ip_address(address).version == version:
                return str(address)
        except (OSError, ValueError):
            pass
        raise RealError(f"{self.name}: its IPv{version} address on the path is not known; add ,address=IP to it")


def engine_identity(binary: Path = ENGINE_BINARY) -> tuple[str, str]:
    """Build hash of the engine's sources, and SHA-256 of the program.

    Raises:
        RealError: it is not built.
    """
    build = engine_build(binary)
    if build is None:
        raise RealError(f"{binary} is not built, or does not tell its build; run `make setup`")
    return build, hashlib.sha256(binary.read_bytes()).hexdigest()


def engine_libraries(binary: Path = ENGINE_BINARY) -> list[str]:
    """Names of the shared libraries that the engine is linked with."""
    listed = subprocess.run(["ldd", binary], capture_output=True, text=True, check=False).stdout
    return re.findall(r"^\s*(lib\S+) =>", listed, re.MULTILINE)


def plan_variables(plan: Plan, *, shaped: bool = False, late_timers_ns: int = LATE_TIMERS_NS) -> dict[str, Any]:
    """The plan's figures, as the roles use them; bytes, bits per second, milliseconds.

    Raises:
        RealError: the scenario has what nobody can make of a real path.
    """
    if plan.events:
        raise RealError(f"{plan.scenario} has events, which are not possible on a real path; remove them (events: [])")
    if any(direction.loss_every for link in plan.links for direction in (link.forward, link.reverse)):
        raise RealError(f"{plan.scenario} loses each N-th packet, which tc cannot do; write its share: loss: 0.1 %")
    if plan.changes:
        raise RealError(f"{plan.scenario} has a trace, which is not possible on a real path; remove it")
    transfer, physics = plan.transfer, plan.physics
    build, digest = engine_identity()
    rate_bps = min(direction.rate_bps for link in plan.links for direction in (link.forward, link.reverse))
    duration_s = (
        transfer.duration_ns / 1e9
        if transfer.duration_ns
        else 16 * (transfer.bytes or 0) / physics.expected_goodput_bps
    )
    peer = "{{ landspeed_peer }}"
    here = "{{ landspeed_address }}"
    receive = receive_command(
        transfer.sample_interval_ns,
        samples="receiver.csv",
        json="receiver.json",
        bind="ADDRESS",
        stall_ns=transfer.stall_ns,
    )
    send = send_command(transfer, "PEER", samples="sender.csv", live="live.jsonl", json="engine.json")
    figures: dict[str, Any] = {
        "landspeed_scenario": plan.scenario,
        "landspeed_scenario_file": str(Path(plan.scenario_file).resolve()),
        "landspeed_plan_sha256": plan.sha256,
        "landspeed_engine_build": build,
        "landspeed_engine_sha256": digest,
        "landspeed_engine_libraries": engine_libraries(),
        "landspeed_engine_binary": str(ENGINE_BINARY),
        "landspeed_engine_man_page": str(MAN_PAGE),
        "landspeed_engine_unit": str(ENGINE_UNIT),
        "landspeed_streams": transfer.streams,
        "landspeed_window_bytes": transfer.window_bytes,
        "landspeed_stream_bytes": transfer.window_bytes or -(-physics.bdp_bytes // transfer.streams),
        "landspeed_congestion_control": transfer.congestion_control,
        "landspeed_mtu_bytes": min(link.mtu_bytes for link in plan.links),
        "landspeed_rtt_ms": physics.rtt_ns / 1e6,
        "landspeed_rate_bps": rate_bps,
        "landspeed_bdp_bytes": physics.bdp_bytes,
        "landspeed_expected_goodput_bps": physics.expected_goodput_bps,
        "landspeed_time_limit_s": int(60 + 1.5 * duration_s),
        "landspeed_port": ENGINE_PORT,
        "landspeed_receive_options": shlex.join(receive[2:]).replace("ADDRESS", here, 1),
        "landspeed_send_options": shlex.join(send[2:]).replace("PEER", peer, 1),
        "landspeed_shape": shape_links(plan, late_timers_ns) if shaped else [],
        "landspeed_late_timers_s": late_timers_ns / 1e9,
        "landspeed_peer": (
            "{{ hostvars[groups['landspeed_receivers' if inventory_hostname in groups['landspeed_senders']"
            " else 'landspeed_senders'][0]].landspeed_address }}"
        ),
    }
    return {**figures, "landspeed_figures_sha256": figures_sha256(figures), **FREE}


def figures_sha256(figures: dict[str, Any]) -> str:
    """Digest of a plan's figures, those aside that are of a machine or that anybody may say otherwise."""
    own = {name: value for name, value in figures.items() if name not in OF_A_MACHINE and name not in FREE}
    return hashlib.sha256(json.dumps(own, sort_keys=True).encode()).hexdigest()


def write_inventory(
    folder: Path,
    loaded: LoadedScenario,
    plan: Plan,
    hosts: dict[str, InventoryHost],
    *,
    again: bool = False,
    late_timers_ns: int = LATE_TIMERS_NS,
) -> None:
    """Write the folder.

    Args:
        folder: made if missing.
        loaded, plan: the scenario and its plan.
        hosts: `sender`, `receiver` and, if there is one, `shaper`.
        again: write over an inventory that is there (host_vars, vault and rehearsal stay).
        late_timers_ns: how late timers of the shaper may be.

    Raises:
        RealError: it is there already, or a host is not usable.
    """
    if hosts["sender"].name == hosts["receiver"].name:
        raise RealError(f"{hosts['sender'].name} is sender and receiver; each is a host of its own")
    variables = plan_variables(plan, shaped="shaper" in hosts, late_timers_ns=late_timers_ns)
    children: dict[str, Any] = {}
    for role, group in GROUPS.items():
        members = {}
        if role in hosts:
            members = {hosts[role].name: hosts[role].variables(plan.ip_version, on_path=role != "shaper")}
        children[group] = {"hosts": members}
    addresses = [_one(children[GROUPS[end]]["hosts"])["landspeed_address"] for end in ("sender", "receiver")]
    if addresses[0] == addresses[1]:
        raise RealError(
            f"{addresses[0]} is the address of both ends; add ,address=IP to them, each its own on the path"
        )
    write_files(folder, loaded, plan, (children, variables), again=again)


def write_files(
    folder: Path, loaded: LoadedScenario, plan: Plan, found: tuple[dict[str, Any], dict[str, Any]], *, again: bool
) -> None:
    """Write the files of an inventory.

    Args:
        folder: made if missing.
        loaded, plan: the scenario and its plan.
        found: groups with their hosts, and the plan's figures.
        again: write over an inventory that is there (host_vars, vault and rehearsal stay).

    Raises:
        RealError: it is there already.
    """
    if (folder / "hosts.yml").exists() and not again:
        raise RealError(f"{folder} is an inventory already; give another folder with --out, or --again to overwrite it")
    children, variables = found
    (folder / "group_vars" / "all").mkdir(parents=True, exist_ok=True)
    (folder / "host_vars").mkdir(exist_ok=True)
    head = f"# Written by `landspeed real inventory` from {plan.scenario_file}.\n"
    (folder / "hosts.yml").write_text(head + yaml_text({"all": {"children": children}}))
    figures = head + "# The plan's figures; changing one here is no change of the plan: change the scenario.\n"
    (folder / "group_vars" / "all" / "plan.yml").write_text(figures + yaml_text(variables))
    (folder / "plan.json").write_text(plan.to_json(indent=1), encoding="utf-8")
    (folder / "scenario.yaml").write_text(loaded.text_resolved)


def _one(hosts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Variables of the one host of a group."""
    (variables,) = hosts.values()
    return variables


def read_plan(folder: Path) -> Plan:
    """The plan of an inventory.

    Raises:
        RealError: the folder is none.
    """
    try:
        return Plan.from_json((folder / "plan.json").read_bytes())
    except (OSError, ValueError) as error:
        raise RealError(
            f"{folder} is not an inventory of landspeed; make one with `landspeed real inventory`"
        ) from error


def read_hosts(folder: Path) -> dict[str, list[str]]:
    """Names of an inventory's hosts by role. Its other files are looked at, too: Ansible would read them only later.

    Raises:
        RealError: a file cannot be read, or sender or receiver is missing; the message has file and line.
    """
    for file in variable_files(folder):
        read_mapping(file, YAML().compose, MappingNode)
    file = folder / "hosts.yml"
    wanted = "a host in landspeed_senders and one in landspeed_receivers are wanted"
    groups = object_of(object_of(read_variables(file).get("all")).get("children"))
    found = {role: [*object_of(object_of(groups.get(group)).get("hosts"))] for role, group in GROUPS.items()}
    names = [str(name) for role in found.values() for name in role]
    if not found["sender"] or not found["receiver"]:
        raise RealError(f"{file}: {wanted}; {AGAIN}")
    for name in names:
        if name in found["sender"] and name in found["receiver"]:
            raise RealError(f"{file}: {name} has two roles; sender and receiver are hosts of their own")
        if "[" in name:
            raise RealError(f"{file}: {name} is a range; write each host by its name")
    _check_addresses(folder, groups, found)
    return found


def _check_addresses(folder: Path, groups: dict[str, Any], found: dict[str, list[str]]) -> None:
    """See that both ends have addresses on the path, of one version, each its own; unless other files say them.

    Raises:
        RealError: one is missing or is none, or both are the same.
    """
    if any("landspeed_address" in variable_names(file) for file in variable_files(folder)):
        return
    addresses: dict[str, str] = {}
    for end in ("sender", "receiver"):
        hosts = object_of(object_of(groups.get(GROUPS[end])).get("hosts"))
        addresses |= {name: str(object_of(hosts[name]).get("landspeed_address", "missing")) for name in found[end]}
    try:
        versions = {ipaddress.ip_address(address).version for address in addresses.values()}
    except ValueError:
        versions = set[int]()
    if len(versions) != 1 or len({*addresses.values()}) < len(addresses):
        said = ", ".join(f"{name}: {address}" for name, address in addresses.items())
        wanted = "landspeed_address is each host's own IP address on the path, all of one version"
        raise RealError(f"{folder / 'hosts.yml'}: {wanted}, and not {said}; {AGAIN}")
