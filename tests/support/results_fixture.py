"""Shared by tests: what test_fixture and others use."""

import csv
import random
from pathlib import Path
from typing import Any

from landspeed.judge.judge import judge
from landspeed.results.bundle import BundleWriter
from landspeed.results.facts import EmuFacts
from landspeed.results.record import CalibrationResult, RunRecord
from landspeed.results.sample_columns import LINK_COLUMNS, SAMPLE_COLUMNS
from landspeed.results.tool_result import StreamResult, ToolResult, WindowResult
from landspeed.scenario.plan.plan import PATH_FLOW, Plan
from tests.support.path_record import path_record

MSS = 8948


NS = 1_000_000_000


BUS_GOODPUT = 6_626_513_000


ROUTERS = ["cern", "chicago", "abilene-chicago", "new-york", "washington", "atlanta", "houston", "kansas-city"]


ROUTERS += ["denver", "seattle", "sunnyvale", "los-angeles"]


LABELS = ["", "chi-vlan595-143.cern.ch", "abilene-tge.cern.ch", "nycmng-chinng.abilene.ucaid.edu"]


LABELS += ["washng-nycmng.abilene.ucaid.edu", "atlang-washng.abilene.ucaid.edu", "hstnng-atlang.abilene.ucaid.edu"]


LABELS += ["kscyng-hstnng.abilene.ucaid.edu", "dnvrng-kscyng.abilene.ucaid.edu", "sttlng-dnvrng.abilene.ucaid.edu"]


LABELS += ["snvang-sttlng.abilene.ucaid.edu", "losang-snvang.abilene.ucaid.edu", "hpr-lax-gsr1.cenic.net"]


LABELS += ["mach13-caltech.cenic.net"]


FORWARD = [125, 125, 146, 150, 153, 170, 170, 180, 206, 214, 263, 263, 263]


REVERSE = [1, 1, 16, 27, 50, 54, 61, 75, 101, 141, 138, 138, 263]


KM = [0, 7067, 0, 1158, 328, 876, 1128, 1040, 891, 1652, 1137, 489, 0]


ONE_WAY_MS = [0.05, 62.3, 0.1, 9.6, 2.1, 3.1, 7.4, 4.1, 7.0, 12.2, 8.8, 15.15, 0.1]


LIMITS = {
    "bus of geneva (fitted)": BUS_GOODPUT,
    "line rate of link 1 geneva–cern": 9_900_420_000,
    "window": 11_288_514_000,
}


RECORDED_STREAMS = [828.195, 828.792, 827.961, 829.172, 828.107, 827.917, 828.206, 828.163]


def limit(name: str, goodput_bps: int) -> dict[str, Any]:
    """A limit as JSON, of the words for it."""
    words, _, place = name.removesuffix(" (fitted)").partition(" of ")
    kind = words.removesuffix(" (square-root law)")
    return {"kind": kind, "place": place or None, "fitted": "(fitted)" in name, "goodput_bps": goodput_bps}


