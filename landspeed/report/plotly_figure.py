"""A chart of the report as a Plotly figure with the report's own colours, for notebooks and pictures."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from landspeed.base.json_form import is_array, is_object
from landspeed.report.page_parts import template_text

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from landspeed.report.chart_parts import Chart


@cache
def _colours() -> dict[str, str]:
    """CSS variable → colour, of the light page."""
    root = template_text("report.css").partition("}")[0]
    return dict(re.findall(r"(--[\w-]+):\s*(#[0-9a-f]{6})", root))


def _coloured(value: Any) -> Any:
    if is_object(value):
        return {key: _coloured(each) for key, each in value.items()}
    if is_array(value):
        return [_coloured(each) for each in value]
    return _colours().get(value, value) if isinstance(value, str) and value.startswith("--") else value


def plotly_figure(chart: Chart) -> go.Figure:
    """The chart with its title and a legend."""
    import plotly.graph_objects as go

    figure = go.Figure(_coloured(chart.figure))
    figure.update_layout(title=chart.title, showlegend=True, template="plotly_white")
    return figure
