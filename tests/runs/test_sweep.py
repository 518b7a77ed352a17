"""Sweeps by the command and the library, in a world that computes: cells, what is reused, failures, certainty."""

import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from landspeed.base.failures import NotPossible
from landspeed.judge.certainty import LEAST, certain, enough, parse_until
from landspeed.report.findings import sweep_finding
from landspeed.report.sweep_figures import MEASURES, heat_maps, means, pictures
from landspeed.report.sweep_page import render_sweep_page
from tests.support.emu_fixtures import wait_until
from tests.support.runs_sweep import (
    Sweeps,
)
from tests.support.toy_world import environment, make_site

GRID = "{transfer.streams: [1, 2, 4], transfer.window: {from: 1 MB, to: 4 MB, by: x2}, seeds: 2}"


@pytest.fixture
def sweeps(tmp_path: Path) -> Sweeps:
    return Sweeps(tmp_path, make_site(tmp_path))


@pytest.mark.slow
def test_every_cell_is_run_once_and_known_by_its_content(sweeps: Sweeps) -> None:
    told, _ = sweeps.run(GRID)
    assert {key: told[key] for key in ("cells", "done", "reused", "failed")} == {
        "cells": 18, "done": 18, "reused": 0, "failed": 0,
    }  # fmt: skip
    assert Path(told["table"]) == sweeps.out / "table.parquet"
    rows = sweeps.rows()
    assert [(row["transfer.streams"], row["transfer.window"], row["seed"]) for row in rows[:3]] == [
        ("1", "1 MB", 1),
        ("1", "1 MB", 2),
        ("1", "2 MB", 1),
    ]
    assert len(list((sweeps.out / "bundles").iterdir())) == 18
    first = (sweeps.out / "table.parquet").read_bytes()

    told, _ = sweeps.run(GRID, "--resume")  # all are known
    assert (told["done"], told["reused"], sweeps.runs) == (0, 18, 18)
    assert (sweeps.out / "table.parquet").read_bytes() == first

    wider = GRID.replace("[1, 2, 4]", "[1, 2, 4, 8]").replace("seeds: 2", "seeds: 3")
    told, _ = sweeps.run(wider)
    assert (told["cells"], told["done"], told["reused"]) == (36, 18, 18)

    told, _ = sweeps.run(GRID, "--pencil", "HB")  # another option of the world: other cells
    assert (told["done"], told["reused"]) == (18, 0)
    told, _ = sweeps.run(GRID, TOY_BUILD="brush")  # another build: results never mix
    assert (told["done"], told["reused"]) == (18, 0)
    told, _ = sweeps.run(GRID, "--fresh", "--no-bundles")
    assert (told["done"], told["reused"]) == (18, 0)


@pytest.mark.slow
def test_a_cell_that_fails_is_kept_with_its_reason_and_stops_no_other(sweeps: Sweeps) -> None:
    vary = "{transfer.window: [1 MB, 13 MB, 16 MB], seeds: 2}"
    scratch = sweeps.folder / "scratch"
    scratch.mkdir()
    told, said = sweeps.run(vary, status=1, TMPDIR=str(scratch))
    assert list(scratch.iterdir()) == []  # Dask's own folder would stay
    assert (told["done"], told["failed"]) == (4, 2)
    assert said.count("a window of 13 MB brings bad luck") == 2
    failed = [row for row in sweeps.rows() if row["state"] == "failed"]
    assert {(row["transfer.window"], row["error"], row["goodput_bps"]) for row in failed} == {
        ("13 MB", "a window of 13 MB brings bad luck", None)
    }
    assert "Cells that failed" in (sweeps.out / "sweep.html").read_text()
    told, _ = sweeps.run(vary, status=1)  # what failed is tried again, what is done is not
    assert (told["done"], told["reused"], told["failed"]) == (0, 4, 2)


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done(sweeps: Sweeps, tmp_path: Path) -> None:
    vary = "{seeds: 6}"
    sweeps.run("{seeds: 2}")
    words = sweeps.words(vary, "--hold", tmp_path / "go", "--jobs", "2")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    env = environment(sweeps.site, TMPDIR=str(scratch))
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=env) as going:
        wait_until(lambda: sweeps.runs >= 4, "two more cells to begin")
        going.send_signal(2)
        _, said = going.communicate(timeout=120)
    assert going.returncode == 1
    assert list(scratch.iterdir()) == []
    assert "interrupted; 2 of 6 cells are kept" in said
    assert len(sweeps.rows()) == 2
    told, _ = sweeps.run(vary)
    assert (told["done"], told["reused"]) == (4, 2)


