"""Routers that send a packet where the one before went, and buckets that know how long they wait (patch 0033).

Neither does anything that Linux would not. Where packets go is also what a host's Linux without the patch says:
`unshare -nm`, a tmpfs at /run/netns, and the program.
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


def test_a_packet_leaves_a_bucket_when_its_figures_of_now_say_so(tmp_path: Path) -> None:
    """1000 B/s and 1100 B of depth: of 1000 B at 0 s and at 0.2 s, and 100 B or 1000 B at 0.4 s.

    Linux fills a bucket when its figures change, and looks at its queue when another packet comes.
    """
    shown = execute(plan_of(tmp_path, PLAIN), tmp_path / "run", "python3", str(PROGRAMS / "token_bucket.py"))
    assert (shown.status, shown.err) == (0, "")
    expected = {
        "nothing changes": [0, 700, 600],  # there are 1000 B at 0.9 s, and 100 B more at 1.0 s
        "a faster rate": [0, 200, 0.9],
        "a slower rate": [0, 200, 0],
        "another queue": [0, None, 500],
        "another head": [0, None, 0],
        "emptied": [0, None, 0],
    }
    found = json.loads(shown.out)
    assert found == {step: pytest.approx(values, abs=2) for step, values in expected.items()}
