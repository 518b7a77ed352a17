"""What `landspeed real` does before any host is touched: inventory, gate, shaping, comparison, the state file."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from landspeed.cli.main import main
from landspeed.results.bundle import BundleWriter
from landspeed.results.record import RunRecord
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.plan.plan import Plan
from landspeed.scenario.resolve.resolve import make_plan
from landspeed.worlds.emu.guest.shaping.packet_limit import packet_limit
from landspeed.worlds.real import inventory as inventory_module
from landspeed.worlds.real.beside_rehearsal import compare
from landspeed.worlds.real.errors import RealError
from landspeed.worlds.real.explanations import explain
from landspeed.worlds.real.inventory import InventoryHost, write_inventory
from landspeed.worlds.real.rehearsal_gate import pass_gate
from landspeed.worlds.real.shaping import shape_links
from landspeed.worlds.real.variables import read_variables
from tests.support.path_record import path_record
from tests.support.places import ROOT
from tests.support.real_fixtures import lab_scenario, write_lab_scenario

PLAYBOOKS = ROOT / "playbooks"
HOSTS = {
    "sender": InventoryHost.parse("anna@192.0.2.1"),
    "receiver": InventoryHost.parse("ben@192.0.2.2,interface=eth7,jump=j@192.0.2.9"),
}


def _plan(folder: Path, **change: Any) -> Plan:
    file = folder / "lab.yaml"
    file.write_text(json.dumps(lab_scenario() | change))
    return make_plan(load_scenario(file))


def _inventory(folder: Path) -> tuple[Path, Plan]:
    loaded = load_scenario(write_lab_scenario(folder / "lab.yaml"))
    plan = make_plan(loaded)
    write_inventory(folder / "inventory", loaded, plan, HOSTS)
    return folder / "inventory", plan


# --- Inventory -------------------------------------------------------------------------------------------------------


def test_the_inventory_has_the_plans_figures(tmp_path: Path) -> None:
    folder, plan = _inventory(tmp_path)
    variables = read_variables(folder / "group_vars" / "all" / "plan.yml")
    assert variables["landspeed_rtt_ms"] == 264.0
    assert variables["landspeed_window_bytes"] is None
    assert variables["landspeed_stream_bytes"] == 100e6 / 8 * 0.264 / 2
    assert variables["landspeed_streams"] == 2
    assert variables["landspeed_mtu_bytes"] == 9000
    assert variables["landspeed_bdp_bytes"] == 100e6 / 8 * 0.264
    assert variables["landspeed_plan_sha256"] == plan.sha256
    assert "--streams 2 --window auto --congestion reno --time 6" in variables["landspeed_send_options"]
    groups = read_variables(folder / "hosts.yml")["all"]["children"]
    assert groups["landspeed_receivers"]["hosts"]["192.0.2.2"] == {
        "ansible_host": "192.0.2.2",
        "ansible_user": "ben",
        "ansible_ssh_common_args": "-o ProxyJump=j@192.0.2.9",
        "landspeed_address": "192.0.2.2",
        "landspeed_interface": "eth7",
    }


def test_the_receiver_listens_at_its_address_and_waits_as_rehearsed(tmp_path: Path) -> None:
    transfer = lab_scenario()["transfer"] | {"stall": "90 s"}
    figures = inventory_module.plan_variables(_plan(tmp_path, transfer=transfer))
    words = figures["landspeed_receive_options"].split(" --")
    assert "bind {{ landspeed_address }}" in words
    assert "stall 90000000000ns" in words


def test_an_inventory_is_not_written_over_unasked(tmp_path: Path) -> None:
    folder, plan = _inventory(tmp_path)
    loaded = load_scenario(tmp_path / "lab.yaml")
    with pytest.raises(RealError, match="--again"):
        write_inventory(folder, loaded, plan, HOSTS)
    write_inventory(folder, loaded, plan, HOSTS, again=True)


@pytest.mark.parametrize(
    ("receiver", "said"),
    [
        ("ben@192.0.2.1", "192.0.2.1 is sender and receiver; each is a host of its own"),
        ("ben@gate,address=192.0.2.1", "192.0.2.1 is the address of both ends; add ,address=IP to them"),
    ],
)
def test_one_host_is_not_both_ends(tmp_path: Path, receiver: str, said: str) -> None:
    loaded = load_scenario(write_lab_scenario(tmp_path / "lab.yaml"))
    hosts = HOSTS | {"receiver": InventoryHost.parse(receiver)}
    with pytest.raises(RealError, match=said):
        write_inventory(tmp_path / "inventory", loaded, make_plan(loaded), hosts)
    assert not (tmp_path / "inventory").exists()


@pytest.mark.parametrize(
    "text", ["", "a b@host", "x@host,adress=1.2.3.4", "host,address=", "-oProxyCommand=x", "a@h;rm"]
)
def test_what_is_no_host_is_refused(text: str) -> None:
    with pytest.raises(RealError, match="the form is user@host"):
        InventoryHost.parse(text)


def test_a_host_whose_address_is_of_the_other_version_is_refused() -> None:
    with pytest.raises(RealError, match="IPv6 address on the path is not known; add ,address=IP"):
        InventoryHost.parse("192.0.2.1,address=192.0.2.1").variables(6, on_path=True)


def test_bad_words_end_with_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["real", "preflight", str(tmp_path)]) == 2
    assert "is not an inventory of landspeed; make one with `landspeed real inventory`" in capsys.readouterr().err


# --- Gate ------------------------------------------------------------------------------------------------------------


def _rehearse(runs: Path, plan: Plan, **change: Any) -> str:
    build, _ = inventory_module.engine_identity()
    fields = {
        "plan": plan.to_dict(),
        "passed": True,
        "tool_result": {"version": "1", "build": build},
    }
    bundle = BundleWriter(runs, plan.scenario)
    bundle.finish(path_record(plan.scenario, **(fields | change)))
    return bundle.name


def test_the_gate_lets_a_rehearsed_plan_through(tmp_path: Path) -> None:
    folder, plan = _inventory(tmp_path)
    name = _rehearse(tmp_path / "runs", plan)
    passage = pass_gate(folder, plan, tmp_path / "runs", None)
    assert passage.rehearsal is not None and passage.rehearsal.name == name
    assert read_variables(folder / "group_vars" / "all" / "rehearsal.yml")["landspeed_rehearsal"] == name


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"passed": False}, "did not pass"),
        ({"world": "sim"}, "there is no rehearsal of it"),
        ({"world": "real"}, "there is no rehearsal of it"),
        ({"tool": "iperf3"}, "there is no rehearsal of it"),
        ({"tool_result": {"build": "0000"}}, "another build of the engine"),
    ],
)
def test_the_gate_stops_and_says_what_to_run(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    folder, plan = _inventory(tmp_path)
    _rehearse(tmp_path / "runs", plan, **change)
    with pytest.raises(RealError, match=f"{why}.*Run: landspeed run .*lab.yaml --seed 1"):
        pass_gate(folder, plan, tmp_path / "runs", None)
    passage = pass_gate(folder, plan, tmp_path / "runs", "the beam is on")
    assert passage == type(passage)(None, "the beam is on")


def test_a_rehearsal_of_another_plan_is_none(tmp_path: Path) -> None:
    folder, plan = _inventory(tmp_path)
    other = _plan(tmp_path, transfer={"streams": 3, "congestion_control": "reno", "duration": "3 s"})
    _rehearse(tmp_path / "runs", other)
    with pytest.raises(RealError, match="rehearsed another plan of lab"):
        pass_gate(folder, plan, tmp_path / "runs", None)


# --- Shaping, explanations, comparison -------------------------------------------------------------------------------


def test_the_shaped_path_has_the_plans_qdiscs_on_every_link(tmp_path: Path) -> None:
    links = [
        {"from": "alpha", "to": "r1", "one_way_delay": "60 ms", "line_rate": "10 Gbit/s", "loss": "1 %"},
        {"from": "r1", "to": "r2", "one_way_delay": "72.5 ms", "jitter": "1 ms", "reverse": {"loss": "2 %"}},
        {"from": "r2", "to": "omega", "one_way_delay": "250 ns", "discipline": "fq_codel"},
    ]
    plan = _plan(tmp_path, path=links)
    first, middle, last = shape_links(plan)
    limit = [packet_limit(plan, link, forward=True) for link in plan.links]
    # No slower line is before the first link: it cannot queue, and netem has the rate.
    assert first["forward"] == [
        f"root handle 1: netem limit {limit[0]} delay 60000us loss 1% rate 10000000000bit 24",
    ]
    # One packet of 9000 B and its headers, and a millisecond of 12.5 MB/s.
    bucket = (
        f"tbf rate 100000000bit burst {9100 + 12 + 12500} limit {plan.links[1].forward.queue_bytes + 9014} overhead 24"
    )
    assert middle["forward"] == [
        f"root handle 1: netem limit {limit[1]} delay 72500us 1000us rate 8000000000000000bit",
        f"parent 1:1 handle 2: {bucket}",
    ]
    assert middle["reverse"] == [
        f"root handle 1: netem limit {packet_limit(plan, plan.links[1], forward=False)} delay 72500us 1000us loss 2% "
        "rate 100000000bit 24"
    ]
    assert (middle["name"], middle["forward_bps"]) == ("link 2 (r1 – r2)", pytest.approx(100e6 * 9000 / 9038))
    assert (first["jitter_ms"], middle["jitter_ms"]) == (0.0, 1.0)
    assert (first["rtt_ms"], middle["rtt_ms"], last["mtu_bytes"]) == (120.0, 145.0, 9000)
    assert last["forward"][0].split(" delay ")[1].startswith("0.25us")


def test_a_box_of_late_timers_has_deeper_buckets(tmp_path: Path) -> None:
    plan = _plan(tmp_path)
    line = shape_links(plan, 50_000_000)[1]["forward"][-1]
    assert f" burst {9100 + 12 + 625_000} limit " in line
    wrong = r"link 1, r1–r2: timers that are 200 ms late need a bucket of 2500000 bytes.* at most 168 ms"
    with pytest.raises(RealError, match=wrong):
        shape_links(plan, 200_000_000)


def test_events_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    down = {"at": "1 s", "down": "1 s", "between": ["alpha", "r1"]}
    file.write_text(json.dumps(lab_scenario() | {"events": [down]}))
    loaded = load_scenario(file)
    with pytest.raises(RealError, match="has events, which are not possible on a real path"):
        write_inventory(tmp_path / "inventory", loaded, make_plan(loaded), HOSTS)


@pytest.mark.parametrize(
    ("message", "unreachable", "words"),
    [
        ("ssh: connect to host h port 22: No route to host", True, "cannot be reached over ssh"),
        ("otto@h: Permission denied (publickey).", True, "ssh-copy-id"),
        ("Host key verification failed.", True, "ssh-keygen -R h"),
        ("Missing sudo password", False, "allow sudo"),
        ("Incorrect sudo password", False, "the password for sudo is wrong"),
        (
            "The module interpreter '/usr/bin/python3.99' was not found.",
            False,
            "there is no /usr/bin/python3.99. Remedy: in",
        ),
        ("/bin/sh: 1: /usr/bin/python3: not found", False, "there is no /usr/bin/python3. Remedy: install"),
    ],
)
def test_failures_name_host_and_remedy(message: str, unreachable: bool, words: str) -> None:
    text = explain("h", {"msg": message}, unreachable=unreachable)
    assert text.startswith("h: ") and words in text and "Remedy: " in text


def _record(goodput: float, **more: Any) -> RunRecord:
    engine = {
        "bytes_retransmitted": more.pop("again", 0),
        "cpu": {"sender": {"user_s": 0.1, "system_s": more.pop("busy_s", 1.0)}},
    }
    fields = {
        "goodput_bps": goodput,
        "bytes": 10**9,
        "duration_s": 10.0,
        "rtt_ms": 264.0,
        "tool_result": engine,
    }
    window = {"advertised_bytes": 3_000_000}
    return path_record("lab", **(fields | {"window": window, "streams": [{"stream": 0}]} | more))


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"again": 10**7}, "loss: 1.00e-02 of the bytes"),
        ({"rtt_ms": 290.0}, "RTT: 290.00 ms, 264.00 ms"),
        ({"window": {"asked_bytes": 10**6, "advertised_bytes": 1_500_000}}, "window: advertised 1.50 MB, 3.00 MB"),
        (
            {"streams": [{"stream": 0, "rwnd_limited_us": 2_000_000}]},
            "window: TCP waited for the receiver's window 20.0% of the time, 0.0% in the rehearsal",
        ),
        ({"busy_s": 9.0}, "sender processor: 91% of a core"),
        ({}, "neither loss, RTT, window nor the hosts' processors explain it"),
    ],
)
def test_the_comparison_names_the_limit(more: dict[str, Any], reason: str) -> None:
    verdict = compare(_record(100e6), _record(80e6, **more))
    assert verdict.ok is None and "(-20.0%)" in verdict.text and reason in verdict.text
    others = {"loss:", "RTT:", "window:", "processor:"} - set(reason.split())
    assert not any(word in verdict.text.partition(";")[2] for word in others if more)


@pytest.mark.parametrize(("bound", "first", "also"), [("loss", "loss", "window"), ("window", "window", "loss")])
def test_the_reason_is_what_bound_the_attempt(bound: str, first: str, also: str) -> None:
    more = {"again": 10**7, "streams": [{"stream": 0, "rwnd_limited_us": 2_000_000}], "limited_by": bound}
    text = compare(_record(100e6), _record(80e6, **more)).text
    assert re.search(rf"\(-20\.0%\); {first}: [^(]+ \(also {also}: [^;]+\)$", text), text


def test_what_is_alike_needs_no_reason() -> None:
    verdict = compare(_record(100e6), _record(98.1e6, again=10**7))
    assert verdict.ok is True and ";" not in verdict.text