@pytest.mark.slow
def test_seeds_are_added_until_the_mean_is_certain(sweeps: Sweeps) -> None:
    told, _ = sweeps.run("{transfer.streams: [1, 2]}", "--until", "ci95=1 %", "--no-bundles")
    rows = sweeps.rows()
    assert told["cells"] == len(rows)
    for streams in ("1", "2"):
        values = [row["goodput_bps"] for row in rows if row["transfer.streams"] == streams]
        assert enough(values, 0.01)
        assert not enough(values[:-1], 0.01)  # and it stopped as soon as that was so
        # A spread of 3 % needs (1.96 × 3)² = 35 seeds.
        assert 15 <= len(values) <= 80
    told, _ = sweeps.run("{transfer.streams: [1, 2]}", "--until", "ci95=0.1 %", "--at-most", 90, "--no-bundles")
    assert told["cells"] == 90


@pytest.mark.slow
def test_a_table_as_csv_and_by_the_library(sweeps: Sweeps, tmp_path: Path) -> None:
    sweeps.run("{transfer.streams: [1, 2], seeds: 2}", "--csv", tmp_path / "t.csv")
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert len(lines) == 5
    assert lines[0].startswith('"cell","transfer.streams","seed","state","passed","goodput_bps"')
    program = f"""
import landspeed as ls
seen = []
made = ls.sweep({str(sweeps.file("{transfer.streams: [1, 2], seeds: 2}"))!r}, world="toy", folder={str(sweeps.out)!r},
                progress=lambda state: seen.append(str(state)))
print(len(made), made.complete, made.state.reused, len(made.to_pandas()), seen[-1])
"""
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment(sweeps.site))
    assert done.stdout.startswith("4 True 4 4 0 of 4 cells done, 4 known before"), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--until", "soon"), "is not a goal"),
        (("--resume",), "no sweep was begun"),
        (("--at-most", "5"), "the lists make 18 combinations"),
        (("--scheduler", "tcp://127.0.0.1:9"), "no Dask scheduler at tcp://127.0.0.1:9"),
        (("--jobs", "0"), "is not a positive integer"),
        (("--out", "/proc/nowhere"), "give another folder with --out"),
        (("--set", "transfer.colour=red"), "unknown key"),
    ],
)
def test_bad_input_is_said_before_anything_runs(sweeps: Sweeps, words: tuple[str, ...], said: str) -> None:
    _, told = sweeps.run(GRID, *words, status=2)
    assert said in told
    assert sweeps.runs == 0


@pytest.mark.root
def test_a_disk_that_fills_ends_the_sweep_and_says_so(sweeps: Sweeps) -> None:
    """Its folder is a file system of 400 kB: a bundle keeps 256 KiB in reserve while it is made, so a few fit."""
    sweeps.out.mkdir()
    line = sweeps.words("{seeds: 40}", "--jobs", 1)
    script = 'mount -t tmpfs -o size=400k none "$0" && "$@"; status=$?; ls "$0/cells" | wc -l; exit $status'
    words = ["unshare", "--mount", "sh", "-c", script, str(sweeps.out), *line]
    env = environment(sweeps.site)
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env, timeout=300)
    assert done.returncode in (1, 2)
    assert "the disk is full; free some space or give another folder with --out" in done.stderr
    assert "Traceback" not in done.stderr
    assert 1 <= int(done.stdout.split()[-1]) - 1 < 40  # what was done is kept; README is there, too


