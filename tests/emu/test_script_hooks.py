"""What every Python of a Mininet script begins with (hooks/sitecustomize.py), here on this machine."""

import os
import subprocess
import sys

import pytest

from landspeed.worlds.emu.guest.script.changes import connected_bridges
from landspeed.worlds.emu.mininet import HOOKS


@pytest.mark.parametrize(("prefix", "found"), [(sys.prefix, True), ("/home/somebody/environment", False)])
def test_only_landspeeds_own_python_has_the_distributions_packages(prefix: str, *, found: bool) -> None:
    told = subprocess.run(
        [sys.executable, "-c", "import sys; print(sys.path[-1])"],
        env={
            **os.environ,
            "PYTHONPATH": str(HOOKS),
            "LANDSPEED_MORE_PACKAGES": f"{prefix}:/usr/lib/python3/dist-packages",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert (told.stdout.strip() == "/usr/lib/python3/dist-packages") == found


def test_bridges_are_connected_by_what_open_vswitch_tells_of_their_controllers() -> None:
    """As `ovs-vsctl -f json` of 3.1 prints it: one controller is a value, none and several are sets."""
    two = '["set",[["uuid","b"],["uuid","c"]]]'
    bridges = f'{{"headings":["name","controller"],"data":[["s1",["uuid","a"]],["s2",{two}],["s3",["set",[]]]]}}'
    controllers = '{"headings":["_uuid","is_connected"],"data":[[["uuid","a"],%s],[["uuid","b"],%s],[["uuid","c"],%s]]}'
    told = f"{bridges}\r\n{controllers}\r\n"
    assert connected_bridges(told % ("true", "false", "false")) == {"s1": True, "s2": False, "s3": False}
    assert connected_bridges(told % ("false", "false", "true")) == {"s1": False, "s2": True, "s3": False}
    assert connected_bridges("ovs-vsctl: unix:/run/openvswitch/db.sock: database connection failed\r\n") == {}
