#!/usr/bin/python3
"""Watch a host during an attempt, and end its flows when a rule says so.

    landspeed_watch.py FOLDER    reads job.json there, and writes
      before.json, after.json    NICs and heat of the host (`look`)
      watch.jsonl                a line a second: what `look` counts, and how far each flow is
      landspeed.prom             the same for Prometheus, as node_exporter's textfile collector reads it
      path.json                  of each flow that is sent here, its connections and their way
      abort.json                 the rule that ended the flows, if one did

It runs as a unit of its own, needs nothing but Python 3.9, and goes on when the operator's machine is lost. It ends
when the last unit has ended that it was told of, or by SIGTERM.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from landspeed_look import Look, Nic, look, told
from landspeed_route import Stream, add_flow_labels, streams, trace

METRICS = {
    "landspeed_up": ("gauge", "1 while the attempt is watched on this host, 0 when it has ended"),
    "landspeed_last_look_seconds": ("gauge", "Unix time of these figures"),
    "landspeed_nic_receive_bytes_total": ("counter", "Bytes that a NIC has received"),
    "landspeed_nic_transmit_bytes_total": ("counter", "Bytes that a NIC has sent"),
    "landspeed_nic_counter_total": (
        "counter",
        "Error, drop, pause and FEC counters of a NIC, as its driver names them",
    ),
    "landspeed_nic_up": ("gauge", "1 where the NIC has its link"),
    "landspeed_optics_celsius": ("gauge", "Temperature of a NIC's optical module"),
    "landspeed_optics_receive_dbm": ("gauge", "Optical power that a lane receives"),
    "landspeed_optics_transmit_dbm": ("gauge", "Optical power that a lane sends"),
    "landspeed_optics_alarms": ("gauge", "Alarms that a NIC's optical module shows"),
    "landspeed_heat_celsius": ("gauge", "The hottest sensor of the host"),
    "landspeed_flow_bytes_total": ("counter", "Bytes of payload of a flow that have arrived, as its sender knows"),
    "landspeed_flow_goodput_bits_per_second": ("gauge", "Goodput of a flow in the last second"),
    "landspeed_flow_retransmits_total": ("counter", "Segments of a flow that were sent again"),
    "landspeed_flow_round_trip_seconds": ("gauge", "Smoothed round trip of a flow, mean of its streams"),
    "landspeed_flow_running": ("gauge", "1 while the flow's engine runs on this host"),
    "landspeed_aborted": ("gauge", "1 when a rule has ended the flows"),
}
"""Name → type and help of each metric that is written; the Grafana dashboard uses these."""


class Rules(TypedDict, total=False):
    """Limits at which flows end. `goodput_bps` is by flow, the mean of `goodput_span_s`, from `goodput_after_s` on."""

    heat_celsius: float | None  # no sensor may be hotter
    errors: int | None  # no counter of a NIC may grow by more
    drops: int | None
    loss: float | None  # no flow may send a larger share again
    loss_after_bytes: int  # once it has sent these
    segment_bytes: int
    goodput_bps: dict[str, float]
    goodput_after_s: float
    goodput_span_s: float


class Flow:
    """A flow of which this host has an end.

    Attributes:
        name: the flow's.
        unit: of its engine here.
        line: the last line of its sender's progress; empty at a receiver.
    """

    def __init__(self, words: dict[str, Any]) -> None:
        """`words` are the flow's in job.json."""
        self.name, self.unit = words["name"], words["unit"]
        self.peer, self.port = str(words.get("peer", "")), int(words.get("port", 0))
        self.streams: list[Stream] = []
        self.line: dict[str, Any] = {}
        self.running = False
        self.ended = False
        self._live = Path(words["live"]) if words.get("live") else None
        self._before: list[dict[str, Any]] = []

    def look(self) -> None:
        """See whether its engine runs, and how far it is."""
        state = told("systemctl", "show", "--property=ActiveState", "--value", self.unit).strip()
        self.ended = self.ended or (self.running and state in ("inactive", "failed"))
        self.running = state in ("active", "activating", "deactivating", "reloading")
        if self._live is None:
            return
        with contextlib.suppress(OSError, ValueError):
            lines = [json.loads(line) for line in self._live.read_text().split("\n")[:-1]]
            if lines:
                self.line, self._before = lines[-1], lines

    def note_streams(self) -> None:
        """Note its connections, once it has some."""
        if self.streams or not self.line.get("bytes") or not self.peer:
            return
        self.streams = streams(self.peer, self.port)
        if ":" in self.peer:
            add_flow_labels(self.streams, self.port)

    def goodput_bps(self, span_s: float) -> float | None:
        """Goodput of the last seconds; None: it does not run as long."""
        last = self.line.get("time_s", 0.0)
        earlier = [line for line in self._before if line["time_s"] <= last - span_s]
        if not earlier:
            return None
        return (self.line["bytes"] - earlier[-1]["bytes"]) * 8 / (last - earlier[-1]["time_s"])

    def loss(self, segment_bytes: int) -> float:
        """Share of the payload that was sent again."""
        sent = self.line.get("bytes", 0)
        return self.line.get("retransmits", 0) * segment_bytes / sent if sent else 0.0


