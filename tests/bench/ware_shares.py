"""BBR beside several CUBICs in a deep queue, in both worlds: is its share the same, however many they are?

    python -m tests.bench.ware_shares [--cubics 2 4 8 16] [--seed 1]

Ware, Mukerjee, Seshan and Sherry (IMC 2019): what BBR may have in flight, not the number of the others, sets its share.
Their path: 10 Mbit/s, 40 ms, a queue of 32 BDP. It prints the share of
1000 s, and of parts of them. Some minutes on a quiet machine.
"""

import argparse
from pathlib import Path
from typing import Any

import yaml

import landspeed
from landspeed.results.samples_reader import Samples
from tests.bench.published.cells import HERE
from tests.bench.published.fabric_bbr import BDP_BYTES
from tests.bench.truth.emulated import a_folder
from tests.support.emu_fixtures import write_scenario

QUEUE_BDP, SPANS_S = 32, ((0, 1000), (0, 240), (240, 500), (500, 750), (750, 1000))


def content(cubics: int, seed: int) -> dict[str, Any]:
    """FABRIC's path with more CUBICs."""
    made: dict[str, Any] = yaml.safe_load((HERE / "fabric_bbr" / "scenario.yaml").read_text(encoding="utf-8"))
    bbr, cubic = made["flows"]
    made["links"][1]["queue"] = f"{QUEUE_BDP * BDP_BYTES} B"
    made["flows"] = [bbr, *({**cubic, "name": f"cubic{number}"} for number in range(cubics))]
    return made | {"transfer": {"duration": f"{SPANS_S[0][1]} s", "sample_interval": "1 s"}, "seed": seed}


def shares(world: str, cubics: int, seed: int) -> list[float]:
    """BBR's share of all goodput: of each span."""
    with a_folder() as folder:
        file = write_scenario(folder, content(cubics, seed))
        run = landspeed.run(file, world=world, runs_dir=Path(folder) / "runs", report=False)
        samples = Samples(run.bundle)
        curves = {flow.name: samples.of_flow(flow.name).curves for flow in run.record.flows}
        found: list[float] = []
        for from_s, to_s in SPANS_S:
            rates = {name: (each and each.goodput_bps(from_s, to_s)) or 0.0 for name, each in curves.items()}
            found.append(rates["bbr"] / sum(rates.values()))
    return found


def main() -> None:
    """Print a row for each number of CUBICs."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.ware_shares", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--cubics", type=int, nargs="+", default=[2, 4, 8, 16])
    parser.add_argument("--seed", type=int, default=1)
    parsed = parser.parse_args()
    print("| world | CUBICs | BBR's share | to 240, 500, 750, 1000 s |\n|---|---:|---:|---|")
    for world in ("emu", "sim"):
        for cubics in parsed.cubics:
            whole, *parts = shares(world, cubics, parsed.seed)
            print(f"| {world} | {cubics} | {whole:.1%} | {', '.join(f'{part:.1%}' for part in parts)} |", flush=True)


if __name__ == "__main__":
    main()
