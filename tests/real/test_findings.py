"""What an operator found wrong with `landspeed real` of 5dae4f8, D1 to D18: each has tests that hold it, by name.

They use what was not there then, so they are not run on that commit. What is wrong there, and why they fail there, is
shown by its files instead: a text that is there, or is missing (`-`), in a file of it.
"""

import re
import subprocess
from pathlib import Path

import pytest

from landspeed.base.places import ROOT

HERE = Path(__file__).parent
THEN = "5dae4f8"
KINDS, RUNNER = "playbooks/module_utils/landspeed_kinds.py", "playbooks/runner.py"
ATTEMPT, STATE = "playbooks/roles/attempt/tasks/main.yml", "playbooks/module_utils/landspeed_state.py"
FINDINGS = {
    "D1: host keys are not checked: the runner switches it off unless the plays' environment says so": (
        "host_keys:every_play_refuses",
        (RUNNER, "- ANSIBLE_HOST_KEY_CHECKING"),
    ),
    "D2: no YAML is a success: nobody compares the hosts of the account with those that were meant": (
        "reached:a_file_that_is_no_yaml reached:a_play_that_missed_a_host",
        (RUNNER, r"- not reached by any task|unparsed_failed|hosts: Collection"),
    ),
    "D3: the gate reads another file than runs: it knows the plan's digest alone": (
        "unchanged:an_edited_figure words:what_was_not_rehearsed_has",
        ("playbooks/gate.py", "- plan_variables|plan.yml"),
    ),
    "D4: a port is open: the table has a rule for packets of the peer's family alone": (
        "in_force:the_port_is_open driver:the_receiver_listens fleet_lab:no_stranger",
        ("playbooks/roles/deploy/templates/firewall.nft.j2", r"'ip6' if .* else 'ip' .* saddr != .* drop\n\t\}"),
    ),
    "D5: an attempt begins without tuning and table: it looks at the engine's hash and at the path": (
        "lab:what_is_not_in_force lab:check_mode_changes_nothing",
        (ATTEMPT, "- check_mode|firewall|nft"),
    ),
    "D6: after a reboot stale values are written back: the state does not know its boot": (
        "settings:what_a_reboot_undid",
        (STATE, "- boot"),
    ),
    "D7: nobody owns a host: the state has values alone": (
        "lab:somebody_else_gets_no_host settings:an_attempt_that_nobody_has_a_copy_of",
        (STATE, "- lease|owner"),
    ),
    "D8: masks are compared as text: no kind of setting reads them as numbers": (
        "kinds:masks_of_processors",
        (KINDS, r"- MaskSetting|, 16\)"),
    ),
    "D9: a root qdisc mq cannot be tuned: it is none of those that can be put back": (
        "settings:fq_is_below_mq kinds:the_kernel_takes",
        (KINDS, r'KNOWN = \("fq", "fq_codel", "pfifo", "bfifo", "pfifo_fast", "netem", "tbf"\)'),
    ),
    "D10: a bond, bridge or VLAN is no NIC: what has no device/ is virtual": (
        "modules:a_vlan_a_bond_and_a_bridge",
        ("playbooks/module_utils/landspeed_nic.py", 'exists\\(\\) else "virtual"'),
    ),
    "D11: an attempt that was made is made again, silently: its tasks are skipped": (
        "lab:idempotence",
        (ATTEMPT, "when: not attempt_made.stat.exists"),
    ),
    "D12: one fixed offload drops all: what is missing of the parts ends the whole setting": (
        "settings:each_part_is_set_on_its_own",
        ("playbooks/library/landspeed_settings.py", "raise Unavailable.*this driver has no"),
    ),
    "D13: the clock's check measures the login: one reading of each clock, at either end of it": (
        "looks:a_clock_is_as_far_off operator:the_clock_of_a_host",
        ("playbooks/library/landspeed_preflight.py", r'time\.time\(\) - self\.wanted\["controller_unix_s"\]'),
    ),
    "D14: a wrong password and a missing Python are told as no sudo: all that fails is": (
        "driver:failures_name looks:remedies_are",
        ("playbooks/roles/preflight/tasks/main.yml", r"usermod -aG sudo[\s\S]*preflight_root is failed"),
    ),
    "D15: nothing says what could not be set, nor that a kernel takes it: no test has one take a tree of qdiscs": (
        "settings:what_a_host_does_not_have kinds:the_kernel_takes",
        (KINDS, "- each queue"),
    ),
    "D16: one host at both ends, swapped addresses: each host is looked at alone": (
        "driver:one_host_is_not_both modules:addresses_that_are_swapped",
        ("playbooks/inventory.py", "- both|same host|twice"),
    ),
    "D17: the page has no inventory of the lab": ("", ("docs/how-to/real-servers.md", r"- 10\.78\.1\.2,|lab\.lab run")),
    "D18: stop ends everybody's attempts: all units of that kind": (
        "lab:somebody_else_gets_no_host",
        ("playbooks/stop.yml", r"systemctl stop landspeed-send@\*"),
    ),
}
"""Finding and its cause → tests, as FILE:BEGINNING of the name, and what a file of `THEN` has or (`-`) has not."""


def test_they_are_all_here() -> None:
    assert [finding.partition(":")[0] for finding in FINDINGS] == [f"D{number}" for number in range(1, 19)]


@pytest.mark.parametrize("finding", FINDINGS)
def test_each_has_its_test(finding: str) -> None:
    for each in FINDINGS[finding][0].split():
        file, _, name = each.partition(":")
        found = re.findall(rf"^def test_{name}\w*\(", (HERE / f"test_{file}.py").read_text(), re.MULTILINE)
        assert len(found) == 1, each


@pytest.mark.parametrize("finding", FINDINGS)
def test_it_was_so(finding: str) -> None:
    file, text = FINDINGS[finding][1]
    words = ["git", "-C", str(ROOT), "show", f"{THEN}:{file}"]
    shown = subprocess.run(words, capture_output=True, text=True, check=False)
    if "invalid object name" in shown.stderr:
        pytest.skip(f"a clone without the commit {THEN}")
    assert shown.returncode == 0, shown.stderr
    assert bool(re.search(text.removeprefix("- "), shown.stdout)) != text.startswith("- ")


def test_the_page_has_an_inventory_of_the_lab() -> None:
    """D17: its addresses and its ssh_config, and how a command is run on the operator's machine there."""
    page = (HERE.parent.parent / "docs" / "how-to" / "real-servers.md").read_text()
    assert "real inventory" in page and "tests.lab.lab run" in page and "address=10.78.1.2" in page
