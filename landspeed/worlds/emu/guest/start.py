"""First program of the guest: `python -S -P start.py`. Words of the kernel's command line arrive as variables.

Neither site-packages nor what hooks into them is needed for most jobs, and looking for them is slow in the guest, as is
importing typing and dataclasses: stdlib_stand_ins/ has what little of them is needed. `landspeed shell` starts
without this (machine.py).
"""

import gc
import os
import sys
from importlib import import_module

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "stdlib_stand_ins"))  # noqa: PTH100, PTH118, PTH120
sys.path.append(os.environ["LANDSPEED_PACKAGES"])

gc.disable()  # what is made here is few, and in use to the end
import_module("landspeed.worlds.emu.guest.agent").main()
