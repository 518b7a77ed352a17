"""Fleet: several flows of a network, each between two servers that an inventory names for its ends.

The groups are those of two hosts, with several hosts in each; a host sends or receives, in all of its flows. Each flow
has a port of its own at its receiver, and is a unit of its own at both ends: `landspeed-send@ATTEMPT.NUMBER`.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from landspeed.base.json_form import object_of
from landspeed.scenario.file.load import LoadedScenario
from landspeed.scenario.plan.flow_path import path_of
from landspeed.scenario.plan.plan import Flow, Plan
from landspeed.worlds.engine.command import ENGINE_PORT, receive_command, send_command
from landspeed.worlds.real.errors import RealError
from landspeed.worlds.real.inventory import GROUPS, InventoryHost, figures_sha256, plan_variables, write_files
from landspeed.worlds.real.variables import read_variables

MOST_FLOWS_AT_A_RECEIVER = 64
LAST_PORT = ENGINE_PORT + MOST_FLOWS_AT_A_RECEIVER - 1
"""Up to this one every port is closed for all but the peers, whether a flow uses it or not."""
SENDS = "inventory_hostname in groups['landspeed_senders']"
ATTEMPTS = "/var/lib/landspeed/attempts"


def roles_of(plan: Plan) -> dict[str, str]:
    """Nodes at the ends of a plan's flows → what they are, `sender` or `receiver`.

    Raises:
        RealError: one is both.
    """
    senders, receivers = {flow.source for flow in plan.flows}, {flow.target for flow in plan.flows}
    if both := sorted(senders & receivers):
        raise RealError(
            f"{plan.scenario}: {', '.join(both)} sends in one flow and receives in another; on real servers a host "
            "does one of both: make it two hosts"
        )
    return {
        node.name: "sender" if node.name in senders else "receiver"
        for node in plan.nodes
        if node.name in senders | receivers
    }


def check_hosts(plan: Plan, hosts: Mapping[str, InventoryHost]) -> None:
    """See that there is a server for each end of a flow, and no other.

    Raises:
        RealError: one is missing or too many, or is named twice.
    """
    wanted = roles_of(plan)
    if missing := sorted({*wanted} - {*hosts}):
        raise RealError(f"{plan.scenario}: no server for {', '.join(missing)}; give --host {missing[0]}=user@HOST")
    if unknown := sorted({*hosts} - {*wanted}):
        raise RealError(
            f"{plan.scenario}: {', '.join(unknown)}: no end of a flow; these are: {', '.join(sorted(wanted))}"
        )
    names = [host.name for host in hosts.values()]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise RealError(f"{', '.join(twice)} is named for two ends; each is a host of its own")


def fleet_children(plan: Plan, hosts: Mapping[str, InventoryHost]) -> dict[str, Any]:
    """Groups of the inventory with their hosts: node → server."""
    children: dict[str, Any] = {group: {"hosts": {}} for group in GROUPS.values()}
    for node, role in roles_of(plan).items():
        own = hosts[node].variables(plan.ip_version, on_path=True) | {"landspeed_node": node}
        children[GROUPS[role]]["hosts"][hosts[node].name] = own
    addresses = [host["landspeed_address"] for group in children.values() for host in group["hosts"].values()]
    if twice := sorted({address for address in addresses if addresses.count(address) > 1}):
        raise RealError(f"{', '.join(twice)} is the address of two hosts; add ,address=IP to them, each its own")
    return children


def node_names(folder: Path) -> dict[str, str]:
    """Nodes of a fleet's plan → names of the hosts in its inventory.

    Raises:
        RealError: hosts.yml cannot be read.
    """
    groups = object_of(object_of(read_variables(folder / "hosts.yml").get("all")).get("children"))
    hosts = {
        name: object_of(own)
        for group in groups.values()
        for name, own in object_of(object_of(group).get("hosts")).items()
    }
    return {str(own["landspeed_node"]): str(name) for name, own in hosts.items() if "landspeed_node" in own}


def flow_figures(plan: Plan, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Each flow as the roles use it; a receiver's flows have ports in a row.

    Raises:
        RealError: an end has no host, or a receiver has too many flows.
    """
    found: list[dict[str, Any]] = []
    taken: dict[str, int] = {}
    for number, flow in enumerate(plan.flows, start=1):
        if missing := [end for end in (flow.source, flow.target) if end not in names]:
            raise RealError(f"{plan.scenario}: no host of the inventory has landspeed_node {missing[0]}")
        if flow.second_route is not None or flow.route_back is not None:
            raise RealError(
                f"{plan.scenario}: flow {flow.name} has a second route, or its answers have one of their own: real "
                "networks choose routes by themselves; leave it out"
            )
        port = ENGINE_PORT + taken.get(flow.target, 0)
        taken[flow.target] = taken.get(flow.target, 0) + 1
        if taken[flow.target] > MOST_FLOWS_AT_A_RECEIVER:
            raise RealError(f"{plan.scenario}: {flow.target} receives more than {MOST_FLOWS_AT_A_RECEIVER} flows")
        found.append(_figures(path_of(plan, flow), flow, names, number, port))
    return found


