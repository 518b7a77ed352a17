"""The watch of a host during an attempt: what it counts, when it ends the flows, what Prometheus and the judge get."""

import importlib
import io
import json
import re
import sys
import tarfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from docs.generators.grafana import dashboard
from landspeed.worlds.real.runner import PLAYBOOKS
from landspeed.worlds.real.watched import Watched, bytes_checks, iperf3_check, keep_watch, watch_checks

FILES = PLAYBOOKS / "roles" / "watch" / "files"

ETHTOOL = {
    "-S eth1": """NIC statistics:
     rx_packets: 1000
     rx_discards_phy: 7
     rx_crc_errors_phy: 0
     tx_pause_ctrl_phy: 3
     rx_prio3_pause: 0
     rx_pcs_symbol_err_phy: 0
     [0]: rx_ucast_packets: 12
     rx_out_of_buffer: 0
""",
    "-I -a eth1": """Pause parameters for eth1:
Autonegotiate:	off
RX:		on
TX:		on
Statistics:
  tx_pause_frames: 3
  rx_pause_frames: 0
""",
    "-a eth1": "Pause parameters for eth1:\nRX:\ton\nTX:\ton\n",
    "-I --show-fec eth1": """FEC parameters for eth1:
Supported/Configured FEC encodings: Auto RS
Active FEC encoding: RS
Statistics:
  corrected_blocks: 41
    Lane 0: 41
  uncorrectable_blocks: 0
""",
    "--show-fec eth1": "FEC parameters for eth1:\nActive FEC encoding: RS\n",
    "-m eth1": """	Identifier                                : 0x11 (QSFP28)
	Module temperature                        : 41.53 degrees C / 106.75 degrees F
	Module voltage                            : 3.3182 Volts
	Laser tx power (Channel 1)                : 0.8912 mW / -0.50 dBm
	Rcvr signal avg optical power (Channel 1) : 0.5012 mW / -3.00 dBm
	Rcvr signal avg optical power (Channel 2) : 0.0001 mW / -40.00 dBm
	Module temperature high alarm             : Off
	Laser rx power low alarm   (Channel 2)    : On
	Laser rx power low warning (Channel 1)    : On
	Laser rx power low alarm threshold        : 0.0501 mW / -13.00 dBm
""",
}


