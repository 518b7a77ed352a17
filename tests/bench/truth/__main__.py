"""Ask everything, or some of it, and print the table: `python -m tests.bench.truth` (`make truth`).

Exit status 1 if a figure is not what theory says, or a step of a BBR case fails for no known reason.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from . import packets, simulated, simulated_tcp, tcp
from .bbr_cases import CASES, carry_out
from .classes import CLASSES
from .question import Asked, Finding
from .table import Found, case_lines, case_page, lines, page

PARTS = ("wire", "tcp", "bbr")
WORLDS = ("emu", "sim")
FIDELITIES = ("packets", "super-packets")


def ask(asked: Asked, parts: Sequence[str] = PARTS) -> Found:
    """Everything about one rate class in one world."""
    rate = CLASSES[asked.rate]
    if asked.world == "sim":
        makes: dict[str, Callable[[], list[Finding]]] = {
            "wire": lambda: simulated.wire(rate, asked.ip),
            "tcp": lambda: simulated_tcp.tcp(rate, asked.ip),
        }
        unasked = simulated.UNASKED
    else:
        makes = {
            "wire": lambda: packets.wire(rate, asked.ip, asked.fidelity),
            "tcp": lambda: tcp.tcp(rate, asked.ip, asked.fidelity),
        }
        unasked = tcp.unasked(rate, asked.fidelity) if "tcp" in parts else []
    return Found(asked, [found for part, make in makes.items() if part in parts for found in make()], unasked)


def every(parsed: argparse.Namespace) -> Iterator[Asked]:
    """Where to ask: each class in each world; the simulated one has one fidelity."""
    for world in parsed.world:
        for rate in parsed.rates:
            for ip in parsed.ip:
                for fidelity in parsed.fidelity if world == "emu" else FIDELITIES[:1]:
                    yield Asked(world, rate, ip, fidelity)


def arguments() -> argparse.Namespace:
    """As typed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.truth", description="What the network does beside theory."
    )
    lists = {
        "--parts": (PARTS, "what to ask about"),
        "--world": (WORLDS, "where"),
        "--rates": (tuple(CLASSES), "rate classes"),
        "--fidelity": (FIDELITIES, "of the emulated world"),
    }
    for option, (choices, told) in lists.items():
        parser.add_argument(option, nargs="+", choices=choices, default=choices, help=f"{told} (default: all)")
    parser.add_argument("--ip", nargs="+", type=int, choices=(4, 6), default=(4, 6), help="versions (default: both)")
    parser.add_argument("--markdown", action="store_true", help="as a page of the documents shows it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at once (default: one a core)")
    return parser.parse_args()


def main() -> int:
    """Run it."""
    parsed = arguments()
    bad = 0
    if {"wire", "tcp"} & {*parsed.parts}:
        places = list(every(parsed))
        found: list[Found] = []
        with ProcessPoolExecutor(parsed.jobs) as pool:
            for each in pool.map(ask, places, [parsed.parts] * len(places)):
                found.append(each)
                if not parsed.markdown:
                    print("\n".join(lines(each)), flush=True)
        if parsed.markdown:
            print(page(found))
        figures = [one for each in found for one in each.findings]
        bad = sum(not one.ok for one in figures)
        print(f"{len(figures)} figures, {bad} red", file=sys.stderr)
    if "bbr" in parsed.parts and "emu" in parsed.world:
        carried = carry_out(CASES)
        print(case_page(carried) if parsed.markdown else "\n".join(case_lines(carried)))
        unknown = sum(not step.ok and not step.why for _, steps in carried for step in steps)
        print(f"{len(carried)} cases of the BBR draft, {unknown} steps red without a reason", file=sys.stderr)
        bad += unknown
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
