"""What each test costs of the processors, its programs and their guests included.

The summary names the dearest, as many as `--durations` asks for. Wall time hides them: a test beside others waits for
these. A program that nobody waited for (a server of the lab) is in no figure.
"""

import os

import pytest

from tests.support.command_process import USED_S

PROPERTY = "processor seconds"


def _used() -> float:
    """Return the processor seconds of this process and of its children that have ended."""
    return sum(os.times()[:4]) + sum(USED_S)


class Dearest:
    """The plug-in: it notes the figure at each test, and adds them up where the summary is written."""

    def __init__(self) -> None:
        """Start with what reading the tests is going to cost."""
        self.before = _used()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Note at a test's last step what has been used since the test before."""
        if call.when == "teardown":
            now = _used()
            item.user_properties.append((PROPERTY, now - self.before))
            self.before = now

    def pytest_collection_finish(self) -> None:
        """Begin to count when the tests have been read."""
        self.before = _used()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write the sum and the dearest tests."""
        costs = [  # a second try has the figure of the first, too
            (float(str(dict(report.user_properties)[PROPERTY])), report.nodeid)
            for report in terminalreporter.getreports("")
            if report.when == "teardown" and PROPERTY in dict(report.user_properties)
        ]
        named = sorted(costs, reverse=True)[: terminalreporter.config.getoption("durations") or 0]
        if not named:
            return
        terminalreporter.section(f"dearest {len(named)} of {sum(each for each, _ in costs):.0f} processor seconds")
        for cost, name in named:
            terminalreporter.write_line(f"{cost:7.2f}s {name}")
