"""What the judge and the reports advise exists where the user is: keys of scenario files, options of commands."""

import ast
import re
from pathlib import Path

from landspeed.base.places import ROOT
from landspeed.cli.completion.table import make_table
from landspeed.scenario.file.model import CalibrationSection, TransferSection

ROOMS = (
    "base",
    "course",
    "explore",
    "exporters",
    "judge",
    "programs",
    "report",
    "results",
    "runs",
    "scenario",
    "worlds",
)
KEYS = {"transfer": TransferSection, "calibration": CalibrationSection}
KEY = re.compile(r"\b(transfer|calibration)\.([a-z_]+)")
OF_OTHERS = {"--security-opt", "--topo", "--bucket", "--file", "--bidir", "--format", "--force-reinstall"}
"""Options of docker, containerlab, influx, iperf3, pScheduler and pip, named with their program."""
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def _texts(file: Path) -> list[tuple[int, str]]:
    """String constants that a person may read: no docstrings."""
    tree = ast.parse(file.read_text())
    documents = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents
    ]


def test_keys_and_options_that_are_named_exist() -> None:
    options = set(re.findall(r"--[a-z][a-z0-9-]+", str(make_table()))) | OF_OTHERS
    wrong, found = list[str](), 0
    for file in sorted(file for room in ROOMS for file in (ROOT / "landspeed" / room).rglob("*.py")):
        if "guest" in file.parts:
            continue
        for line, text in _texts(file):
            if " " not in text:  # a word for a program, not for a person
                continue
            for section, key in KEY.findall(text):
                found += 1
                if key not in KEYS[section].model_fields:
                    wrong.append(f"{file.relative_to(ROOT)}:{line}: {section}.{key}")
            for option in OPTION.findall(text):
                found += 1
                if option not in options:
                    wrong.append(f"{file.relative_to(ROOT)}:{line}: {option}")
    assert found > 20
    assert not wrong, "\n".join(wrong)
