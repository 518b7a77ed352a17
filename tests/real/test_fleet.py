"""Several flows between several servers: their inventory, their schedule, their bundle; before any host is touched."""

import io
import json
import runpy
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from landspeed.cli.main import main
from landspeed.results.bundle import load_record
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.real.errors import RealError
from landspeed.worlds.real.fleet_collected import make_fleet_bundle, start_check
from landspeed.worlds.real.inventory import read_plan
from landspeed.worlds.real.runner import PLAYBOOKS
from landspeed.worlds.real.unchanged import check_figures
from landspeed.worlds.real.variables import read_variables, write_variables

SENDERS, RECEIVERS = ("geneva", "amsterdam"), ("chicago", "tokyo")


def network(**change: Any) -> dict[str, Any]:
    """Two senders and two receivers, each of the one sends to each of the other."""
    ends = {name: "west" if name in SENDERS else "east" for name in (*SENDERS, *RECEIVERS)}
    links = [{"from": name, "to": hub, "one_way_delay": "1 ms"} for name, hub in ends.items()]
    links += [{"from": "west", "to": "east", "one_way_delay": "40 ms"}]
    flows: list[dict[str, Any]] = [{"name": f"{a}-{b}", "from": a, "to": b} for a in SENDERS for b in RECEIVERS]
    flows[3] |= {"start": "2 s", "streams": 3, "duration": "4 s"}
    return {
        "format": 1,
        "name": "challenge",
        "title": "A data challenge",
        "mtu": "9000 B",
        "line_rate": "1 Gbit/s",
        "queue": "5 MB",
        "links": links,
        "transfer": {"congestion_control": "reno", "duration": "6 s"},
        "flows": flows,
    } | change


def hosts(**change: str) -> list[str]:
    """Words that name a server for each end."""
    named = {name: f"anna@h-{name},address=192.0.2.{number}" for number, name in enumerate((*SENDERS, *RECEIVERS), 1)}
    return [word for name, text in (named | change).items() if text for word in ("--host", f"{name}={text}")]


def inventory_of(folder: Path, scenario: dict[str, Any], words: list[str]) -> int:
    """Write an inventory with the command; its exit status."""
    (folder / "challenge.yaml").write_text(json.dumps(scenario))
    return main(["real", "inventory", str(folder / "challenge.yaml"), "--out", str(folder / "inventory"), *words])


@pytest.fixture(name="inventory")
def inventory_fixture(tmp_path: Path) -> Path:
    """An inventory of two senders and two receivers."""
    assert inventory_of(tmp_path, network(), hosts()) == 0
    return tmp_path / "inventory"


def variables(inventory: Path, host: str) -> Any:
    """Variables of a host as a play sees them: what Ansible makes of the inventory."""
    children = read_variables(inventory / "hosts.yml")["all"]["children"]
    own = {name: dict(about) for group in children.values() for name, about in group["hosts"].items()}
    figures = read_variables(inventory / "group_vars" / "all" / "plan.yml")
    groups = {group: [*about["hosts"]] for group, about in children.items()}
    known = figures | own[host] | {"inventory_hostname": host, "groups": groups, "hostvars": own}
    templar = Templar(DataLoader(), variables=trusted(known | {"landspeed_attempt": "first"}))
    return lambda text: templar.template(trust_as_template(text))


def trusted(value: Any) -> Any:
    """A value with all its texts as templates, as Ansible reads them in an inventory."""
    if isinstance(value, dict):
        return {key: trusted(each) for key, each in value.items()}
    if isinstance(value, list):
        return [trusted(each) for each in value]
    return trust_as_template(value) if isinstance(value, str) else value


def test_each_flow_has_a_port_of_its_own_at_its_receiver(inventory: Path) -> None:
    flows = read_variables(inventory / "group_vars" / "all" / "plan.yml")["landspeed_flows"]
    assert [(flow["name"], flow["sender"], flow["receiver"], flow["port"], flow["start_s"]) for flow in flows] == [
        ("geneva-chicago", "h-geneva", "h-chicago", 5201, 0.0),
        ("geneva-tokyo", "h-geneva", "h-tokyo", 5201, 0.0),
        ("amsterdam-chicago", "h-amsterdam", "h-chicago", 5202, 0.0),
        ("amsterdam-tokyo", "h-amsterdam", "h-tokyo", 5202, 2.0),
    ]
    assert {flow["rtt_ms"] for flow in flows} == {84.0}


