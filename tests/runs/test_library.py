"""`import landspeed`: scenarios in Python, runs in threads and in asyncio, failures with a type."""

import asyncio
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import landspeed as ls
from tests.support.stopwatch import uncounted

EXAMPLES = Path(__file__).resolve().parents[2] / "scenarios" / "examples"
FIRST = EXAMPLES / "first.yaml"
SHORT: dict[str, Any] = {
    "format": 1,
    "name": "short",
    "title": "A short path built in Python",
    "hosts": {"a": {"role": "sender"}, "b": {"role": "receiver"}},
    "path": [
        {"from": "a", "to": "r", "one_way_delay": "5 ms", "line_rate": "1 Gbit/s"},
        {"from": "r", "to": "b", "one_way_delay": "5 ms", "line_rate": "100 Mbit/s"},
    ],
    "transfer": {"streams": 1, "duration": "2 s"},
}


def short(**changes: Any) -> ls.Scenario:
    return ls.Scenario.build(SHORT).with_(changes)


def test_importing_it_imports_nothing_else() -> None:
    """`import landspeed` costs less than starting Python does."""
    script = "import sys, landspeed; print(*{name.split('.')[0] for name in sys.modules} - sys.stdlib_module_names)"
    words = [sys.executable, "-I", "-c", script]
    found = subprocess.run(words, capture_output=True, text=True, check=True, env=uncounted()).stdout
    others = {name for name in found.split() if not name.startswith("__")}
    assert others <= {"landspeed", "_distutils_hack", "sitecustomize"}  # the last one: Debian's own Python


