"""The examples: programs of other people, and the window that their source states beside the one that is found.

All of them at every round-trip time are in `make probe-cases`; here are the cheap ones, with and without loss.
"""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from docs.examples import http2, quic, ssh
from docs.examples.stated import Transfer

pytestmark = pytest.mark.guest

ROOT = Path(__file__).resolve().parents[2]
SHORT = ["10 ms", "60 ms"]
WINDOW_TOLERANCE = 0.02

needs_http2 = pytest.mark.skipif(shutil.which("nghttpd") is None, reason="nghttp2-server is not installed")
needs_ssh = pytest.mark.skipif(not Path(ssh.sshd()).exists(), reason="openssh-server is not installed")
needs_quic = pytest.mark.skipif(find_spec("aioquic") is None, reason="aioquic is not installed")


def named(name: str, transfers: list[Transfer]) -> Transfer:
    return next(each for each in transfers if each.name == name)


@needs_http2
@pytest.mark.parametrize("name", ["up, nghttpd -w 16", "down, nghttp -w 18"])
def test_the_window_of_http2_is_found(name: str, workspace: Path, tmp_path: Path) -> None:
    transfer = named(name, http2.transfers(workspace, 4_000_000))
    found = transfer.probe(SHORT, folder=tmp_path / "probe")
    answer = found.direction(*transfer.way)
    assert found.complete
    assert answer.kinds == ["application window"] * 2
    assert answer.window_bytes == pytest.approx(transfer.window_bytes, rel=WINDOW_TOLERANCE)


@needs_http2
def test_with_loss_a_wide_window_of_http2_binds_no_more(workspace: Path, tmp_path: Path) -> None:
    transfer = named("down, nghttp -w 20", http2.transfers(workspace, 8_000_000))
    found = transfer.probe(["60 ms"], ["0.1 %"], folder=tmp_path / "probe")
    assert found.direction(*transfer.way).bound_by == "loss"


@needs_ssh
@pytest.mark.parametrize("name", ["a pipe", "sftp"])
def test_the_window_of_ssh_is_found(name: str, workspace: Path, tmp_path: Path) -> None:
    transfer = named(name, ssh.transfers(workspace, 24_000_000))
    found = transfer.probe(["40 ms"], folder=tmp_path / "probe")
    answer = found.direction(*transfer.way)
    assert found.complete, found.variants[0].cases
    assert answer.bound_by == "application window", answer.explanation
    assert answer.window_bytes == pytest.approx(ssh.WINDOW, rel=WINDOW_TOLERANCE)


@needs_quic
def test_quic_has_no_window_that_stays_the_same(workspace: Path, tmp_path: Path) -> None:
    transfer = quic.transfers(workspace, 1_000_000)[0]
    found = transfer.probe(SHORT, folder=tmp_path / "probe")
    answer = found.direction(*transfer.way)
    assert found.complete
    assert answer.bound_by != "application window"
    assert all(count > 1_000_000 for count in answer.bytes)  # QUIC's own headers are in them


@needs_http2
def test_an_example_prints_what_is_stated_beside_what_was_found() -> None:
    words = ["up, nghttpd -w 16", "--rtt", "10 ms,20 ms", "--loss", "0", "--bytes", "2000000"]
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "examples" / "http2.py"), *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "up, nghttpd -w 16"
    assert "Found: 65571 B, +0.05%. Stated: 65535 B" in done.stdout
