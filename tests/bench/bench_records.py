"""`make bench-records`: what is promised for the records, measured, as one table.

Each dated record for up to a minute of its clock against the recorded goodput (steady part, so that the start weighs as
little as in the whole run), the traceroutes of both paths of 2004, and the forty hops: wall and CPU time of a minute at
4.2 Gbit/s. Exit status 1 if a promise is not kept. `landspeed record-book` rehearses them in full.
"""

import json
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.bench.bench import RECORDS, Row, run, told

SIX = {
    "2000-03-redmond-arlington": 0.03,
    "2002-10-09-arnes-rediris": 0.03,
    "2003-05-02-geneva-chicago-ipv6": 0.015,
    "2003-05-02-geneva-chicago-ipv6-mtu1500": 0.015,
    "2004-04-14-san-jose-lulea": 0.03,
    "2004-06-25-geneva-pasadena": 0.03,
}
SECONDS = 60


def cpu_s() -> float:
    """CPU time of the programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def rehearse(name: str, promised: float, out: Path) -> list[Row]:
    """A minute of a record, or all of it if it is shorter."""
    whole = name == "2002-10-09-arnes-rediris"
    options = () if whole else ("--set", f"transfer.duration={SECONDS} s")
    before = cpu_s()
    result = run(RECORDS / f"{name}.yaml", *options, out=out)
    used = cpu_s() - before
    plan = json.loads((Path(result["bundle"]) / "result.json").read_text())["plan"]
    expect = plan["flows"][0]["expect"]
    recorded = expect["goodput_bps"]
    rate = result["goodput_bps"] if whole else result["steady_goodput_bps"]
    apart = rate / recorded - 1
    fitted = " (host fitted)" if expect["host_limits_fitted"] else ""
    shown = f"{rate / 1e6:.2f} Mbit/s ({apart:+.2%})"
    rows = [Row(f"{name}{fitted}", shown, f"{recorded / 1e6:g} ± {promised:.1%}", abs(apart) <= promised)]
    if name.startswith("2004"):
        rows.append(traceroute(name, result["calibration"], plan))
    if name == "2004-04-14-san-jose-lulea":
        spent = f"{result['wall_s']:.0f} s of wall time, {used:.0f} s of CPU time"
        rows.append(
            Row(f"forty hops, built, calibrated, {SECONDS} s of transfer", spent, "≤ 60 s", result["wall_s"] <= 60)
        )
    return rows


def traceroute(name: str, calibration: dict[str, Any], plan: dict[str, Any]) -> Row:
    """The worst hop of both directions against the scenario."""
    delays = [link["forward"]["delay_ns"] + link["reverse"]["delay_ns"] for link in plan["links"]]
    worst = 0.0
    for hops, links in ((calibration["hops"], delays), (calibration["reverse_hops"], delays[::-1])):
        for number, hop in enumerate(hops):
            worst = max(worst, abs(hop["rtt_ms"] - sum(links[: number + 1]) / 1e6))
    end = f"worst hop {worst:.3f} ms off, end {calibration['rtt_ms']:.3f} ms"
    return Row(f"{name}: traceroute both ways", end, "each hop ± 1 ms", worst <= 1.0)


def main(names: list[str]) -> int:
    """Measure and print a Markdown table."""
    unknown = set(names) - set(SIX)
    if unknown:
        print(f"Error: no record {sorted(unknown)}; there are {', '.join(SIX)}", file=sys.stderr)
        return 2
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="landspeed-bench-") as folder:
        for name in names or SIX:
            rows += rehearse(name, SIX[name], Path(folder))
    return told(rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