def make_plan(
    transfer: dict[str, Any] | None = None,
    expect: dict[str, Any] | None = None,
    limits: dict[str, int] | None = None,
    *,
    with_expect: bool = True,
) -> Plan:
    """The plan of 25 June 2004 as the resolver would make it; the arguments replace fields of its parts."""
    names = ["geneva", *ROUTERS, "pasadena"]
    nodes: list[dict[str, Any]] = []
    for position, name in enumerate(names):
        host = position in {0, len(names) - 1}
        node: dict[str, Any] = {
            "name": name,
            "kind": "host" if host else "router",
            "place": name.replace("-", " ").title(),
        }
        if host:
            node |= {"nic_rate_bps": 10_000_000_000}
        elif LABELS[min(position, len(LABELS) - 1)]:
            node |= {"label": LABELS[position]}
        nodes.append(node)
    nodes[0] |= {
        "bus_rate_bps": 6_665_000_000,
        "bus_fitted": True,
        "bus_why": "PCI-X and one CPU; fitted to the record",
    }
    delays = [round(ms * 1e6) for ms in ONE_WAY_MS]
    delays[1] += 132_000_000 - sum(delays)
    links = []
    for index, (delay, km) in enumerate(zip(delays, KM, strict=True)):
        ends = {
            way: {
                "delay_ns": delay,
                "rate_bps": 10_000_000_000,
                "queue_bytes": 100_000_000,
                "can_queue": index == 0 and way == "forward",
                "seed": index * 2 + number,
            }
            for number, way in enumerate(("forward", "reverse"))
        }
        link: dict[str, Any] = {"index": index, "a": names[index], "b": names[index + 1], "mtu_bytes": 9000}
        links.append(link | {"framing": "ethernet", "framing_bytes": 38, "distance_m": km * 1000 or None, **ends})
    transfer_part: dict[str, Any] = {
        "streams": 8,
        "window_bytes": 46_565_120,
        "congestion_control": "reno",
        "duration_ns": 60 * NS,
        "receive": "discard",
        "sample_interval_ns": NS // 10,
    }
    expect_part: dict[str, Any] = {
        "goodput_bps": 6_626_513_000,
        "goodput_tolerance": 0.05,
        "bytes": 859_052_821_760,
        "duration_ns": 1_037_200_000_000,
        "rtt_ns": 264_000_000,
        "retransmits": 11,
        "streams_goodput_bps": [round(rate * 1e6) for rate in RECORDED_STREAMS],
        "distance_m": 15_766_000,
        "score_bit_m_per_s": 104_528_580_000_000_000,
        "source": "submission of 28 June 2004",
        "host_limits_fitted": True,
        "forward_traceroute": [
            {"label": label, "rtt_ms": [rtt, rtt, rtt]} for label, rtt in zip(LABELS[1:], FORWARD, strict=True)
        ],
        "reverse_traceroute": [
            {"label": f"reverse hop {ttl}", "rtt_ms": [rtt, rtt + 3, rtt], "below": rtt == 1}
            for ttl, rtt in enumerate(REVERSE, 1)
        ],
    }
    physics: dict[str, Any] = {
        "rtt_ns": 264_000_000,
        "distance_m": 15_766_000,
        "bdp_bytes": 330_000_000,
        "mss_bytes": MSS,
        "line_rate_limit_bps": 9_900_420_000,
        "window_limit_bps": 11_288_514_000,
        "bus_limit_bps": BUS_GOODPUT,
        "expected_goodput_bps": BUS_GOODPUT,
        "limits": [limit(name, rate) for name, rate in (limits or LIMITS).items()],
    }
    flow = {
        "name": PATH_FLOW,
        "source": names[0],
        "target": names[-1],
        "route": list(range(len(links))),
        "transfer": transfer_part | (transfer or {}),
        "expect": expect_part | (expect or {}) if with_expect else None,
        "physics": physics,
    }
    plan = {
        "scenario": "2004-06-25-geneva-pasadena",
        "title": "Geneva – Pasadena, 25 June 2004: IPv4, eight Reno streams",
        "scenario_file": "scenarios/records/2004-06-25-geneva-pasadena.yaml",
        "seed": 1,
        "ip_version": 4,
        "fidelity": "super-packets",
        "nodes": nodes,
        "links": links,
        "flows": [flow],
        "calibration": {},
        "contest": {"date": "2004-06-25"} if with_expect else None,
    }
    return Plan.from_dict(plan)


