"""A clone of this one with a Python environment and a kernel's cache of its own, which an ordinary user can run."""

import os
import pwd
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from landspeed.worlds.emu.kernel_build import cache_root
from tests.support.command import DEADLINE_S
from tests.support.places import ROOT


def copied_clone(base: Path) -> Path:
    """Copy into a folder what git knows of, the programs, the environment and the kernel; the clone's own folder."""
    root = base / "landspeed"
    kept = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    for name in kept:
        if name and (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
    for built in (
        "engine/build/landspeed-engine",
        "emu/launch/build/landspeed-launch",
        "emu/launch/build/landspeed-polled.so",
        "emu/linkwatch/build/landspeed-linkwatch",
        "emu/linkwatch/build/landspeed-sockwatch",
    ):
        (root / built).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / built, root / built)
    python = (
        "/usr/bin/python3"
        if sys.prefix.startswith("/root") or Path(sys.base_prefix).is_relative_to("/root")
        else sys.executable
    )
    subprocess.run([python, "-m", "venv", "--without-pip", base / "environment"], check=True)
    (root / ".venv").symlink_to(base / "environment")
    theirs = next((root / ".venv" / "lib").glob("python3*")) / "site-packages"
    needed = re.findall(r"^([\w.-]+)==", (ROOT / "setup/requirements/run.txt").read_text(), re.MULTILINE)
    for name in (*needed, "landspeed"):  # of an editable install that is what it says of itself
        for each in metadata.files(name) or ():
            if not {"..", "__pycache__"} & {*each.parts} and not each.name.startswith("__editable__"):
                (theirs / each).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(each.locate(), theirs / each)
    (theirs / "landspeed").symlink_to(root / "landspeed")
    shutil.copytree(
        cache_root() / "kernel", base / "cache" / "landspeed" / "kernel", ignore=shutil.ignore_patterns("build-*")
    )
    subprocess.run(["chmod", "-R", "a+rX", str(base)], check=True)
    return root


def in_clone(clone: Path, *words: object, user: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command of a clone, as an ordinary user if one is named."""
    command = [str(clone / ".venv" / "bin" / "python"), "-P", "-m", "landspeed.cli.main", *map(str, words)]
    environment = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(clone.parent / "cache"), "HOME": "/nonexistent"}
    if user:
        identity = pwd.getpwnam(user)
        command = ["setpriv", f"--reuid={identity.pw_uid}", f"--regid={identity.pw_gid}", "--clear-groups", *command]
    return subprocess.run(
        command, cwd=clone, env=environment, capture_output=True, text=True, check=False, timeout=DEADLINE_S
    )
