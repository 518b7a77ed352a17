"""Files of an inventory in YAML: which there are, what they say, and how one is written."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML, YAMLError
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import MappingNode

from landspeed.worlds.real.errors import RealError

AGAIN = "mend it, or write the inventory again with `--again`"


def variable_files(folder: Path) -> list[Path]:
    """Files of an inventory in which Ansible looks for variables, but hosts.yml."""
    found = (each for part in ("group_vars", "host_vars") for each in (folder / part).rglob("*"))
    return sorted(each for each in found if each.is_file() and each.suffix in {"", ".yml", ".yaml", ".json"})


def variable_names(file: Path) -> Iterator[str]:
    """Names of all that a file of the inventory says, on every level; none of an encrypted one.

    Raises:
        RealError: it cannot be read; the message names file and line.
    """
    left: list[Any] = [read_mapping(file, YAML().compose, MappingNode)]
    while left:
        node = left.pop()
        if isinstance(node, MappingNode):
            pairs: list[tuple[Any, Any]] = node.value
            yield from (str(name.value) for name, _ in pairs)
            left += (value for _, value in pairs)


def read_variables(file: Path) -> dict[str, Any]:
    """Variables of a file of the inventory; none when it is not there.

    Raises:
        RealError: it cannot be read, or is no mapping of names to values; the message names file and line.
    """
    return (read_mapping(file, YAML(typ="safe").load, dict) if file.exists() else None) or {}


def read_mapping(file: Path, read: Callable[[str], Any], kind: type) -> Any:
    """Read a file's YAML; empty if it has no content or is encrypted by Ansible Vault.

    Raises:
        RealError: it is no YAML, or not of this kind.
    """
    try:
        text = file.read_text()
        found = None if text.startswith("$ANSIBLE_VAULT") else read(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{file}:{mark.line + 1}" if mark else str(file)
        raise RealError(f"{where}: not YAML: {error.problem or error.context}; {AGAIN}") from error
    except (YAMLError, OSError, ValueError) as error:
        raise RealError(f"{file}: not YAML: {' '.join(str(error).split())}; {AGAIN}") from error
    if found is not None and not isinstance(found, kind):
        raise RealError(f"{file}: expected names and values; {AGAIN}")
    return found


def write_variables(file: Path, head: str, variables: dict[str, Any]) -> None:
    """Write a file of variables with a comment above."""
    file.write_text(f"# {head}\n" + yaml_text(variables))


def yaml_text(data: Any) -> str:
    """Data as YAML, a name a line, however long the line."""
    yaml = YAML()
    yaml.default_flow_style = False
    yaml.width = 4096
    out = io.StringIO()
    yaml.dump(data, out)
    return out.getvalue()
