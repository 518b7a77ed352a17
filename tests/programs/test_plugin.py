"""The pytest plug-in, tried as pytest tries plug-ins: small test files in a folder, run by a pytest of their own."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from landspeed.programs.frames import Frame, first_difference
from landspeed.worlds.emu.kernel_source import cache_root

pytest_plugins = "pytester"
HEAD = "import sys\nimport pytest\nimport landspeed as ls\n"


@pytest.fixture(autouse=True)
def cache(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pytester gives its tests a home of their own, in which no kernel was built."""
    if request.node.get_closest_marker("guest"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache_root().parent))


def run(pytester: pytest.Pytester, text: str, *words: str) -> pytest.RunResult:
    """One test file, in a process of its own."""
    pytester.makepyfile(test_it=HEAD + text)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *words)


# --- without a guest -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_paths_and_seeds_are_in_the_ids(pytester: pytest.Pytester) -> None:
    (pytester.path / "mine.yaml").write_text("format: 1\nextends: nowhere.yaml\n")  # it is not read before it is run
    text = """
built = ls.load("geo").with_({"name": "rainy", "path.1.loss": "1 %"})

@pytest.mark.landspeed("lan", "mine.yaml", built, seeds=range(2))
@pytest.mark.parametrize("size", [1, 2])
def test_many(path, size): ...

@pytest.mark.landspeed("lan")
def test_one(path): ...

class TestAll:
    pytestmark = pytest.mark.landspeed("dsl", seeds=[7])
    def test_within(self, path): ...
"""
    said = run(pytester, text, "--collect-only", "-q", "--strict-markers")
    assert said.ret == 0
    found = [line.partition("::")[2] for line in said.outlines if "::" in line]
    names = ["lan", "mine", "rainy"]
    many = {f"test_many[{size}-{name}-seed{seed}]" for size in (1, 2) for name in names for seed in (0, 1)}
    swapped = {f"test_many[{name}-seed{seed}-{size}]" for size in (1, 2) for name in names for seed in (0, 1)}
    assert set(found) - {"test_one[lan]", "TestAll::test_within[dsl-seed7]"} in (many, swapped)
    assert len(found) == 14


@pytest.mark.slow
@pytest.mark.parametrize(
    ("marker", "argument", "wanted"),
    [
        ('landspeed("lan")', "", "has the marker landspeed and takes no argument `path`"),
        ("landspeed()", "path", 'name a path, as in @pytest.mark.landspeed("transatlantic")'),
        ('landspeed("lan", seeds=[])', "path", "seeds=[] are no whole numbers; write seeds=range(5)"),
        ('landspeed("lan", seeds=[-1])', "path", "are no whole numbers"),
        ('landspeed("lan", seeds=["a"])', "path", "are no whole numbers"),
    ],
)
def test_a_wrong_marker_is_told_when_tests_are_collected(
    pytester: pytest.Pytester, marker: str, argument: str, wanted: str
) -> None:
    said = run(pytester, f"@pytest.mark.{marker}\ndef test_it({argument}): ...\n")
    assert said.ret == 2
    assert wanted in said.stdout.str()


@pytest.mark.slow
def test_what_cannot_be_made_fails_without_a_traceback_of_ours(pytester: pytest.Pytester) -> None:
    """No kernel is built here (conftest.py), and it is told what to do about it."""
    text = """
def test_unmarked(path): ...

@pytest.mark.landspeed("no-such")
def test_nowhere(path): ...

@pytest.mark.landspeed("lan")
def test_not_ready(path): ...
"""
    said = run(pytester, text)
    said.assert_outcomes(errors=3)
    shown = said.stdout.str()
    assert 'a test with a `path` needs the marker: @pytest.mark.landspeed("transatlantic")' in shown
    assert "no such file" in shown
    assert re.search("kernel .* is not built.*`landspeed doctor` says more", shown)
    assert "library.py" not in shown


@pytest.mark.slow
def test_pytest_starts_as_fast_with_the_plugin(pytester: pytest.Pytester) -> None:
    """It imports nothing that takes time before a path is made."""
    text = """
def test_modules():
    heavy = {"pydantic", "pyarrow", "ruamel.yaml", "hypothesis.strategies", "landspeed.worlds.emu.world"}
    heavy &= set(sys.modules)
    assert not heavy, heavy
"""
    pytester.makepyfile(test_it="import sys\n" + text)
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:hypothesispytest").assert_outcomes(passed=1)