@pytest.fixture(name="looks")
def looks_fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """landspeed_look with a host of its own: a NIC eth1, two sensors, and an ethtool that knows them."""
    monkeypatch.syspath_prepend(str(FILES))
    for name in ("landspeed_look", "landspeed_watch"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    looks = importlib.import_module("landspeed_look")
    statistics = {"rx_bytes": 10**9, "tx_bytes": 2 * 10**9, "rx_packets": 7, "tx_packets": 8, "rx_dropped": 5}
    place = tmp_path / "class/net/eth1"
    for name, value in (statistics | {"rx_errors": 0, "multicast": 9}).items():
        (place / "statistics" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "statistics" / name).write_text(f"{value}\n")
    (place / "operstate").write_text("up\n")
    for sensor, celsius in (("hwmon/hwmon0/temp1_input", 51000), ("thermal/thermal_zone0/temp", 63500)):
        (tmp_path / "class" / sensor).parent.mkdir(parents=True)
        (tmp_path / "class" / sensor).write_text(f"{celsius}\n")
    monkeypatch.setattr(looks, "SYS", tmp_path)
    monkeypatch.setattr(looks, "told", lambda _, *words: ETHTOOL.get(" ".join(words), ""))
    return looks


@pytest.fixture(name="watch")
def watch_fixture(looks: ModuleType) -> ModuleType:
    """landspeed_watch on that host."""
    return importlib.import_module("landspeed_watch")


def test_a_look_has_what_tells_of_trouble_and_nothing_else(looks: ModuleType) -> None:
    found = looks.look(["eth1", "eth9"], module=True)
    (nic,) = found["nics"].values()
    assert found["heat_celsius"] == 63.5
    assert (nic["up"], nic["rx_bytes"], nic["tx_bytes"]) == (True, 10**9, 2 * 10**9)
    assert nic["counters"] == {
        "fec uncorrectable": {"ethtool fec uncorrectable_blocks": 0},
        "fec corrected": {"ethtool fec corrected_blocks": 41},
        "pause": {
            "ethtool tx_pause_ctrl_phy": 3,
            "ethtool rx_prio3_pause": 0,
            "ethtool pause tx_pause_frames": 3,
            "ethtool pause rx_pause_frames": 0,
        },
        "drop": {"rx_dropped": 5, "ethtool rx_discards_phy": 7, "ethtool rx_out_of_buffer": 0},
        "error": {"rx_errors": 0, "ethtool rx_crc_errors_phy": 0, "ethtool rx_pcs_symbol_err_phy": 0},
    }
    assert nic["optics"] == {
        "celsius": 41.53,
        "transmit_dbm": [-0.5],
        "receive_dbm": [-3.0, -40.0],
        "alarms": ["Laser rx power low alarm   (Channel 2)"],
        "warnings": ["Laser rx power low warning (Channel 1)"],
    }
    assert nic["fec"].endswith("RS")


def flow_of(watch: ModuleType, folder: Path, **words: Any) -> Any:
    """A flow at its sender, which runs, with these lines of progress."""
    lines = words.pop("lines", [])
    (folder / "live.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"time_s": 1')
    flow = watch.Flow({"name": "f", "unit": "landspeed-send@x.service", "live": str(folder / "live.jsonl")})
    flow.look()
    return flow


def progress(mbps: float, seconds: int, retransmits: int = 0) -> list[dict[str, Any]]:
    """Progress at an even rate."""
    return [
        {
            "time_s": float(second),
            "bytes": int(mbps * 1e6 / 8 * second),
            "goodput_bps": mbps * 1e6,
            "retransmits": retransmits,
            "streams": [{"srtt_us": 20000}, {"srtt_us": 40000}],
        }
        for second in range(seconds + 1)
    ]


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ({}, ""),
        ({"heat_celsius": None, "errors": None, "drops": None, "loss": None}, ""),
        ({"heat_celsius": 63.5}, ""),
        ({"heat_celsius": 60.0}, "the host is too hot: 63.5 °C, at most 60 °C"),
        ({"errors": 0}, ""),
        ({"drops": 4}, ""),
        ({"drops": 3}, "the NIC eth1 counts 4 more rx_dropped, at most 3"),
        ({"loss": 0.01, "segment_bytes": 1000}, ""),
        ({"loss": 0.001, "segment_bytes": 1000}, "flow f: 1.33e-03 of its bytes were sent again, at most 1.00e-03"),
        ({"loss": 0.001, "segment_bytes": 1000, "loss_after_bytes": 10**9}, ""),
        ({"goodput_bps": {"f": 20e6}}, ""),
        ({"goodput_bps": {"other": 90e6}}, ""),
        ({"goodput_bps": {"f": 21e6}, "goodput_after_s": 31}, ""),
        (
            {"goodput_bps": {"f": 21e6}, "goodput_after_s": 30, "goodput_span_s": 10},
            "flow f: 20.00 Mbit/s in the last 10 s, at least 21.00 Mbit/s",
        ),
    ],
)
def test_each_rule_ends_the_flows_at_its_limit_and_not_before(
    watch: ModuleType, looks: ModuleType, tmp_path: Path, rules: Any, why: str
) -> None:
    vars(watch)["told"] = lambda *_: "active\n"
    first, now = (looks.look(["eth1"], module=False) for _ in range(2))
    first["nics"]["eth1"]["counters"]["drop"]["rx_dropped"] = 1  # four less than now
    flow = flow_of(watch, tmp_path, lines=progress(20.0, 30, retransmits=100))
    broken = watch.broken_rule(rules, first, now, [flow])
    assert broken.why == why
    assert bool(broken.remedy) == bool(why)


def test_a_lost_link_ends_the_flows(watch: ModuleType, looks: ModuleType, tmp_path: Path) -> None:
    first = looks.look(["eth1"], module=False)
    (tmp_path / "class/net/eth1/operstate").write_text("down\n")
    now = looks.look(["eth1"], module=False)
    assert watch.broken_rule({}, first, now, []) == (
        "the NIC eth1 has lost its link",
        "look at cable, optics and switch port",
    )


