"""Trace of what a build of the guest's kernel compiled, how long each object took, and which option asked for it.

`python setup/kernel_trace.py [KEY | LOG]` (`make kernel-trace`) prints it, folder by folder, from the
log of a build.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections import defaultdict
from pathlib import Path
from typing import TextIO

from landspeed.worlds.emu.kernel_build import find_kernel
from landspeed.worlds.emu.kernel_objects import MARK, Compiled
from landspeed.worlds.emu.kernel_source import KernelError, cache_root


def read_trace(log: Path) -> list[Compiled]:
    """Read what a build's log says that it compiled.

    Raises:
        KernelError: there is no such log, or it says nothing.
    """
    try:
        lines = (line.split("\t") for line in log.read_text(errors="replace").splitlines())
    except OSError as error:
        raise KernelError(f"{log}: {error.strerror}; the kernel was taken from a wheel, or built elsewhere") from error
    found = [
        Compiled(name, option, asked == "asked", float(seconds))
        for _, seconds, name, option, asked in (line for line in lines if line[0] == MARK and len(line) == 5)
    ]
    if not found:
        raise KernelError(f"{log} does not say what was compiled: it is of an older landspeed, or the build failed")
    return found


def tell(compiled: list[Compiled], out: TextIO, *, objects: bool = False) -> None:
    """Print a line for each folder and option, the longest first; `objects`: each object below it, too."""
    groups: dict[tuple[str, str, bool], list[Compiled]] = defaultdict(list)
    for each in compiled:
        groups[each.folder, each.option, each.asked].append(each)

    def seconds(of: list[Compiled]) -> float:
        return sum(each.seconds for each in of)

    width = max(len(folder) for folder, _, _ in groups)
    out.write(f"{'FOLDER':{width}}  OBJECTS  SECONDS  OPTION\n")
    for (folder, option, asked), each in sorted(groups.items(), key=lambda item: -seconds(item[1])):
        why = option + (" (asked for)" if asked else "")
        out.write(f"{folder:{width}}  {len(each):7}  {seconds(each):7.1f}  {why}\n")
        for one in sorted(each, key=lambda one: -one.seconds) if objects else ():
            out.write(f"{'':{width}}           {one.seconds:7.1f}  {one.object.rpartition('/')[2]}\n")
    out.write(f"{'all':{width}}  {len(compiled):7}  {seconds(compiled):7.1f}\n")


def main() -> int:
    """Print the trace of a build."""
    made = argparse.ArgumentParser(prog="kernel_trace", description=(__doc__ or "").splitlines()[0])
    made.add_argument("build", nargs="?", metavar="KEY|LOG", help="default: the kernel that `make setup` built")
    made.add_argument("--objects", action="store_true", help="each object, too")
    asked = made.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # for `| head`
    try:
        if not (name := asked.build):
            name = find_kernel().key
        log = Path(name) if "/" in name else cache_root() / "kernel" / f"{name}.log"
        tell(read_trace(log), sys.stdout, objects=asked.objects)
    except KernelError as problem:
        sys.exit(f"Error: {problem}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
