"""What the guest's modules compute of the plans in files, printed. `PYTHONPATH` may have the stand-ins in front."""

import sys
from importlib import import_module
from pathlib import Path

from landspeed.scenario.theory import timing
from landspeed.worlds.emu import guest
from landspeed.worlds.emu.guest.joined_links import runs_of
from landspeed.worlds.emu.guest.reading import read_plan
from landspeed.worlds.emu.guest.shaping.direction_options import direction_options
from landspeed.worlds.emu.guest.shaping.discipline_options import managed

# These ask for more than the stand-ins have, or begin to work.
WITHOUT = ("__init__", "agent", "evidence", "shell", "shell_net", "shell_nodes", "start")

folder = Path(guest.__path__[0])
for file in sorted(folder.rglob("*.py")):
    if file.stem not in WITHOUT and file.parent.name != "stdlib_stand_ins":
        import_module(".".join((guest.__name__, *file.relative_to(folder).with_suffix("").parts)))
print("inspect" in sys.modules)
for argument in sys.argv[1:]:
    plan = read_plan(Path(argument).read_bytes())
    for link in plan.links:
        for forward, direction in ((True, link.forward), (False, link.reverse)):
            netem, bucket = direction_options(plan, link, direction, forward=forward)
            print(netem, bucket, managed(plan, link, direction, bucket) if bucket else None)
    print([vars(run) for run in runs_of(plan)], timing.echo_ns(plan), plan.events)
