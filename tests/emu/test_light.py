"""The guest's light start: what stands in for Python's own modules, and messages to the kernel, byte for byte."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import landspeed
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.resolve.resolve import make_plan
from landspeed.worlds.emu.guest.network.netlink import attribute, attributes, everything_to, matching_to
from landspeed.worlds.emu.guest.reading import read_plan
from landspeed.worlds.emu.guest.shaping.encode_line import options_of
from landspeed.worlds.emu.guest.shaping.joined import keys
from landspeed.worlds.emu.guest.stdlib_stand_ins import dataclasses as light

ROOT = Path(__file__).resolve().parents[2]
GUEST = ROOT / "emu" / "guest"
RECORDS = sorted((ROOT / "scenarios").glob("*/*.yaml"))
# Asks for what the guest's modules compute of a plan, with or without the stand-ins of guest/stdlib_stand_ins.
COMPUTES = """
import sys
from importlib import import_module
if {light!r}:
    sys.path.insert(0, {light!r})
sys.path += {packages!r}
guest = {package!r} + ".emu.guest"
for name in {names!r}:
    import_module(guest + "." + name)
assert ("inspect" in sys.modules) != bool({light!r}), "the light dataclasses are there to do without inspect"
read_plan = import_module(guest + ".reading").read_plan
lane_options = import_module(guest + ".lane_options").lane_options
managed = import_module(guest + ".disciplines").managed
runs_of = import_module({package!r} + ".emu.runs").runs_of
timing = import_module({package!r} + ".scenarios.timing")
for file in sys.argv[1:]:
    plan = read_plan(open(file, "rb").read())
    for link in plan.links:
        for forward, lane in ((True, link.forward), (False, link.reverse)):
            netem, bucket = lane_options(plan, link, lane, forward=forward)
            print(netem, bucket, managed(plan, link, lane, bucket) if bucket else None)
    print([vars(run) for run in runs_of(plan)], timing.echo_ns(plan), plan.events)
"""
WITHOUT = {"__init__", "agent", "evidence", "shell", "shell_nodes", "start"}  # they ask for more, or begin to work


def test_what_the_guest_computes_is_the_same_with_its_stand_ins(tmp_path: Path) -> None:
    plans: list[Path] = []
    for number, file in enumerate(RECORDS):
        plans.append(tmp_path / f"{number}.json")
        plans[-1].write_text(make_plan(load_scenario(file)).to_json())
    names = sorted(path.stem for path in GUEST.glob("*.py") if path.stem not in WITHOUT)
    said: list[str] = []
    for folder in ("", str(GUEST / "light")):
        program = COMPUTES.format(
            light=folder, packages=[str(Path(landspeed.__path__[0]).parent)], package="landspeed", names=names
        )
        done = subprocess.run(
            [sys.executable, "-S", "-P", "-c", program, *plans], capture_output=True, text=True, check=True
        )
        said.append(done.stdout)
    assert said[0] == said[1]
    assert said[0].count("delay_ns") > 2 * len(RECORDS)


@pytest.mark.parametrize("file", RECORDS, ids=lambda path: path.stem)
def test_the_guest_reads_the_plan_as_it_was_written(file: Path) -> None:
    plan = make_plan(load_scenario(file))
    read = read_plan(plan.to_json().encode())
    for name in ("scenario", "seed", "ip_version", "fidelity", "nodes", "links", "events", "calibration"):
        assert getattr(read, name) == getattr(plan, name), name
    assert [flow.transfer for flow in read.flows] == [flow.transfer for flow in plan.flows]
    assert [flow.route for flow in read.flows] == [flow.route for flow in plan.flows]


@light.dataclass(frozen=True)
class _Thing:
    name: str
    size: int = 3
    parts: list[object] = light.field(default_factory=list)


def test_the_stand_in_of_dataclasses() -> None:
    thing = _Thing("a", parts=[_Thing("b", 4)])
    assert light.asdict(thing) == {"name": "a", "size": 3, "parts": [{"name": "b", "size": 4, "parts": []}]}
    assert light.replace(thing, size=5) == _Thing("a", 5, [_Thing("b", 4)])
    assert repr(_Thing("b")) == "_Thing(name='b', size=3, parts=[])"
    assert _Thing("b").parts is not _Thing("b").parts
    for wrong, why in (
        (_Thing, "name is missing"),
        (lambda: _Thing("a", name="b"), "twice, or unknown: name"),
        (lambda: _Thing("a", colour="b"), "twice, or unknown: colour"),
        (lambda: _Thing("a", 1, [], 2), "4 values for 3 fields"),
    ):
        with pytest.raises(TypeError, match=why):
            wrong()


TBF = "340002002800010000010a000000000040597307000000000000000000000000204e0000000000000000000008000600a5230000"
FQ = "14000200080001004d000000080002004d000000"
NETEM = (
    "600002000000000005000000295c8f020000000000000000000000000c000a0015cd5b07000000000c00080000000000"
    "0200000014000600fffffffffbffffff00000000000000000c001f0018000000010000000c000e000500000000000080"
)


def test_options_are_encoded_as_tc_does() -> None:
    """Against the bytes that pyroute2 0.9.7 made of the same figures."""
    bucket = {"rate_bytes_per_s": 125_000_000, "overhead_bytes": 10, "limit_bytes": 20_000, "burst_bytes": 9_125}
    assert options_of("tbf", **bucket).hex() == TBF
    assert options_of("fq", limit_packets=77).hex() == FQ
    netem = {"limit_packets": 5, "delay_ns": 123_456_789, "seed": 2**63 + 5, "loss": 0.01, "rate_bytes_per_s": 2**33}
    more = {"overhead_bytes": -5, "line": {"framing_bytes": 24, "spaced": True}}
    assert options_of("netem", **netem, **more).hex() == NETEM


def test_attributes_come_back() -> None:
    told = attribute(3, "eth0") + attribute(4, 1500) + attribute(7, b"abc")
    assert dict(attributes(told)) == {3: b"eth0\0", 4: (1500).to_bytes(4, "little"), 7: b"abc"}


def test_filters_match_the_ttl_where_the_header_has_it() -> None:
    """u32 compares words of 32 bits: the TTL begins IPv4's third, the hop limit ends IPv6's second."""
    assert keys(4, "10.0.0.6") == [(8, 0x80000000, 0x80000000), (16, 0xFFFFFFFF, 0x0A000006)]
    assert keys(6, "fd00::2")[0] == (4, 0x80, 0x80)
    assert [offset for offset, _, _ in keys(6, "fd00::2")[1:]] == [24, 28, 32, 36]
    selector = matching_to(7, keys(6, "fd00::2"))
    assert bytes.fromhex("00000080000000800400000000000000") in selector
    assert b"mirred" in everything_to(7)