CROWD = """
import threading

running = most = 0
lock = threading.Lock()

def run(work, stop):
    global running, most
    with lock:
        running += 1
        most = max(most, running)
    threading.Event().wait(0.2)
    with lock:
        running -= 1
    return work
"""


@pytest.mark.slow
def test_memory_bounds_how_many_cells_run_at_once(sweeps: Sweeps, tmp_path: Path) -> None:
    """The toy world says 1 GiB for each stream. A worker of 5 GiB runs two cells of two streams at once, not four."""
    two = sweeps.file("{transfer.streams: [2], seeds: 8}").rename(tmp_path / "two.yaml")
    nine = sweeps.file("{transfer.streams: [9]}")
    (sweeps.site / "crowd.py").write_text(CROWD)
    program = f"""
from pathlib import Path
import crowd
from landspeed.runs.sweeps import workers
from landspeed.runs.sweeps.grid import plan_grid
from landspeed.runs.sweeps.work import work_of
from landspeed.worlds.make_world import make_world

workers._available_bytes = lambda: 5 * 2**30 + workers.KEEP_FREE_BYTES
workers._run = crowd.run
toy = make_world("toy")
cells = [cell for file in ({str(two)!r}, {str(nine)!r}) for cell in plan_grid(Path(file), (), toy).cells()]
with workers.local_workers(4) as crew:
    for cell in cells:
        crew.hand_in(work_of(cell, "toy", {{}}, None))
    print(len(list(crew.outcomes())), crowd.most)
"""
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment(sweeps.site), timeout=120)
    assert done.stdout.split() == ["9", "2"], done.stderr


