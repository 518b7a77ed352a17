"""Files of measurements → a scenario and its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from landspeed.base.errors import Source
from landspeed.scenario.file.document import parse_yaml
from landspeed.scenario.file.load import BUILT, LoadedScenario, check_tree
from landspeed.scenario.importers.infer import infer
from landspeed.scenario.importers.iperf3 import read_iperf3
from landspeed.scenario.importers.path_evidence import MeasurementError, PathEvidence
from landspeed.scenario.importers.peers import of_one_path
from landspeed.scenario.importers.pscheduler import read_archive, read_pscheduler
from landspeed.scenario.importers.sockets import read_ss
from landspeed.scenario.importers.traceroute import read_traceroute
from landspeed.scenario.importers.write import write_scenario

READERS: dict[str, Callable[[Path], PathEvidence]] = {
    "iperf3": read_iperf3,
    "pscheduler": read_pscheduler,
    "traceroute": read_traceroute,
    "ss": read_ss,
    "perfsonar_archive": read_archive,
}
"""Kind of file → what reads it. The names are those of the command's arguments."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


@dataclass(frozen=True)
class InferredScenario:
    """A scenario that was inferred; its text has the source and the uncertainty of each value as comments."""

    text: str
    loaded: LoadedScenario


def import_files(files: Mapping[str, Iterable[Path]], name: str = "measured", title: str = "") -> InferredScenario:
    """The scenario that the files tell of.

    Args:
        files: kind of file (READERS) → the files. Of two traceroutes the second is the receiver's.
        name, title: of the scenario.

    Raises:
        MeasurementError: there is no file, one cannot be used, or together they tell too little.
        ScenarioError: what they tell cannot be a path, such as more hops than there can be.
    """
    if not _NAME.fullmatch(name):
        raise MeasurementError(f"--name {name}: write lower-case letters, digits and dashes, such as geneva-tokyo")
    evidence = PathEvidence()
    for kind, given in files.items():
        for file in given:
            evidence.add(READERS[kind](Path(file)))
    if not evidence:
        options = ", ".join(f"--{kind.replace('_', '-')}" for kind in READERS)
        raise MeasurementError(f"nothing to import: name one file or more with {options}")
    evidence = of_one_path(evidence)
    text = write_scenario(infer(evidence), evidence, name, title)
    tree = parse_yaml(text, Source("imported", text.split("\n")))
    assert tree is not None
    return InferredScenario(text, check_tree(tree, Path(BUILT), ()))
