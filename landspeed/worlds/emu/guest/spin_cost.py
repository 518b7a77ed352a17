"""Programs that spin while they wait: what of virtual time they take, if they are to take some (patch 0018)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from landspeed.worlds.emu.guest.network.network import Network

PARAMETERS = "/sys/module/spin/parameters"


def let_time_pass(cost_ns: int) -> None:
    """Set the virtual time that each system call of a spinning program takes from now on; 0: none, as at the start."""
    if cost_ns:
        with open(f"{PARAMETERS}/cost_ns", "w") as handle:  # noqa: PTH123
            handle.write(str(cost_ns))


def spun(network: Network) -> list[dict[str, Any]]:
    """List the programs that spun, where, and the time that passed for them, in the order in which they began to."""
    names = {os.fstat(node.namespace).st_ino: node.name for node in network.nodes}
    with open(f"{PARAMETERS}/told") as handle:  # noqa: PTH123
        lines = [line.rstrip("\n").split(" ", 3) for line in handle]
    return [
        {"node": names.get(int(inode), "?"), "program": program, "passed_ns": int(passed_ns), "calls": int(calls)}
        for inode, passed_ns, calls, program in lines
    ]