@pytest.fixture(name="watched")
def watched_fixture(watch: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A whole watch of a flow that runs for two looks and ends; the folder of what it wrote."""
    states = iter(["inactive", "active", "active", "failed"])  # not begun yet: it waits
    stopped: list[tuple[str, ...]] = []

    def told(*words: str) -> str:
        if words[1] == "stop":
            stopped.append(words[2:])
        return next(states, "failed") if words[1] == "show" else ""

    monkeypatch.setattr(watch, "told", told)
    monkeypatch.setattr(watch.time, "sleep", lambda _: None)
    monkeypatch.setattr(watch.signal, "signal", lambda *_: None)
    (tmp_path / "live.jsonl").write_text("".join(json.dumps(line) + "\n" for line in progress(20.0, 30)))
    (tmp_path / "collector").mkdir()
    unit = "landspeed-send@first.service"
    job = {
        "attempt": "first",
        "scenario": 'a "b"\\c',
        "cards": ["eth1"],
        "interval_s": 1,
        "textfile_folder": str(tmp_path / "collector"),
        "flows": [{"name": "f", "unit": unit, "live": str(tmp_path / "live.jsonl")}],
        "rules": {"goodput_bps": {"f": 30e6}, "goodput_after_s": 20.0, "goodput_span_s": 10.0},
    }
    (tmp_path / "job.json").write_text(json.dumps(job))
    watch.Watch(tmp_path).run()
    assert stopped == [(unit,)]  # once
    return tmp_path


def test_a_watch_ends_with_its_flows_and_says_what_it_saw(watched: Path) -> None:
    lines = [json.loads(line) for line in (watched / "watch.jsonl").read_text().splitlines()]
    assert len(lines) == 4
    assert lines[1]["flows"]["f"] == {"time_s": 30.0, "bytes": 75_000_000, "goodput_bps": 20e6, "retransmits": 0}
    said = "flow f: 20.00 Mbit/s in the last 10 s, at least 30.00 Mbit/s"
    ended = json.loads((watched / "abort.json").read_text())
    assert (ended["why"], ended["remedy"]) == (said, "see what bound it; or --floor")
    for name in ("before.json", "after.json"):
        assert json.loads((watched / name).read_text())["nics"]["eth1"]["optics"]["celsius"] == 41.53
    assert not list(watched.glob(".*"))


def test_prometheus_reads_what_is_written(watched: Path, watch: ModuleType) -> None:
    """Every metric of the table, each with type and help; the collector's folder has the same."""
    text = (watched / "landspeed.prom").read_text()
    assert (watched / "collector" / "landspeed.prom").read_text() == text
    assert re.fullmatch(r"(#.*\n|\w+\{[^}]*\} \S+\n)+", text)  # no times, which the textfile collector refuses
    families = {family.name: family for family in text_string_to_metric_families(text)}
    kinds = {name.removesuffix("_total"): kind for name, (kind, _) in watch.METRICS.items()}
    assert {name: family.type for name, family in families.items()} == kinds
    assert all(family.documentation for family in families.values())
    assert all(sample.labels["scenario"] == 'a "b"\\c' for family in families.values() for sample in family.samples)
    values = {name: [sample.value for sample in family.samples] for name, family in families.items()}
    assert values["landspeed_flow_bytes"] == [75_000_000]
    assert values["landspeed_flow_round_trip_seconds"] == [0.03]
    assert values["landspeed_optics_receive_dbm"] == [-3.0, -40.0]
    assert (values["landspeed_up"], values["landspeed_aborted"]) == ([0], [1])


def test_the_dashboard_asks_for_metrics_that_are_written(watch: ModuleType) -> None:
    """And for all of them."""
    made = dashboard()
    panels = [panel for panel in made["panels"] if panel["type"] != "row"]
    asked = [target["expr"] for panel in panels for target in panel["targets"]]
    asked += [variable["query"] for variable in made["templating"]["list"] if variable["type"] == "query"]
    names = {name for text in asked for name in re.findall(r"\blandspeed_\w+", text)}
    assert names == set(watch.METRICS)
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(panel["title"] and panel["gridPos"]["w"] <= 24 for panel in panels)


# --- Judged ----------------------------------------------------------------------------------------------------------


def seen(looks: ModuleType, **grown: int) -> Watched:
    """A host of which counters have grown by so much."""
    before, after = (looks.look(["eth1"], module=True) for _ in range(2))
    for name, more in grown.items():
        for counters in after["nics"]["eth1"]["counters"].values():
            for each in counters:
                if each.replace(" ", "_").endswith(name):
                    counters[each] += more
    after["nics"]["eth1"]["tx_bytes"] += grown.get("sent", 0)
    return Watched(before, after)


@pytest.mark.parametrize(
    ("grown", "ok", "text"),
    [
        ({}, True, "counters of eth1 at the sender: no errors, drops, pause frames or FEC corrections"),
        ({"rx_crc_errors_phy": 2}, False, "counters of eth1 at the sender: ethtool rx_crc_errors_phy +2"),
        ({"uncorrectable_blocks": 1}, False, "counters of eth1 at the sender: ethtool fec uncorrectable_blocks +1"),
        ({"rx_dropped": 3}, None, "counters of eth1 at the sender: rx_dropped +3"),
        ({"tx_pause_frames": 1}, None, "counters of eth1 at the sender: ethtool pause tx_pause_frames +1"),
        ({"corrected_blocks": 9}, None, "counters of eth1 at the sender: ethtool fec corrected_blocks +9"),
    ],
)
def test_what_a_nic_counts_is_judged(looks: ModuleType, grown: dict[str, int], ok: bool | None, text: str) -> None:
    first, *_ = watch_checks("sender", seen(looks, **grown))
    assert (first.name, first.ok, first.text) == ("NIC", ok, text)


def test_an_alarm_of_the_optics_is_a_fault(looks: ModuleType) -> None:
    *_, last = watch_checks("sender", seen(looks))
    assert (last.name, last.ok) == ("optics", False)
    assert last.text == (
        "module of eth1 at the sender: receives -3 dBm, -40 dBm, 41.53 °C; Laser rx power low alarm   (Channel 2), "
        "Laser rx power low warning (Channel 1)"
    )


def test_a_rule_that_ended_the_flows_is_a_failed_verdict(looks: ModuleType) -> None:
    watched = Watched(**{**vars(seen(looks)), "why": "the host is too hot: 99 °C, at most 90 °C"})
    first, *_ = watch_checks("sender", watched)
    text = "the flows were ended at the sender: the host is too hot: 99 °C, at most 90 °C"
    assert (first.ok, first.text) == (False, text)


@pytest.mark.parametrize(
    ("sent", "ok", "text"),
    [
        (102_000_000, True, "counted 102.000 MB, the engine 100.000 MB of payload (+2.00%)"),
        (109_000_000, True, "(+9.00%)"),
        (109_000_001, None, "others' data passed them, too"),
        (99_999_999, False, "not all of it passed these NICs"),
    ],
)
def test_bytes_of_the_nic_and_of_the_engine(looks: ModuleType, sent: int, ok: bool | None, text: str) -> None:
    (check,) = bytes_checks("sender", seen(looks, sent=sent), "tx", (100_000_000, 0))
    assert check.ok is ok and text in check.text


@pytest.mark.parametrize(("goodput", "ok", "text"), [(91e6, True, "(-9.0%)"), (89e6, None, "(-11.0%)")])
def test_the_engine_beside_iperf3(goodput: float, ok: bool | None, text: str) -> None:
    check = iperf3_check(100e6, goodput)
    assert check.ok is ok and text in check.text and "iperf3 before it 100.00 Mbit/s" in check.text


def test_what_a_watch_left_is_kept_in_the_bundle(tmp_path: Path) -> None:
    """Each file by its host, and iperf3's figure."""
    told = {"end": {"sum_received": {"bits_per_second": 9.5e7}}}
    files = {
        "before.json": "{}",
        "watch.jsonl": "{}\n",
        "landspeed.prom": "landspeed_up 1\n",
        "tuning-after.json": "{}",
    }
    files |= {"iperf3.json": json.dumps(told), "abort.json": json.dumps({"why": "too hot"}), "job.json": "{}"}
    with tarfile.open(tmp_path / "h.tar", "w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(f"first.watch/{name}")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    watched = keep_watch(tmp_path / "bundle", "sender", tmp_path / "h.tar", "first")
    assert (watched.why, watched.iperf3_bps) == ("too hot", 9.5e7)
    kept = {str(file.relative_to(tmp_path / "bundle")) for file in (tmp_path / "bundle").rglob("*") if file.is_file()}
    assert kept == {
        *(f"evidence/watch/sender-{name}" for name in ("before.json", "watch.jsonl", "metrics.prom", "iperf3.json")),
        "evidence/watch/sender-abort.json",
        "evidence/tuning/sender-after.json",
    }
