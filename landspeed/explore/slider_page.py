"""The page: sliders, measured runs, and scripts that compute theory and draw, in one file that loads nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from landspeed.base.files import write_atomically
from landspeed.base.limits import LINE_RATE, LOSS, WINDOW
from landspeed.base.units import SIZE, format_round
from landspeed.explore.goodput_theory import QUEUE_LOSS
from landspeed.explore.measured_runs import ShownRun
from landspeed.explore.setting import DURATION_S, MEAN_S, SAMPLE_MS, Slider
from landspeed.explore.tables import figure_tables, theory_constants
from landspeed.report.page_parts import environment, script_json, template_text
from landspeed.results.bundle import OutputError

TEMPLATES = Path(__file__).resolve().parent / "templates"
SCRIPTS = ("tables.js", "theory.js", "draw.js", "pipe.js", "charts.js", "explore.js", "served.js")
BOUND_WORDS = {
    LINE_RATE: "the line rate: the line is full",
    WINDOW: "the window: it is sent, and then the sender waits for acknowledgments",
    LOSS: "loss at random: the window is cut again and again before the line is full",
    QUEUE_LOSS: "loss in the queue, which overflows: after each the window must grow again",
}
SPANS_S = (5, 20, 120, 1200, 14_400)  # of the picture over time


def page_data(chosen: Sequence[Slider], measured: Iterable[ShownRun], *, title: str, served: bool) -> dict[str, Any]:
    """Collect all data of the page, for its script.

    Args:
        title: of the scenario with whose values it begins; "" for none.
        served: whether there is a server that runs what is asked.
    """
    figures = figure_tables(chosen)
    return {
        "title": title,
        "served": served,
        "sliders": [
            {
                "key": slider.key,
                "label": slider.label,
                "hint": slider.hint,
                "word": slider.is_word,
                "values": slider.values,
                "texts": [slider.text(value) for value in slider.values],
                "start": slider.start,
            }
            for slider in chosen
        ],
        "bdpText": {**figures["bdp"], "values": [format_round(SIZE, each, 3) for each in figures["bdp"]["values"]]},
        "figures": figures,
        "theory": theory_constants(),
        "boundWords": BOUND_WORDS,
        "spans": SPANS_S,
        "mean": MEAN_S,
        "duration": DURATION_S,
        "step": SAMPLE_MS / 1e3,
        "points": [told for each in measured if (told := each.told(chosen)) is not None],
    }


def make_page(data: dict[str, Any]) -> str:
    """The page as text."""
    return (
        environment(TEMPLATES)
        .get_template("explore.html.j2")
        .render(
            data=data,
            json=script_json(data),
            style=template_text("report.css") + _text("explore.css"),
            scripts=[_text(name) for name in SCRIPTS],
        )
    )


def write_page(target: Path, data: dict[str, Any]) -> Path:
    """Write the page.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, make_page(data).encode())
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}; name another file with --out") from error
    return target


def _text(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")
