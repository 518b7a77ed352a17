"""Files for a class without Linux: image, Codespaces, JupyterHub; what a student gets is stated and limited."""

import json
import math
import os
import re
from pathlib import Path

import pytest
from traitlets.config.loader import PyFileConfigLoader

from landspeed.runs.sweeps import workers
from tests.support.places import ROOT

CLASSROOM = ROOT / "docs" / "how-to" / "classroom"
RECIPE = CLASSROOM / "binder" / "Dockerfile"
GIB = 1 << 30


def steps() -> list[tuple[str, str]]:
    """Words of the recipe with what they say, continued lines joined."""
    text = re.sub(r"\\\n\s*", "", RECIPE.read_text())
    return [
        (word, said) for word, _, said in (line.partition(" ") for line in text.splitlines() if line[:1] not in "#")
    ]


def test_the_image_has_what_binder_asks_of_one() -> None:
    """A user of a given name and number who is not root, a home that is his, JupyterLab and the old notebook."""
    said = steps()
    assert said[0] == ("FROM", "debian:12")
    assert {"NB_USER=student", "NB_UID=1000"} <= {what for word, what in said if word == "ARG"}
    assert [what for word, what in said if word == "USER"] == ["$NB_USER"]
    after = [word for word, _ in said[[word for word, _ in said].index("USER") :]]
    assert "RUN" not in after, "a student installs nothing as root, and nothing is left to be installed"
    runs = " ".join(what for word, what in said if word == "RUN")
    for part in ("jupyterlab notebook", "[course,notebook]", "--no-install-recommends", "rm -rf /var/lib/apt/lists/*"):
        assert part in runs, part
    (command,) = (what for word, what in said if word == "CMD")
    assert json.loads(command)[:2] == ["jupyter", "lab"]


def test_codespaces_builds_the_same_image_for_a_machine_that_is_large_enough() -> None:
    file = CLASSROOM / ".devcontainer" / "devcontainer.json"
    said = json.loads(file.read_text())
    assert (file.parent / said["build"]["dockerfile"]).resolve() == RECIPE
    assert (file.parent / said["build"]["context"]).resolve() == CLASSROOM
    assert f"ARG NB_USER={said['remoteUser']}\n" in RECIPE.read_text()
    assert said["hostRequirements"] == {"cpus": 2, "memory": "4gb"}
    (port,) = said["forwardPorts"]
    assert f"EXPOSE {port}\n" in RECIPE.read_text()
    assert set(said["portsAttributes"]) == {f"{port}"}


@pytest.mark.parametrize(("memory_bytes", "students"), [(64 * GIB, 31), (16 * GIB, 7), (3 * GIB, 1)])
def test_a_hub_takes_as_many_students_as_there_is_memory(
    monkeypatch: pytest.MonkeyPatch, memory_bytes: int, students: int
) -> None:
    """Each has a limit of memory and of cores, and the limits of all are in the host's memory."""
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": memory_bytes // 4096}.__getitem__)
    c = PyFileConfigLoader("jupyterhub_config.py", str(CLASSROOM)).load_config()
    assert c.JupyterHub.spawner_class == "systemd"
    assert (c.SystemdSpawner.mem_limit, c.SystemdSpawner.cpu_limit) == (2 * GIB, 2.0)
    assert c.JupyterHub.active_server_limit == students
    assert students == 1 or students * c.SystemdSpawner.mem_limit + 2 * GIB <= memory_bytes


@pytest.mark.parametrize(
    ("own", "quotas", "cores"),
    [
        ("0::/hub/ada", {"hub": "max 100000", "hub/ada": "200000 100000"}, 2),
        ("0::/hub/ada", {"hub": "150000 100000", "hub/ada": "200000 100000"}, 1.5),
        ("1:name=x:/\n0::/", {"": "100000 100000"}, 1),
        ("0::/", {}, math.inf),
        ("4:memory:/x", {"": "100000 100000"}, math.inf),
    ],
)
def test_as_many_runs_at_once_as_a_students_quota_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, quotas: dict[str, str], cores: float
) -> None:
    """A student of a host with 40 cores and a limit of two gets two guests at once, not forty."""
    (tmp_path / "own").write_text(own + "\n")
    for group, quota in quotas.items():
        (tmp_path / "groups" / group).mkdir(parents=True, exist_ok=True)
        (tmp_path / "groups" / group / "cpu.max").write_text(quota + "\n")
    assert workers.quota_cores(tmp_path / "groups", tmp_path / "own") == cores
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(40))
    monkeypatch.setattr(workers, "quota_cores", lambda: cores)
    assert workers.usual_jobs() == {2: 2, 1.5: 1, 1: 1, math.inf: 40}[cores]
