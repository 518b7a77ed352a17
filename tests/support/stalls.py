"""The machine's own stalls beside a check in real time, and how far off they let it be.

What is off without a stall fails. What the stalls explain is the machine's: it is said, and no failure.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import time
from types import ModuleType, TracebackType
from typing import Any

import pytest

from landspeed.worlds.real.runner import PLAYBOOKS

RETRANSMISSION_S = 0.2  # TCP sends again what is unanswered for longer (Linux: TCP_RTO_MIN)


def load() -> ModuleType:
    """The plays' own watcher."""
    name = "ansible.module_utils.landspeed_scheduling_pauses"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            name, PLAYBOOKS / "plugins" / "module_utils" / "landspeed_scheduling_pauses.py"
        )
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


class Beside:
    """Watches every processor while it is entered, as an ordinary process there would fare.

    Attributes:
        share: of the time that the worst processor stood still.
        longest_s: the longest stall of any.
    """

    def __init__(self) -> None:
        """It begins with `with`."""
        self.share = 0.0
        self.longest_s = 0.0

    def __enter__(self) -> Beside:
        """Return when all watch."""
        self._end = contextlib.ExitStack()
        watches = [load().StallWatch(urgent=False, cpu=cpu) for cpu in sorted(os.sched_getaffinity(0))]
        self._watches: list[Any] = [self._end.enter_context(watch) for watch in watches]
        self._begun = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take account."""
        ended = time.monotonic()
        self._end.close()
        found = [watch.between(self._begun, ended) for watch in self._watches]
        self.share = max(total for total, _ in found) / (ended - self._begun)
        self.longest_s = max(longest for _, longest in found)

    def judge(self, what: str, off: float, allowed: float, explained: float | None = None) -> None:
        """Fail where something is off by more than is allowed and the stalls explain; say where they explain it.

        Args:
            what: in words.
            off: relative, or any number of a kind with the next two.
            allowed: without a stall.
            explained: by stalls; the share of the time when None.
        """
        more = self.share if explained is None else explained
        said = f"{what} is off by {off:.4g}, allowed are {allowed:.4g}"
        beside = (
            f"the machine stood still for {self.share:.1%} of the time, up to {self.longest_s * 1e3:.0f} ms at once"
        )
        assert off <= allowed + more, f"{said}; {beside}"
        if off > allowed:
            pytest.skip(f"the machine's, not the lab's: {said}; {beside}")