def test_where_two_captures_part() -> None:
    one = [Frame(10, "a"), Frame(20, "b"), Frame(30, "c")]
    assert first_difference(one, list(one)) is None
    assert first_difference(one, [Frame(10, "a"), Frame(2020, "b"), Frame(30, "c")]) is None
    late = first_difference(one, [Frame(10, "a"), Frame(2020, "b"), Frame(30, "c")], later_ns=1000)
    assert late
    assert late.number == 2
    other = first_difference(one, [Frame(10, "a"), Frame(20, "x")])
    assert other
    assert (other.number, str(other.one), str(other.other)) == (2, "0.000000 s  b", "0.000000 s  x")
    shorter = first_difference(one, one[:2])
    assert shorter
    assert (shorter.number, shorter.other) == (3, None)


# --- with guests -----------------------------------------------------------------------------------------------------

LOSSY = """
@pytest.mark.landspeed("lan", seeds=range(4), changes={"path.0.loss": "20 %"})
def test_pings(path):
    path.at("0.5 s", link="a-switch", one_way_delay="3 ms")
    done = path.sender.run(["ping", "-c", "20", "-i", "0.05", "-W", "1", "b"])
    print("own words of the test")
    path.receiver.run(["sh", "-c", "echo {} > $QLOGDIR/c.sqlog"])
    assert path.seed != 2, "this seed fails"
"""


@pytest.mark.guest
def test_a_failing_seed_beside_others(pytester: pytest.Pytester) -> None:
    """By two workers: what is shown and kept, what JUnit is told, where the failing seed parts from another one."""
    said = run(pytester, LOSSY, "-n", "2", "--junitxml=out.xml")
    said.assert_outcomes(passed=3, failed=1)
    shown = said.stdout.str()
    for wanted in (
        r"What happened, in virtual time:",
        r"0\.00\d+ s  planned for 500\.0 ms: a – switch: delay",
        r"0\.00\d+ s  a: program 1 starts: ping -c 20 -i 0\.05 -W 1 b",
        r"0\.500\d+ s  a – switch: delay begins",
        r"s  a: program 1 ended, exit status 0",
        r"Output of program 1 at a \(`ping .*`\), exit status 0:\n(  out: .*\n)+",
        r"  out: 20 packets transmitted, \d+ received, (\+\d+ duplicates, )?\d+% packet loss",
        r"Repeat it: cd \S+ && pytest 'test_it\.py::test_pings\[lan-seed2\]'",
        r"landspeed: where failing seeds part from passing ones",
        r"at a, packet \d+ is another one:\n +seed 2 \(failed\): .*\n +seed [013] \(passed\): ",
    ):
        assert re.search(wanted, shown), f"{wanted}\nis not in\n{shown}"
    folder = pytester.path / ".landspeed" / "failures" / "test_it.py-test_pings-lan-seed2"
    kept = {file.name for file in folder.iterdir()}
    assert {"a.pcap", "b.pcap", "sockets.parquet", "links.parquet", "story.txt", "scenario.yaml", "programs"} <= kept
    assert (folder / "own-logs" / "c.sqlog").read_text() == "{}\n"
    assert "links.parquet, own-logs/c.sqlog, programs/" in shown
    assert [each.name for each in folder.parent.iterdir()] == [folder.name], "what passed is not kept"
    assert "20 packets transmitted" in (folder / "programs" / "1.out").read_text()
    assert "Beside a seed that passed:" in (folder / "story.txt").read_text()
    words = ["tcpdump", "-nr", str(folder / "a.pcap")]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    assert sum("echo request" in line for line in lines) == 20
    cases = {case.get("name"): case for case in ElementTree.parse(pytester.path / "out.xml").iter("testcase")}
    assert set(cases) == {f"test_pings[lan-seed{seed}]" for seed in range(4)}
    for seed in range(4):
        properties = {
            each.get("name"): each.get("value") for each in cases[f"test_pings[lan-seed{seed}]"].iter("property")
        }
        assert properties == {"landspeed_path": "lan", "landspeed_seed": str(seed)}
    assert not [each for each in map(str, Path("/proc").iterdir()) if _is_guest_of(each, pytester.path)]


def _is_guest_of(process: str, folder: Path) -> bool:
    try:
        return str(folder) in str(Path(f"{process}/cwd").readlink()) and "linux" in Path(f"{process}/comm").read_text()
    except OSError:
        return False