@pytest.mark.slow
def test_dask_s_page_is_there_when_it_is_opened() -> None:
    """And the way to it from the top; what it imports is not imported before."""
    program = """
import sys
from urllib.request import urlopen
from landspeed.runs.sweeps.workers import local_workers

with local_workers(1) as crew:
    assert "bokeh" not in sys.modules
    top = crew.dashboard.removesuffix("status")
    with urlopen(crew.dashboard) as page, urlopen(top) as led:
        print("Dask" in page.read().decode(), led.url == crew.dashboard)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.split() == ["True", "True"], done.stderr


def test_the_interval_is_student_s() -> None:
    known = certain([9.0, 10.0, 11.0])
    assert known.mean == 10
    assert known.half == pytest.approx(4.302653 * 1.0 / 3**0.5, rel=1e-6)  # t(0.975, 2) of a table
    assert certain([5.0]).half is None
    assert certain([]).mean is None
    few = [1.0, 1.0001] * (LEAST // 2)
    assert not enough(few[:-1], 0.01)
    assert enough(few, 0.01)
    assert parse_until("ci95 = 2.5 %") == pytest.approx(0.025)
    with pytest.raises(NotPossible):
        parse_until("ci95=100 %")


def test_pictures_and_heat_map_are_of_the_means() -> None:
    keys = ("loss", "queue", "way")
    rows = [
        {"loss": loss, "queue": queue, "way": way, "seed": seed, "state": "done", "error": None, "retransmits": 3,
         "goodput_bps": 1e9 * number * (1 + 0.1 * seed), "limited_by": "loss"}
        for number, (loss, queue, way) in enumerate(
            ((loss, queue, way) for loss in ("0.01 %", "0.1 %", "1 %") for queue in ("1 BDP", "2 BDP", "3 BDP")
             for way in ("reno", "bbr")), start=1)
        for seed in (0, 1, 2)
    ]  # fmt: skip
    found = means(keys, rows)
    assert len(found) == 18
    assert found[3].goodput.mean == pytest.approx(4e9 * 1.1)
    assert found[3].goodput.half == pytest.approx(4.302653 * statistics.stdev([4.0, 4.4, 4.8]) / 3**0.5 * 1e9, rel=1e-6)
    drawn = pictures(keys, found, MEASURES[0])
    assert [picture.title for picture in drawn] == ["way reno", "way bbr"]
    picture = drawn[0]
    assert (picture.x_name, picture.unit) == ("loss", "Gbit/s")
    assert [line.name for line in picture.lines] == ["1 BDP", "2 BDP", "3 BDP"]
    xs = [bar.x for bar in picture.lines[0].bars]
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1])  # decades apart: a logarithmic axis
    assert all(bar.high < bar.y < bar.low for line in picture.lines for bar in line.bars)
    maps = heat_maps(keys, found)
    assert [each.title for each in maps] == ["goodput in Gbit/s · way reno", "goodput in Gbit/s · way bbr"]
    assert maps[1].rows[2][1][2] == ("19.8", 1.0)
    assert pictures(keys, found, MEASURES[2]) == []  # no delay was measured


def test_zero_stands_beside_decades_and_no_tick_touches_another() -> None:
    values = ("0 %", "0.01 %", "0.1 %", "0.11 %", "1 %")
    one = {"seed": 0, "state": "done", "error": None, "retransmits": 3, "goodput_bps": 1e9, "limited_by": "loss"}
    found = means(("loss",), [one | {"loss": loss} for loss in values])
    (picture,) = pictures(("loss",), found, MEASURES[0])
    xs = [bar.x for bar in picture.lines[0].bars]
    decades = [xs[1] - xs[0], xs[2] - xs[1], xs[4] - xs[2]]
    assert decades == pytest.approx([decades[0]] * 3)
    assert [text for _, text in picture.x_ticks] == ["0 %", "0.01 %", "0.1 %", "1 %"]


def test_goodput_and_delay_stand_side_by_side_and_are_told_first() -> None:
    keys = ("queue", "way")
    rows = [
        {"queue": queue, "way": way, "seed": 1, "cell": f"{queue} {way}", "state": "done", "error": None,
         "retransmits": 0, "goodput_bps": 9e6, "settled_goodput_bps": bps, "rtt_loaded_median_ms": ms,
         "limited_by": "line rate"}
        for queue, way, bps, ms in (("1 MB", "fifo", 9.9e6, 800.0), ("2 MB", "fifo", 9.9e6, 1600.0),
                                    ("1 MB", "cake", 9.5e6, 10.0), ("2 MB", "cake", 9.5e6, 10.5))
    ]  # fmt: skip
    found = means(keys, rows)
    assert sweep_finding(keys, found) == (
        "Goodput is 9.00 Mbit/s everywhere; the round trip under load is longest with queue 2 MB, way fifo (1600 ms) "
        "and shortest with queue 1 MB, way cake (10 ms)."
    )
    (delay,) = pictures(keys, found, MEASURES[2])
    assert (delay.unit, [text for _, text in delay.y_ticks]) == ("ms", ["10", "100", "1000", "10000"])
    fifo, cake = delay.lines
    assert (fifo.name, cake.name, delay.line_name) == ("fifo", "cake", "way")
    assert cake.bars[0].y == pytest.approx(delay.y_ticks[0][0])
    page = render_sweep_page("a sweep", keys, rows, {"1 MB cake": "bundles/x/report.html"})
    assert page.count('<a href="') == 1
    assert '<td class="word"><a href="bundles/x/report.html">seed 1</a> </td>' in page
    assert page.count("<figcaption>") == 2
    assert "<td>9.00 Mbit/s</td><td>9.50 Mbit/s</td><td>10 ms</td><td>0</td>" in page
    rows[3] |= {"state": "failed", "goodput_bps": None}
    assert sweep_finding(keys, means(keys, rows)).endswith("; one run failed.")
    assert sweep_finding((), []) == "No run came to its end."
