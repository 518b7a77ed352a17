"""The command `landspeed`: from its words to its exit status.

Exit status 0: done. 1: it ran, and failed, broke or was interrupted. 2: bad input, or this host lacks something.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any, NoReturn

from landspeed.base.config import has_config
from landspeed.base.errors import LandspeedError
from landspeed.base.log import listen, wanted_level
from landspeed.cli.command_table import COMMANDS, make_parser
from landspeed.cli.errors import BAD_INPUT, FAILED, say
from landspeed.cli.parser import commands_of, own_words

COLLECT_AFTER = 200_000
"""New objects after which garbage is looked for: with Python's 700 it takes a tenth of the time of all imports."""

FIRST_WORDS = """\
landspeed sends real TCP over very long, very fast paths that exist only in this computer, in virtual time.
  landspeed demo              see it: ten seconds of 1 Gbit/s over 50 ms, drawn while they run
  landspeed scenarios         list the paths that come with it, with the Land Speed Records
  landspeed show first        show a path hop by hop, and its physics, before anything is sent
  landspeed run first         calibrate it, make the transfer, judge it; --set changes any value
  landspeed exec first --at amsterdam -- ping -c 3 athens      run your own program on the path
  landspeed results           list all runs; see also: landspeed compare, report, submission
  landspeed real              do the same on real servers
  landspeed doctor            say what this computer lacks, and how to get it
landspeed --help lists every command, landspeed COMMAND --help its arguments."""
"""Printed by `landspeed` without arguments."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns:
        the exit status.
    """
    gc.set_threshold(COLLECT_AFTER)
    if arguments is not None:
        return _run(arguments)
    sys.meta_path.insert(0, ArrowAlone())
    told = _ending_at_once()
    try:
        told.append(_run(sys.argv[1:]))
    except SystemExit as ended:  # argparse's way
        told += [ended.code] if isinstance(ended.code, int) else []
        raise
    return told[0]


class ArrowAlone:
    """Has pyarrow look in vain for pandas: it does so as soon as it converts anything, and that takes 0.2 s.

    Only in a process that is the command's alone. Who asks it for a frame all the same has one: then it looks again.
    """

    def __init__(self) -> None:
        """Wait until pyarrow is imported."""
        self._looks = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find pyarrow as it is found without this, and while it looks for pandas nothing.

        Raises:
            ModuleNotFoundError: it looks.
        """
        if name == "pandas" and self._looks:
            raise ModuleNotFoundError("no frame is asked for", name=name)
        if name != "pyarrow" or (spec := PathFinder.find_spec(name, path, target)) is None or spec.loader is None:
            return None
        loader: Any = spec.loader
        begin = loader.exec_module

        def exec_module(module: Any) -> None:
            begin(module)
            if "pandas" not in sys.modules:  # which imports pyarrow itself, if it is there first
                self._looks = True
                module.array([0])
            sys.meta_path.remove(self)

        loader.exec_module = exec_module
        return spec


def _run(words: Sequence[str]) -> int:
    own, program = split_program(words)
    if not own or list(own[:2]) == ["completion", "--answer"]:
        _answer_at_once(words)
        return 0
    before = _heed_signals()
    try:
        parsed = _parsed(own)
        parsed.program = program
        if level := wanted_level(parsed.verbose):
            listen(level)
        return parsed.action(parsed)
    except LandspeedError as error:
        return say(error, error.exit_status)
    except MemoryError as error:
        return say(error, BAD_INPUT)
    except KeyboardInterrupt:
        return say("interrupted", FAILED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _parsed(own: Sequence[str]) -> argparse.Namespace:
    """The arguments, with the defaults of the user's file before those that are given."""
    place = next((number for number, word in enumerate(own) if not word.startswith("-")), len(own))
    word = own[place] if place < len(own) else ""
    parser = make_parser(word)
    if word in COMMANDS and word != "config" and has_config():
        from landspeed.cli.config_command import default_words

        defaults = default_words(commands_of(parser)[word], word, own)
        own = [*own[: place + 1], *defaults, *own[place + 1 :]]
    if word == "help" and own[place + 1 :] and own[place + 1].startswith("--") and own[place + 1] != "--help":
        own = [*own[: place + 1], "--", *own[place + 1 :]]  # what is asked for
    return parser.parse_words(own)


def _answer_at_once(words: Sequence[str]) -> None:
    """Without the parser: the first words, or what a shell asks for while somebody waits at a Tab."""
    if not words:
        print(FIRST_WORDS)
        return
    from landspeed.cli.completion.command import answer_shell

    answer_shell(words[2:])


def _ending_at_once() -> list[int]:
    """The process is the command's alone: once a status is told, it ends when all others have done what they do then.

    Python would take down all that it has first, 20 ms of a run. Not where somebody measures which lines ran: that is
    written at the very end.
    """
    told: list[int] = []

    def leave() -> None:
        with contextlib.suppress(OSError):  # Python says it, where nobody reads what it writes
            sys.stdout.flush()
            sys.stderr.flush()
            if told and "coverage" not in sys.modules:
                os._exit(told[0])

    atexit.register(leave)
    return told


def _heed_signals() -> dict[signal.Signals, Any]:
    """SIGTERM and SIGHUP end the command as Ctrl+C does, unless they are ignored (nohup).

    Returns:
        what they did before, to be put back. Nothing where Python lets no handler be set: outside the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        return {}
    before: dict[signal.Signals, Any] = {}
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) not in (signal.SIG_IGN, None):  # None: not set by Python
            before[number] = signal.signal(number, _interrupt)
    return before


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def split_program(words: Sequence[str]) -> tuple[Sequence[str], list[str]]:
    """Words of this command, and those of the user's own program: after `--`, and of `mn` after its own options."""
    word = next((each for each in words if not each.startswith("-")), "")
    if word in ("exec", "probe") and "--" in words:
        place = list(words).index("--")
        return words[:place], list(words[place + 1 :])
    if word == "mn":
        begin = list(words).index(word) + 1
        place = begin + own_words(commands_of(make_parser(word))[word], words[begin:])
        return words[:place], [each for at, each in enumerate(words[place:]) if at or each != "--"]
    return words, []


if __name__ == "__main__":
    sys.exit(main())