def test_the_help_of_the_command_imports_no_world_and_no_pydantic() -> None:
    script = (
        "import sys; from landspeed.cli.main import make_parser; make_parser('').format_help(); "
        "print(*[name for name in sys.modules if name.split('.')[0] in ('pydantic', 'rich', 'pyarrow', 'ruamel')"
        " or name.startswith('landspeed.worlds.emu')])"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert said == []


def test_every_public_name_is_there_and_documented() -> None:
    for name in ls.__all__:
        assert getattr(ls, name).__doc__, name


TYPED = """
# pyright: strict
from typing import assert_type

import landspeed as ls

scenario = ls.load("first").with_({"transfer.streams": 4})
run = ls.run(scenario, world="emu", seed=7, progress=print)
assert_type(run.goodput_bps, float | None)
assert_type(run.verdicts[0].ok, bool | None)


async def watch() -> ls.Run:
    async with ls.arun(scenario) as going:
        async for now in going:
            assert_type(now, ls.Progress)
        return await going.finished()


with ls.path("lan", seed=1) as path:
    server = path.receiver.popen(["./server"], until=ls.listening(9000))
    assert_type(path.python(len, "abc"), int)
    print(path.bound_by(server).kind == "application window")
print(ls.probe(["true"], [ls.Server("b", ["./server"], ls.listening(9000))], at="a").direction("a", "b").bound_by)
"""


MORE = {"": 0, "ls.lode('first')": 1, "run.goodput": 1, "ls.run(7)": 1}  # a last line → how much of it is wrong


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What the checker finds of each program, asked once for all: it reads the package first, which takes it 3 s."""
    folder = tmp_path_factory.mktemp("typed")
    files = {more: folder / f"mine{number}.py" for number, more in enumerate(MORE)}
    for more, file in files.items():
        file.write_text(TYPED + more)
    checker = Path(sys.executable).with_name("pyright")
    words = [checker, "--outputjson", "--pythonpath", sys.executable, *files.values()]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)
    told = json.loads(done.stdout)
    assert told["summary"]["filesAnalyzed"] == len(files)
    found = [
        each for each in told["generalDiagnostics"] if each["rule"] != "reportUnknownMemberType"
    ]  # of a wrong name
    return {more: [each for each in found if Path(each["file"]) == file] for more, file in files.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("more", "wrong"), MORE.items())
def test_a_user_s_own_checker_knows_the_types(findings: dict[str, list[dict[str, Any]]], more: str, wrong: int) -> None:
    """The package says that it is typed (PEP 561), and a misspelt name is not taken for Any."""
    found = findings[more]
    assert len(found) == wrong, found
    assert {each["range"]["start"]["line"] for each in found} <= {len(TYPED.splitlines())}


def test_a_scenario_built_in_python_is_the_one_of_the_file(tmp_path: Path) -> None:
    built = short()
    file = tmp_path / "short.yaml"
    file.write_text(built.text)
    assert ls.load(file).plan().sha256 == built.plan().sha256
    assert built.with_({"transfer.streams": 4}).plan().transfer.streams == 4
    assert built.plan().transfer.streams == 1  # `with_` changes nothing
    assert built.with_({"transfer.duration": None, "transfer.bytes": "1 GB"}).plan().transfer.bytes == 10**9


@pytest.mark.parametrize(
    ("changes", "where", "said"),
    [
        ({"transfer.streams": 0}, "at transfer.streams", "too small"),
        ({"transfer.streems": 4}, "at transfer.streems", "did you mean 'streams'"),
        ({"path.1.line_rate": 100}, "at path.1.line_rate", "unit"),
        ({"path.7.loss": "1 %"}, "at path.7.loss", "0 to 1"),
        ({"transfer": {"streams": object()}}, "at transfer.streams", "cannot stand in a scenario"),
    ],
)
def test_what_is_wrong_is_located_by_its_key(changes: dict[str, Any], where: str, said: str) -> None:
    with pytest.raises(ls.ScenarioError) as caught:
        short(**changes)
    assert where in str(caught.value)
    assert said in str(caught.value)


def test_overrides_repeat_what_with_changed() -> None:
    """What `with_` lays over a file is what the record's command says with `--set`."""
    changed = ls.load(FIRST).with_(
        {"transfer.streams": 4, "transfer.duration": "3 s", "path.0.reverse": {"loss": "1 %"}}
    )
    again = ls.load(FIRST, changed.loaded.overrides)
    assert again.plan().sha256 == changed.plan().sha256


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: ls.load("no-such.yaml"), ls.ScenarioError, "no such file"),
        (lambda: ls.run(FIRST, world="moon"), ls.UnknownWorld, "no world 'moon'; there are emu"),
        (lambda: ls.run(FIRST, warp=9), ls.NotReady, "no option warp"),
        (lambda: ls.run(FIRST, clock="sundial"), ls.NotReady, "virtual, real"),
        (lambda: ls.run(FIRST, memory="4"), ls.NotReady, "memory"),
        (lambda: ls.run(FIRST, tool="netcat"), ls.ToolError, "engine, iperf3"),
        (lambda: ls.run(FIRST, world="real"), ls.NotReady, "landspeed real inventory"),
        (lambda: ls.find_runs("/nonexistent").sql("SELECT nothing"), ls.QueryError, "nothing"),
    ],
)
def test_failures_have_a_type_and_the_command_s_text(call: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said) as caught:
        call()
    assert isinstance(caught.value, ls.LandspeedError)
    assert caught.value.exit_status == 2


@pytest.mark.guest
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"transfer.window": "1 MB", "transfer.window_exact": True}, "window_exact"),
        ({"transfer.receive": "verify"}, "verify"),
        ({"transfer.streams": 2, "transfer.start_stagger": "1 s"}, "start_stagger"),
        ({"transfer.duration": "400 ms"}, "whole seconds"),
        ({"transfer.protect": "ktls", "transfer.receive": "memory"}, "no transfer.protect: ktls"),
    ],
)
def test_iperf3_refuses_what_it_cannot_do(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ls.ToolError, match=said):
        ls.run(short(**changes), tool="iperf3")


