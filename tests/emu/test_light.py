"""The guest's light start: what stands in for Python's own modules, and messages to the kernel, byte for byte."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import landspeed
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.resolve.resolve import make_plan
from landspeed.worlds.emu.guest.network.netlink import attribute, attributes, everything_to, matching_to
from landspeed.worlds.emu.guest.reading import read_plan
from landspeed.worlds.emu.guest.shaping.encode_qdisc import options_of
from landspeed.worlds.emu.guest.shaping.joined import keys
from landspeed.worlds.emu.guest.stdlib_stand_ins import dataclasses as light
from tests.support.places import PROGRAMS, ROOT

RECORDS = sorted((ROOT / "scenarios").glob("*/*.yaml"))
PACKAGE = Path(landspeed.__path__[0])
GUEST = PACKAGE / "worlds" / "emu" / "guest"
STAND_INS = GUEST / "stdlib_stand_ins"
MARK = "# The guest imports this: dataclasses and typing are guest/stdlib_stand_ins there."
# Names of typing that an annotation alone has, which nobody asks for while the guest runs.
OF_TYPING = {
    "TYPE_CHECKING",
    "Any",
    "Callable",
    "Final",
    "IO",
    "Literal",
    "Protocol",
    "Self",
    "TypeAlias",
    "TypeVar",
    "cast",
}
IGNORED = {"frozen", "slots", "kw_only"}  # of @dataclass: without them, what is right stays right


def test_what_the_guest_computes_is_the_same_with_its_stand_ins(tmp_path: Path) -> None:
    plans: list[Path] = []
    for number, file in enumerate(RECORDS):
        plans.append(tmp_path / f"{number}.json")
        plans[-1].write_text(make_plan(load_scenario(file)).to_json())
    said: list[list[str]] = []
    for folders in ([], [STAND_INS]):
        done = subprocess.run(
            [sys.executable, "-S", "-P", PROGRAMS / "guest_computes.py", *plans],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*folders, PACKAGE.parent]))},
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.splitlines())
    assert (said[0][0], said[1][0]) == ("True", "False")  # the light dataclasses are there to do without inspect
    assert said[0][1:] == said[1][1:]
    assert sum("delay_ns" in line for line in said[0]) > 2 * len(RECORDS)


# --- What the stand-ins lack, nobody uses whom the guest imports -----------------------------------------------------


def test_what_the_guest_imports_says_so_and_uses_only_what_the_stand_ins_have() -> None:
    modules = guests_modules()
    assert {"plan", "joined_links", "timing", "agent"} <= {file.stem for file in modules}
    wrong = [f"{file.relative_to(PACKAGE)}: {what}" for file in modules for what in lacking(file.read_text())]
    unmarked = [
        str(file.relative_to(PACKAGE))
        for file in modules
        if not file.is_relative_to(GUEST) and borrows(file.read_text()) and MARK not in file.read_text()
    ]
    assert (wrong, unmarked) == ([], [])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("from dataclasses import dataclass, fields", "dataclasses.fields"),
        ("from typing import NamedTuple", "typing.NamedTuple"),
        ("import dataclasses", "import dataclasses"),
        ("@dataclass(order=True)\nclass A:\n    x: int", "@dataclass(order)"),
        ("@dataclass\nclass B(A):\n    x: int", "a base of a dataclass"),
        ("@dataclass\nclass A:\n    x: ClassVar[int]", "ClassVar"),
        ("@dataclass\nclass A:\n    x: InitVar[int] = 1", "InitVar"),
        ("@dataclass\nclass A:\n    def __post_init__(self) -> None: ...", "__post_init__"),
        ("x = field(default=1)", "field(default)"),
    ],
)
def test_what_the_stand_ins_lack_is_found(text: str, what: str) -> None:
    assert list(lacking(text)) == [what]


def guests_modules() -> list[Path]:
    """The guest's own modules and those of the package that are loaded with them, the stand-ins left out."""
    todo = [file for file in sorted(GUEST.rglob("*.py")) if file.parent != STAND_INS]
    seen = dict.fromkeys(todo)
    while todo:
        file = todo.pop()
        tree = ast.parse(file.read_text())
        for node in ast.walk(tree) if file.is_relative_to(GUEST) else tree.body:
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in (node.module, *(f"{node.module}.{each.name}" for each in node.names)):
                    module = PACKAGE.parent.joinpath(*name.split(".")).with_suffix(".py")
                    if module.is_relative_to(PACKAGE) and module.is_file() and module not in seen:
                        seen[module] = None
                        todo.append(module)
    return list(seen)


def borrows(text: str) -> bool:
    """Whether a module imports what has a stand-in."""
    nodes = ast.walk(ast.parse(text))
    return any(isinstance(node, ast.ImportFrom) and node.module in ("dataclasses", "typing") for node in nodes)


def lacking(text: str) -> Iterator[str]:
    """What a module asks of dataclasses and typing that the stand-ins ignore or have not."""
    known = {"dataclasses": {"asdict", "dataclass", "field", "is_dataclass", "replace"}, "typing": OF_TYPING}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (f"import {each.name}" for each in node.names if each.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            yield from (f"{node.module}.{each.name}" for each in node.names if each.name not in known[node.module])
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "field":
            yield from (f"field({each.arg})" for each in node.keywords if each.arg != "default_factory")
        elif isinstance(node, ast.ClassDef):
            yield from _of_class(node)


def _of_class(node: ast.ClassDef) -> Iterator[str]:
    made = [each for each in node.decorator_list if ast.unparse(each).split("(")[0] == "dataclass"]
    if not made:
        return
    for call in made:
        if isinstance(call, ast.Call):
            yield from (f"@dataclass({each.arg})" for each in call.keywords if each.arg not in IGNORED)
    if node.bases:
        yield "a base of a dataclass"
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__post_init__":
            yield "__post_init__"
        elif isinstance(part, ast.AnnAssign):
            kind = ast.unparse(part.annotation).split("[")[0]
            if kind in ("ClassVar", "InitVar"):
                yield kind


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
