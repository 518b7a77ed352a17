"""What every Python of a Mininet script begins with (hooks/sitecustomize.py), here on this machine."""

import os
import subprocess
import sys

import pytest

from landspeed.worlds.emu.mininet import HOOKS


@pytest.mark.parametrize(("prefix", "found"), [(sys.prefix, True), ("/home/somebody/environment", False)])
def test_only_landspeeds_own_python_has_the_distributions_packages(prefix: str, *, found: bool) -> None:
    told = subprocess.run(
        [sys.executable, "-c", "import sys; print(sys.path[-1])"],
        env={
            **os.environ,
            "PYTHONPATH": str(HOOKS),
            "LANDSPEED_MORE_PACKAGES": f"{prefix}:/usr/lib/python3/dist-packages",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert (told.stdout.strip() == "/usr/lib/python3/dist-packages") == found
