"""What landspeed uses of ansible-runner, which has no types."""

from collections.abc import Callable, Mapping
from typing import Any, TextIO

class Runner:
    status: str
    rc: int | None
    stdout: TextIO

def run(
    *,
    private_data_dir: str,
    project_dir: str,
    playbook: str,
    inventory: str,
    cmdline: str | None,
    envvars: Mapping[str, str],
    event_handler: Callable[[dict[str, Any]], object],  # JSON, of a shape of its own for each kind of event
    cancel_callback: Callable[[], bool],
    quiet: bool,
    suppress_env_files: bool,
) -> Runner: ...