def test_a_receivers_doors_are_open_for_the_peer_of_each_flow_alone(inventory: Path) -> None:
    see = variables(inventory, "h-chicago")
    table = see("{{ deploy_table }}")
    assert table[3:] == [
        "    tcp dport 5201 ip saddr 192.0.2.1 accept",
        "    tcp dport 5202 ip saddr 192.0.2.2 accept",
        "    tcp dport 5201-5264 drop",  # of both families, from everybody else
        "  }",
        "}",
    ]
    assert see("{{ landspeed_peers }}") == ["192.0.2.1", "192.0.2.2"]
    assert variables(inventory, "h-geneva")("{{ deploy_table }}")[3:] == ["    tcp dport 5201-5264 drop", "  }", "}"]


def test_a_hosts_flows_are_units_of_their_own(inventory: Path) -> None:
    see = variables(inventory, "h-amsterdam")
    flows = see("{{ attempt_flows }}")
    assert [(flow["name"], flow["unit"], flow["live"], flow["peer"], flow["port"]) for flow in flows] == [
        (
            f"amsterdam-{name}",
            f"landspeed-send@first.{number}.service",
            f"/var/lib/landspeed/attempts/first.{number}/live.jsonl",
            address,
            5202,
        )
        for number, name, address in ((3, "chicago", "192.0.2.3"), (4, "tokyo", "192.0.2.4"))
    ]
    (_, last) = see("{{ landspeed_flows_here }}")
    assert last["send_options"].startswith("192.0.2.4 --port 5202 --quiet --streams 3 ")
    see = variables(inventory, "h-tokyo")
    (first, _) = see("{{ landspeed_flows_here }}")
    assert "--port 5201" in first["receive_options"] and "--bind 192.0.2.4" in first["receive_options"]
    assert (see("{{ attempt_flows }}")[0]["unit"], see("{{ attempt_flows }}")[0]["live"]) == (
        "landspeed-receive@first.2.service",
        "",
    )


def test_tuning_is_for_all_flows_of_a_host(inventory: Path) -> None:
    figures = read_variables(inventory / "group_vars" / "all" / "plan.yml")
    assert figures["landspeed_streams"] == 4  # amsterdam: one, and three
    assert figures["landspeed_time_limit_s"] == 60 + 9  # the longest, with its start
    assert variables(inventory, "h-tokyo")("{{ landspeed_rtt_ms }}") == 84.0


def test_figures_of_a_fleet_are_the_plans(inventory: Path) -> None:
    plan = read_plan(inventory)
    check_figures(inventory, plan)
    file = inventory / "group_vars" / "all" / "plan.yml"
    figures = read_variables(file)
    figures["landspeed_flows"][1]["port"] = 22
    write_variables(file, "Another.", figures)
    with pytest.raises(RealError, match=r"landspeed_flows is .*, by the plan and the engine here it is "):
        check_figures(inventory, plan)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (hosts(tokyo=""), "no server for tokyo; give --host tokyo=user@HOST"),
        ([*hosts(), "--host", "west=anna@h5"], "west: no end of a flow; these are: amsterdam, chicago, geneva, tokyo"),
        ([*hosts(), "--host", "tokyo=anna@h5"], "an end of a flow is named twice"),
        (hosts(tokyo="anna@h-geneva,address=192.0.2.9"), "h-geneva is named for two ends"),
        (hosts(tokyo="anna@h5,address=192.0.2.1"), "192.0.2.1 is the address of two hosts"),
        (["--sender", "a@b", "--receiver", "c@d"], "is a network: it takes --host NODE=user@HOST, not --sender"),
        ([*hosts(), "--host", "nobody"], "'' is not a host"),
    ],
)
def test_servers_that_do_not_fit_the_flows(
    tmp_path: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert inventory_of(tmp_path, network(), words) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "inventory").exists()


def test_a_host_that_sends_and_receives_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flows = [{"name": "on", "from": "geneva", "to": "tokyo"}, {"name": "back", "from": "tokyo", "to": "geneva"}]
    links = [{"from": "geneva", "to": "tokyo", "one_way_delay": "1 ms"}]
    assert inventory_of(tmp_path, network(flows=flows, links=links), hosts()) == 2
    assert "geneva, tokyo sends in one flow and receives in another" in capsys.readouterr().err


