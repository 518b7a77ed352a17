"""`python -m tests.bench.bench_predict [BUNDLES]`: the records' ends, predicted from the first 5 % of their bytes.

Each record of the five documents is rehearsed in full; or its newest complete bundle is taken from the folder named,
such as results/runs/record-book. Of that run's curve only the part with the first 5 % of the bytes is looked at. Exit
status 1 if a prediction is off by more than 2 %.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from landspeed import Run
from landspeed.judge.steady import carried_on, steady, time_of
from landspeed.results.bundle import list_bundles
from tests.bench.bench import RECORDS, Row, run
from tests.bench.bench_records import SIX

SHARE, PROMISED = 0.05, 0.02


def predicted(bundle: Path) -> Row:
    """The prediction beside the end."""
    done = Run.load(bundle)
    curves, plan = done.samples.curves, done.plan
    assert curves is not None
    assert plan is not None
    amount = curves.bytes_at(curves.end_s)
    cut_s = time_of(curves, SHARE * amount)
    rtt_s = plan.physics.rtt_ns / 1e9
    divided = carried_on(steady(curves.until(cut_s), rtt_s), rtt_s, plan.physics.expected_goodput_bps)
    told_s = divided.duration_s(amount)
    apart = told_s / curves.end_s - 1
    said = ", carried on by theory" if divided.by_theory else "" if divided.is_steady else ", said to be not steady"
    shown = f"{told_s:.2f} s for {curves.end_s:.2f} s ({apart:+.2%}), from {cut_s:.2f} s{said}"
    return Row(f"{done.record.scenario}: its end", shown, f"± {PROMISED:.0%}", abs(apart) <= PROMISED)


def newest(folder: Path, name: str) -> Path | None:
    """The newest complete bundle of a record, rehearsed in full."""
    found = [
        bundle
        for bundle in list_bundles(folder)
        if bundle.name.startswith(f"{name}-2") and (run := Run.load(bundle)).complete and run.record.world == "emu"
    ]
    return found[-1] if found else None


def main(arguments: list[str]) -> int:
    """Measure and print."""
    rows: list[Row] = []
    for name in SIX:
        with tempfile.TemporaryDirectory(prefix="landspeed-bench-") as folder:
            bundle = newest(Path(arguments[0]), name) if arguments else None
            if bundle is None:
                bundle = Path(run(RECORDS / f"{name}.yaml", out=Path(folder))["bundle"])
            rows.append(predicted(bundle))
    print("| what | predicted | promised | kept |\n|---|---|---|---|")
    for row in rows:
        print(f"| {row.what} | {row.measured} | {row.promised} | {'yes' if row.kept else 'NO'} |")
    return 0 if all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
