"""Chromium without a window, for tests of pages: the document, the console, what was asked of networks."""

import json
import shutil
import subprocess
from pathlib import Path

SWITCHES = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--enable-logging=stderr",  # without it the console is not told
    "--host-resolver-rules=MAP * ~NOTFOUND",  # the browser's own calls home end here
)
DEADLINE_S = 240


def dump(file: Path, folder: Path, *more: str) -> tuple[str, str]:
    """The page's document after its scripts ran, and what the browser logged on its console.

    Args:
        file: the page.
        folder: place for the browser's profile.
        more: further switches.
    """
    browser = shutil.which("chromium")
    assert browser is not None, "apt-get install chromium (setup/apt-packages-test.txt)"
    words = [browser, *SWITCHES, f"--user-data-dir={folder / 'profile'}", *more, "--dump-dom", file.as_uri()]
    done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=DEADLINE_S)
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


def visited(file: Path, folder: Path) -> tuple[str, str, set[str]]:
    """The same, and the addresses that the page made the browser's network stack fetch (files do not go through it)."""
    log = folder / "net-log.json"
    document, console = dump(file, folder, f"--log-net-log={log}")
    told = json.loads(log.read_text(encoding="utf-8"))
    start = told["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    asked = [event["params"] for event in told["events"] if event["type"] == start and "url" in event["params"]]
    # what has no origin is the browser itself
    return document, console, {each["url"] for each in asked if each["initiator"] != "not an origin"}


def requests(file: Path, folder: Path) -> set[str]:
    """Addresses that the page made the browser's network stack fetch while it loaded."""
    return visited(file, folder)[2]
