"""Routers that send a packet where the one before went (patch 0033) send none where Linux would not.

The figures are also those of a host's Linux without the patch: `unshare -nm`, a tmpfs at /run/netns, and the program.
"""

import json
from pathlib import Path

import pytest

from tests.support.emu_fixtures import execute, plan_of
from tests.support.emu_seccomp import PLAIN
from tests.support.places import PROGRAMS

pytestmark = pytest.mark.guest

TO_B, TO_C, TO_NONE = [3, 0], [0, 3], [0, 0]
RULES = ("from 10.1.0.2", "iif to_a", "tos 0x10", "ipproto icmp")


def test_a_packet_goes_where_the_tables_say_now(tmp_path: Path) -> None:
    shown = execute(plan_of(tmp_path, PLAIN), tmp_path / "run", "python3", str(PROGRAMS / "forwarding.py"))
    assert (shown.status, shown.err) == (0, "")
    assert json.loads(shown.out) == {
        "first": TO_B,
        "another route": TO_C,
        **dict.fromkeys(RULES, TO_B),
        "another tos": TO_C,
        **{f"no more {rule}": TO_C for rule in RULES},
        "from nowhere": TO_C,
        "from nowhere, filtered": TO_NONE,
        "filtered": TO_C,
        "from the router's own address": TO_NONE,
        "no more its own": TO_C,
        "no router": TO_NONE,
        "a router again": TO_C,
        "too large": TO_NONE,
        "a black hole": TO_NONE,
        "its link is down": TO_NONE,
        "its link is up": TO_C,
        "the router's own": TO_NONE,
        "another router": TO_B,
        "no interface": TO_NONE,
    }
