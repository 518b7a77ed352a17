"""`landspeed explore`: the served page's runs, who is let in, and bad input."""

import json
import re
import resource
import signal
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from landspeed.cli.command_table import make_parser
from landspeed.cli.explore_command import shown_flow
from landspeed.explore.setting import setting_at, sliders, values_of
from landspeed.runs.scenario import Scenario
from tests.support.command import COMMAND
from tests.support.emu_fixtures import FIRST, wait_until
from tests.support.explore_fixtures import Served, explore, serving
from tests.support.places import ROOT
from tests.support.toy_world import environment, make_site

EXPLORE_PAGE = ROOT / "docs" / "how-to" / "explore.md"
START = [slider.start for slider in sliders()]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The site of the world, and the folder of the runs."""
    folder = tmp_path_factory.mktemp("explore")
    return make_site(folder), folder / "runs"


@pytest.fixture
def hold(tmp_path: Path) -> Path:
    """While this file is missing, runs wait."""
    return tmp_path / "go"


@pytest.fixture
def served(place: tuple[Path, Path], hold: Path) -> Generator[Served]:
    with serving(*place, "--hold", hold, "--jobs", 1) as found:
        yield found


@pytest.fixture(scope="module")
def shared(place: tuple[Path, Path]) -> Generator[Served]:
    """One server for all that only ask it nonsense."""
    with serving(*place) as found:
        yield found


def moved(**places: int) -> list[int]:
    """The first setting with some sliders elsewhere."""
    keys = [slider.key for slider in sliders()]
    return [places.get(key, START[number]) for number, key in enumerate(keys)]


@pytest.mark.slow
def test_runs_one_after_the_other(served: Served, hold: Path) -> None:
    first, second = (served.ask("runs", {"at": moved(mtu=1, window=place)})[1]["id"] for place in (0, 1))
    wait_until(lambda: served.state(first) == "running", "the first run")
    assert served.state(second) == "waiting"  # one core, one run
    assert served.ask("runs", {"at": moved(mtu=1, window=0)})[1]["id"] == first  # under way: not made again
    hold.touch()
    wait_until(lambda: served.state(second) == "done", "the second run")
    point = next(each["point"] for each in served.runs() if each["id"] == second)
    wanted = setting_at(sliders(), moved(mtu=1, window=1)).scenario().plan().physics.expected_goodput_bps
    assert point["mean"] == pytest.approx(wanted, rel=0.15)  # the toy's noise is 3 %
    assert point["at"] == moved(mtu=1, window=1)
    status, told, _ = served.ask("runs", {"at": moved(mtu=1, window=1)})
    assert (status, told["state"], told["point"]["key"]) == (202, "done", point["key"])  # known: no run
    status, report, headers = served.ask(f"bundles/{point['key']}/report.html")
    assert (status, headers.get_content_type()) == (200, "text/html")
    assert b"Goodput" in report
    assert served.ask(f"bundles/{point['key']}/plan.json")[0] == 404
    assert served.ask(f"bundles/{point['key']}/result.json")[0] == 404
    assert served.end() == 0


@pytest.mark.slow
def test_cancel(served: Served, hold: Path) -> None:
    first, second, third = (served.ask("runs", {"at": moved(rtt=place)})[1]["id"] for place in (0, 1, 2))
    wait_until(lambda: served.state(first) == "running", "the first run")
    assert served.ask(f"runs/{second}/cancel", {})[1]["state"] == "cancelled"  # it only waited
    served.ask(f"runs/{first}/cancel", {})
    wait_until(lambda: served.state(first) == "cancelled", "the end of the first run")
    wait_until(lambda: served.state(third) == "running", "the third run")
    assert served.state(second) == "cancelled"
    assert served.ask("runs/999/cancel", {})[0] == 404
    assert served.end() == 0  # which ends the third one too
    assert not hold.exists()


@pytest.mark.slow
def test_a_run_that_breaks_is_told(place: tuple[Path, Path], tmp_path: Path) -> None:
    unlucky = tmp_path / "unlucky.yaml"
    unlucky.write_text(f"extends: {FIRST}\nname: unlucky\nexpect: null\ntransfer: {{window: 13 MB}}\n")
    with serving(*place, unlucky) as served:
        at = [slider.start for slider in sliders({"rtt": 50_000_000, "window": 13_000_000, "mtu": 9000})]
        number = served.ask("runs", {"at": at})[1]["id"]
        wait_until(lambda: served.state(number) == "failed", "the end of the run")
        told = next(each for each in served.runs() if each["id"] == number)
        assert "bad luck" in told["error"]
        assert served.ask("runs", {"at": at})[1]["id"] != number  # it may be tried again


@pytest.mark.slow
def test_strangers_are_refused(served: Served) -> None:
    ours = f"127.0.0.1:{served.port}"
    assert served.ask("")[0] == 200
    assert served.ask("", Host=f"localhost:{served.port}")[0] == 200
    for path in ("", "news", "runs", "bundles/" + 24 * "0" + "/report.html"):
        for token in ("x", served.token[:-1], served.token + "x", "%00", "é".encode().hex()):
            assert served.ask(path, token=token)[0] == 403, (path, token)
    # A page of somebody else, under a name that leads to loopback (DNS rebinding), even with the token.
    for host in ("evil.example", f"evil.example:{served.port}", "127.0.0.1", f"127.0.0.1.evil.example:{served.port}"):
        status, told, _ = served.ask("", Host=host)
        assert (status, told["error"]) == (403, f"this is {ours} and no other host")
    # A form of another page in the same browser.
    for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Content_Type": "text/plain"}):
        assert served.ask("runs", {"at": START}, **headers)[0] == 403, headers
    assert served.ask("runs", {"at": START}, Origin=f"http://{ours}")[0] == 202
    _, _, headers = served.ask("")
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Frame-Options"] == "DENY"
    assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"{", "no JSON"),
        (b"\xff", "no JSON"),
        ([1], "'at' is no list of 9"),
        ({"at": START[:-1]}, "'at' is no list of 9"),
        ({"at": [*START[:-1], 99]}, "control: no place 99; it has 0 to 3"),
        ({"at": [-1, *START[1:]]}, "rtt: no place -1"),
        ({"at": [True, *START[1:]]}, "rtt: no place True"),
        ({"at": ["0", *START[1:]]}, "rtt: no place '0'"),
    ],
)
def test_what_is_no_setting(shared: Served, body: object, why: str) -> None:
    status, told, _ = shared.ask("runs", body)
    assert status == 400
    assert why in told["error"]


@pytest.mark.slow
def test_too_much(shared: Served) -> None:
    for path in ("runs", "runs/1/cancel"):
        status, told, _ = shared.ask(path, 5000 * b" ")
        assert (status, told) == (413, {"error": "the body has more than 4096 bytes"})
    assert shared.ask("", "x" * 10)[0] == 405


@pytest.mark.slow
def test_two_on_one_port(served: Served, place: tuple[Path, Path]) -> None:
    done = explore(*place, "--serve", "--port", served.port)
    assert done.returncode == 2
    assert f"--port {served.port}: Address already in use" in done.stderr
    assert "leave --port out" in done.stderr
    with serving(*place) as other:  # without --port each has its own
        assert other.port != served.port
        assert other.ask("", token=served.token)[0] == 403


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--port", "8000"), "--port belongs to --serve"),
        (("--serve", "--port", "70000"), "write a number from 1 to 65535"),
        (("--serve", "--out", "x.html"), "--serve writes no file"),
        (("--spread", "0"), "not a positive integer"),
        (("--spread", "3"), "--spread chooses what is measured; add --measure, or leave --spread out"),
        (("--serve", "--measure"), "leave out --measure, or --serve"),
        (("first", "--flow", "x"), "leave --flow out: it is one path"),
        (("dumbbell", "--flow", "x"), "dumbbell has no such flow; choose one of near, far"),
        (("dumbbell",), "choose one of fifo, codel, fq_codel, pie: --set links.2.discipline=fifo"),
        (("--jobs", "0"), "not a positive integer"),
        (("--set", "transfer.streams=4"), "name one"),
        (("no-such-scenario",), "no-such-scenario"),
        ((FIRST, "--set", "transfer.congestion_control=scalable"), "choose one of reno, cubic, htcp, bbr"),
        (("--out", "/proc/no/explore.html"), "name another file with --out"),
    ],
)
def test_bad_words(place: tuple[Path, Path], words: tuple[str, ...], why: str) -> None:
    done = explore(*place, *words)
    assert done.returncode == 2, done.stderr
    assert why in done.stderr
    assert "Traceback" not in done.stderr


def test_the_commands_of_its_page_begin_somewhere() -> None:
    """Scenario, flow and options are accepted, and theory knows the path; nothing is computed."""
    commands = re.findall(r"^\| `landspeed (explore [^`]+)`", EXPLORE_PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) >= 6
    for words in commands:
        parsed = make_parser("explore").parse_args(words.split())
        if parsed.file is not None:
            shown = shown_flow(Scenario.load(parsed.file, parsed.overrides).plan(), parsed)
            sliders(values_of(shown.path))


@pytest.mark.slow
def test_the_static_page_has_the_grid(place: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "a folder" / "seite é.html"
    done = explore(*place, FIRST, "--out", out, "--measure", "--spread", 5)
    assert done.returncode == 0, done.stderr
    told = re.search(r"0 of (\d+) runs are known; the other (\d+) take about \d+ min", done.stderr)
    assert told is not None and told[1] == told[2]
    assert done.stdout.strip() == str(out)
    page = out.read_text()
    assert len(page) <= 2_000_000
    assert "It begins with: A first look, 1 Gbit/s over 50 ms" in page
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    start = [slider["start"] for slider in data["sliders"]]
    assert start in [point["at"] for point in data["points"]]
    windows = {point["at"][2] for point in data["points"] if point["at"][:2] + point["at"][3:] == start[:2] + start[3:]}
    assert windows == set(range(len(data["sliders"][2]["texts"])))  # each window, all else as it begins
    assert explore(*place, FIRST, "--out", out, "--measure", "--spread", 5, "--quiet").returncode == 0
    assert out.read_text() == page  # nothing is run again, and the same runs make the same page


@pytest.mark.slow
def test_without_a_word_nothing_is_run_but_the_price_is_told(place: tuple[Path, Path], tmp_path: Path) -> None:
    site, _ = place
    runs, out = tmp_path / "runs", tmp_path / "explore.html"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = explore(site, runs, "dumbbell", "--set", "links.2.discipline=fifo", "--out", out)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    assert after.ru_utime - before.ru_utime <= 3.0  # 1.5 s beside little else: theory is there at once
    assert out.stat().st_size <= 250_000  # and the page holds no tables of it
    assert re.search(
        r"the page has theory; 0 of (\d+) runs are known: --measure makes the other \1, in about \d+ min, \d+ at",
        done.stderr,
    )
    assert "the path of flow " in done.stderr  # a network: the first of its flows
    assert not (runs / "bundles").exists()
    assert ", flow " in out.read_text().partition("</title>")[0]


@pytest.mark.slow
def test_ctrl_c_keeps_what_ran(
    place: tuple[Path, Path], hold: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page has theory and the runs that were made; the next call knows them."""
    monkeypatch.setenv("TOY_BUILD", "chalk")  # with which nothing was run
    out, log = tmp_path / "explore.html", tmp_path / "log"
    more = (FIRST, "--out", out, "--hold", hold, "--log", log)
    hold.touch()
    words = [COMMAND, "explore", "--world", "toy", "--runs", place[1], *more, "--measure", "--spread", 5, "--jobs", 1]
    going = subprocess.Popen(
        [str(word) for word in words], stderr=subprocess.PIPE, text=True, env=environment(place[0])
    )
    wait_until(lambda: log.exists() and len(log.read_text().splitlines()) >= 3, "three runs", 300)
    hold.unlink()  # none that begins now ends
    going.send_signal(signal.SIGINT)
    _, told = going.communicate(timeout=300)
    assert going.returncode == 1, told
    kept = re.search(r"Error: interrupted; (\d+) of (\d+) runs are kept in (.*), and the page has them;", told)
    assert kept is not None, told
    assert (2 <= int(kept[1]) < int(kept[2]), kept[3], "Traceback" in told) == (True, str(place[1]), False)
    data = json.loads(out.read_text().partition('id="data">')[2].partition("</script>")[0])
    assert len(data["points"]) == int(kept[1])
    assert f"the page has theory; {kept[1]} of " in explore(*place, *more).stderr
