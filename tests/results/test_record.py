"""Records: typed facts of each world, and those of schema 1 in today's terms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from landspeed.base.failures import BundleError
from landspeed.results.bundle import RESULT, BundleWriter, load_record
from landspeed.results.facts import EmuFacts, GuestFacts, OtherFacts, RealFacts, SimFacts
from landspeed.results.record import RECORD_SCHEMA_VERSION, RunRecord
from tests.support.places import ROOT

SCHEMA_1 = ROOT / "tests" / "records"
REAL: dict[str, Any] = {  # as landspeed/worlds/real/collected.py wrote it at commit 9c4b982
    "schema_version": 1,
    "complete": True,
    "scenario": "lab",
    "world": "real",
    "clock": "real",
    "bytes": 1000,
    "engine": {
        "engine": {"version": "0.1.0", "build": "00aa"},
        "complete": True,
        "error": None,
        "receive_mode": "verify",
        "window": {"asked_bytes": 5},
        "goodput_bps": 8,
        "bytes": 1000,
        "bytes_retransmitted": 40,
        "cpu": {"sender": {"user_s": 0.5, "system_s": 1.5}},
        "verification": {"blocks": 3, "faults": 0},
    },
    "window": {"asked_bytes": 5, "warning": None},
    "guest": {
        "attempt": "20261101T000000Z",
        "rehearsal": {
            "landspeed_rehearsal": "lab-1",
            "landspeed_rehearsed_engine_build": "00aa",
            "landspeed_unrehearsed": "",
        },
        "path": {"rtt_ms": 264.0, "path_mtu_bytes": 9000, "note": "kept"},
    },
    "host": {"sender": {"name": "geneva", "findings": [{"check": "hops", "found": "4"}], "nic": {"driver": "veth"}}},
}


def _bundle(folder: Path, content: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / RESULT).write_text(content)
    return folder


def test_an_emulated_record_of_schema_1(tmp_path: Path) -> None:
    """Written by a run of scenarios/examples/first.yaml at commit 8e43cf0; long parts cut to one of each."""
    text = (SCHEMA_1 / "schema1-emu.json").read_text()
    old, record = json.loads(text), load_record(_bundle(tmp_path / "old", text))
    assert record.schema_version == RECORD_SCHEMA_VERSION == 2
    assert (record.goodput_bps, record.bytes, record.retransmits) == (961450998, 1201813748, 526)
    assert record.tool_result.build == old["engine"]["engine"]["build"]
    assert record.tool_result.version == "0.1.0"
    assert (record.tool_result.packets_sent, record.tool_result.packets_received) == (135353, 134314)
    assert record.tool_result.receive_mode == "discard"
    assert record.tool_result.cpu["sender"].system_s == old["engine"]["cpu"]["sender"]["system_s"]
    assert record.tool_result.model_dump()["sending"] == old["engine"]["sending"]
    assert record.window.advertised_bytes == 16776960
    assert record.streams[0].sender_calls == old["streams"][0]["sender_calls"]
    assert isinstance(record.world_facts, EmuFacts)
    assert record.world_facts.host.model_dump(exclude_unset=True) == old["host"]
    known = record.guest.model_dump(exclude_unset=True)
    assert known == old["guest"]
    assert [(check.name, check.ok, check.text, check.measured, check.expected) for check in record.verdicts] == [
        tuple(verdict[key] for key in ("name", "ok", "text", "measured", "wanted")) for verdict in old["verdicts"]
    ]
    (rtt,) = (check for check in record.verdicts if check.name == "rtt")
    assert rtt.allowed == pytest.approx(0.001 * 50)


def test_a_simulated_record_of_schema_1(tmp_path: Path) -> None:
    text = (SCHEMA_1 / "schema1-sim.json").read_text()
    old, record = json.loads(text), load_record(_bundle(tmp_path / "old", text))
    assert isinstance(record.world_facts, SimFacts)
    simulator = record.world_facts.simulator
    assert (simulator.scheduler, simulator.simulated_s) == ("priority-queue", 10.0)
    assert (simulator.events, len(simulator.lanes)) == (1161974, 1)
    assert record.tool_result.bytes_retransmitted == old["engine"]["bytes_retransmitted"]
    assert record.tool_result.complete
    assert record.guest == GuestFacts()
    told = {**record.tool_result.model_dump(exclude_none=True), **simulator.model_dump(exclude_none=True)}
    lost = set(old["engine"]) - set(told)
    assert lost == {name for name in old["engine"] if old["engine"][name] is None}


def test_a_real_record_of_schema_1_no_longer_keeps_its_facts_under_guest(tmp_path: Path) -> None:
    record = load_record(_bundle(tmp_path / "old", json.dumps(REAL)))
    facts = record.world_facts
    assert isinstance(facts, RealFacts)
    assert (facts.attempt, facts.rehearsal.bundle, facts.rehearsal.unrehearsed) == ("20261101T000000Z", "lab-1", None)
    assert facts.rehearsal.engine_build == record.tool_result.build == "00aa"
    assert (facts.path.rtt_ms, facts.path.path_mtu_bytes) == (264.0, 9000)
    assert facts.path.model_dump()["note"] == "kept"
    assert facts.hosts["sender"].name == "geneva"
    assert facts.hosts["sender"].findings == [{"check": "hops", "found": "4"}]
    assert record.tool_result.bytes_retransmitted == 40
    assert record.guest == GuestFacts()


@pytest.mark.parametrize("name", ["emu", "sim"])
def test_what_was_converted_is_written_as_schema_2_and_read_the_same(name: str, tmp_path: Path) -> None:
    record = load_record(_bundle(tmp_path / "old", (SCHEMA_1 / f"schema1-{name}.json").read_text()))
    writer = BundleWriter(tmp_path / "runs", "again")
    assert load_record(writer.finish(record)) == record


def test_a_world_of_somebody_else_keeps_what_it_likes(tmp_path: Path) -> None:
    facts = OtherFacts.model_validate({"world": "starlink", "dishes": [1, 2]})
    record = RunRecord(scenario="x", world="starlink", world_facts=facts)
    writer = BundleWriter(tmp_path, "x")
    again = load_record(writer.finish(record))
    assert isinstance(again.world_facts, OtherFacts)
    assert again.world_facts.model_dump() == {"world": "starlink", "dishes": [1, 2]}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"schema_version": 2, "scenario": "x"', r"result\.json:1:38: Expecting ',' delimiter"),
        ("", r"result\.json:1:1: Expecting value"),
        ("[]", r"schema_version: a record of landspeed has a whole number there"),
        ('{"schema_version": "two"}', r"schema_version: a record"),
        ('{"schema_version": 3, "scenario": "x"}', r"schema version 3; this landspeed reads up to 2"),
        ('{"schema_version": 2}', r"result\.json: scenario: Field required"),
        ('{"scenario": "x", "engine": [1]}', r"engine, guest or host: not what schema 1 has there"),
        (
            '{"schema_version": 2, "scenario": "x", "world_facts": {"world": "emu", "guest": {"addresses": 1}}}',
            r"world_facts\.emu\.guest\.addresses: Input should be a valid dictionary",
        ),
    ],
)
def test_a_damaged_record_is_refused_with_its_place(content: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=told):
        load_record(_bundle(tmp_path / "bad", content))


def test_bytes_that_are_no_text_are_refused_with_their_place(tmp_path: Path) -> None:
    folder = _bundle(tmp_path / "bad", "")
    (folder / RESULT).write_bytes(b'{"scenario": "\xff\xfe"}')
    with pytest.raises(BundleError, match=r"result\.json: byte 14: not UTF-8"):
        load_record(folder)