def test_a_path_takes_a_sender_and_a_receiver(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--sender", "a@b"], ["--sender", "a@b", "--receiver", "c@d", "--host", "x=e@f"]):
        assert main(["real", "inventory", "first", "--out", str(tmp_path / "i"), *words]) == 2
        assert "is a path: it takes --sender and --receiver" in capsys.readouterr().err


# --- The schedule ----------------------------------------------------------------------------------------------------

AT = PLAYBOOKS / "roles" / "fleet" / "files" / "landspeed_at.py"


def begin(folder: Path, planned: float) -> subprocess.CompletedProcess[str]:
    """Begin a program that says its own process number."""
    words = [sys.executable, "-I", "-S", AT, str(planned), folder / "began.json", "/bin/sh", "-c", "echo $0 $$", "it"]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_a_program_begins_at_its_time(tmp_path: Path) -> None:
    planned = time.time() + 0.4
    done = begin(tmp_path, planned)
    told = json.loads((tmp_path / "began.json").read_text())
    assert done.stdout.startswith("it ") and told["planned_unix_s"] == planned
    assert planned <= told["began_unix_s"]  # how much later a busy machine lets it be, it says
    assert time.time() >= told["began_unix_s"]


def test_what_comes_too_late_does_not_begin(tmp_path: Path) -> None:
    done = begin(tmp_path, time.time() - 1)
    assert done.returncode == 1 and not done.stdout
    assert "s ago. Remedy: a longer --lead, or a later --at" in done.stderr


@pytest.mark.parametrize(
    ("late_s", "ok", "text"),
    [
        (0.0004, True, "began +0.400 ms from the schedule, 2026-11-26T12:00:00.000Z, by its host's clock"),
        (0.0099, True, "+9.900 ms"),
        (0.0101, False, "+10.100 ms"),
    ],
)
def test_the_start_is_judged(late_s: float, ok: bool, text: str) -> None:
    check = start_check({"planned_unix_s": 1795694400.0, "began_unix_s": 1795694400.0 + late_s})
    assert (check.name, check.ok) == ("start", ok) and text in check.text


def test_no_start_is_a_fault() -> None:
    assert start_check({}).ok is False


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--at", "tomorrow"], "'tomorrow' is no UTC time; the form is 2026-11-26T15:00:00Z"),
        (["--floor", "fast"], "fast"),
        (["--most-loss", "-1"], "'-1' is no number above 0"),
        (["--most-heat", "inf"], "'inf' is no number above 0"),
    ],
)
def test_bad_rules_are_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["real", "attempt", "inventory", *words])
    assert ended.value.code == 2 and said in capsys.readouterr().err


# --- The bundle ------------------------------------------------------------------------------------------------------


def engine_account(number: int, start_ns: int) -> dict[str, Any]:
    """What a sender's engine tells of a transfer of 6 s."""
    return {
        "engine": {"version": "1", "build": "b"},
        "complete": True,
        "error": None,
        "options": {},
        "start_unix_ns": start_ns,
        "duration_s": 6.0,
        "bytes": 75_000_000 * number,
        "goodput_bps": 1e8 * number,
        "retransmits": 0,
        "bytes_retransmitted": 0,
        "streams": [{"stream": 0, "bytes": 75_000_000 * number}],
    }


