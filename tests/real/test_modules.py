"""The plays' own modules on hardware that no test machine has: NICs with rings and queues, PCIe, NUMA, error counters.

What the kernel and ethtool say there is given as text, in the forms of ethtool(8) and of sysfs.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

from landspeed.worlds.real.runner import PLAYBOOKS
from tests.support import play_modules
from tests.support.real_modules import (
    RINGS,
    Host,
)

OFFLOADS = """Features for eth7:
tcp-segmentation-offload: off
	tx-tcp-segmentation: off
generic-receive-offload: on
rx-vlan-offload: on [fixed]
"""
COALESCING = """Coalesce parameters for eth7:
Adaptive RX: off  TX: on
rx-usecs:	50
rx-frames:	n/a
"""


# --- Rates -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5])
@pytest.mark.usefixtures("shared")
def test_stalls_of_the_box_do_not_change_the_rate_of_a_link(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames of a token bucket that made up for all of its stalls: late in the stalls, never before their time."""
    module = play_modules.library("landspeed_rates", monkeypatch)
    random = Random(7)
    due = [number * 0.00072 for number in range(500)]
    stalls: list[tuple[float, float]] = []
    while share and (not stalls or stalls[-1][1] < due[-1]):
        begin = (stalls[-1][1] if stalls else 0.0) + random.expovariate(share / 0.02) * (1 - share)
        stalls.append((begin, begin + random.uniform(0.005, 0.035)))
    times = [next((end for begin, end in stalls if begin <= at < end), at) for at in due]
    assert (sum(a != b for a, b in zip(times, due, strict=True)) > 0.5 * share * len(due)) is bool(share)
    assert module.seconds_each(times) == pytest.approx(0.00072, rel=1e-6)


