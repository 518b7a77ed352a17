"""What a congestion control says of itself is in the samples: BBR's estimates and gains, nothing of the others."""

from pathlib import Path

import pytest

from tests.support.engine.fixtures import Bench

ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
BBR = ("bbr_bw_bps", "bbr_min_rtt_us", "bbr_pacing_gain_256", "bbr_cwnd_gain_256")


def last_row(file: Path) -> dict[str, str]:
    """The last row of a file of all of TCP_INFO."""
    head, *rows = file.read_text().splitlines()
    return dict(zip(head.split(","), rows[-1].split(","), strict=True))


@pytest.mark.parametrize("control", ["reno", "bbr"])
@pytest.mark.parametrize("direction", [[], ["--reverse"]], ids=["forward", "reverse"])
def test_what_bbr_says_is_in_the_samples(bench: Bench, control: str, direction: list[str]) -> None:
    if control not in ALLOWED.read_text().split():
        pytest.skip(f"this kernel has no {control}")
    bench.receive("--may-send", "--tcp-info", str(bench.folder / "server.csv"))
    words = ["--congestion", control, "--bytes", "5M", "--tcp-info", str(bench.folder / "client.csv"), *direction]
    program = bench.send(*words)
    assert program.wait() == 0, program.errors
    row = last_row(bench.folder / ("server.csv" if direction else "client.csv"))
    assert int(row["segs_out"]) > 0
    assert set(BBR) <= set(row)
    if control == "reno":
        assert [row[name] for name in BBR] == ["", "", "", ""]
        return
    assert int(row["bbr_bw_bps"]) > 1e6
    # In every phase its gains are between those of draining (88/256) and of the start (739/256).
    assert 80 < int(row["bbr_pacing_gain_256"]) < 800
    assert 200 < int(row["bbr_cwnd_gain_256"]) < 800
