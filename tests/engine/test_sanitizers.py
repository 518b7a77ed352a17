"""The C unit and loopback tests, plain and under the sanitizers (each build is kept in engine/build-*).

The whole of tests/test_engine_*.py under them, and of the simulator's: `make sanitize`.
"""

import shutil
import subprocess

import pytest

from tests.support import builds


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("meson") is None, reason="meson is not installed")
@pytest.mark.parametrize(
    "word",
    ["", *(pytest.param(word, marks=pytest.mark.slow) for word in builds.SANITIZERS)],  # each is built first
    ids=lambda word: word or "plain",
)
def test_meson_tests(word: str) -> None:
    run = subprocess.run(
        [
            *("meson", "test", "-C", str(builds.build_of("engine", word)), "--print-errorlogs"),
            *("--timeout-multiplier", "10"),  # what meson allows by itself is little beside another worker's tests
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=800,
    )
    assert run.returncode == 0, run.stdout + run.stderr