def archive(file: Path, content: dict[str, bytes]) -> None:
    """What `collect` fetched of a host."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(file, "w") as tar:
        for name, data in content.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


def collect_into(inventory: Path, plan: Plan) -> None:
    """Archives of all hosts of an attempt `first`; the second flow began late."""
    content: dict[str, dict[str, bytes]] = {}
    for number, flow in enumerate(plan.flows, start=1):
        planned = 1795694400.0 + flow.start_ns / 1e9
        began = {"planned_unix_s": planned, "began_unix_s": planned + (0.05 if number == 2 else 0.001)}
        account = engine_account(number, round((planned + 0.2) * 1e9))
        sent = content.setdefault(f"h-{flow.source}", {})
        sent[f"first.{number}/engine.json"] = json.dumps(account).encode()
        sent[f"first.{number}/began.json"] = json.dumps(began).encode()
        content.setdefault(f"h-{flow.target}", {})[f"first.{number}/receive.log"] = b"done\n"
    for host, files in content.items():
        way, payload = ("tx", 375e6) if host == "h-geneva" else ("rx", 300e6)
        nic = {"counters": {"drop": {"rx_dropped": 0}}, f"{way}_bytes": 0}
        files["first.watch/before.json"] = json.dumps({"nics": {"eth1": nic}}).encode()
        nic = {"counters": {"drop": {"rx_dropped": 3}}, f"{way}_bytes": int(payload)}
        after = {"nics": {"eth1": nic}} if host in ("h-geneva", "h-chicago") else {}
        files["first.watch/after.json"] = json.dumps(after).encode()
        mesh = {f"h-{name}": {"loss": 0.0, "rtt_ms": 84.2, "mtu": True} for name in RECEIVERS}
        files["first/mesh.json"] = json.dumps(mesh).encode()
        archive(inventory / "collected" / "first" / f"{host}.tar", files)


def test_a_bundle_of_several_flows_is_judged_flow_by_flow(inventory: Path, tmp_path: Path) -> None:
    plan = read_plan(inventory)
    collect_into(inventory, plan)
    record = load_record(bundle := make_fleet_bundle(inventory, plan, "first", tmp_path / "runs"))
    assert [(flow.name, flow.bytes, flow.begins_s) for flow in record.flows] == [
        ("geneva-chicago", 75_000_000, 0.0),
        ("geneva-tokyo", 150_000_000, 0.0),
        ("amsterdam-chicago", 225_000_000, 0.0),
        ("amsterdam-tokyo", 300_000_000, 2.0),
    ]
    assert {(flow.rtt_ms, flow.calibration and flow.calibration.path_mtu_bytes) for flow in record.flows} == {
        (84.2, 9000)
    }
    said = [{verdict.name: verdict for verdict in flow.verdicts} for flow in record.flows]
    assert [flow["start"].ok for flow in said] == [True, False, True, True]
    # geneva sent two flows, of 225 MB in all, and its NIC 375 MB; chicago received two, of 300 MB: told in the first.
    texts = [verdict.text for verdict in record.flows[0].verdicts if verdict.name == "NIC bytes"]
    assert texts == [
        "NICs of the sender geneva counted 375.000 MB, the engine 225.000 MB of payload: others' data passed them, too",
        "NICs of the receiver chicago counted 300.000 MB, the engine 300.000 MB of payload (+0.00%)",
    ]
    assert "NIC bytes" not in said[1]
    assert (bundle / "evidence/watch/geneva-before.json").exists() and (
        bundle / "flows/geneva-tokyo/began.json"
    ).exists()


def test_a_flow_without_a_result_is_named(inventory: Path, tmp_path: Path) -> None:
    plan = read_plan(inventory)
    collect_into(inventory, plan)
    archive(inventory / "collected/first/h-amsterdam.tar", {"first.3/send.log": b"no such key\n"})
    record = load_record(make_fleet_bundle(inventory, plan, "first", tmp_path / "runs"))
    assert record.error is not None and not record.complete
    assert "flow amsterdam-chicago: the sender's engine left no result: no such key" in record.error
    assert "flow geneva" not in record.error


def test_a_matrix_has_a_row_for_each_sender() -> None:
    module = runpy.run_path(str(PLAYBOOKS / "filter_plugins" / "landspeed_mesh.py"))
    good, lossy = {"loss": 0.0, "rtt_ms": 84.1234, "mtu": True}, {"loss": 0.1, "rtt_ms": 2.0, "mtu": False}
    found = {"geneva": {"chicago": good, "tokyo": lossy}, "amsterdam": {"chicago": {"loss": 1.0, "rtt_ms": None}}}
    assert module["landspeed_matrix"](found) == [
        "from \\ to  chicago    tokyo",
        "geneva     84.123 ms  2.000 ms, 10% lost, small MTU",
        "amsterdam  no answer",
    ]


def test_every_play_of_a_fleet_can_be_read() -> None:
    """As YAML; that Ansible reads them, ansible-lint and the lab show."""
    for name in ("fleet.yml", "mesh.yml", "deploy.yml", "site.yml"):
        assert yaml.safe_load((PLAYBOOKS / name).read_text())