class Broken(NamedTuple):
    """A rule that is broken: how, and what there is to do. Empty: none is."""

    why: str = ""
    remedy: str = ""


def broken_rule(rules: Rules, first: Look, now: Look, flows: list[Flow]) -> Broken:
    """The first rule that is broken.

    Args:
        rules: from job.json; one that is not there, or null, does not hold.
        first, now: looks at the host.
        flows: of which this host has an end.
    """
    heat, most = now["heat_celsius"], rules.get("heat_celsius")
    if most is not None and heat is not None and heat > most:
        return Broken(f"the host is too hot: {heat:g} °C, at most {most:g} °C", "look at its fans; or --most-heat")
    for device, nic in now["nics"].items():
        before = {name: value for _, name, value in _counters(first["nics"].get(device, nic))}
        if (broken := _broken_by_nic(rules, device, nic, before)).why:
            return broken
    of_flows = (_broken_by_flow(rules, flow) for flow in flows if flow.running and flow.line)
    return next((broken for broken in of_flows if broken.why), Broken())


def _counters(nic: Nic) -> list[tuple[str, str, int]]:
    """Kind, name and value of each counter of a NIC."""
    kinds = nic.get("counters", {}).items()
    return [(kind, name, value) for kind, counters in kinds for name, value in counters.items()]


def _broken_by_nic(rules: Rules, device: str, nic: Nic, before: dict[str, int]) -> Broken:
    if not nic.get("up"):
        return Broken(f"the NIC {device} has lost its link", "look at cable, optics and switch port")
    limits = {"error": rules.get("errors"), "fec uncorrectable": rules.get("errors"), "drop": rules.get("drops")}
    for kind, name, value in _counters(nic):
        most, more = limits.get(kind), value - before.get(name, value)
        if most is not None and more > most:
            remedy = (
                "look at its rings and at pause frames; or --most-drops" if kind == "drop" else "look at the optics"
            )
            return Broken(f"the NIC {device} counts {more} more {name}, at most {most}", remedy)
    return Broken()


def _broken_by_flow(rules: Rules, flow: Flow) -> Broken:
    most, loss = rules.get("loss"), flow.loss(rules.get("segment_bytes", 1448))
    if most is not None and flow.line["bytes"] >= rules.get("loss_after_bytes", 0) and loss > most:
        why = f"flow {flow.name}: {loss:.2e} of its bytes were sent again, at most {most:.2e}"
        return Broken(why, "look at the counters of the NICs and of the path; or --most-loss")
    least, span_s = rules.get("goodput_bps", {}).get(flow.name), rules.get("goodput_span_s", 10.0)
    if least is None or flow.line["time_s"] < rules.get("goodput_after_s", 0.0):
        return Broken()
    goodput = flow.goodput_bps(span_s)
    if goodput is None or goodput >= least:
        return Broken()
    span = f"in the last {span_s:g} s"
    why = f"flow {flow.name}: {goodput / 1e6:.2f} Mbit/s {span}, at least {least / 1e6:.2f} Mbit/s"
    return Broken(why, "see what bound it; or --floor")


class Exposition:
    """Figures in Prometheus' text format. No times: the textfile collector takes none."""

    def __init__(self, **labels: str) -> None:
        """`labels` are on every figure."""
        self._labels = labels
        self._lines: dict[str, list[str]] = {}

    def add(self, name: str, value: float | None, **labels: str) -> None:
        """A figure; None is left out."""
        if value is None:
            return
        escaped = {
            key: text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            for key, text in {**self._labels, **labels}.items()
        }
        words = ",".join(f'{key}="{text}"' for key, text in escaped.items())
        self._lines.setdefault(name, []).append(f"{name}{{{words}}} {value:.15g}")

    def text(self) -> str:
        """All of it, each metric with its type and help."""
        found: list[str] = []
        for name, lines in self._lines.items():
            kind, about = METRICS[name]
            found += [f"# HELP {name} {about}", f"# TYPE {name} {kind}", *lines]
        return "\n".join(found) + "\n"


