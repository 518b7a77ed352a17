"""Damaged plans: the simulator's reader refuses them in a sentence, while sanitizers watch, as the program does."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landspeed.worlds.sim.world import SIMULATOR
from tests.support.fuzzing import JSON, damaged, damaged_bytes, examples
from tests.support.sim_fixtures import MS, direction, flow, path_plan, simulate

PROGRAM = SIMULATOR.parent / "tests" / "plan-reader"
EVENTS = [
    {"at_ns": 5 * MS, "kind": "loss", "link": 0, "direction": "forward", "packets": 3},
    {"at_ns": 6 * MS, "kind": "rate", "link": 1, "direction": "both", "rate_bps": 10**8, "duration_ns": MS},
    {"at_ns": 7 * MS, "kind": "background", "link": 1, "direction": "reverse", "rate_bps": 10**8, "duration_ns": MS},
]
PLAN = path_plan([direction(10**9, 5 * MS), direction(10**8, MS, loss=0.01)], duration_ns=50 * MS) | {"events": EVENTS}
WRONG_FLOWS: list[dict[str, Any]] = [
    {"route": []},  # comes nowhere
    {"route": [0]},
    {"route": [1, 0]},  # does not begin at its source
    {"route": [0, 0]},  # back again
    {"route": [0, 2]},
    {"source": "n1", "route": [1]},  # a router
    {"source": "n2", "target": "n2"},
    {"target": "n9"},
    {"start_ns": -1},
]
# For the program itself, which must refuse them before it simulates anything.
WRONG: list[dict[str, Any]] = [
    {"schema_version": 2},
    {"nodes": []},
    {"links": []},
    {"links": None},
    {"flows": []},
    {"flows": [{"transfer": {}}]},
    {"nodes": [PLAN["nodes"][0], *PLAN["nodes"]]},
    {"links": [PLAN["links"][0], PLAN["links"][1] | {"b": "n3"}]},
    {"links": [PLAN["links"][0], PLAN["links"][1] | {"a": "n2"}]},
    *({"flows": [PLAN["flows"][0] | wrong]} for wrong in WRONG_FLOWS),
    {"ip_version": 5},
    {"events": [EVENTS[0] | {"link": 2}]},
    {"events": [EVENTS[0] | {"at_ns": -1}]},
    {"seed": 1.5},
]


class Reader:
    """The reader of plans alone."""

    def __init__(self, folder: Path) -> None:
        self.plan, self.log = folder / "plan.json", folder / "sanitizers"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )

    def read(self, content: bytes) -> str:
        """Its answer. It has one for everything."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.plan.write_bytes(content)
        self.process.stdin.write(f"{self.plan}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().rstrip("\n")
        assert answer, self.log.read_text()
        assert answer.startswith(("ok ", "refused: ")), answer
        return answer

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait() == 0, self.log.read_text()


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    if not PROGRAM.exists():
        pytest.skip("ns-3 is not there, so the simulator is not built")
    made = Reader(tmp_path_factory.mktemp("reader"))
    yield made
    made.close()


def test_a_right_plan_is_read(reader: Reader) -> None:
    assert reader.read(json.dumps(PLAN).encode()) == f"ok {12 * MS} 9000 8948"


@examples(300)
@given(plan=damaged(PLAN, JSON))
def test_a_plan_with_other_values_in_it(plan: Any, reader: Reader) -> None:
    reader.read(json.dumps(plan).encode())


@examples(150)
@given(content=damaged_bytes(json.dumps(PLAN).encode()))
def test_a_plan_whose_bytes_are_damaged(content: bytes, reader: Reader) -> None:
    reader.read(content)


@examples(60)
@given(content=st.one_of(st.binary(max_size=200), st.integers(1, 20_000).map(lambda depth: b"[" * depth)))
def test_anything_at_all(content: bytes, reader: Reader) -> None:
    assert reader.read(content).startswith("refused: ")


def test_a_network_is_read_flow_by_flow(reader: Reader) -> None:
    back = flow("back", "n2", "n0", [1, 0], duration_ns=MS)
    network = PLAN | {"flows": [*PLAN["flows"], back, back | {"name": "late", "start_ns": MS}]}
    assert reader.read(json.dumps(network).encode()) == f"ok{f' {12 * MS} 9000 8948' * 3}"


def test_figures_at_the_ends_of_their_ranges_do_not_overflow(reader: Reader) -> None:
    """The longest delay on as many links as a plan may have: their sum is an RTT."""
    longest = (2**63 - 1) // 4096
    whole = path_plan([direction(10**9, longest)] * 2000, duration_ns=1)
    assert reader.read(json.dumps(whole).encode()) == f"ok {4000 * longest} 9000 8948"
    for links, said in (
        ([direction(10**9, longest + 1)], "is not between"),
        ([direction(1, 0)] * 2001, "are more than"),
    ):
        assert said in reader.read(json.dumps(path_plan(links, duration_ns=1)).encode())


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_the_program_refuses_with_the_readers_words_and_status_2(
    wrong: dict[str, Any], reader: Reader, tmp_path: Path
) -> None:
    answer = reader.read(json.dumps(PLAN | wrong).encode())
    assert answer.startswith("refused: ")
    run = simulate(PLAN | wrong, tmp_path / "run")
    assert (run.status, run.error) == (2, f"landspeed-sim: {tmp_path / 'run' / 'plan.json'}: {answer[9:]}\n")


def test_what_is_no_plan_at_all_is_told(tmp_path: Path) -> None:
    run = simulate("{", tmp_path / "cut")
    assert (run.status, run.error.count("\n")) == (2, 1)
    usage = subprocess.run([SIMULATOR, "--colapse", "a", "b"], capture_output=True, text=True, check=False)
    assert usage.returncode == 2
    assert "'--colapse' is not understood" in usage.stderr
