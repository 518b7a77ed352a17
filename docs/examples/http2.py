"""HTTP/2 between packaged programs: nghttpd serves; curl and nghttp call. Its flow control is a window for each stream
and one for each connection, which begin with 65 535 B (RFC 9113, section 6.9.2).
"""

from __future__ import annotations

from pathlib import Path

from docs.examples.stated import Transfer, data_file, main, missing

PROGRAMS = ("nghttpd", "nghttp", "curl")
USUAL_BYTES = 16_000_000
CURL_WINDOW = 32 * 1024 * 1024
MORE = 30  # times as many bytes: it takes a long path and many of them to see a window of 32 MiB


def transfers(folder: Path, count: int = USUAL_BYTES) -> list[Transfer]:
    """Up, the server's window counts; down, the client's. Files that they need are made in the folder.

    curl 7.88 spins while it waits for a window to be opened (curl's issue 10618, mended in 8.0.0): that is slow here,
    so nghttp uploads.
    """
    file = data_file(folder, count)
    found: list[Transfer] = []
    plain = ["nghttpd", "--no-tls", "-d", str(folder)]
    for bits, wide in ((16, 16), (18, 24), (20, 24)):
        window = ["-w", str(bits), "-W", str(wide)]
        stated = f"nghttp2, HttpServer.cc: (1 << window_bits) - 1, window_bits {bits}"
        client = ["nghttp", "-nd", str(file), "http://b:9000/up"]
        found.append(
            Transfer(f"up, nghttpd -w {bits}", [*plain, *window, "9000"], client, ("a", "b"), stated, (1 << bits) - 1)
        )
        stated = f"nghttp2, nghttp.cc: (1 << config.window_bits) - 1, window_bits {bits}"
        client = ["nghttp", "-n", *window, f"http://b:9000/{file.name}"]
        found.append(Transfer(f"down, nghttp -w {bits}", [*plain, "9000"], client, ("b", "a"), stated, (1 << bits) - 1))
    wide = data_file(folder, MORE * count, "wide")
    client = ["curl", "-sSo", "/dev/null", "--http2-prior-knowledge", f"http://b:9000/{wide.name}"]
    stated = "curl 7.88, lib/http2.c: HTTP2_HUGE_WINDOW_SIZE"
    return [*found, Transfer("down, curl", [*plain, "9000"], client, ("b", "a"), stated, CURL_WINDOW)]


def spinning_transfers(folder: Path, count: int = 3_000_000) -> list[Transfer]:
    """curl 7.88 uploads: see `transfers`. Slow, so few bytes; with curl 8 it is as the others."""
    file = data_file(folder, count)
    client = ["curl", "-sST", str(file), "-o", "/dev/null", "--http2-prior-knowledge", "http://b:9000/up"]
    stated = "nghttp2, HttpServer.cc: (1 << window_bits) - 1, window_bits 16"
    server = ["nghttpd", "--no-tls", "-d", str(folder), "-w", "16", "-W", "16", "9000"]
    return [Transfer("up, curl (spins), nghttpd -w 16", server, client, ("a", "b"), stated, (1 << 16) - 1)]


if __name__ == "__main__":
    if absent := missing(*PROGRAMS):
        raise SystemExit(f"not installed: {', '.join(absent)} (Debian: nghttp2-server, nghttp2-client, curl)")
    main(transfers, USUAL_BYTES)