def write_samples(folder: Path, seconds: float, streams: int = 8, seed: int = 7) -> list[int]:
    """Write sender.csv, receiver.csv and links.csv: slow start, the bus, and one lost packet in stream 3.

    Returns:
        bytes that the receiver has read from each stream at the end.
    """
    chance = random.Random(seed)
    rtt_s, equal = 0.264, BUS_GOODPUT / 8 / streams
    target = equal * rtt_s / MSS * 1.02
    read = [0.0] * streams
    window = [10.0] * streams
    rows: dict[str, list[list[Any]]] = {"sender": [], "receiver": []}
    links: list[list[Any]] = []
    passed = 0.0
    ticks = round(seconds * 10)
    for tick in range(1, ticks + 1):
        time_s = tick / 10
        offered = []
        for stream in range(streams):
            if window[stream] < target:
                window[stream] = min(window[stream] * 2 ** (0.1 / rtt_s), target)
            elif stream == 3 and tick == 300:
                window[stream] *= 0.5
            else:
                window[stream] += 0.1 / rtt_s / 2
            offered.append(window[stream] * MSS / rtt_s)
        total = min(sum(offered), BUS_GOODPUT / 8)
        backlog = max(0.0, sum(window) * MSS - total * rtt_s)
        srtt_us = round((rtt_s + backlog / (BUS_GOODPUT / 8)) * 1e6)
        for stream in range(streams):
            share = total * offered[stream] / sum(offered) * (1 + chance.uniform(-0.004, 0.004))
            arrives = time_s > rtt_s / 2 + 0.05
            read[stream] += share * 0.1 if arrives else 0
            lost = 1 if stream == 3 and tick >= 300 else 0
            packets = round(window[stream])
            common = [
                round(share * 8),
                round(share * 8.4),
                tick * 100_000,
                0,
                0,
                8_000_000,
                46_000_000,
                lost * MSS,
                MSS,
            ]
            acked = max(0, round(read[stream] - share * rtt_s / 2))
            ssthresh = 2147483647 if not lost else 1500
            state = 3 if lost and tick < 306 else 0
            middle = [packets, ssthresh, srtt_us, 900, 264_004, lost, 0, packets, state]
            rows["sender"].append([tick * NS // 10, stream, acked, *middle, *common])
            rows["receiver"].append(
                [tick * NS // 10, stream, round(read[stream]), 10, 2147483647, srtt_us, 0, 0, 0, 0, 0, 0, *common]
            )
        passed += total * 0.1 * 1.0058
        for link in range(len(ONE_WAY_MS)):
            queue = round(backlog) if link == 0 else round(chance.uniform(0, 90_000))
            drops = 1 if link == 0 and tick >= 300 else 0
            links.append(
                [tick * NS // 10, link, 0, round(passed), round(passed / 9000), drops, queue, queue // 9014, 0]
            )
            links.append([tick * NS // 10, link, 1, round(passed / 400), round(passed / 18000), 0, 0, 0, 0])
    for name, columns, content in (
        ("sender", SAMPLE_COLUMNS, rows["sender"]),
        ("receiver", SAMPLE_COLUMNS, rows["receiver"]),
        ("links", LINK_COLUMNS, links),
    ):
        with (folder / f"{name}.csv").open("w", newline="") as handle:
            csv.writer(handle, lineterminator="\n").writerows([columns, *content])
    return [round(each) for each in read]


def make_calibration(plan: Plan) -> CalibrationResult:
    """What the gate would have measured on this path."""
    names = [node.name for node in plan.nodes]
    out = [2 * sum(ONE_WAY_MS[: hop + 1]) for hop in range(len(ONE_WAY_MS))]
    whole = 264.0
    hops = [
        {"ttl": hop + 1, "node": names[hop + 1], "address": f"10.0.{hop}.2", "rtt_ms": ms + 0.003, "expected_ms": ms}
        for hop, ms in enumerate([*out[:-1], whole])
    ]
    back = [
        {
            "ttl": ttl,
            "node": hop["node"],
            "address": f"10.0.{12 - ttl}.1",
            "rtt_ms": whole - hop["expected_ms"] + 0.002,
            "expected_ms": whole - hop["expected_ms"],
        }
        for ttl, hop in enumerate(reversed(hops[:-1]), 1)
    ]
    back.append({"ttl": 13, "node": "geneva", "address": "10.0.0.1", "rtt_ms": 264.003, "expected_ms": 264.0})
    return CalibrationResult(
        rtt_ms=264.003,
        rtt_expected_ms=264.0,
        tolerance=0.001,
        hops=hops,
        reverse_hops=back,
        path_mtu_bytes=9000,
        mtu_expected_bytes=9000,
        rate_bps=6_664_870_000.0,
        rate_expected_bps=6_665_000_000.0,
        rate_reverse_bps=9_957_640_000.0,
        rate_reverse_expected_bps=9_957_955_000.0,
        rate_tolerance=0.01,
        queue=None,
        passed=True,
    )


def make_record(plan: Plan, read: list[int], seconds: float) -> RunRecord:
    """The raw record of such a run, before the judge."""
    streams = [
        StreamResult(
            stream=number,
            bytes=count,
            duration_s=seconds - 0.01 * number,
            goodput_bps=count * 8 / seconds,
            retransmits=int(number == 3),
            bytes_retransmitted=MSS * int(number == 3),
            min_rtt_us=264_004,
            srtt_us=269_512,
            mss_bytes=MSS,
            congestion_control="reno",
            busy_us=round(seconds * 1e6),
            rwnd_limited_us=0,
            sndbuf_limited_us=0,
        )
        for number, count in enumerate(read)
    ]
    return path_record(
        plan.scenario,
        title=plan.title,
        seed=plan.seed,
        fidelity=plan.fidelity,
        command=["landspeed", "run", plan.scenario_file, "--set", "transfer.duration=60 s", "--seed", "1"],
        started="2026-11-21T10:15:00Z",
        wall_s=16.4,
        build_s=2.6,
        calibrate_s=1.1,
        transfer_wall_s=12.1,
        goodput_bps=sum(read) * 8 / seconds,
        bytes=sum(read),
        duration_s=seconds,
        retransmits=1,
        streams=streams,
        tool_result=ToolResult.model_validate(
            {
                "version": "0.1.0",
                "build": "release",
                "complete": True,
                "receive_mode": "discard",
                "packets_sent": sum(read) // MSS + 1,
                "packets_received": sum(read) // MSS,
                "bytes_retransmitted": MSS,
                "cpu": {"sender": {"user_s": 0.1, "system_s": 6.2}, "receiver": {"user_s": 0.1, "system_s": 3.0}},
            }
        ),
        window=WindowResult(
            asked_bytes=46_565_120,
            sender_granted_bytes=93_130_240,
            receiver_granted_bytes=93_130_240,
            sender_sndbuf_bytes=93_130_240,
            receiver_rcvbuf_bytes=93_130_240,
            bdp_bytes=218_675_000,
        ),
        calibration=make_calibration(plan),
        world_facts=EmuFacts.model_validate(
            {
                "host": {"cpu": "Example CPU", "cores": 2, "kernel": "6.1.0"},
                "guest": {
                    "kernel": "6.12.48",
                    "kernel_key": "6f1d0c",
                    "memory_bytes": 2 << 30,
                    "memory_touched_bytes": 900 << 20,
                    "qdiscs": {
                        "geneva": "qdisc fq 8001: dev geneva-eth0 root limit 10000p",
                        "cern": "qdisc tbf 1: rate 10Gbit\nqdisc netem 2: delay 62.3ms",
                    },
                    "sysctls": {
                        "all": {"net.core.rmem_max": "2147483647"},
                        "geneva": {"net.ipv4.tcp_congestion_control": "reno"},
                    },
                    "offloads": {"geneva:eth0": {"tso": True, "gso": True, "gro": True}},
                    "addresses": {"geneva": "10.0.0.1", "pasadena": "10.0.12.2"},
                },
            }
        ),
        versions={"landspeed": "0.1.0", "python": "3.11.2", "kernel": "6.12.48"},
        plan=plan,
    )


def make_bundle(out_dir: Path, seconds: float = 60.0, plan: Plan | None = None) -> Path:
    """A whole judged bundle in the folder."""
    plan = plan or make_plan(transfer={"duration_ns": round(seconds * NS)})
    writer = BundleWriter(out_dir, plan.scenario)
    read = write_samples(writer.path, seconds, plan.transfer.streams)
    writer.write_text("plan.json", plan.to_json(indent=1))
    writer.write_text("scenario.yaml", "name: 2004-06-25-geneva-pasadena\n")
    writer.convert()
    return writer.finish(judge(plan, make_record(plan, read, seconds), writer.path))
