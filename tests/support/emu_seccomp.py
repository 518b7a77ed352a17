"""A kernel that runs programs by seccomp, for tests of how they are run."""

import pytest

from landspeed.worlds.emu.kernel_build import Kernel
from landspeed.worlds.emu.kernel_choice import available, choose
from tests.support.emu_fixtures import scenario

PLAIN = scenario([{"one_way_delay": "1 ms"}] * 2)


def able() -> Kernel:
    """That of `make setup` if it can, else another one of the cache."""
    for kernel in (choose(None), *available()):
        if kernel.can_seccomp:
            return kernel
    pytest.skip("no kernel here can run programs by seccomp: `landspeed kernel build 7.3` makes one")
