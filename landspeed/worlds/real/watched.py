"""Watch of the hosts during an attempt: kept in its bundle, and judged beside the engine's own account."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from landspeed.base.files import read_object
from landspeed.base.json_form import object_of
from landspeed.results.bundle import EVIDENCE
from landspeed.results.check import Check
from landspeed.results.record import RunRecord
from landspeed.worlds.real.archive import unpack

WATCH_FILES = {
    **{
        name: name
        for name in ("before.json", "after.json", "watch.jsonl", "path.json", "iperf3.json", "abort.json", "errors.txt")
    },
    "landspeed.prom": "metrics.prom",
}
TUNING_FILES = ("tuning-before.json", "tuning-after.json")
OTHER_TRAFFIC = 0.05  # of the payload: headers, what was sent again beyond what TCP told, neighbours' broadcasts
OTHER_BYTES = 4_000_000  # of what was in flight when the engine stopped counting, and of logins
BESIDE_IPERF3 = 0.1  # iperf3 runs for seconds, in which slow start is a larger part
FAULTS = ("error", "fec uncorrectable")
TOLD = ("drop", "pause", "fec corrected")


@dataclass(frozen=True)
class Watched:
    """Files that a host's watch left; empty where it left nothing."""

    before: dict[str, Any] = field(default_factory=dict[str, Any])
    after: dict[str, Any] = field(default_factory=dict[str, Any])
    why: str | None = None  # the rule that ended the flows
    iperf3_bps: float | None = None  # what iperf3 found before
    ways: dict[str, Any] = field(default_factory=dict[str, Any])  # flow → its connections, and the way of each

    @property
    def nics(self) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
        """Each NIC with what it was before, and after."""
        before = object_of(self.before.get("nics"))
        for device, nic in object_of(self.after.get("nics")).items():
            if device in before:
                yield device, object_of(before[device]), object_of(nic)


def keep_watch(bundle: Path, role: str, archive: Path, attempt: str) -> Watched:
    """Put what a host's watch left into a bundle.

    Args:
        bundle: its folder.
        role: the host's, which names the files.
        archive: what was fetched of the host.
        attempt: its name.
    """
    found = unpack(archive, f"{attempt}.watch")
    names = {name: f"watch/{role}-{target}" for name, target in WATCH_FILES.items()}
    names |= {name: f"tuning/{role}-{name.removeprefix('tuning-')}" for name in TUNING_FILES}
    for name, target in names.items():
        if found.get(name):
            (bundle / EVIDENCE / target).parent.mkdir(parents=True, exist_ok=True)
            (bundle / EVIDENCE / target).write_bytes(found[name])
    why = read_object(found.get("abort.json")).get("why")
    before, after, ways = (read_object(found.get(f"{name}.json")) for name in ("before", "after", "path"))
    sums = object_of(object_of(read_object(found.get("iperf3.json")).get("end")).get("sum_received"))
    return Watched(before, after, why, sums.get("bits_per_second"), ways)


def with_watch(record: RunRecord, watched: Mapping[str, Watched], mtu_bytes: int) -> RunRecord:
    """Put verdicts on the hosts and the path of a record's one flow behind its others."""
    (flow,) = record.flows
    checks = [check for role, each in watched.items() for check in watch_checks(role, each)]
    sent = (flow.bytes or 0, flow.tool_result.bytes_retransmitted or 0)
    for role, way in (("sender", "tx"), ("receiver", "rx")):
        checks += bytes_checks(role, watched[role], way, sent)
    checks += [path_check(flow.name, told, mtu_bytes) for told in watched["sender"].ways.values()]
    if (iperf3_bps := watched["sender"].iperf3_bps) and flow.goodput_bps:
        checks.append(iperf3_check(iperf3_bps, flow.goodput_bps))
    flow.verdicts = [*flow.verdicts, *checks]
    flow.passed = bool(flow.passed) and all(check.ok is not False for check in checks)
    return record


def watch_checks(role: str, watched: Watched) -> Iterator[Check]:
    """Judge counters and optics of a host's NICs, and whether a rule was broken.

    An error is a fault of the hardware. A drop, a pause frame or a block that FEC has mended is none, but says why.
    """
    if watched.why:
        yield Check("rule", False, f"the flows were ended at the {role}: {watched.why}")
    for device, before, after in watched.nics:
        faults, told = (list(_grown(before, after, kinds)) for kinds in (FAULTS, TOLD))
        whose = f"counters of {device} at the {role}"
        if faults or told:
            yield Check("NIC", False if faults else None, f"{whose}: {', '.join([*faults, *told])}")
        else:
            yield Check("NIC", True, f"{whose}: no errors, drops, pause frames or FEC corrections")
        yield from _optics(f"{device} at the {role}", object_of(before.get("optics")), object_of(after.get("optics")))


