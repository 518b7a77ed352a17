"""Lines that pad: cells of ATM, PTM and a least size, counted as Linux's CAKE counts, in both worlds."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from landspeed.base import limits
from landspeed.cli import main as cli
from landspeed.results.bundle import load_record
from landspeed.results.flow_result import FlowResult
from landspeed.scenario.file.load import build_scenario
from landspeed.scenario.plan.plan import Link
from landspeed.worlds.registry import plan_for
from tests.support.command import landspeed
from tests.support.scenario_errors import refused

OVERHEADS = {  # tc-cake(8), "Overhead compensation parameters"
    "ipoa-vcmux": (8, "atm"), "ipoa-llcsnap": (16, "atm"), "bridged-vcmux": (24, "atm"),
    "bridged-llcsnap": (32, "atm"), "pppoa-vcmux": (10, "atm"), "pppoa-llc": (14, "atm"), "pppoe-vcmux": (32, "atm"),
    "pppoe-llcsnap": (40, "atm"), "conservative": (48, "atm"), "pppoe-ptm": (30, "ptm"), "bridged-ptm": (22, "ptm"),
    "docsis": (18, None),
}  # fmt: skip
KINDS = ("pppoe-vcmux", "pppoe-ptm", "docsis")
SIZES = (96, 500, 1492)
LINE, SECONDS = 8e6, 4
PAIR = """\
format: 1
name: pair
title: two hosts
line_rate: 1 Gbit/s
hosts: {s: {role: sender}, r: {role: receiver}}
path: [{from: s, to: m, one_way_delay: 1 ms}, {from: m, to: r, one_way_delay: 1 ms}]
transfer: {duration: 1 s}
"""


def line(framing: str) -> Link:
    ends = {"hosts": {"s": {"role": "sender"}, "r": {"role": "receiver"}}}
    path = [{"from": "s", "to": "m", "one_way_delay": "1 ms"}]
    path.append({"from": "m", "to": "r", "one_way_delay": "1 ms", "framing": framing})
    whole: dict[str, Any] = {"format": 1, "name": "s", "title": "s", "line_rate": "8 Mbit/s", "path": path} | ends
    return plan_for(build_scenario(whole | {"transfer": {"duration": "1 s"}}), "emu").links[1]


@pytest.mark.parametrize("framing", OVERHEADS)
def test_a_line_takes_what_the_manual_page_says(framing: str) -> None:
    made, (overhead, cells) = line(framing), OVERHEADS[framing]
    for size in range(20, 1501):
        whole = max(size + overhead, 64 if framing == "docsis" else 0)
        wanted = {"atm": (whole + 47) // 48 * 53, "ptm": whole + (whole + 63) // 64, None: whole}[cells]
        assert made.line_bytes(size) == wanted
    assert made.forward.can_queue and made.reverse.can_queue  # small packets may fill it


def test_figures_that_everybody_knows() -> None:
    assert [line("pppoe-vcmux").line_bytes(size) for size in (40, 1492, 1500)] == [2 * 53, 32 * 53, 32 * 53]
    assert line("ipoa-vcmux").line_bytes(40) == 53  # a bare acknowledgment in one cell
    assert line("docsis").line_bytes(40) == 64
    assert line("ethernet").line_bytes(1500) == 1538


def scenario() -> dict[str, Any]:
    """For each framing and size a way with datagrams alone, and for each framing one that is full, and one of TCP."""
    links: list[dict[str, Any]] = []
    flows: list[dict[str, Any]] = []
    for framing in KINDS:
        for number, size in enumerate((*SIZES, 700, 0)):
            name = f"{framing}-{size or 'tcp'}"
            links.append({"from": f"s{len(flows)}", "to": f"m{len(flows)}", "line_rate": "100 Mbit/s"})
            links.append({"from": f"m{len(flows)}", "to": f"d{len(flows)}", "framing": framing, "mtu": "1492 B"})
            links[-1] |= {"queue": f"{20 * 1492} B"}
            ends = {"name": name, "from": f"s{len(flows)}", "to": f"d{len(flows)}"}
            rate = {3: "10 Mbit/s"}.get(number, "400 kbit/s")
            flows.append(ends | ({"protocol": "udp", "packet": f"{size} B", "rate": rate} if size else {}))
    whole = {"format": 1, "name": "cells", "title": "cells", "line_rate": "8 Mbit/s", "flows": flows}
    links = [{"one_way_delay": "5 ms", **link} for link in links]
    return whole | {"links": links, "transfer": {"duration": f"{SECONDS} s"}}


@pytest.fixture(scope="module", params=["sim", pytest.param("emu", marks=pytest.mark.guest)])
def flows(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, FlowResult]:
    folder = tmp_path_factory.mktemp("cells")
    (folder / "s.yaml").write_text(json.dumps(scenario()))
    asked = ["run", str(folder / "s.yaml"), "--world", request.param, "--quiet", "--out", str(folder / "runs")]
    assert cli.main(asked) == 0
    (bundle,) = (folder / "runs").iterdir()
    record = load_record(bundle)
    assert all(flow.calibration and flow.calibration.passed for flow in record.flows)
    return {flow.name: flow for flow in record.flows}


@pytest.mark.slow
@pytest.mark.parametrize("framing", KINDS)
def test_a_packet_takes_its_cells_time(flows: dict[str, FlowResult], framing: str) -> None:
    for size in SIZES:
        takes_ms = 10 + (size + 38) * 8e3 / 100e6 + line(framing).line_bytes(size) * 8e3 / LINE
        assert flows[f"{framing}-{size}"].udp_delay_p50_ms == pytest.approx(takes_ms, rel=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("framing", KINDS)
def test_a_full_line_carries_packets_in_cells(flows: dict[str, FlowResult], framing: str) -> None:
    flow, stream = flows[f"{framing}-700"], flows[f"{framing}-tcp"]
    carried = SECONDS * LINE / 8 / line(framing).line_bytes(700)
    held = 20 * 1492 / 700
    assert flow.udp_received == pytest.approx(carried + held, abs=6)  # Linux's queue counts what they take of the line
    assert flow.limited_by == limits.LINE_RATE
    allowed = LINE * 1440 / line(framing).line_bytes(1492)
    assert stream.settled_goodput_bps == pytest.approx(allowed, rel=0.02)
    assert stream.limited_by == limits.LINE_RATE


@pytest.mark.guest
def test_cake_counts_the_same(tmp_path: Path) -> None:
    """The kernel's own account in the guest: the least and the greatest that CAKE made of packets of 28 and 1492 B."""
    script = "for kind in " + " ".join(OVERHEADS) + "; do tc qdisc replace dev eth1 root cake bandwidth 1gbit $kind; "
    script += "ping -q -c 1 -s 0 10.0.0.6 >/dev/null; ping -q -c 1 -s 1464 10.0.0.6 >/dev/null; "
    script += "echo $kind $(tc -s qdisc show dev eth1 | grep overhead-adjusted); done"
    (tmp_path / "s.yaml").write_text(PAIR)
    done = landspeed("exec", tmp_path / "s.yaml", "--at", "s", "--", "sh", "-c", script)
    told = dict(re.findall(r"^(\S+) .*size:\s+(\d+\s*/\s*\d+)$", done.stdout, re.MULTILINE))
    assert told.keys() == OVERHEADS.keys(), done.stdout + done.stderr
    for framing, sizes in told.items():
        least, most = map(int, sizes.split("/"))
        assert (least, most) == (line(framing).line_bytes(28), line(framing).line_bytes(1492)), framing


def test_what_a_table_of_sizes_does_not_hold_is_refused(tmp_path: Path) -> None:
    whole = scenario()
    whole["links"][1]["mtu"] = "9500 B"
    (tmp_path / "s.yaml").write_text(json.dumps(whole))
    assert "write at most 9180 B" in refused(tmp_path / "s.yaml")
    (tmp_path / "s.yaml").write_text(json.dumps(scenario() | {"fidelity": "super-packets"}))
    assert "write fidelity: packets" in refused(tmp_path / "s.yaml")
