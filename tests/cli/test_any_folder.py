"""What a run needs is there wherever it lies: programs, files and folders where the guest has folders of its own."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import COMMAND, landspeed
from tests.support.emu_fixtures import FIRST

pytestmark = pytest.mark.guest

AT_ATHENS = ("exec", FIRST, "--at", "athens", "--no-calibration")
PLACES = ("/tmp", "/dev/shm", "/run", "/var/tmp")


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder, with a space in its name, where the guest has one of its own; removed afterwards."""
    try:
        made = Path(tempfile.mkdtemp(prefix="land speed ", dir=request.param))
    except OSError as error:
        pytest.skip(f"{request.param}: {error.strerror}")
    yield made
    shutil.rmtree(made)


def test_a_program_and_its_files_are_seen_in_every_folder(place: Path) -> None:
    """The program, what lies beside it, and what its words name, also behind `=`; a scenario that lies there."""
    program, data, scenario = place / "program", place / "more" / "data", place / "mine.yaml"
    program.write_text('#!/bin/sh\ncat "$(dirname "$0")/beside" "$1" "${2#--from=}"\n')
    program.chmod(0o755)
    (place / "beside").write_text("beside\n")
    data.parent.mkdir()
    data.write_text("data\n")
    scenario.write_text("extends: first\nname: mine\n")
    done = landspeed("exec", scenario, *AT_ATHENS[2:], "--", program, data, f"--from={data}")
    assert (done.returncode, done.stdout) == (0, "beside\ndata\ndata\n"), done.stderr


def test_the_working_folder_is_seen_unless_the_guest_has_it_of_its_own(place: Path) -> None:
    (place / "data").write_text("data\n")
    done = landspeed(*AT_ATHENS, "--", "cat", "data", cwd=place)
    assert (done.returncode, done.stdout, done.stderr) == (0, "data\n", ""), done.stderr
    named = place.relative_to(place.parent) / "data"
    done = landspeed(*AT_ATHENS, "--", "cat", named, cwd=place.parent)
    assert (done.returncode, done.stdout) == (0, "data\n"), done.stderr
    assert done.stderr.startswith(
        f"{place.parent}: the guest has a folder of its own there; of yours it sees the files"
    )


@pytest.mark.parametrize("kind", ["with a space", "read-only"])
def test_a_home_with_a_space_or_read_only(kind: str, tmp_path: Path) -> None:
    """A run needs nothing of it but the kernels' cache; what is to be written there is refused in one sentence."""
    home = tmp_path / "my home"
    home.mkdir()
    under: tuple[str, ...] = ()
    if kind == "read-only":
        if os.geteuid():
            pytest.skip("only root mounts")
        under = ("unshare", "--mount", "sh", "-euc", 'mount -t tmpfs -o ro tmpfs "$HOME"; exec "$@"', "sh")
    kernels = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    settings = {"under": under, "cwd": tmp_path, "env": os.environ | {"HOME": str(home), "XDG_CACHE_HOME": kernels}}
    done = landspeed(*AT_ATHENS, "--", "echo", "here", **settings)
    assert (done.returncode, done.stdout) == (0, "here\n"), done.stderr
    done = landspeed("completion", "--answer", "fish", "run", "fi", **settings)
    assert (done.returncode, done.stdout, done.stderr) == (0, "first\n", "")
    done = landspeed("config", "set", "run.seed", "2", **settings)
    if under:
        assert done.returncode == 2
        assert re.fullmatch(r"Error: .*my home/.*: .*Read-only file system.*\n", done.stderr), done.stderr
    else:
        assert (home / ".config/landspeed/config.toml").is_file(), done.stderr


ANOTHERS = """
mkdir -p "$PLACE/house"
mount --rbind "$HOME" "$PLACE/house"
mount -t tmpfs -o mode=755 tmpfs "$HOME"
for each in .cache .pyenv; do  # what others may read of it; its door is closed to them
    [ ! -d "$PLACE/house/$each" ] || { mkdir "$HOME/$each" && mount --rbind "$PLACE/house/$each" "$HOME/$each"; }
done
export XDG_CACHE_HOME="${XDG_CACHE_HOME:-$HOME/.cache}" HOME="$PLACE/home"
cd "$HOME"
exec setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_another_user_than_the_one_who_set_it_up() -> None:
    """A clone that is not his: he runs from it, writes into folders of his own, and is told where he may not."""
    place = Path(tempfile.mkdtemp(prefix="another ", dir="/var/tmp"))
    try:
        place.chmod(0o755)
        (place / "home").mkdir()
        shutil.chown(place / "home", "nobody")
        settings: dict[str, Any] = {"under": ("unshare", "--mount", "sh", "-euc", ANOTHERS, "sh"), "cwd": place,
                    "env": os.environ | {"PLACE": str(place)}}  # fmt: skip
        if subprocess.run([*settings["under"], "test", "-x", COMMAND], check=False, env=settings["env"]).returncode:
            pytest.skip(f"others may not enter {COMMAND.parent}")
        words = ("run", "first", "--set", "transfer.duration=0.2 s", "--set", "expect=null", "--quiet", "--out")
        done = landspeed(*words, "mine", **settings)
        assert (done.returncode, done.stderr) == (0, "")
        (report,) = place.glob("home/mine/first-*/report.html")
        assert report.owner() == "nobody"
        done = landspeed(*words, place / "theirs", **settings)
        assert done.returncode == 2
        assert re.fullmatch(r"Error: cannot write .*: no permission .*; give another folder with --out\n", done.stderr)
    finally:
        shutil.rmtree(place)
