"""Finds an ns-3 of the user's own: prints its version, its include folder and what the linker needs, a line each.

Usage: find_ns3.py FOLDER: an installed prefix (include/, lib/) or a build tree (build/include/, build/lib/).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

MODULES = ("internet", "traffic-control", "network", "core")


def find(home: Path) -> tuple[str, Path, list[str]]:
    """Version, include folder and linker arguments.

    Raises:
        FileNotFoundError: no ns-3 is there; the message says what was looked for.
    """
    for root in (home, home / "build"):
        includes = root / "include"
        folders = [folder for name in ("lib", "lib64", "lib/x86_64-linux-gnu") if (folder := root / name).is_dir()]
        if not (includes / "ns3" / "core-module.h").exists():
            continue
        for folder in folders:
            # libns3-core.so, libns3.48-core-default.so, libns3.48-core-optimized.so …
            found = sorted(folder.glob("libns3*-core*.so"))
            if not found:
                continue
            core = found[-1].name
            words = [f"-L{folder}", f"-Wl,-rpath,{folder}"]
            words += [f"-l{core.removeprefix('lib').removesuffix('.so').replace('-core', f'-{m}')}" for m in MODULES]
            number = re.search(r"ns3\.(\d+)", core)
            return (f"3.{number[1]}" if number else "unknown", includes, words)
    raise FileNotFoundError(
        f"NS3_HOME: no include/ns3/core-module.h and lib/libns3*-core*.so in {home} or {home}/build"
    )


if __name__ == "__main__":
    try:
        version, includes, words = find(Path(sys.argv[1]))
    except (FileNotFoundError, IndexError) as error:
        sys.exit(str(error))
    print(version, includes, " ".join(words), sep="\n")
