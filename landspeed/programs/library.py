"""`ls.path(…)`: a path for a block of Python, with or without pytest."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path as File
from typing import Any, TypeAlias

from landspeed.programs.path import NetworkPath
from landspeed.runs.one_run import check_world
from landspeed.runs.scenario import Scenario
from landspeed.runs.scratch import scratch_folder
from landspeed.worlds.make_world import make_program_world
from landspeed.worlds.program_world import changeable

DOUBLE_AFTER = 1024  # samples: ten minutes are 6000 of them, an hour 9000
What: TypeAlias = str | File | Scenario | Mapping[str, Any]


def scenario_of(what: What, changes: Mapping[str, Any] | None = None) -> Scenario:
    """A scenario by its packaged name, its file, or as it was built in Python.

    Raises:
        ScenarioError: whatever is wrong with it.
    """
    if isinstance(what, Scenario):
        found = what
    elif isinstance(what, Mapping):
        found = Scenario.build(what)
    else:
        found = Scenario.load(what)
    return found.with_(changes) if changes else found


@contextmanager
def path(
    what: What,
    *,
    seed: int | None = None,
    changes: Mapping[str, Any] | None = None,
    folder: str | File | None = None,
    visible: Sequence[str | File] = (),
    fixed: bool = False,
    samples: str | None = None,
    **options: Any,
) -> Generator[NetworkPath]:
    """A path on which programs run in virtual time, until the block is left. It needs no root.

        with ls.path("transatlantic") as path:
            path.receiver.popen(["python3", "-m", "http.server", "9000"], until=ls.listening(9000))
            done = path.sender.run(["curl", "-s", f"http://{path.receiver.address}:9000/"])

    Any node may send, and any link may change. So no links are passed in one step, as `run` does where
    nothing can queue.

    Args:
        what: a packaged scenario's name (`landspeed scenarios` lists them), a file, a `Scenario`, or its contents.
        seed: of everything random; None takes the scenario's own. The same seed and calls give the same bytes.
        changes: values over dotted keys, as for `Scenario.with_`.
        folder: for output, captures and what programs share, which is kept; None: one that is gone afterwards.
        visible: more folders of this computer that programs can see, where the guest has its own (below /tmp).
        fixed: no link will change: where the plan proves that nothing can queue, links are passed in one step, as `run`
            and `exec` do.
        samples: interval of virtual time at which all sockets are looked at from the beginning, such as "10 ms", for
            `bound_by`; None: they are not.
        options: of the emulated world, such as `kernel="6.12"` or `spin_cost="1us"`.

    Raises:
        ScenarioError: bad input, located.
        NotReady: this host lacks something; nothing was started.
        RunFailed: the guest failed.
    """
    scenario, world = scenario_of(what, changes), make_program_world(**options)
    work = world.with_options(scenario.plan(seed=seed))
    check_world(world, work)
    plan, memory_bytes = work if fixed else changeable(work), world.memory_bytes(work)
    seen = [File(each).resolve() for each in visible]
    with (
        scratch_folder(folder) as run,
        world.session(plan, run, visible=seen, memory_bytes=memory_bytes) as session,
    ):
        made = NetworkPath(scenario, plan, session, run)
        if samples is not None:
            made.sample(samples, double_after=DOUBLE_AFTER)
        yield made
        if not session.broken:
            made.end()
