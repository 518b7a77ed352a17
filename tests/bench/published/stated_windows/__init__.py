"""T13: windows of programs, and the rates that their authors measured with them."""

from __future__ import annotations

from landspeed.scenario.theory.physics import linux_usable_window_bytes
from tests.bench.published.cells import Cell, Row, Source, figures_of, goodput_between

MSS_BYTES = 1448
FROM_S, TO_S = 5.0, 30.0
WRITES = "the arithmetic has 23.0 Mbit/s of this window, too: something beside the window limited theirs"

SMALL_BYTES = 1 << 16
WHOLE = (
    "whole segments: Linux's receiver offers 30 360 B in place of 32 768, of which 20 segments of 1448 B are in "
    "flight, and 5792 B in place of 8192, which are four"
)


def asked_bytes(window_bytes: int) -> int:
    """What to ask of Linux, so that it offers a window: its grant is a share of twice the figure asked."""
    granted = linux_usable_window_bytes(window_bytes, MSS_BYTES, "packets")
    return window_bytes * window_bytes // granted


def cell_of(row: Row) -> Cell:
    """A program's window and path."""
    published, window_bytes = float(row["goodput_mbit"]), int(row["window_bytes"])
    return Cell(
        name=f"{row['program']}-{window_bytes // 1024}KiB-{row['rtt_ms']}ms",
        changes={
            "path.1.one_way_delay": f"{float(row['rtt_ms']) / 2} ms",
            "transfer.window": f"{asked_bytes(window_bytes)} B",
        },
        published=published,
        spread=float(row["spread_mbit"]),
        allowed=max(0.05 * published, float(row["spread_mbit"])),
        quick=True,
        cause=WHOLE if window_bytes < SMALL_BYTES else WRITES,
    )


SOURCE = Source(
    name="stated_windows",
    title="Rates of programs whose own window is the limit",
    read="pull requests V10lator/NUSspli 491, mozilla/neqo 1868, neutrinolabs/xrdp 2910, andrewtimmins/rpcemu-extended "
    "105, issue threema-ch/threema-web 486, quinn's source; the last four state the rate, the others measured it",
    figure="goodput once it is steady",
    unit="Mbit/s",
    rule="± 5 %, or what the source says of its path (rpcemu: 10 to 12 ms)",
    cells=[cell_of(row) for row in figures_of("stated_windows")],
    measure=goodput_between(FROM_S, TO_S),
)
