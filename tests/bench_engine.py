"""`make bench-engine`: the engine against iperf3 and nuttcp, on one path, in one session, in turns.

A veth pair between two namespaces of this process's own making; medians of the ratios of each turn. Processor time is
that of both processes (wait4). Exit status 1 if a promise is not kept. `bench_engine.py NAME…` measures only those;
ENGINE_BENCH_TURNS, ENGINE_BENCH_SECONDS and ENGINE_BENCH_GB change the effort.
"""

from __future__ import annotations

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import ONE_STREAM, Row, run
from bench_engine_faults import faults

ENGINE = Path(__file__).resolve().parent.parent / "engine" / "build" / "landspeed-engine"
TURNS = int(os.environ.get("ENGINE_BENCH_TURNS", "7"))
SECONDS = os.environ.get("ENGINE_BENCH_SECONDS", "2")
VERIFY_GB = int(os.environ.get("ENGINE_BENCH_GB", "100"))
HOSTS_OWN = Path("/proc/sys/net/ipv4/tcp_congestion_control")
SENDER, RECEIVER = f"lsb{os.getpid()}s", f"lsb{os.getpid()}r"
HOST = "10.98.7.2"


@dataclass
class Run:
    """One transfer of one program."""

    goodput_bps: float
    cpu_s_per_gb: float
    result: dict


@contextmanager
def veth_pair(mtu: int, congestion: str | None = None) -> Iterator[None]:
    """Two namespaces and a cable; `congestion`: what all connections across it use, None for the host's own."""

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True)

    try:
        for namespace in (SENDER, RECEIVER):
            ip("netns", "add", namespace)
        ip(*f"link add v mtu {mtu} netns {SENDER} type veth peer name v mtu {mtu} netns {RECEIVER}".split())
        for number, namespace in enumerate((SENDER, RECEIVER), 1):
            ip(*f"-n {namespace} addr add 10.98.7.{number}/24 dev v".split())
            ip(*f"-n {namespace} link set v up".split())
            ip(*f"-n {namespace} link set lo up".split())
            if congestion is not None:
                # By the route: none of the programs needs an option for it.
                way = f"10.98.7.0/24 dev v src 10.98.7.{number} congctl {congestion}"
                ip("-n", namespace, "route", "replace", *way.split())
        yield
    finally:
        for namespace in (SENDER, RECEIVER):
            subprocess.run(["ip", "netns", "delete", namespace], check=False)


def listening(namespace: str, port: int) -> bool:
    """Does somebody listen on the port there?"""
    words = ["ip", "netns", "exec", namespace, "ss", "-Hltn", f"sport = :{port}"]
    return bool(subprocess.run(words, capture_output=True, check=True).stdout)


def on_processor(number: int) -> list[str]:
    """What goes before a command to keep all its threads on that one of the processors that are ours."""
    return ["taskset", "-c", str(sorted(os.sched_getaffinity(0))[number])]


