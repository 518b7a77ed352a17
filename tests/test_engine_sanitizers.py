"""The C unit and loopback tests, plain and under the sanitizers (each build is kept in engine/build-*)."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from engine_fixtures import ENGINE_FOLDER, build_engine

BUILDS = {
    "build": [],
    "build-asan": ["-Db_sanitize=address,undefined"],
    "build-tsan": ["-Db_sanitize=thread"],
}


@pytest.mark.skipif(shutil.which("meson") is None, reason="meson is not installed")
@pytest.mark.parametrize("name", BUILDS)
def test_meson_tests(name: str) -> None:
    build_engine(ENGINE_FOLDER / name, *BUILDS[name])
    run = subprocess.run(
        ["meson", "test", "-C", str(ENGINE_FOLDER / name), "--print-errorlogs"],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert run.returncode == 0, run.stdout + run.stderr
