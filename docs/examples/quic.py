"""QUIC by aioquic, from PyPI: one stream (quic_transfer.py) with the limits that its documentation states."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import landspeed as ls
from docs.examples.stated import Transfer, main

USUAL_BYTES = 3_000_000
SCRIPT = str(Path(__file__).resolve().parent / "quic_transfer.py")
STATED = "aioquic, QuicConfiguration.max_stream_data: 1 MiB, doubled whenever half of it was used"


def transfers(folder: Path, count: int = USUAL_BYTES) -> list[Transfer]:
    """One stream up and one down; the certificate is made in the folder."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-keyout", str(key), "-out", str(certificate), "-days", "36500", "-subj", "/CN=b"]
    subprocess.run(words, check=True, capture_output=True)
    server = [sys.executable, SCRIPT, "serve", "4433", str(certificate), str(key)]
    client = [sys.executable, SCRIPT, "send", "b", "4433", str(count)]
    return [Transfer("up, one stream", server, client, ("a", "b"), STATED, until=ls.listening(4433, "udp"))]


if __name__ == "__main__":
    if find_spec("aioquic") is None:
        raise SystemExit("not installed: aioquic (pip install aioquic)")
    main(transfers, USUAL_BYTES)