def exposition(job: dict[str, Any], now: Look, flows: list[Flow], *, up: bool, aborted: bool) -> str:
    """All that is known now, as Prometheus reads it."""
    made = Exposition(attempt=job["attempt"], scenario=job["scenario"])
    made.add("landspeed_up", int(up))
    made.add("landspeed_aborted", int(aborted))
    made.add("landspeed_last_look_seconds", now["unix_s"])
    made.add("landspeed_heat_celsius", now["heat_celsius"])
    for device, nic in now["nics"].items():
        made.add("landspeed_nic_up", int(nic.get("up", False)), device=device)
        made.add("landspeed_nic_receive_bytes_total", nic.get("rx_bytes"), device=device)
        made.add("landspeed_nic_transmit_bytes_total", nic.get("tx_bytes"), device=device)
        for kind, name, value in _counters(nic):
            made.add("landspeed_nic_counter_total", value, device=device, counter=name, kind=kind)
        module = nic.get("optics", {})
        made.add("landspeed_optics_celsius", module.get("celsius"), device=device)
        made.add("landspeed_optics_alarms", len(module["alarms"]) if "alarms" in module else None, device=device)
        for lane, power in enumerate(module.get("receive_dbm", [])):
            made.add("landspeed_optics_receive_dbm", power, device=device, lane=str(lane))
        for lane, power in enumerate(module.get("transmit_dbm", [])):
            made.add("landspeed_optics_transmit_dbm", power, device=device, lane=str(lane))
    for flow in flows:
        made.add("landspeed_flow_running", int(flow.running), flow=flow.name)
        if flow.line:
            trips = [stream["srtt_us"] / 1e6 for stream in flow.line.get("streams", []) if stream.get("srtt_us")]
            made.add("landspeed_flow_bytes_total", flow.line["bytes"], flow=flow.name)
            made.add("landspeed_flow_goodput_bits_per_second", flow.line["goodput_bps"], flow=flow.name)
            made.add("landspeed_flow_retransmits_total", flow.line["retransmits"], flow=flow.name)
            made.add("landspeed_flow_round_trip_seconds", sum(trips) / len(trips) if trips else None, flow=flow.name)
    return made.text()


def write(file: Path, text: str) -> None:
    """Replace a file as a whole: a reader sees the old or the new one."""
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    beside.write_text(text)
    beside.chmod(0o644)
    beside.replace(file)


class Watch:
    """A watch from its beginning to its end.

    Attributes:
        flows: of which this host has an end.
        why: the rule that was broken; empty: none.
    """

    def __init__(self, folder: Path) -> None:
        """`folder` has job.json."""
        self.folder = folder
        self.job: dict[str, Any] = json.loads((folder / "job.json").read_text())
        self.flows = [Flow(words) for words in self.job["flows"]]
        self.why = ""
        self._collector = Path(self.job["textfile_folder"]) if self.job.get("textfile_folder") else None

    def run(self) -> None:
        """Watch until the flows have ended, or SIGTERM."""
        stopped: list[int] = []
        signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
        first = now = look(self.job["cards"], module=True)
        write(self.folder / "before.json", json.dumps(first))
        with (self.folder / "watch.jsonl").open("a") as lines:
            while not stopped and not (self.flows and all(flow.ended for flow in self.flows)):
                began = time.monotonic()
                last, now = now, look(self.job["cards"], module=False)
                for device, nic in now["nics"].items():
                    nic["optics"] = last["nics"].get(device, {}).get("optics", {})  # asked before and after
                for flow in self.flows:
                    flow.look()
                    flow.note_streams()
                self._rules(first, now)
                lines.write(json.dumps(self._line(now)) + "\n")
                lines.flush()
                self._publish(now, up=True)
                left = self.job["interval_s"] - (time.monotonic() - began)
                if left > 0 and not stopped:
                    time.sleep(left)
        now = look(self.job["cards"], module=True)
        write(self.folder / "after.json", json.dumps(now))
        for flow in self.flows:
            flow.look()
        self._publish(now, up=False)
        self._trace()

    def _trace(self) -> None:
        """Write the way of each flow, which has ended."""
        found: dict[str, dict[str, Any]] = {}
        for flow in self.flows:
            if flow.streams and not flow.running:
                found[flow.name] = {"peer": flow.peer, "port": flow.port, "streams": flow.streams}
                try:
                    trace(flow.streams, flow.peer, flow.port)
                except OSError as error:
                    found[flow.name]["error"] = str(error)
        if found:
            write(self.folder / "path.json", json.dumps(found))

    def _rules(self, first: Look, now: Look) -> None:
        """End the flows when a rule is broken."""
        if self.why or not (broken := broken_rule(self.job["rules"], first, now, self.flows)).why:
            return
        self.why = broken.why
        write(self.folder / "abort.json", json.dumps({"unix_s": time.time(), **broken._asdict()}))
        told("systemctl", "stop", *(flow.unit for flow in self.flows))

    def _line(self, now: Look) -> dict[str, Any]:
        progress = {
            flow.name: {key: flow.line.get(key) for key in ("time_s", "bytes", "goodput_bps", "retransmits")}
            for flow in self.flows
            if flow.line
        }
        nics = {
            device: {key: value for key, value in nic.items() if key != "optics"} for device, nic in now["nics"].items()
        }
        return {**now, "nics": nics, "flows": progress}

    def _publish(self, now: Look, *, up: bool) -> None:
        text = exposition(self.job, now, self.flows, up=up, aborted=bool(self.why))
        write(self.folder / "landspeed.prom", text)
        if self._collector and self._collector.is_dir():
            write(self._collector / "landspeed.prom", text)


if __name__ == "__main__":
    Watch(Path(sys.argv[1])).run()
