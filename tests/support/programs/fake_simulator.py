#!/usr/bin/env python3
"""Stands for landspeed-sim in tests of its driver: the same words, files and signals, a transfer at a steady rate.

FAKE in the environment: `die` breaks after half of it, `hang` waits for SIGTERM after half of it.
"""

import csv
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

SENDER = [
    "time_ns", "stream", "bytes", "cwnd_packets", "ssthresh_packets", "srtt_us", "rttvar_us", "min_rtt_us",
    "retransmits", "lost_packets", "in_flight_packets", "state", "delivery_rate_bps", "pacing_rate_bps", "busy_us",
    "rwnd_limited_us", "sndbuf_limited_us", "rcv_space_bytes", "snd_wnd_bytes", "bytes_retransmitted", "mss_bytes",
]  # fmt: skip
LINKS = ["time_ns", "link", "direction", "bytes", "packets", "drops", "backlog_bytes", "backlog_packets", "marks"]
RATE_BPS = 400_000_000


def calibration(plan: dict[str, Any]) -> dict[str, Any]:
    """As the simulator derives it; the last hop is 1 % off if FAKE is `off`."""
    factor = 1.01 if os.environ.get("FAKE") == "off" else 1.0
    names, links = [node["name"] for node in plan["nodes"]], plan["links"]
    round_trips: list[float] = [(link["forward"]["delay_ns"] + link["reverse"]["delay_ns"]) / 1e6 for link in links]
    ways = []
    for nodes, times in ((names[1:], round_trips), (names[-2::-1], round_trips[::-1])):
        sums = [sum(times[: number + 1]) for number in range(len(times))]
        sums[-1] *= factor
        ways.append([{"ttl": n + 1, "node": nodes[n], "rtt_ms": ms, "propagation_ms": ms} for n, ms in enumerate(sums)])
    hops, back = ways
    mtu = min(link["mtu_bytes"] for link in links)
    rates = [
        min(link[way]["rate_bps"] * mtu / (mtu + link["framing_bytes"]) for link in links)
        for way in ("forward", "reverse")
    ]
    return {
        "how": "derived", "rtt_ms": hops[-1]["rtt_ms"], "hops": hops, "reverse_hops": back,
        "path_mtu_bytes": mtu, "rate_bps": rates[0], "rate_reverse_bps": rates[1],
    }  # fmt: skip


def main() -> int:
    plan, out = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    duration, interval = (plan["flows"][0]["transfer"][key] for key in ("duration_ns", "sample_interval_ns"))
    mode, stopped = os.environ.get("FAKE", ""), []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    rows = list(range(interval, duration + 1, interval))
    if mode in ("die", "hang"):
        rows = rows[: len(rows) // 2]
    (out / "flows" / "0").mkdir(parents=True)
    for name in ("sender", "receiver"):
        with (out / "flows" / "0" / f"{name}.csv").open("w") as handle:
            print(",".join(SENDER), file=handle)
            for time_ns in rows:
                known = {"time_ns": time_ns, "stream": 0, "bytes": RATE_BPS * time_ns // (8 * 10**9)}
                if name == "sender":
                    known |= {"cwnd_packets": 1000, "srtt_us": 50_000, "retransmits": 0, "mss_bytes": 8948}
                print(",".join(str(known.get(name, "")) for name in SENDER), file=handle)
    with (out / "links.csv").open("w") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(LINKS)
        writer.writerows([time_ns, 0, 0, time_ns // 20, time_ns // 200_000, 0, 0, 0, 0] for time_ns in rows)
    for time_ns in rows:
        line = {"time_s": time_ns / 1e9, "goodput_bps": RATE_BPS, "bytes": RATE_BPS * time_ns // 8 // 10**9}
        print(json.dumps(line | {"wall_s": 0.1}), flush=True)
    if mode == "die":
        print("landspeed-sim: out of ideas", file=sys.stderr)
        return 3
    while mode == "hang" and not stopped:
        signal.pause()
    end_s = rows[-1] / 1e9
    count = int(RATE_BPS * end_s / 8)
    result = {
        "complete": not stopped,
        "error": "stopped by SIGTERM" if stopped else None,
        "simulated_s": end_s,
        "event_packets": [
            (event["packets"] or 7) if event["kind"] in ("loss", "down") else None for event in plan.get("events") or []
        ],
        "flows": [
            {
                "name": plan["flows"][0]["name"],
                "complete": not stopped,
                "start_ns": 0,
                "goodput_bps": RATE_BPS,
                "bytes": count,
                "duration_s": end_s,
                "retransmits": 0,
                "streams": [{"stream": 0, "bytes": count, "goodput_bps": RATE_BPS, "duration_s": end_s}],
                "calibration": calibration(plan),
            }
        ],
        "ns3_version": "3.fake",
        "words": sys.argv[3:],
    }
    (out / "result.json").write_text(json.dumps(result))
    return 0 if not stopped else 1


if __name__ == "__main__":
    sys.exit(main())
