"""What an operator found wrong with `landspeed real` of 5dae4f8, D1 to D18: each has tests that hold it, by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FINDINGS = {
    "D1: host keys are not checked: the runner switches it off": "host_keys:every_play_refuses",
    "D2: no YAML is a success": "reached:a_file_that_is_no_yaml reached:a_play_that_missed_a_host",
    "D3: the gate reads another file than runs": "unchanged:an_edited_figure words:what_was_not_rehearsed_has",
    "D4: a port is open": "in_force:the_port_is_open driver:the_receiver_listens fleet_lab:no_stranger",
    "D5: an attempt begins without tuning and table": "in_force:an_attempt_looks lab:what_is_not_in_force",
    "D6: after a reboot stale values are written back": "settings:what_a_reboot_undid",
    "D7: nobody owns a host": "lab:somebody_else_gets_no_host settings:an_attempt_that_nobody_has_a_copy_of",
    "D8: masks are compared as text": "kinds:masks_of_processors",
    "D9: a root qdisc mq cannot be tuned": "settings:fq_is_below_mq kinds:the_kernel_takes",
    "D10: a bond, bridge or VLAN is no NIC": "modules:a_vlan_a_bond_and_a_bridge",
    "D11: an attempt that was made is made again, silently": "lab:idempotence in_force:an_attempt_looks",
    "D12: one fixed offload drops all": "settings:each_part_is_set_on_its_own",
    "D13: the clock's check measures the login": "looks:a_clock_is_as_far_off operator:the_clock_of_a_host",
    "D14: a wrong password and a missing Python are told as no sudo": "driver:failures_name looks:remedies_are",
    "D15: nothing says what could not be set": "settings:what_a_host_does_not_have kinds:the_kernel_takes",
    "D16: one host at both ends, swapped addresses": "driver:one_host_is_not_both modules:addresses_that_are_swapped",
    "D17: the page has no inventory of the lab": "",
    "D18: stop ends everybody's attempts": "lab:somebody_else_gets_no_host",
}
"""Finding → tests, as FILE:BEGINNING of the name."""


def test_they_are_all_here() -> None:
    assert [finding.partition(":")[0] for finding in FINDINGS] == [f"D{number}" for number in range(1, 19)]


@pytest.mark.parametrize("finding", FINDINGS)
def test_each_has_its_test(finding: str) -> None:
    for each in FINDINGS[finding].split():
        file, _, name = each.partition(":")
        found = re.findall(rf"^def test_{name}\w*\(", (HERE / f"test_{file}.py").read_text(), re.MULTILINE)
        assert len(found) == 1, each


def test_the_page_has_an_inventory_of_the_lab() -> None:
    """D17: its addresses and its ssh_config, and how a command is run on the operator's machine there."""
    page = (HERE.parent.parent / "docs" / "how-to" / "real-servers.md").read_text()
    assert "real inventory" in page and "tests.lab.lab run" in page and "address=10.78.1.2" in page