UPLOAD = """
@pytest.mark.landspeed("geneva-pasadena", seeds=range(5))
def test_upload_survives_264_ms(path):
    server = path.receiver.popen(["./server", "--port", "9000"], until=ls.listening(9000))
    done = path.sender.run(["./client", path.receiver.address], timeout="120 s")
    path.at("30 s", link="denver-seattle", down="2 s")
    assert done.returncode == 0 and path.elapsed_s < 60
    assert path.bound_by(server).kind != "application window"
"""
CLIENT = """
s = socket.create_connection((sys.argv[1], 9000))
for _ in range(TURNS):
    s.sendall(bytes(100_000))
    if TURNS > 1:
        s.recv(1)  # the program's own window
"""
SERVER = """
s = socket.create_server(("", int(sys.argv[2]))); c, _ = s.accept(); heard = 0
while data := c.recv(1 << 16):
    heard += len(data)
    if heard % 100_000 == 0:
        c.sendall(b"y")
"""


@pytest.mark.guest
@pytest.mark.parametrize("turns", [1, 12])
def test_the_usual_test_of_an_upload(pytester: pytest.Pytester, turns: int) -> None:
    """As the documents have it; a client that waits for each 100 kB has a window of its own, and fails it."""
    for name, text in (("server", SERVER), ("client", CLIENT.replace("TURNS", str(turns)))):
        program = pytester.path / name
        program.write_text(f"#!{sys.executable} -S\nimport socket, sys\n{text}")
        program.chmod(0o755)
    said = run(pytester, UPLOAD, "-n", "2")
    said.assert_outcomes(passed=5 if turns == 1 else 0, failed=0 if turns == 1 else 5, warnings=5)
    assert "denver – seattle: down was planned and has not happened" in said.stdout.str()
    if turns > 1:
        assert "assert 'application window' != 'application window'" in said.stdout.str()


@pytest.mark.guest
def test_a_test_file_of_everything_else(pytester: pytest.Pytester) -> None:
    """Classes, functions of the test's own module, files of tmp_path, bound_by, events, a broken guest."""
    server = "import socket; s = socket.create_server(('', 9000)); c, _ = s.accept()\nwhile c.recv(1 << 16): pass"
    client = "import socket; s = socket.create_connection(('b', 9000)); s.sendall(bytes(2_000_000)); s.close()"
    text = f"""
SERVER = {server!r}
CLIENT = {client!r}
PYTHON = [sys.executable, "-S", "-c"]

def double(value):
    import os
    return 2 * value, os.uname().nodename

class TestClass:
    @pytest.mark.landspeed("lan")
    def test_class(self, path, tmp_path):
        (tmp_path / "data").write_text("seen")
        assert path.sender.run(["cat", str(tmp_path / "data")]).stdout == "seen"
        assert path.python(double, 21) == (42, "landspeed")

@pytest.mark.landspeed("dsl", seeds=[3])
def test_bound(path):
    server = path.receiver.popen([*PYTHON, SERVER], until=ls.listening(9000))
    done = path.sender.run([*PYTHON, CLIENT])
    path.wait_sent()
    server.wait()
    line_s = 2e6 * 8 / 10e6 * 1530 / 1440  # with 52 B of headers and 38 of framing for 1440; a start of few round trips
    assert line_s < server.elapsed_s < line_s + 4 * 0.03
    found = path.bound_by(server)
    assert (found.kind, found.source, found.bytes) == ("line rate", "a", 2_000_000), found

@pytest.mark.landspeed("lan", stall=8.0)
def test_broken(path):
    path.sender.run(["sh", "-c", "while :; do :; done"])

@pytest.mark.landspeed("lan")
def test_warned(path):
    path.at("9 s", link="a-switch", down="1 s")
"""
    said = run(pytester, text, "-rw")
    said.assert_outcomes(passed=3, failed=1, warnings=1)
    shown = said.stdout.str()
    assert "the virtual clock has stood still" in shown
    assert "no captures: " in shown
    assert "LandspeedWarning: a – switch: down was planned and has not happened" in shown


@pytest.mark.guest
def test_ten_short_tests_by_two_workers_do_not_flake(pytester: pytest.Pytester) -> None:
    """The small form of bench_plugin.py: each a second of the path's clock, all with the same captures."""
    text = """
import hashlib

@pytest.mark.landspeed("transatlantic")
@pytest.mark.parametrize("number", range(10))
def test_second(path, number):
    path.sender.run(["ping", "-c", "10", "-i", "0.1", "b"])
    path.session.ask("keep")
    digest = hashlib.sha256((path.folder / "captures" / "b.ring").read_bytes()).hexdigest()
    with open("digests", "a") as file:
        file.write(f"{path.session.now_ns} {digest}\\n")
"""
    run(pytester, text, "-n", "2").assert_outcomes(passed=10)
    assert len(set((pytester.path / "digests").read_text().splitlines())) == 1
