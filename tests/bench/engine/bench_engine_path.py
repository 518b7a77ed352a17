"""Two hosts on one cable for bench_engine: a veth pair between two namespaces, and the programs compared on it.

Processor time is that of both processes (wait4).
"""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ENGINE = Path(__file__).resolve().parents[3] / "engine" / "build" / "landspeed-engine"
TURNS = int(os.environ.get("ENGINE_BENCH_TURNS", "7"))
SECONDS = os.environ.get("ENGINE_BENCH_SECONDS", "2")
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
    mode: str | None,
    *options: str,
    limit: tuple[str, ...] = ("--time", SECONDS),
    receiver: tuple[str, ...] = (),
    apart: bool = False,
    program: Path = ENGINE,
    port: int = 5201,
) -> Run:
    """The engine with that receive mode; None: it sends what the options say."""

    def read(text: str) -> tuple[float, float, dict]:
        result = json.loads(text)
        if not result["complete"]:
            raise RuntimeError(result["error"])
        return result["bytes"], result["duration_s"], result

    kind = () if mode is None else ("--receive", mode)
    sending = [str(program), "send", HOST, "--port", str(port), *kind, "--quiet", "--json", "-", *limit, *options]
    receiving = [str(program), "receive", "--one-off", "--port", str(port), *receiver]
    return measure(receiving, sending, port, read, apart=apart)


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