@pytest.mark.usefixtures("shared")
def test_a_bucket_that_lost_tokens_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    module = play_modules.library("landspeed_rates", monkeypatch)
    times = [number * 0.00072 + (0.0005 * (number // 5)) for number in range(500)]
    assert module.seconds_each(times) == pytest.approx(0.00072 + 0.0001, rel=0.01)


# --- ethtool ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case",
    [
        ("ring", RINGS, {"rx": "max", "tx": "max"}, {"rx": "512", "tx": "4096"}, "ethtool -G eth7 rx 8192"),
        (
            "offload",
            OFFLOADS,
            {"tcp-segmentation-offload": "on", "generic-receive-offload": "on"},
            {"tcp-segmentation-offload": "off", "tx-tcp-segmentation": "off", "generic-receive-offload": "on"},
            "ethtool -K eth7 tcp-segmentation-offload on",
        ),
        (
            "coalesce",
            COALESCING,
            {"adaptive-rx": "on", "adaptive-tx": "on"},
            {"adaptive-rx": "off", "adaptive-tx": "on", "rx-usecs": "50"},
            "ethtool -C eth7 adaptive-rx on",
        ),
        (
            "pause",
            "Pause parameters for eth7:\nAutonegotiate:\ton\nRX:\t\ton\nTX:\t\toff\nRX negotiated: on\n",
            {"rx": "on", "tx": "on"},
            {"autoneg": "on", "rx": "on", "tx": "off", "rx negotiated": "on"},
            "ethtool -A eth7 tx on",
        ),
    ],
)
def test_a_nic_is_set_through_ethtool_where_it_differs(
    shared: dict[str, ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[str, str, dict[str, str], dict[str, str], str],
) -> None:
    """And is put back the same way."""
    kind, shown, asked, present, command = case
    commands: list[str] = []
    kinds = shared["kinds"]
    monkeypatch.setattr(shared["kinds_nic"], "run", lambda *words: commands.append(" ".join(words)) or shown)
    setting = kinds.KINDS[kind]
    assert setting.read("eth7") == present
    wanted = setting.wanted("eth7", asked)
    commands.clear()
    setting.write("eth7", wanted)
    assert commands[-1] == command
    changed = {key: value for key, value in wanted.items() if present[key] != value}
    monkeypatch.setattr(setting, "read", lambda _: present | changed)
    setting.write("eth7", {key: present[key] for key in wanted})
    (back,) = [each for each in commands if each.split()[1] in ("-G", "-K", "-C", "-A")][1:]
    (key,) = changed
    assert back == command.rpartition(" ")[0].rpartition(" ")[0] + f" {key} {present[key]}"


# --- Preflight -------------------------------------------------------------------------------------------------------


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host."""
    return Host(tmp_path)


@pytest.fixture
def examine(shared: dict[str, ModuleType], host: Host, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Examines the host as it is then: its findings by check, and its NIC."""
    module = play_modules.library("landspeed_preflight", monkeypatch)
    for each in (
        module,
        *(shared[name] for name in ("preflight_nic", "preflight_machine", "kinds_nic", "findings", "tracking")),
    ):
        monkeypatch.setattr(each, "Path", host.path, raising=False)
        monkeypatch.setattr(each, "run", host.run, raising=False)

    def call(**more: Any) -> tuple[dict[str, tuple[str, str]], dict[str, Any]]:
        wanted = {
            "interface": "",
            "numa_node": -1,
            "peer": "192.0.2.2",
            "mtu_bytes": 9000,
            "rate_bps": 10**10,
            "memory_bytes": 10**9,
            "congestion_control": "cubic",
            "libraries": ["libcjson.so.1"],
            "clock": {"offset_s": 0.2, "within_s": 0.05},
            "with_path": False,
        }
        examination = module.Examination(wanted | more)
        examination.examine()
        return {each["check"]: (each["state"], each["found"]) for each in examination.findings}, examination.nic

    return call


def test_preflight_reads_the_nic_and_what_is_near_it(examine: Any, host: Host) -> None:
    findings, nic = examine()
    assert (nic["name"], nic["driver"], nic["numa_node"], nic["cpumask"]) == ("eth7", "mlx5_core", 1, "100,0000ff00")
    assert nic["irqs"] == ["eth7 0", "eth7 1"]
    assert [Path(each).name for each in (*nic["rx_queues"], *nic["tx_queues"])] == ["rx-0", "rx-1", "tx-0"]
    assert findings["speed"] == ("pass", "10000 Mbit/s")
    assert findings["pcie"] == ("pass", "x8 at 8.0 GT/s PCIe: 63 Gbit/s")
    assert findings["rings"] == ("warn", "rx 512")
    assert findings["memory"] == ("pass", "32.77 GB available")
    assert findings["clock"][0] == findings["libraries"][0] == findings["congestion control"][0] == "pass"
    assert findings["tcp options"] == ("warn", "off: tcp_sack")


@pytest.mark.parametrize("name", ["bond0.100", "br0"])
def test_a_vlan_a_bond_and_a_bridge_are_walked_down_to_their_nics(examine: Any, host: Host, name: str) -> None:
    """As the kernel links them in sysfs; a port of a bridge that is no NIC stays what it is."""
    net = "sys/class/net"
    for upper, lower in (
        ("bond0.100", "bond0"),
        ("bond0", "eth7"),
        ("bond0", "eth8"),
        ("br0", "bond0"),
        ("br0", "tap1"),
    ):
        host.write(f"{net}/{upper}/lower_{lower}/mtu", "9000")
    for each in ("bond0.100", "bond0", "eth8", "tap1", "br0"):
        host.write(f"{net}/{each}/operstate", "up")
        host.write(f"{net}/{each}/mtu", "9000")
    host.write(f"{net}/eth8/device/numa_node", "0")
    host.write(f"{net}/eth8/device/msi_irqs/55/x", "")
    host.write(f"{net}/eth8/statistics/rx_crc_errors", "5")
    host.write(f"{net}/eth8/queues/tx-0/x", "")
    host.write(f"{net}/eth8/speed", "10000")
    host.write(f"{net}/eth8/device/current_link_width", "1")
    host.write(f"{net}/eth8/device/current_link_speed", "8.0 GT/s PCIe")
    host.write("sys/devices/system/node/node0/cpulist", "0-7")
    host.said |= {"ip -o route get": f"192.0.2.2 dev {name} src 192.0.2.1 uid 0", "ethtool -g eth8": RINGS}
    findings, nic = examine(rate_bps=2 * 10**10)
    assert (nic["name"], nic["cards"], nic["driver"]) == (name, ["eth7", "eth8"], "mlx5_core")
    assert nic["devices"] == ["eth7", "eth8", "bond0", name]
    assert (nic["irqs"], nic["errors"], nic["cpumask"]) == (["eth7 0", "eth7 1", "eth8 0"], 12, "100,0000ffff")
    assert [each.split("/")[-3] for each in nic["tx_queues"]] == ["eth7", "eth8"]
    assert findings["speed"] == ("pass", "20000 Mbit/s")
    assert (findings["pcie of eth7"][0], findings["pcie of eth8"][0]) == ("pass", "warn")
    assert findings["rings of eth7"] == findings["rings of eth8"] == ("warn", "rx 512")
    host.write(f"{net}/eth8/operstate", "down")
    assert examine()[0]["link of eth8"] == ("warn", "down")


def test_addresses_that_are_swapped_are_named(examine: Any, host: Host) -> None:
    host.said["ip -o route get"] = "local 192.0.2.2 dev lo table local src 192.0.2.2 uid 0"
    findings, nic = examine()
    assert nic is None
    assert findings["route"] == ("fail", "192.0.2.2, the peer's address, is this host's own")


def test_another_numa_node_can_be_named(examine: Any, host: Host) -> None:
    """A firmware may tell a wrong one; landspeed_numa_node in host_vars says which it is."""
    host.write("sys/devices/system/node/node0/cpulist", "0-7")
    _, nic = examine(numa_node=0)
    assert (nic["numa_node"], nic["cpumask"]) == (0, "ff")


@pytest.mark.parametrize(
    ("name", "text", "finding"),
    [
        ("speed", "1000", ("speed", "fail")),
        ("operstate", "down", ("link", "fail")),
        ("mtu", "1500", ("mtu", "warn")),
        ("device/current_link_width", "1", ("pcie", "warn")),
    ],
)
def test_preflight_says_what_is_too_little(
    examine: Any, host: Host, name: str, text: str, finding: tuple[str, str]
) -> None:
    host.write(f"sys/class/net/eth7/{name}", text)
    check, state = finding
    assert examine()[0][check][0] == state


def test_preflight_says_what_is_missing(examine: Any, host: Host) -> None:
    findings, _ = examine(
        interface="eth9",
        libraries=["liburing.so.2"],
        memory_bytes=10**12,
        clock={"offset_s": -60.0, "within_s": 0.1},
    )
    assert findings["interface"] == ("fail", "no eth9")
    assert findings["libraries"] == ("fail", "missing: liburing.so.2")
    assert findings["memory"][0] == findings["clock"][0] == "fail"


# --- Tune ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("shared")
def test_tune_computes_its_settings_from_plan_and_nic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Buffers from the window, affinity from the NIC's queues and interrupts, the governor of each processor."""
    nic = {
        "name": "bond0",
        "devices": ["eth7", "bond0"],
        "cards": ["eth7"],
        "cpumask": "ff00",
        "rx_queues": ["/sys/class/net/eth7/queues/rx-0"],
        "irqs": ["eth7 0", "eth7 1"],
        "irq_masks": ["100", "200"],
        "governors": ["/sys/devices/system/cpu/cpu8/cpufreq/scaling_governor"],
    }
    plan = {"landspeed_rtt_ms": 528.0, "landspeed_streams": 2, "landspeed_rate_bps": 10**10}
    asked = {"tune_fq_maxrate_bps": 2 * 10**9, "tune_big_tcp_bytes": 150000, "tune_notrack": True}
    items = _told(tmp_path, "tune_settings", {"tune_nic": nic, **plan, **asked})
    module = play_modules.library("landspeed_settings", monkeypatch)
    found = {f"{item['kind']} {item['name']}": item["value"] for item in module.one_by_one(items)}
    assert not [item for item in items if not re.search(r"\(.+\)$", item["why"])]  # each with a source
    window = 330_000_000
    expected = {
        "sysctl net.core.rmem_max": 2 * window,
        "sysctl net.core.wmem_max": 2 * window,
        "sysctl net.ipv4.tcp_rmem": f"4096 131072 {2 * window}",
        "sysctl net.ipv4.tcp_wmem": f"4096 16384 {2 * window}",
        "sysctl net.ipv4.tcp_mem": " ".join([str(-(-8 * 2 * window // 4096))] * 3),
        "sysctl net.core.netdev_max_backlog": 250000,
        "sysctl net.core.optmem_max": 1 << 20,
        "sysctl net.core.default_qdisc": "fq",
        "sysctl net.ipv4.tcp_congestion_control": "cubic",
        "sysctl net.ipv4.tcp_mtu_probing": 1,
        "mtu eth7": 9000,
        "mtu bond0": 9000,
        "qdisc eth7": ["each queue: fq limit 100000 flow_limit 100000 maxrate 2000000000bit"],
        "ring eth7": {"rx": "max", "tx": "max"},
        "coalesce eth7": {"adaptive-rx": "on", "adaptive-tx": "on"},
        "pause eth7": {"rx": "on", "tx": "on"},
        "link_sizes eth7": {f"{each}_max_size": 150000 for each in ("gso", "gro", "gso_ipv4", "gro_ipv4")},
        "unit irqbalance.service": {"ActiveState": "inactive"},
        "irq eth7 0": "100",
        "irq eth7 1": "200",
        "cpumask /sys/class/net/eth7/queues/rx-0/rps_cpus": "ff00",
        "sysfs /sys/devices/system/cpu/cpu8/cpufreq/scaling_governor": "performance",
        "sysfs /sys/kernel/mm/transparent_hugepage/enabled": "always",
    }
    assert found.pop("offload eth7")["large-receive-offload"] == "off"
    assert "    tcp sport 5201 notrack" in found.pop("nft_table inet landspeed_notrack")
    plain = {"tcp_window_scaling": 1, "tcp_timestamps": 1, "tcp_sack": 1, "tcp_no_metrics_save": 1}
    plain |= {"tcp_slow_start_after_idle": 0}
    expected |= {f"sysctl net.ipv4.{name}": value for name, value in plain.items()}
    assert {key: str(value) for key, value in found.items()} == {key: str(value) for key, value in expected.items()}


@pytest.mark.slow
def test_what_not_every_host_is_the_better_for_is_not_set_unasked(tmp_path: Path) -> None:
    """Small frames, a NIC with several receive queues, no word about options: they are named, with their sources."""
    nic = {"devices": ["eth7"], "cards": ["eth7"], "rx_queues": ["a", "b"], "irqs": [], "irq_masks": []}
    nic |= {"cpumask": "ff", "governors": []}
    told = "{'settings': tune_settings, 'left': tune_left}"
    found = _told(tmp_path, told, {"tune_nic": nic, "tune_mtu_bytes": 1500, "tune_rate_bps": 10**9, "tune_rtt_ms": 8})
    values = {item["name"]: item["value"] for item in found["settings"] if "name" in item}
    assert (values["net.ipv4.tcp_mtu_probing"], values["net.ipv4.tcp_rmem"]) == (0, "4096 131072 2000000")
    assert "inet landspeed_notrack" not in values
    assert {item["kind"] for item in found["settings"] if item.get("names") == []} == {
        *("link_sizes", "irq", "cpumask", "sysfs")
    }
    options = ["tune_fq_maxrate_bps", "tune_big_tcp_bytes", "tune_notrack", "tune_persistent"]
    assert [each.partition(": ")[0] for each in found["left"]] == options
    assert not [each for each in found["left"] if not re.search(r"\(.+\)$", each)]


def _told(folder: Path, expression: str, variables: dict[str, Any]) -> Any:
    """What an expression of the role tune's variables is."""
    play = {
        "hosts": "localhost",
        "gather_facts": False,
        "vars_files": [str(PLAYBOOKS / "roles" / "tune" / "defaults" / "main.yml")],
        "tasks": [{"copy": {"content": f"{{{{ ({expression}) | to_json }}}}", "dest": str(folder / "told.json")}}],
    }
    (folder / "play.yml").write_text(json.dumps([play]))
    done = subprocess.run(
        [
            Path(sys.executable).parent / "ansible-playbook",
            "-i",
            "localhost,",
            "-c",
            "local",
            "-e",
            json.dumps(variables),
            folder / "play.yml",
        ],
        env={
            **os.environ,
            "ANSIBLE_CONFIG": str(PLAYBOOKS / "ansible.cfg"),
            "ANSIBLE_LOCAL_TEMP": str(folder),
            "ANSIBLE_REMOTE_TMP": str(folder / "remote"),  # another user's, or another worker's, may be there
        },
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((folder / "told.json").read_text())


# --- Progress of an attempt ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "alarm"), [(7, ""), (6, "the NIC eth7 counts 1 errors since the start. Remedy: cable and optics")]
)
@pytest.mark.usefixtures("shared")
def test_errors_of_the_nic_are_an_alarm(host: Host, monkeypatch: pytest.MonkeyPatch, before: int, alarm: str) -> None:
    """Those that were there before are none."""
    module = play_modules.library("landspeed_progress", monkeypatch)
    said: dict[str, Any] = {}
    host.said["systemctl show"] = "ActiveState=active\nExecMainStatus=0\nResult=success"
    monkeypatch.setattr(module, "Path", host.path)
    monkeypatch.setattr(module, "run", host.run)

    class Module:
        """As much of AnsibleModule as is used."""

        params = {"unit": "u", "live": "/live", "interface": "eth7", "errors_before": before, "peer": ""}  # noqa: RUF012

        def __init__(self, **_: Any) -> None:
            """Take what the real one takes."""

        def exit_json(self, **result: Any) -> None:
            """The module's last words."""
            said.update(result)

    monkeypatch.setattr(module, "AnsibleModule", Module)
    module.main()
    assert json.dumps(said)
    assert said["alarm"].startswith(alarm) and bool(said["alarm"]) is bool(alarm)
    assert (said["ended"], said["errors"]) == (False, 7)
