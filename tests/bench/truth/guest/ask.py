"""Runs in the guest: puts many questions to one path, one after the other, and writes what was seen.

    python ask.py REQUESTS.json ANSWERS.json

A request has a `kind`: `train` (emu_probe.py), `program`, `change` (of a line), or a function below. Nothing is
judged here.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "support" / "programs")]

import bbr  # noqa: E402  (beside this file)
from emu_probe import inside, train  # noqa: E402
from line import Line  # noqa: E402
from talk import Talk  # noqa: E402

Asked = dict[str, Any]


def program(asked: Asked) -> dict[str, Any]:
    """A program of the computer at a node: `at`, `words`."""
    with inside(asked.get("at", "alpha")):
        done = subprocess.run(asked["words"], capture_output=True, text=True, check=False)
    return {"status": done.returncode, "out": done.stdout, "err": done.stderr}


def slow_start(talk: Talk, asked: Asked) -> None:
    """`segments` with nothing lost."""
    wanted = asked["segments"] * talk.mss
    talk.send(asked["segments"])
    talk.run(3600, asked["step_s"], until=lambda: talk.samples[-1]["bytes_acked"] >= wanted)


def losses(talk: Talk, asked: Asked) -> None:
    """The first copies of the segments `lost` are lost, and `after_s` seconds follow."""
    talk.send(asked["segments"])
    talk.lose(asked["lost"], asked["step_s"])
    talk.run(asked["after_s"], asked["step_s"])


def silence(talk: Talk, asked: Asked) -> None:
    """One segment arrives; the next one never does, however often it is sent."""
    talk.send(1)
    talk.run(asked["rtt_s"] * 3, asked["rtt_s"])
    talk.drop(None)
    talk.send(1)
    talk.run(asked["for_s"], asked["for_s"] / 200)


def window(talk: Talk, asked: Asked) -> None:
    """More than the receiver's window, for some time."""
    talk.send(asked["segments"])
    talk.run(asked["for_s"], asked["step_s"])


def closed_window(talk: Talk, asked: Asked) -> None:
    """Nobody reads for `for_s` seconds, then somebody does."""
    wanted = asked["segments"] * talk.mss
    talk.send(asked["segments"])
    talk.run(asked["for_s"], asked["for_s"] / 500)
    talk.read()
    talk.run(3600, asked["step_s"], until=lambda: talk.read_bytes >= wanted)


def acknowledgments(talk: Talk, asked: Asked) -> None:
    """A stream, then one segment alone, then two at once."""
    talk.send(asked["segments"])
    wanted = asked["segments"] * talk.mss
    talk.run(3600, asked["step_s"], until=lambda: talk.samples[-1]["bytes_acked"] >= wanted)
    for count in (1, 2):
        talk.quickly(0)
        talk.send(count)
        talk.run(1.0 + 2 * asked["rtt_s"], asked["step_s"])


TALKS: dict[str, Callable[[Talk, Asked], None]] = {
    "slow_start": slow_start,
    "losses": losses,
    "silence": silence,
    "window": window,
    "closed_window": closed_window,
    "acknowledgments": acknowledgments,
    **bbr.TALKS,
}


def answer(asked: Asked, number: int) -> dict[str, Any]:
    """What one request comes to."""
    kind = asked["kind"]
    if kind == "train":
        return train(asked)
    if kind == "program":
        return program(asked)
    if kind == "change":
        for told in asked["changes"]:
            Line(told["node"], told["device"]).change(told)
        return {}
    talk = Talk(asked, number)
    TALKS[kind](talk, asked)
    told = talk.end()
    time.sleep(asked.get("settle_s", 5.0))  # what still waits somewhere is gone when the next one begins
    return told


def main() -> None:
    """Answer all, in order."""
    requests = json.loads(Path(sys.argv[1]).read_text())
    answers = [answer(asked, number) for number, asked in enumerate(requests)]
    Path(sys.argv[2]).write_text(json.dumps(answers))


if __name__ == "__main__":
    main()
