"""The connections that the cases of the BBR draft are read from: paths, and what is done to them."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.emu.guest.shaping.direction_options import direction_options
from landspeed.worlds.emu.guest.shaping.encode_qdisc import options_of
from landspeed.worlds.emu.guest.shaping.link_qdiscs import CHILD, FIRST_CLASS, ROOT

from . import theory
from .classes import MTU, bps
from .emulated import a_folder, address, answers, plan_over
from .guest.bbr import state
from .heard import Heard

RATE_BPS, RTT_S = 10e6, 0.04
PARENT_ROOT = 0xFFFFFFFF
GOODPUT = theory.mss(MTU, 4) / (MTU + theory.ETHERNET)  # of the line's rate; BBR counts payload
POLICED_BPS = 5e6
SLOW_BPS, SLOW_RTT_S = 64e3, 0.004


def links(rate_bps: float = RATE_BPS, rtt_s: float = RTT_S, **more: Any) -> list[dict[str, Any]]:
    """A fast line and the bottleneck, whose queue nothing overflows unless the case wants it."""
    slow = {"one_way_delay": f"{rtt_s / 2 * 1e6 - 1000:g} us", "line_rate": bps(rate_bps), "queue": "20 MB"}
    return [{"one_way_delay": "1 ms", "line_rate": "1 Gbit/s"}, slow | more]


PATHS: dict[str, list[dict[str, Any]]] = {
    "plain": links(),
    "policed": links(discipline={"tbf": {"rate": bps(POLICED_BPS), "burst": "60 kB"}}, queue="4 kB", rate_bps=20e6),
    "sub-packet": links(SLOW_BPS, SLOW_RTT_S),
}


@dataclass(frozen=True)
class Run:
    """A connection: its path, for how long, and what is done to it (guest/bbr.py).

    `changes` are of the bottleneck: when, in which state, and the rate, delay or loss from then on, and for how long.
    """

    path: str = "plain"
    for_s: float = 10.0
    app_bps: float | None = None
    app_from_s: float = 0.0
    pauses: tuple[tuple[float, float], ...] = ()
    acks_held: tuple[float, float] | None = None
    changes: tuple[dict[str, Any], ...] = ()


def change(at_s: float, *, state: str = "", rate_bps: float = 0, delay_s: float = 0, loss: float = 0,
           for_s: float = 0) -> dict[str, Any]:  # fmt: skip
    """Something that happens to the bottleneck, from a time on, when BBR is in a state."""
    return {"at_s": at_s, "state": state, "rate_bps": rate_bps, "delay_s": delay_s, "loss": loss, "for_s": for_s}


RUNS: dict[str, Run] = {
    "plain": Run(for_s=16),
    "startup with loss": Run(for_s=5, app_bps=2e6, changes=(change(1, loss=0.05, for_s=2),)),
    "drain, 10 % slower": Run(for_s=6, changes=(change(0, state="DRAIN", rate_bps=0.9 * RATE_BPS),)),
    "probing with loss, application-limited": Run(
        for_s=6, app_bps=5e6, app_from_s=2, changes=(change(3, state="UP", loss=0.3, for_s=0.1),)
    ),
    "application-limited": Run(for_s=14, app_bps=1e6),
    "going down, 10 % slower": Run(for_s=7, changes=(change(3, state="DOWN", rate_bps=0.9 * RATE_BPS),)),
    "idle": Run(for_s=20, pauses=((4, 16),)),
    "aggregated": Run(for_s=9, acks_held=(0.03, 0.02)),
    "sub-packet": Run(path="sub-packet", for_s=60),
    "ten times faster": Run(for_s=10, changes=(change(3, rate_bps=10 * RATE_BPS),)),
    "ten times slower": Run(for_s=12, changes=(change(0, rate_bps=10 * RATE_BPS), change(3, rate_bps=RATE_BPS))),
    "policed": Run(path="policed", for_s=20),
    "reordered": Run(for_s=6, changes=(change(3, delay_s=0.004, for_s=0.03),)),
    "delayed past the timeout": Run(for_s=9, changes=(change(3, delay_s=1.019, for_s=0.6),)),
    "probing with loss": Run(for_s=6, changes=(change(3, state="UP", loss=0.1, for_s=0.04),)),
    "pauses": Run(for_s=8, pauses=tuple((3 + 0.3 * n, 3.15 + 0.3 * n) for n in range(12))),
}


def _told(plan: Plan, asked: dict[str, Any]) -> dict[str, Any]:
    """A change as the guest is to tell it to a qdisc."""
    link = plan.links[1]
    ahead = replace(
        link.forward,
        rate_bps=round(asked["rate_bps"]) or link.forward.rate_bps,
        delay_ns=round(asked["delay_s"] * 1e9) or link.forward.delay_ns,
        loss=asked["loss"],
    )
    netem, bucket = direction_options(plan, link, ahead, forward=True)
    told: dict[str, Any] = {"node": "r1", "device": "eth1", "at_s": asked["at_s"]}
    if asked["rate_bps"]:
        assert bucket is not None
        told |= {"qdisc": "tbf", "handle": CHILD, "parent": FIRST_CLASS, "options": options_of("tbf", **bucket).hex()}
        told["what"] = f"rate {asked['rate_bps']:g}"
    else:
        told |= {"qdisc": "netem", "handle": ROOT, "parent": PARENT_ROOT}
        told |= {
            "options": options_of("netem", **netem).hex(),
            "what": f"delay {asked['delay_s']}, loss {asked['loss']}",
        }
    return told | ({"state": asked["state"]} if asked["state"] else {})


def request(plan: Plan, run: Run) -> dict[str, Any]:
    """What the guest is asked."""
    changes: list[dict[str, Any]] = []
    for asked in run.changes:
        told = _told(plan, asked)
        if asked["for_s"]:
            plain = change(0, rate_bps=plan.links[1].forward.rate_bps if asked["rate_bps"] else 0)
            told |= {"again_s": asked["for_s"], "then": _told(plan, plain)}
        changes.append(told)
    found: dict[str, Any] = {"kind": "bbr", "control": "bbr", "address": address(plan, 0, 2), "captured": False}
    found |= {"step_s": RTT_S / 10, "for_s": run.for_s, "ahead_bytes": 4_000_000, "changes": changes, "settle_s": 20}
    found |= {"pauses": run.pauses, "app_from_s": run.app_from_s}
    if run.app_bps is not None:
        found["app_bps"] = run.app_bps
    if run.acks_held is not None:
        found["acks_held"] = run.acks_held
    # The next connection finds the line as it was planned.
    return found


class Model:
    """BBR's model at each step of a run.

    Attributes:
        rows: samples, each with `t` (seconds after the first one) and `state`.
        notes: what was done, and when: (seconds, what).
    """

    def __init__(self, answer: dict[str, Any]) -> None:
        """From the guest's answer."""
        heard = Heard(answer)
        start = heard.samples[0]["time_ns"]
        self.mss = heard.mss
        self.rows: list[dict[str, Any]] = [
            sample | {"t": (sample["time_ns"] - start) / 1e9, "state": state(sample)}
            for sample in heard.samples
            if sample["bbr_bw"]  # before the first sample of it there is no model
        ]
        self.notes = [((note["time_ns"] - start) / 1e9, note["what"]) for note in heard.notes]

    def stretches(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """States one after the other, with their samples."""
        found: list[tuple[str, list[dict[str, Any]]]] = []
        for row in self.rows:
            if not found or found[-1][0] != row["state"]:
                found.append((row["state"], []))
            found[-1][1].append(row)
        return found

    def stretch(self, name: str, after_s: float = 0.0) -> list[dict[str, Any]]:
        """Samples of the first stretch of a state that begins then or later; none if there is none."""
        return next((rows for state_, rows in self.stretches() if state_ == name and rows[0]["t"] >= after_s), [])

    def next_after(self, rows: list[dict[str, Any]]) -> str:
        """The state that follows a stretch."""
        order = self.stretches()
        place = next(place for place, (_, each) in enumerate(order) if each is rows or each[0] is rows[0])
        return order[place + 1][0] if place + 1 < len(order) else ""

    def between(self, from_s: float, to_s: float) -> list[dict[str, Any]]:
        """Samples of a time."""
        return [row for row in self.rows if from_s <= row["t"] <= to_s]

    def rounds(self, rows: list[dict[str, Any]]) -> list[int]:
        """Places in `rows` at which a round trip ends, counted by packets as BBR does."""
        ends, edge = [], rows[0]["data_segs_out"]
        for place, row in enumerate(rows):
            if row["delivered"] > edge:
                ends.append(place)
                edge = row["data_segs_out"]
        return ends

    def rate_bps(self, from_s: float, to_s: float) -> float:
        """Payload that was acknowledged, over time."""
        rows = self.between(from_s, to_s)
        return (rows[-1]["bytes_acked"] - rows[0]["bytes_acked"]) * 8 / (rows[-1]["t"] - rows[0]["t"])


def models(names: list[str]) -> dict[str, Model]:
    """Make the runs of these names: one guest for each path."""
    found: dict[str, Model] = {}
    for path, content in PATHS.items():
        chosen = [name for name in names if RUNS[name].path == path]
        if not chosen:
            continue
        with a_folder() as folder:
            found |= _of_one_path(content, chosen, folder)
    return found


def _of_one_path(content: list[dict[str, Any]], names: list[str], folder: Path) -> dict[str, Model]:
    plan = plan_over(folder, content, 4, "packets")
    requests: list[dict[str, Any]] = []
    for name in names:
        requests.append(request(plan, RUNS[name]))
        if RUNS[name].changes:
            requests.append({"kind": "change", "changes": _restored(plan)})
    told = answers(plan, requests, folder)
    kept = [answer for asked, answer in zip(requests, told, strict=True) if asked["kind"] == "bbr"]
    return {name: Model(answer) for name, answer in zip(names, kept, strict=True)}


def _restored(plan: Plan) -> list[dict[str, Any]]:
    """The bottleneck as it was planned."""
    return [_told(plan, change(0)), _told(plan, change(0, rate_bps=plan.links[1].forward.rate_bps))]
