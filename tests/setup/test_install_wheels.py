"""Who installs the pinned packages: uv, told what pip is configured by, and pip where uv cannot."""

import subprocess
from pathlib import Path

import pytest

from tests.support.places import ROOT

PIP = """#!/bin/sh
[ "$1" != config ] || { cat settings; exit; }
echo "pip $*" >>calls
case $* in *installer.txt) [ -e no-uv ] || cp make-uv .venv/bin/uv ;; esac
"""
UV = """#!/bin/sh
echo "uv $* cert=$SSL_CERT_FILE proxy=$ALL_PROXY" >>calls
[ ! -e uv-fails ]
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with a pip that prints `settings`, and brings a uv; each notes how it was called."""
    (tmp_path / ".venv/bin").mkdir(parents=True)
    for name, text in ((".venv/bin/pip", PIP), ("make-uv", UV)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    return tmp_path


def calls(clone: Path, settings: str = "") -> list[str]:
    """Calls of both, after a list was installed."""
    (clone / "settings").write_text(settings)
    command = f". {ROOT}/setup/install_wheels.sh; install_wheels list --require-hashes -r run.txt"
    subprocess.run(["sh", "-euc", command], cwd=clone, check=True)
    return (clone / "calls").read_text().splitlines()


def test_uv_is_told_what_pip_is_configured_by(clone: Path) -> None:
    told = calls(
        clone,
        ":env:.cert='/its own/ca.pem'\n:env:.default-timeout='180'\nglobal.cert='/etc/ca.pem'\nglobal.find-links='/a'\n"
        "global.index-url='https://mirror/simple'\nglobal.extra-index-url='\\nhttps://one\\nhttps://two'\n",
    )
    first, second = told
    assert first.endswith("--require-hashes -r setup/requirements/installer.txt")
    assert second.startswith("uv -q --cache-dir build/uv pip install --python .venv/bin/python --no-deps --index-url ")
    for words in (
        "--index-url https://mirror/simple",
        "index-url https://one",
        "index-url https://two",
        "--find-links /a",
    ):
        assert words in second
    assert second.endswith(" --require-hashes -r run.txt cert=/its own/ca.pem proxy=")


@pytest.mark.parametrize("setting", ["global.no-index='true'", "install.user='1'", ":env:.trusted-host='mirror'"])
def test_settings_that_uv_is_not_told_leave_the_work_to_pip(clone: Path, setting: str) -> None:
    """As ever: uv would ask an index that its user has forbidden."""
    (told,) = calls(clone, f"{setting}\nglobal.cert='/etc/ca.pem'\n")
    assert told == "pip --disable-pip-version-check -q install --no-deps --no-compile --require-hashes -r run.txt"


@pytest.mark.parametrize("trouble", ["no-uv", "uv-fails"])
def test_pip_does_it_where_uv_is_not_there_or_fails(clone: Path, trouble: str) -> None:
    (clone / trouble).touch()
    assert calls(clone)[-1].startswith("pip ")
    assert calls(clone)[-1].endswith("-r run.txt")