def measure(
    receiving: list[str],
    sending: list[str],
    port: int,
    read: Callable[[str], tuple[float, float, dict]],
    *,
    apart: bool,
) -> Run:
    """Run both; `read` makes bytes, seconds and a result of what the sender printed.

    `apart`: each end has a processor to itself, as on two hosts: where the scheduler puts them is not compared.
    """
    with tempfile.TemporaryFile("w+") as output:
        inside = ["ip", "netns", "exec", RECEIVER, *(on_processor(-1) if apart else ())]
        receiver = subprocess.Popen([*inside, *receiving], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not listening(RECEIVER, port):
            time.sleep(0.02)
        inside = ["ip", "netns", "exec", SENDER, *(on_processor(0) if apart else ())]
        sender = subprocess.Popen([*inside, *sending], stdout=output, stderr=subprocess.DEVNULL)
        _, status, near = os.wait4(sender.pid, 0)
        sender.returncode = os.waitstatus_to_exitcode(status)
        if sender.returncode != 0:
            receiver.send_signal(signal.SIGTERM)
        _, status, far = os.wait4(receiver.pid, 0)
        receiver.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        moved, seconds, result = read(output.read())
    cpu_s = near.ru_utime + near.ru_stime + far.ru_utime + far.ru_stime
    return Run(moved * 8 / seconds, cpu_s / (moved / 1e9), result)


def engine(
    mode: str,
    *options: str,
    limit: tuple[str, str] = ("--time", SECONDS),
    receiver: tuple[str, ...] = (),
    apart: bool = False,
) -> Run:
    """The engine with that receive mode."""

    def read(text: str) -> tuple[float, float, dict]:
        result = json.loads(text)
        if not result["complete"]:
            raise RuntimeError(result["error"])
        return result["bytes"], result["duration_s"], result

    sending = [str(ENGINE), "send", HOST, "--receive", mode, "--quiet", "--json", "-", *limit, *options]
    return measure([str(ENGINE), "receive", "--one-off", *receiver], sending, 5201, read, apart=apart)


def iperf3(*options: str) -> Run:
    """iperf3, one stream."""

    def read(text: str) -> tuple[float, float, dict]:
        result = json.loads(text)["end"]["sum_received"]
        return result["bytes"], result["seconds"], result

    sending = ["iperf3", "-c", HOST, "-J", "-t", SECONDS, *options]
    return measure(["iperf3", "-s", "-1"], sending, 5201, read, apart=True)


def nuttcp() -> Run:
    """nuttcp, one stream."""

    def read(text: str) -> tuple[float, float, dict]:
        values = dict(re.findall(r"(\w+)=([\d.]+)", text))
        return float(values["megabytes"]) * 2**20, float(values["real_seconds"]), values

    run = measure(["nuttcp", "-1"], ["nuttcp", "-T", SECONDS, "-fparse", HOST], 5000, read, apart=True)
    # Its receiver goes to the background, where wait4 does not see it: its own account, in per cent of a processor.
    busy_s = sum(float(run.result[end]) for end in ("tx_cpu", "rx_cpu")) / 100 * float(run.result["real_seconds"])
    run.cpu_s_per_gb = busy_s / (float(run.result["megabytes"]) * 2**20 / 1e9)
    return run


PROGRAMS: dict[str, Callable[[], Run]] = {
    "discard": lambda: engine("discard", apart=True),
    "iperf3": iperf3,
    "memory": lambda: engine("memory", apart=True),
    "iperf3 -Z": lambda: iperf3("-Z"),
    "verify": lambda: engine("verify", apart=True),
    "nuttcp": nuttcp,
}
NEAREST = ("verify", "iperf3", "discard", "iperf3 -Z")


def in_turns(mtu: int, congestion: str | None = None) -> list[Row]:
    """All programs in turns; each ratio is taken within one turn."""
    turns: list[dict[str, Run]] = []
    path = f"MTU {mtu}, {congestion or HOSTS_OWN.read_text().strip()}"
    with veth_pair(mtu, congestion):
        # What is nearest to its promise has more turns: the ratios of two turns differ by a third.
        for number, names in enumerate([PROGRAMS] * TURNS + [NEAREST] * 2 * TURNS):
            turns.append({name: PROGRAMS[name]() for name in names})
            figures = ", ".join(
                f"{name} {each.goodput_bps / 1e9:.1f} Gbit/s {each.cpu_s_per_gb:.3f} s/GB"
                for name, each in turns[-1].items()
            )
            print(f"{path}, turn {number + 1}: {figures}", file=sys.stderr, flush=True)

    def row(mode: str, other: str, least: float, most: float | None) -> Row:
        both = [(turn[mode], turn[other]) for turn in turns if mode in turn and other in turn]
        speeds = [own.goodput_bps / theirs.goodput_bps for own, theirs in both]
        low, speed, high = statistics.quantiles(speeds * 2 if TURNS == 1 else speeds, method="inclusive")
        cost = statistics.median(own.cpu_s_per_gb / theirs.cpu_s_per_gb for own, theirs in both)
        promised = f"≥ {least} ×" + (f", ≤ {most} ×" if most else "")
        return Row(
            f"{path}: {mode} against {other}, {len(both)} turns: goodput, CPU per byte",
            f"{speed:.2f} × (half the turns: {low:.2f} to {high:.2f}), {cost:.2f} ×",
            promised,
            speed >= least and (most is None or cost <= most),
        )

    others = ("iperf3", "iperf3 -Z", "nuttcp")
    rows = [row("discard", other, 2.0, 0.5) for other in others]
    rows += [row("memory", other, 1.3, None) for other in others]
    return [*rows, row("verify", "iperf3", 1.0, None)]


def making() -> list[Row]:
    """What a verified block costs before it is sent: made, then summed by the library, against one pass."""
    build = ENGINE.parent
    subprocess.run(["ninja", "-C", str(build), "bench_making"], check=True, stdout=subprocess.DEVNULL)
    told = subprocess.run([str(build / "bench_making")], check=True, stdout=subprocess.PIPE, text=True).stdout
    apart, *ways = [json.loads(line) for line in told.splitlines()]
    figures = ", ".join(f"{way['seconds_per_gb']:.3f} s/GB ({way['way']})" for way in ways)
    row = f"{apart['seconds_per_gb']:.3f} s/GB → {figures or 'no vectors here'}"
    return [Row("verified blocks: made, then summed → in one pass", row, "shown", True)]


def verification() -> list[Row]:
    """Much verified data: no false alarm, and what a pair of processors manages."""
    with veth_pair(9000):
        result = engine("verify", limit=("--bytes", f"{VERIFY_GB}G"))
    faults = result.result["verification"]["faults"]
    rate, cpu = result.goodput_bps / 1e9, result.cpu_s_per_gb
    # Sender and receiver have a processor each: the busier one decides.
    busiest = max(sum(end.values()) for end in result.result["cpu"].values()) / VERIFY_GB
    return [
        Row(f"verify: false alarms in {VERIFY_GB} GB", str(faults), "0", faults == 0),
        Row(
            "verify: goodput of this run; what the busier processor's time allows",
            f"{rate:.1f} Gbit/s ({cpu:.3f} s/GB); {8 / busiest:.1f} Gbit/s",
            "≥ 10 Gbit/s per pair of processors",
            8 / busiest >= 10,
        ),
    ]


def jain(run: Run) -> float:
    """Jain's fairness index of the streams' goodputs (Jain, Chiu, Hawe, DEC-TR-301, 1984)."""
    goodputs = [stream["goodput_bps"] for stream in run.result["streams"]]
    return sum(goodputs) ** 2 / (len(goodputs) * sum(each**2 for each in goodputs))


def fairness() -> list[Row]:
    """Eight streams on this machine's processors: for how long, and placed by whom; their total against one."""
    pinned = ("--affinity", f"0-{(os.cpu_count() or 1) - 1}")
    ways: dict[str, Callable[[], Run]] = {
        "2 s": lambda: engine("discard", "--streams", "8", limit=("--time", "2")),
        "2 s, both ends pinned": lambda: engine(
            "discard", "--streams", "8", *pinned, limit=("--time", "2"), receiver=pinned
        ),
        "5 s": lambda: engine("discard", "--streams", "8", limit=("--time", "5")),
        "10 s": lambda: engine("discard", "--streams", "8", limit=("--time", "10")),
    }
    indices: dict[str, list[float]] = {way: [] for way in ways}
    totals = []
    with veth_pair(9000):
        for _ in range(TURNS):
            one = engine("discard", limit=("--time", "2"))
            for way, transfer in ways.items():
                eight = transfer()
                indices[way].append(jain(eight))
                if way == "2 s":
                    totals.append(eight.goodput_bps / one.goodput_bps)
    total = statistics.median(totals)
    rows = []
    for way, seen in indices.items():
        median = statistics.median(seen)
        figures = f"{median:.4f} ({min(seen):.4f} to {max(seen):.4f})"
        rows.append(Row(f"8 streams, {way}: Jain's index", figures, "≥ 0.99", median >= 0.99))
    return [*rows, Row("8 streams, 2 s: total against 1 stream", f"{total:.2f} ×", "≥ 1", total >= 1)]


def zerocopy_receive() -> list[Row]:
    """What TCP_ZEROCOPY_RECEIVE maps instead of copying, and both ends' time per byte with and without it."""
    source = Path(__file__).with_name("zerocopy_receive.c")
    rows = []
    with tempfile.TemporaryDirectory(prefix="landspeed-bench-") as folder:
        program = str(Path(folder) / "zerocopy_receive")
        subprocess.run(["cc", "-O2", "-o", program, str(source)], check=True)

        def once(way: str, how: str) -> tuple[float, float, float]:
            inside = ["ip", "netns", "exec", RECEIVER, program, "receive", "5301", how]
            receiver = subprocess.Popen(inside, stdout=subprocess.PIPE, text=True)
            while not listening(RECEIVER, 5301):
                time.sleep(0.02)
            words = ["ip", "netns", "exec", SENDER, program, "send", HOST, "5301", way, SECONDS]
            sender = subprocess.Popen(words)
            _, status, used = os.wait4(sender.pid, 0)
            sender.returncode = os.waitstatus_to_exitcode(status)
            result = json.loads(receiver.communicate()[0])
            gigabytes = result["bytes"] / 1e9
            near = (used.ru_utime + used.ru_stime) / gigabytes
            return result["mapped"] / result["bytes"], result["cpu_s"] / gigabytes, near

        for mtu in (9000, 4148, 1500):  # 4148: segments of exactly a page
            with veth_pair(mtu):
                for way in ("write", "sendfile", "zerocopy"):
                    turns = [(once(way, "copy"), once(way, "map")) for _ in range(TURNS)]
                    share, copied, mapped, sent, sent_map = (
                        statistics.median(values)
                        for values in zip(*((b[0], a[1], b[1], a[2], b[2]) for a, b in turns), strict=True)
                    )
                    figures = f"{share:.0%} mapped; receiver {copied:.3f} → {mapped:.3f} s/GB"
                    figures += f"; sender {sent:.3f} → {sent_map:.3f} s/GB"
                    rows.append(Row(f"MTU {mtu}, sender's {way}: copy → map", figures, "shown", True))
    return rows


def guest(rate_gbps: int, streams: int, window: str, *, seconds: int, share: float) -> list[Row]:
    """264 ms in virtual time; the steady figure against the framing limit."""
    limit = rate_gbps * 1e9 * 8948 / 9038
    fidelity = "packets" if rate_gbps == 10 else "super-packets"
    settings = {
        "line_rate": f"{rate_gbps} Gbit/s",
        "fidelity": fidelity,
        "hosts.geneva.nic": f"{rate_gbps} Gbit/s",
        "hosts.pasadena.nic": f"{rate_gbps} Gbit/s",
        "transfer.streams": str(streams),
        "transfer.window": window,
        "transfer.duration": f"{seconds} s",
        "expect.goodput": f"{limit / 1e9:.4f} Gbit/s",
        "expect.from": "10 s",
        "expect.tolerance": f"{(1 - share) * 100:.0f} %",
    }
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    with tempfile.TemporaryDirectory(prefix="landspeed-bench-") as folder:
        result = run(ONE_STREAM, *options, out=Path(folder))
    steady = result["steady_goodput_bps"]
    return [
        Row(
            f"guest, 264 ms, {rate_gbps} Gbit/s, {streams} streams: from second 10 on",
            f"{steady / 1e9:.3f} Gbit/s = {steady / limit:.2%} of the framing limit",
            f"≥ {share:.0%}",
            steady >= share * limit,
        )
    ]


BENCHES: dict[str, Callable[[], list[Row]]] = {
    "mtu9000": lambda: in_turns(9000),
    "mtu1500": lambda: in_turns(1500),
    "mtu9000cubic": lambda: in_turns(9000, "cubic"),
    "mtu1500cubic": lambda: in_turns(1500, "cubic"),
    "making": making,
    "verify": verification,
    "faults": lambda: faults(VERIFY_GB),
    "fairness": fairness,
    "zerocopy-receive": zerocopy_receive,
    "guest10x1": lambda: guest(10, 1, "330 MB", seconds=16, share=0.99),
    "guest10x8": lambda: guest(10, 8, "42 MB", seconds=16, share=0.99),
    "guest10x64": lambda: guest(10, 64, "6 MB", seconds=16, share=0.99),
    "guest100x8": lambda: guest(100, 8, "415 MB", seconds=12, share=0.95),
    "guest400x16": lambda: guest(400, 16, "830 MB", seconds=12, share=0.95),
}


def main(names: list[str]) -> int:
    """Measure and print a Markdown table."""
    unknown = set(names) - set(BENCHES)
    if unknown:
        print(f"Error: no bench {sorted(unknown)}; there are {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    rows: list[Row] = []
    for name in names or BENCHES:
        rows += BENCHES[name]()
    print("\n| what | measured | promised | kept |\n|---|---|---|---|")
    for row in rows:
        print(f"| {row.what} | {row.measured} | {row.promised} | {'yes' if row.kept else 'NO'} |")
    return 0 if all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
