"""Modules of the virtual-time kernel: in a folder beside it, with a file of their names in the order of loading."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TextIO

MODULES = "modules"  # the folder
ORDER = "order"  # the file of names in it


def modules_beside(executable: Path) -> list[Path]:
    """The modules of a kernel, each after those that it needs; none where they are not built."""
    order = executable.parent / MODULES / ORDER
    return [order.with_name(name) for name in order.read_text().split()] if order.exists() else []


def keep_modules(output: Path, result: Path, log: TextIO) -> None:
    """Copy the modules that a build left, without what a debugger wants, into the folder `MODULES` of its result."""
    folder = result / MODULES
    folder.mkdir()
    modules = in_loading_order(output.rglob("*.ko"))
    for module in modules:
        strip = ("strip", "--strip-debug", "-o", folder / module.name, module)
        subprocess.run(strip, check=True, stdout=log, stderr=subprocess.STDOUT)
    (folder / ORDER).write_text("".join(f"{module.name}\n" for module in modules))


def in_loading_order(modules: Iterable[Path]) -> list[Path]:
    """Modules, each after those that it says it needs (`depends=`, which the kernel's build writes into each)."""
    files = {_module_name(module.stem): module for module in sorted(modules, key=lambda each: each.name)}
    needs: dict[str, list[str]] = {}
    for name, file in files.items():
        told = re.search(rb"\bdepends=([^\0]*)\0", file.read_bytes())
        needs[name] = [_module_name(each) for each in told[1].decode().split(",") if each] if told else []
    return [files[name] for name in TopologicalSorter(needs).static_order()]


def _module_name(name: str) -> str:
    return name.replace("-", "_")  # as the kernel itself has it
