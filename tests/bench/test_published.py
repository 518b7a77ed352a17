"""What others measured (tests/bench/published): a handful of cells, and the page."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from landspeed.runs.sweeps.grid import plan_grid
from landspeed.runs.sweeps.sweep import State
from landspeed.worlds.make_world import make_world
from tests.bench.published.cells import Cell, Found, Source, sources
from tests.bench.published.page import kept, write_page
from tests.bench.published.running import Choice, run

SOURCES = {each.name: each for each in sources()}
ONLY_EMULATED = {"simult_flows", "rcvbuf_growth"}  # MPTCP; kernels
HANDFUL = {
    "dctcp": ("2-senders-K20-goodput", "2-senders-K20-queue"),
    "imc23_bbr": ("cubic-50M-100ms-100kb", "bbr-20M-10ms-100kb"),
    "rfc9438": ("reno-1e-3-10ms", "cubic-1e-4-10ms"),
    "stated_windows": ("nusspli-128KiB-91ms",),
}


def found_of(values: tuple[float, ...], cell: Cell) -> Found:
    """As if these were measured."""
    return Found(replace(SOURCES["rfc9438"], cells=[cell], worlds=("emu",)), "emu", cell, values)


@pytest.mark.guest
def test_a_handful_of_cells_is_within_what_was_published(tmp_path: Path) -> None:
    """The second time, nothing is run again."""
    for name, cells in HANDFUL.items():
        source = replace(SOURCES[name], worlds=("emu",))
        choice = Choice(source, [cell for cell in source.cells if cell.name in cells], 1)
        found = run(choice, tmp_path)
        assert {each.cell.name for each in found} == {*cells}
        assert [(each.cell.name, each.mean, each.cell.published) for each in found if not each.ok] == []
        states: list[State] = []
        assert [each.values for each in run(choice, tmp_path, states.append)] == [each.values for each in found]
        assert {state.done for state in states} == {0}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_each_source_has_a_path_and_a_choice(tmp_path: Path, source: Source) -> None:
    """Names of cells are unique; the first and the last are scenarios without a problem; some are quick."""
    assert len({cell.name for cell in source.cells}) == len(source.cells)
    assert any(cell.quick for cell in source.cells)
    asked = Choice.of(source, quick=False).in_world("sim").cells
    ends = Choice(source, [asked[0], asked[-1]], 1)
    if source.name not in ONLY_EMULATED:
        plan_grid(ends.write_scenario(tmp_path), [], make_world("sim"))


def test_two_figures_of_one_run_are_one_case(tmp_path: Path) -> None:
    choice = Choice.of(SOURCES["revisiting_scale"], quick=True).matching("20ms-10-flows")
    assert [cell.name for cell in choice.cells] == ["20ms-10-flows", "20ms-10-flows-jain"]
    cases = yaml.safe_load(choice.write_scenario(tmp_path).read_text(encoding="utf-8"))["vary"]["cases"]
    assert cases == {"20ms-10-flows": choice.cells[1].changes}


def test_a_cell_is_run_in_its_worlds_alone() -> None:
    choice = Choice.of(SOURCES["rfc9438"], quick=False).matching("1e-6")
    assert choice.in_world("emu") == choice and choice.in_world("sim").cells == []


def test_a_world_may_have_a_cause_of_its_own() -> None:
    cell = Cell("one", {}, published=100, spread=1, allowed=2, cause="here", causes={"sim": "there"})
    assert [Found(SOURCES["rfc9438"], world, cell, (9,)).cause for world in ("emu", "sim")] == ["here", "there"]


def test_a_cell_is_within_by_its_nearest_seed_or_between_two() -> None:
    cell = Cell("one", {}, published=100, spread=1, allowed=2)
    assert found_of((103, 101.9), cell).ok
    assert found_of((90, 110), cell).ok
    assert not found_of((103, 104), cell).ok


def test_a_row_of_the_page_stays_until_its_cell_is_run_again(tmp_path: Path) -> None:
    source = next(each for each in sources() if each.name == "rfc9438")
    first, second, *_ = source.cells
    page = tmp_path / "page.md"
    write_page([Found(source, "emu", first, (10, 14, 15)), Found(source, "emu", second, (30,))], page)
    stays = {each.cell.name: (each.mean, min(each.values), max(each.values)) for each in kept(page)}
    assert stays == {first.name: (13, 10, 15), second.name: (30, 30, 30)}
    write_page([Found(source, "emu", first, (11,))], page)
    assert {each.cell.name: each.values for each in kept(page)} == {first.name: (11,), second.name: (30,)}


def test_the_page_has_what_is_outside_first_by_its_cause_and_every_cell(tmp_path: Path) -> None:
    good, bad = (Cell(name, {}, 100, 1, 2) for name in ("good", "bad"))
    near, far = (Cell(name, {}, 100, 1, 2, cause="the line was short") for name in ("near", "far"))
    found = [found_of((100, 101), good), found_of((150,), bad), found_of((110,), near), found_of((190,), far)]
    page = tmp_path / "page.md"
    assert [each.cell.name for each in write_page(found, page)] == ["far", "bad", "near"]
    text = page.read_text()
    outside, _, rest = text.partition("## All sources")
    first, second = outside.split("(cause-2)=")
    assert "**1.** The line was short.\n" in first and "**2.** Not known.\n" in second
    assert first.index("| rfc9438, far |") < first.index("| rfc9438, near |")
    assert "| rfc9438, bad | emu | 100 ± 1 | 150 | +50.0% |" in second
    assert "good" not in outside
    assert "| near | emu | 100 ± 1 | 110 | +10.0% | **outside** ([1](#cause-1)) |" in rest
    assert "| good | emu | 100 ± 1 | 100.5 (100 … 101) | +0.5% | within |" in rest
    assert "4 of 1 | 1 (25%)" in rest
    drawn = page.with_suffix(".svg").read_text()
    assert drawn.count("<circle") == 4 and drawn.count('class="out"') == 3
