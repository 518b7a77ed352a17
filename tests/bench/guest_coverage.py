"""Counts the lines that the agent of a guest runs. `make coverage` has each Python of the environment read this.

The clock of a guest stands still while its processor works, so that counting changes hardly any figure of a run: an
event of the plan comes some 10 us late.
"""

from pathlib import Path

import coverage

from landspeed.worlds.emu.guest.network import namespaces

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "build" / "coverage"
AWAY, HERE = Path("/tmp/coverage"), Path("/tmp/coverage-out")  # of the guest: memory, and DATA of the host


def begin() -> None:
    """Count from now until the guest is switched off, which is no end that Python sees."""
    counted = coverage.Coverage(data_file=str(AWAY), source=[str(ROOT)], omit=[str(ROOT / ".venv" / "*")])
    power_off = namespaces.power_off

    def kept_and_off() -> None:
        try:
            counted.stop()
            counted.save()
            namespaces.mount("none", str(HERE), "hostfs", 0, str(DATA))
            _keep(AWAY.read_bytes())
        finally:
            power_off()

    namespaces.power_off = kept_and_off
    counted.start()


def _keep(content: bytes) -> None:
    """Under a name that no other guest has: what is random is the same in all of them."""
    number = 0
    while True:
        try:
            with (HERE / f"data.guest.{number}").open("xb") as kept:
                kept.write(content)
        except FileExistsError:
            number += 1
        else:
            return


begin()
