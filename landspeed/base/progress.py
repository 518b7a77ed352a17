"""State of a run while it goes on, and its text. How it is shown is decided elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from landspeed.base.units_text import rate_text

PHASES = {
    "boot": "booting the guest",
    "build": "building the path",
    "calibrate": "calibrating",
    "transfer": "transfer",
    "exec": "running the program",
    "simulate": "simulating",
    "read back": "reading back what was measured",
    "evidence": "capturing evidence",
    "end": "done",
}
MOVING = ("transfer", "simulate", "end")  # phases in which the transfer's clock runs


@dataclass
class Progress:
    """State of a run while it goes on. Times in s, rates in bit/s; `share` is the part of the transfer done, 0…1.

    Its text is one line, so that `progress=print` is useful.
    """

    phase: str = "boot"
    wall_s: float = 0.0
    virtual_s: float = 0.0
    transfer_s: float = 0.0
    transfer_wall_s: float = 0.0
    bytes: int = 0
    goodput_bps: float = 0.0
    share: float = 0.0

    @property
    def words(self) -> str:
        """The phase in words."""
        return PHASES.get(self.phase, self.phase)

    @property
    def moves(self) -> bool:
        """True if the transfer's clock runs."""
        return self.phase in MOVING and self.transfer_s > 0

    @property
    def figures(self) -> str:
        """Virtual time, goodput now, speed-up over real time, time left."""
        speed_up = self.transfer_s / self.transfer_wall_s if self.transfer_wall_s > 0 else 0.0
        left = self.transfer_wall_s * (1 - self.share) / self.share if self.share > 0 else None
        left_text = "--:--" if left is None else f"{int(left) // 60}:{int(left) % 60:02d}"
        return (
            f"{self.transfer_s:7.0f} s virtual  {rate_text(self.goodput_bps):>14}  "
            f"{speed_up:5.1f} × real time  {left_text} left"
        )

    def __str__(self) -> str:
        return self.figures if self.moves else self.words

    def share_of(self, total_s: float | None, total_bytes: int | None) -> float:
        """The part of a transfer that is limited by time (virtual seconds) or by bytes that is done, 0…1."""
        if self.phase == "end":
            return 1.0
        if total_bytes:
            return min(self.bytes / total_bytes, 1.0)
        return min(self.transfer_s / total_s, 1.0) if total_s else 0.0