@pytest.mark.guest
def test_a_run_in_the_guest_and_what_can_be_asked_of_it(tmp_path: Path) -> None:
    told: list[str] = []
    run = ls.run(short(), seed=7, runs_dir=tmp_path, progress=lambda now: told.append(str(now)))
    assert run.passed
    assert run.seed == 7
    # 100 Mbit/s in packets of 1500 + 38 B, of which 1448 are payload; the start costs a few round trips of two seconds.
    assert run.goodput_bps == pytest.approx(100e6 * 1448 / 1538, rel=0.05)
    assert run.limited_by == "line rate"
    assert all(verdict.ok is not False for verdict in run.verdicts)
    assert "calibrating" in told
    assert run.report_file.exists()
    assert {"goodput", "rtt"} <= set(run.charts)
    assert run.plot("goodput").to_dict()["data"][0]["name"] == "rehearsed"
    with pytest.raises(ValueError, match="no chart 'colour'"):
        run.plot("colour")
    assert set(run.samples.to_arrow()["end"].unique().to_pylist()) == {"sender", "receiver"}
    assert run.links.num_rows > 0
    assert "<table>" in run._repr_html_()
    assert "<svg" in short()._repr_html_()
    kept = ls.find_runs(tmp_path)
    assert [each.bundle for each in kept] == [run.bundle]
    (row,) = kept.sql("SELECT seed, goodput_bps FROM runs").rows
    assert row == (7, run.goodput_bps)


@pytest.mark.guest
def test_several_runs_at_once_in_one_process_give_what_they_give_alone(tmp_path: Path) -> None:
    """Eight guests from eight threads: the same samples, to the byte, as one after the other."""
    scenario = short(**{"transfer.duration": "1 s", "path.1.loss": "0.1 %"})

    def one(folder: str, seed: int) -> bytes:
        run = ls.run(scenario, seed=seed, runs_dir=tmp_path / folder, report=False)
        return (run.bundle / "samples.parquet").read_bytes()

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda seed: one("together", seed), range(8)))
    alone = [one("alone", seed) for seed in range(8)]
    assert together == alone
    assert len(set(alone)) == 8  # a seed is worth something


@pytest.mark.guest
def test_progress_that_raises_ends_the_run_and_nothing_is_left(tmp_path: Path) -> None:
    def stop(now: ls.Progress) -> None:
        if now.phase == "transfer":
            raise ls.RunInterrupted("enough")

    with pytest.raises(ls.RunInterrupted) as caught:
        ls.run(short(**{"transfer.duration": "1 h"}), runs_dir=tmp_path, progress=stop)
    run = caught.value.run
    assert isinstance(run, ls.Run)
    assert not run.complete
    assert run.error == "interrupted"
    assert [each.name for each in tmp_path.iterdir()] == [run.bundle.name]


@pytest.mark.guest
def test_leaving_the_block_ends_the_run(tmp_path: Path) -> None:
    async def watch() -> ls.Progress:
        async with ls.arun(short(**{"transfer.duration": "1 h"}), runs_dir=tmp_path) as going:
            async for now in going:
                if now.transfer_s > 0:
                    return now
        raise AssertionError("it ended by itself")

    now = asyncio.run(watch())
    assert now.transfer_s < 3600
    (run,) = ls.find_runs(tmp_path)
    assert not run.complete
    assert run.error == "interrupted"
    last_s = run.samples.to_arrow()["time_ns"].to_pylist()[-1] / 1e9
    assert last_s < 3600, "it went on to its end"


@pytest.mark.guest
def test_a_run_beside_other_work(tmp_path: Path) -> None:
    async def both() -> tuple[ls.Run, ls.Run]:
        async with ls.arun(short(), runs_dir=tmp_path) as one, ls.arun(short(), runs_dir=tmp_path) as other:
            return await one.finished(), await other.finished()

    one, other = asyncio.run(both())
    assert one.passed
    assert one.goodput_bps == other.goodput_bps


@pytest.mark.guest
def test_worlds_by_name(tmp_path: Path) -> None:
    run = ls.run(short(), world="sim", runs_dir=tmp_path, collapse=True)
    assert run.passed
    assert run.record.world == "sim"
    assert "--collapse" in run.record.command
