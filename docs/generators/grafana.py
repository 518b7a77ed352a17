"""`python -m docs.generators.grafana > landspeed.json`: a dashboard for Grafana of what watched hosts write."""

import json
from typing import Any

SOURCE = {"type": "prometheus", "uid": "${source}"}
WIDTH, STAT_HEIGHT, SERIES_HEIGHT = 24, 4, 8  # in Grafana's columns and rows
AT_LEAST_0 = {"min": 0}
BY_NIC = "{{instance}} {{device}}"

Panel = dict[str, Any]


def _panel(title: str, unit: str, asked: Panel, limits: Panel, **more: Any) -> Panel:
    """A panel without number and place; `asked`: legend → expression."""
    return {
        "title": title,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": {"unit": unit} | limits, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + number), "expr": expression, "legendFormat": legend}
            for number, (legend, expression) in enumerate(asked.items())
        ],
        **more,
    }


def _of(metric: str, over: str = "") -> str:
    """A metric of the attempt that was chosen."""
    return f'landspeed_{metric}{{attempt="$attempt"}}{over}'


def stat(title: str, unit: str, asked: Panel, description: str = "") -> Panel:
    """One number."""
    options = {"reduceOptions": {"calcs": ["lastNotNull"]}}
    return _panel(title, unit, asked, AT_LEAST_0, type="stat", description=description, options=options)


def series(title: str, unit: str, asked: Panel, description: str = "", limits: Panel = AT_LEAST_0) -> Panel:
    """Lines over time."""
    options = {"legend": {"displayMode": "list", "placement": "bottom"}}
    return _panel(title, unit, asked, limits, type="timeseries", description=description, options=options)


def _nic_rate(way: str) -> str:
    return f"sum by (instance, device) (rate({_of(f'nic_{way}_bytes_total', '[15s]')})) * 8"


GOODPUT = f"max by (flow) ({_of('flow_goodput_bits_per_second')})"
GROWN = f"sum by (instance, device, kind, counter) (increase({_of('nic_counter_total', '[1m]')})) > 0"
STATS = [
    stat("Watched hosts", "none", {"hosts": f"sum({_of('up')})"}),
    stat("Flows that run", "none", {"flows": f"count(sum by (flow) ({_of('flow_running')}) > 0) or vector(0)"}),
    stat(
        "Ended by a rule",
        "none",
        {"hosts": f"sum({_of('aborted')})"},
        "Hosts on which a rule has ended the flows.",
    ),
    stat(
        "Age of the figures",
        "s",
        {"oldest": f"time() - min({_of('last_look_seconds')})"},
        "More than some seconds while the attempt runs: a host has been lost.",
    ),
]
BESIDE = series(
    "Payload beside the NICs",
    "bps",
    {
        "payload that arrived": f"sum(rate({_of('flow_bytes_total', '[15s]')})) * 8",
        f"{BY_NIC} sends": _nic_rate("transmit"),
        f"{BY_NIC} receives": _nic_rate("receive"),
    },
    "What the engine and the NICs count. NICs have headers and what is sent again on top.",
)
ROWS = [
    STATS,
    [
        series("Goodput of each flow", "bps", {"{{flow}}": GOODPUT}),
        series("Goodput of all flows", "bps", {"all": f"sum({GOODPUT})"}),
    ],
    [BESIDE],
    [
        series("Sent again", "pps", {"{{flow}}": f"max by (flow) (rate({_of('flow_retransmits_total', '[15s]')}))"}),
        series("Round trip", "s", {"{{flow}}": f"max by (flow) ({_of('flow_round_trip_seconds')})"}),
    ],
    [
        series(
            "Errors, drops, pause frames, FEC",
            "none",
            {f"{BY_NIC} {{{{counter}}}}": GROWN},
            "Counters that have grown in the last minute.",
        ),
        series("Link", "bool_on_off", {BY_NIC: _of("nic_up")}, limits={"min": 0, "max": 1}),
    ],
    [
        series(f"Optical power {way}", "dBm", {f"{BY_NIC} lane {{{{lane}}}}": _of(f"optics_{metric}_dbm")}, limits={})
        for way, metric in (("received", "receive"), ("sent", "transmit"))
    ],
    [
        series("Alarms of optical modules", "none", {BY_NIC: _of("optics_alarms")}),
        series(
            "Heat",
            "celsius",
            {"{{instance}}, hottest sensor": _of("heat_celsius"), f"{BY_NIC}, module": _of("optics_celsius")},
        ),
    ],
]


def dashboard() -> dict[str, Any]:
    """The dashboard as Grafana imports it: rows of panels, each row as wide as the page."""
    panels: list[Panel] = []
    top = 0
    for row in ROWS:
        width, height = WIDTH // len(row), STAT_HEIGHT if row is STATS else SERIES_HEIGHT
        for number, panel in enumerate(row):
            place = {"x": number * width, "y": top, "w": width, "h": height}
            panels.append({"id": len(panels) + 1, **panel, "gridPos": place})
        top += height
    chosen = {"type": "query", "query": "label_values(landspeed_up, attempt)", "datasource": SOURCE}
    return {
        "title": "landspeed: real servers",
        "uid": "landspeed-real",
        "schemaVersion": 39,
        "version": 1,
        "tags": ["landspeed"],
        "editable": True,
        "refresh": "5s",
        "time": {"from": "now-15m", "to": "now"},
        "timezone": "utc",
        "templating": {
            "list": [
                {"name": "source", "type": "datasource", "query": "prometheus", "label": "Prometheus"},
                {"name": "attempt", "label": "Attempt", "refresh": 2, "sort": 2, **chosen},
            ]
        },
        "annotations": {"list": []},
        "panels": panels,
    }


if __name__ == "__main__":
    print(json.dumps(dashboard(), indent=1))
