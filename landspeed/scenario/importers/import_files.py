"""Files of measurements → a scenario and its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from landspeed.base.errors import Source
from landspeed.scenario.file.document import parse_yaml
from landspeed.scenario.file.load import BUILT, LoadedScenario, check_tree
from landspeed.scenario.importers.agreement import of_each_transfer_one, put_in_order
from landspeed.scenario.importers.infer import infer
from landspeed.scenario.importers.infer_form import InferredPath
from landspeed.scenario.importers.path_evidence import MeasurementError, PathEvidence
from landspeed.scenario.importers.peers import of_one_path
from landspeed.scenario.importers.reading import read_text
from landspeed.scenario.importers.registry import all_readers, reader_of
from landspeed.scenario.importers.topologies.maps import map_kind
from landspeed.scenario.importers.topologies.write_network import write_network
from landspeed.scenario.importers.write import write_scenario

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_VALUE = re.compile(r"^ *(?:- )?(\w+): (\S[^#\n]*?) +# (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class InferredScenario:
    """A scenario that was inferred; its text has the source and the uncertainty of each value as comments.

    Attributes:
        files: each file with what it was taken for.
        path: that was inferred; None for a map of a network.
    """

    text: str
    loaded: LoadedScenario
    files: Sequence[tuple[Path, str]] = ()
    path: InferredPath | None = None

    def values(self) -> Iterator[tuple[str, str, str]]:
        """Each value that has a source: its key, itself, the source with the uncertainty."""
        head = self.text.partition("\nsources:")[0].partition("\n")[2]
        yield from ((key, value, source) for key, value, source in _VALUE.findall(head))


def import_files(
    files: Mapping[str, Iterable[Path]], name: str = "measured", title: str = "", found: Iterable[Path] = ()
) -> InferredScenario:
    """The scenario that the files tell of.

    Args:
        files: kind of file (registry.py) → the files. Of two traceroutes the second is the receiver's.
        name, title: of the scenario.
        found: files whose kind is found out. One may be a map of a network (topologies/), then it is alone.

    Raises:
        MeasurementError: there is no file, one cannot be used, or together they tell too little.
        ScenarioError: what they tell cannot be a path, such as more hops than there can be.
    """
    if not _NAME.fullmatch(name):
        raise MeasurementError(f"--name {name}: write lower-case letters, digits and dashes, such as geneva-tokyo")
    known = all_readers()
    if unknown := [kind for kind in files if kind not in known]:
        raise MeasurementError(f"{unknown[0]}: no kind of file that is read; right is one of {', '.join(known)}")
    found = [Path(file) for file in found]
    if maps := [(file, kind) for file in found if (kind := map_kind(file))]:
        if len(found) > 1 or any(files.values()):
            raise MeasurementError(f"{maps[0][0]}: {maps[0][1].what} is a whole network; import it without other files")
        (file, kind), *_ = maps
        text = write_network(kind.read(file, read_text(file)), file, name, title)
        return InferredScenario(text, _checked(text), [(file, kind.what)])
    given = [(Path(file), known[kind]) for kind, those in files.items() for file in those]
    given += [(Path(file), reader_of(Path(file))) for file in found]
    if not given:
        raise MeasurementError("nothing to import: name the files that the measuring programs printed")
    evidence = PathEvidence()
    for file, reader in given:
        evidence.add(reader.read(file))
    of_each_transfer_one(evidence)
    put_in_order(evidence)
    evidence = of_one_path(evidence)
    path = infer(evidence)
    text = write_scenario(path, evidence, name, title)
    return InferredScenario(text, _checked(text), [(file, reader.what) for file, reader in given], path)


def _checked(text: str) -> LoadedScenario:
    tree = parse_yaml(text, Source("imported", text.split("\n")))
    assert tree is not None
    return check_tree(tree, Path(BUILT), ())