def iperf3_check(iperf3_bps: float, goodput_bps: float) -> Check:
    """Compare the engine's goodput with iperf3's right before, with as many streams of the same window.

    A difference is no fault: the path need not have been alike.
    """
    difference = goodput_bps / iperf3_bps - 1
    text = f"{goodput_bps / 1e6:.2f} Mbit/s, iperf3 before it {iperf3_bps / 1e6:.2f} Mbit/s ({difference:+.1%})"
    ok = True if abs(difference) <= BESIDE_IPERF3 else None
    return Check("iperf3", ok, text, iperf3_bps, goodput_bps, BESIDE_IPERF3 * iperf3_bps, "bit/s", "goodput")


def path_check(flow: str, told: dict[str, Any], mtu_bytes: int) -> Check:
    """Judge the ways of a flow's connections, as probes of their own ports found them when it had ended.

    Args:
        flow: its name.
        told: what its sender's watch noted.
        mtu_bytes: the plan's.
    """
    streams: list[dict[str, Any]] = [object_of(each) for each in told.get("streams", [])]
    ways = [_way(each) for each in streams]
    # A router that is silent for one connection is not another one.
    different = [way for way in dict.fromkeys(ways) if "*" not in way] or list(dict.fromkeys(ways))
    count = f"{len(streams)} connection{'s' if len(streams) != 1 else ''}"
    if len(different) > 1:
        text = f"flow {flow}: {count} over {len(different)} ways: {'; '.join(different)}"
    else:
        whole = "all over" if len(streams) > 1 else "over"
        text = f"flow {flow}: {count}, {whole} {different[0] if different else 'nothing known'}"
    mtus = [each["pmtu_bytes"] for each in streams if "pmtu_bytes" in each]
    smallest = min(mtus, default=mtu_bytes)
    text += f"; path MTU {smallest} B" if mtus else ""
    if smallest < mtu_bytes:
        return Check("path", False, f"{text}, the plan's {mtu_bytes} B", mtu_bytes, smallest, 0, "B")
    complete = bool(streams) and all(each.get("reached") for each in streams)
    return Check("path", True if complete else None, text, mtu_bytes, smallest, 0, "B")


def _way(stream: dict[str, Any]) -> str:
    hops = [each or "*" for each in stream.get("hops", [])]
    return " → ".join([*hops, *([] if stream.get("reached") else ["…"])])


def _grown(before: dict[str, Any], after: dict[str, Any], kinds: tuple[str, ...]) -> Iterator[str]:
    """Counters of some kinds that have grown, each with by how much."""
    for kind in kinds:
        former = object_of(object_of(before.get("counters")).get(kind))
        for name, value in object_of(object_of(after.get("counters")).get(kind)).items():
            if value > former.get(name, value):
                yield f"{name} +{value - former[name]}"


def _optics(whose: str, before: dict[str, Any], after: dict[str, Any]) -> Iterator[Check]:
    if not after:
        return
    powers = ", ".join(f"{power:g} dBm" for power in after.get("receive_dbm", []))
    text = f"module of {whose}: receives {powers or 'an unknown power'}"
    text += f", {after['celsius']:g} °C" if "celsius" in after else ""
    alarms, warnings = after.get("alarms", []), after.get("warnings", [])
    new = [each for each in alarms if each not in before.get("alarms", [])]
    since = " (new since the beginning)" if new else ""
    if alarms or warnings:
        text += f"; {', '.join([*alarms, *warnings])}{since}"
    yield Check("optics", False if alarms else None if warnings else True, text)


def bytes_checks(role: str, watched: Watched, way: str, sent: tuple[int, int]) -> Iterator[Check]:
    """Compare the bytes that a host's NICs counted with those of the engine.

    Args:
        role: the host's.
        watched: of the host.
        way: `tx` or `rx`.
        sent: payload of all its flows that arrived, and what of it was sent again, in bytes.
    """
    counted = [after[f"{way}_bytes"] - before[f"{way}_bytes"] for _, before, after in watched.nics]
    payload, again = sent
    if not counted or not payload:
        return
    nic, allowed = sum(counted), OTHER_TRAFFIC * sum(sent) + OTHER_BYTES
    text = f"NICs of the {role} counted {nic / 1e6:.3f} MB, the engine {payload / 1e6:.3f} MB of payload"
    if nic < payload:
        ok, text = False, f"{text}: not all of it passed these NICs"
    elif nic > payload + again + allowed:
        ok, text = None, f"{text}: others' data passed them, too"
    else:
        ok, text = True, f"{text} ({nic / payload - 1:+.2%})"
    yield Check("NIC bytes", ok, text, payload, nic, allowed, "B")
