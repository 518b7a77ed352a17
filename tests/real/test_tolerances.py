"""Tolerances of a real path: those of the plays are the package's."""

import ast
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from landspeed.scenario.theory.tolerances import REAL_PATH_RTT_TOLERANCE
from landspeed.worlds.real.runner import PLAYBOOKS


@pytest.mark.parametrize("role", ["preflight", "shape"])
def test_a_roles_tolerance_of_an_rtt_is_that_of_the_verdict(role: str) -> None:
    defaults = parse((PLAYBOOKS / "roles" / role / "defaults" / "main.yml").read_text())
    assert defaults[f"{role}_rtt_tolerance"] == REAL_PATH_RTT_TOLERANCE


def test_the_tolerance_of_preflight_by_itself_is_that_of_the_verdict() -> None:
    module = PLAYBOOKS / "plugins" / "modules" / "landspeed_preflight.py"
    options = parse(documentation(module))["options"]
    assert options["rtt_tolerance"]["default"] == REAL_PATH_RTT_TOLERANCE


def parse(text: str) -> Any:
    return YAML(typ="safe").load(text)


def documentation(module: Path) -> str:
    """What `ansible-doc` prints of a module."""
    assigned = {
        target.id: node.value
        for node in ast.parse(module.read_text()).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return ast.literal_eval(assigned["DOCUMENTATION"])
