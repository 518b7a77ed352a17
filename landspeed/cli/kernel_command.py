"""The commands `kernel list`, `build` and `remove`, of the guest's kernels."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any


def add_kernel(made: argparse.ArgumentParser) -> None:
    """Add one subcommand for each action."""
    actions = made.add_subparsers(required=True, metavar="ACTION")
    shown = actions.add_parser("list", help="releases that are built, and those whose source can be had")
    shown.add_argument("--json", action="store_true", help="a JSON list on standard output")
    shown.add_argument(
        "--update", action="store_true", help="look in the distribution's newer suites, too (needs the network)"
    )
    shown.set_defaults(kernel_action=_list)
    built = actions.add_parser("build", help="download the source of a release if it is not here, and build it")
    built.add_argument("versions", nargs="+", metavar="X.Y", help="series, such as 6.12")
    built.add_argument(
        "--patch",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="apply this patch after landspeed's own (may be repeated); the kernel is X.Y+NAME, NAME its file's",
    )
    built.set_defaults(kernel_action=_build)
    removed = actions.add_parser("remove", help="remove builds from the cache")
    removed.add_argument(
        "versions", nargs="+", metavar="VERSION|KEY", help="series, release, X.Y+NAME, or digits of a build's key"
    )
    removed.set_defaults(kernel_action=_remove)


def do_kernel(parsed: argparse.Namespace) -> int:
    """Do it."""
    return parsed.kernel_action(parsed)


def _list(parsed: argparse.Namespace) -> int:
    from landspeed.worlds.emu.kernel_choice import KernelRow, listed

    lines = listed(update=parsed.update)
    if parsed.json:
        print(json.dumps([_as_json(line) for line in lines], indent=1))
        return 0

    def state(line: KernelRow) -> str:
        words = ["built" if line.kernel else "not built"]
        words += ["of another recipe or source"] if line.kernel and not line.present else []
        words += ["the default"] if line.default else []
        words += [] if line.fits else ["not known to fit"]
        return ", ".join(words)

    rows = [("RELEASE", "BUILD", "RUNS PROGRAMS BY", "STATE", "SOURCE")]
    for line in lines:
        kernel = line.kernel
        by = "–" if kernel is None else "seccomp or ptrace" if kernel.can_seccomp else "ptrace"
        version, key = (kernel.name, kernel.key) if kernel else (line.series, "–")
        rows.append((version, key, by, state(line), line.source.replace("\t", " ") or "–"))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())
    return 0


def _as_json(line: Any) -> dict[str, Any]:
    kernel = line.kernel and {
        "version": line.kernel.version,
        "key": line.kernel.key,
        "executable": str(line.kernel.executable),
        "tracing": ["seccomp", "ptrace"] if line.kernel.can_seccomp else ["ptrace"],
        "left_out": list(line.kernel.left_out),
        "patches": list(line.kernel.own),
    }
    return {**asdict(line), "kernel": kernel}


def _build(parsed: argparse.Namespace) -> int:
    from landspeed.worlds.emu.kernel_choice import make

    for version in parsed.versions:
        kernel = make(version, parsed.patch)
        print(f"Linux {kernel.name} ({kernel.key}): {kernel.executable}")
        for patch in kernel.left_out:
            print(f"  without {patch}, which does not fit")
    return 0


def _remove(parsed: argparse.Namespace) -> int:
    from landspeed.worlds.emu.kernel_choice import remove

    for version in parsed.versions:
        for path in remove(version):
            print(f"removed {path}")
    return 0
