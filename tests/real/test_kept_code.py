"""A server of the lab runs of a zip file what any server runs: the same code, which names the same places."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.lab.supervisor import keep_code

RUN = "import sys; sys.path.insert(0, sys.argv[1]); import broken"


@pytest.mark.parametrize("first", ["what is kept", "a full disk"])
def test_it_is_the_same_code_in_the_same_place(tmp_path: Path, first: str) -> None:
    keep_code(tmp_path)
    if first == "a full disk":
        (tmp_path / "kept-code").rmdir()

    def said(name: str, source: str, kept: str) -> str:
        file = tmp_path / name
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("broken.py", source)
        words = [sys.executable, "-c", kept + RUN, file]
        done = subprocess.run(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True, check=False)
        return done.stderr.partition(f"{name}/")[2]

    for number, source in enumerate(["1 / 0", "1 / 0", "\n\n[][3]", "1 /"]):
        name = f"{number}.zip"
        told = said(name, source, "import kept_code;")
        assert told and told == said(name, source, "")
    assert len([*tmp_path.glob("kept-code/*")]) == (0 if first == "a full disk" else 2)