def _figures(path: Plan, flow: Flow, names: Mapping[str, str], number: int, port: int) -> dict[str, Any]:
    transfer = flow.transfer
    receive = receive_command(
        transfer.sample_interval_ns,
        samples="receiver.csv",
        json="receiver.json",
        bind="ADDRESS",
        port=port,
        stall_ns=transfer.stall_ns,
    )
    send = send_command(transfer, "PEER", samples="sender.csv", live="live.jsonl", json="engine.json", port=port)
    sender, receiver = names[flow.source], names[flow.target]
    unit = f"landspeed-{{{{ landspeed_side }}}}@{{{{ landspeed_attempt }}}}.{number}.service"
    family = "ip6" if path.ip_version == 6 else "ip"
    return {
        "name": flow.name,
        "number": number,
        "sender": sender,
        "receiver": receiver,
        "port": port,
        "start_s": flow.start_ns / 1e9,
        "rtt_ms": path.physics.rtt_ns / 1e6,
        "expected_goodput_bps": path.physics.expected_goodput_bps,
        "receive_options": shlex.join(receive[2:]).replace("ADDRESS", _address(receiver), 1),
        "send_options": shlex.join(send[2:]).replace("PEER", _address(receiver), 1),
        "door": f"    tcp dport {port} {family} saddr {_address(sender)} accept",
        "ended_by_restore": {"kind": "unit", "name": unit},
        "watch": {
            "name": flow.name,
            "unit": unit,
            "live": f"{{{{ '{ATTEMPTS}/' ~ landspeed_attempt ~ '.{number}/live.jsonl' if {SENDS} else '' }}}}",
            "peer": _address(receiver),
            "port": port,
        },
    }


def _address(host: str) -> str:
    return f"{{{{ hostvars['{host}'].landspeed_address }}}}"


def fleet_variables(plan: Plan, names: Mapping[str, str]) -> dict[str, Any]:
    """The figures of a fleet, as the roles use them; what a role asks of one path is that of a host's first flow.

    Raises:
        RealError: the scenario has what nobody can make of real paths.
    """
    flows = flow_figures(plan, names)
    paths = [plan_variables(path_of(plan, flow)) for flow in plan.flows]
    streams: dict[str, int] = {}
    for flow in plan.flows:
        for end in (flow.source, flow.target):
            streams[end] = streams.get(end, 0) + flow.transfer.streams
    figures = {
        **paths[0],
        "landspeed_plan_sha256": plan.sha256,
        "landspeed_streams": max(streams.values()),
        "landspeed_time_limit_s": max(
            path["landspeed_time_limit_s"] + int(flow["start_s"]) for path, flow in zip(paths, flows, strict=True)
        ),
        "landspeed_receive_options": "",
        "landspeed_send_options": "",
        "landspeed_side": f"{{{{ 'send' if {SENDS} else 'receive' }}}}",
        "landspeed_flows": flows,
        "landspeed_flows_here": (
            f"{{{{ landspeed_flows | selectattr('sender' if {SENDS} else 'receiver', 'equalto', inventory_hostname)"
            " | list }}"
        ),
        "landspeed_peers": (
            f"{{{{ landspeed_flows_here | map(attribute='receiver' if {SENDS} else 'sender') | unique"
            " | map('extract', hostvars, 'landspeed_address') | list }}"
        ),
        "landspeed_peer": "{{ landspeed_peers[0] }}",
        "landspeed_rtt_ms": "{{ landspeed_flows_here[0].rtt_ms }}",
        "deploy_table": (
            "{{ ['table inet landspeed {', '  chain input {',"
            " '    type filter hook input priority filter - 5; policy accept;']"
            f" + (landspeed_flows_here | map(attribute='door') | list if not {SENDS} else [])"
            f" + ['    tcp dport {ENGINE_PORT}-{LAST_PORT} drop', '  }}', '}}'] }}}}"
        ),
        "attempt_flows": "{{ landspeed_flows_here | map(attribute='watch') | list }}",
    }
    for name in ("landspeed_window_bytes", "landspeed_stream_bytes", "landspeed_rate_bps", "landspeed_bdp_bytes"):
        figures[name] = max((path[name] for path in paths if path[name] is not None), default=None)
    figures["landspeed_mtu_bytes"] = min(path["landspeed_mtu_bytes"] for path in paths)
    del figures["landspeed_figures_sha256"]
    return figures | {"landspeed_figures_sha256": figures_sha256(figures)}


def write_fleet(
    folder: Path, loaded: LoadedScenario, plan: Plan, hosts: Mapping[str, InventoryHost], *, again: bool = False
) -> None:
    """Write the inventory of a fleet.

    Args:
        folder: made if missing.
        loaded, plan: the scenario and its plan.
        hosts: node at an end of a flow → its server.
        again: write over an inventory that is there.

    Raises:
        RealError: it is there already, or a host is not usable or missing.
    """
    check_hosts(plan, hosts)
    children = fleet_children(plan, hosts)
    variables = fleet_variables(plan, {node: host.name for node, host in hosts.items()})
    write_files(folder, loaded, plan, (children, variables), again=again)
