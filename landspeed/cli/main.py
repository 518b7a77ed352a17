"""The command `landspeed`: which file has which of its commands, and errors to exit statuses.

Exit status 0: done. 1: it ran, and failed, broke or was interrupted. 2: bad input, or this host lacks something.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import signal
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from landspeed.base.config import config_file
from landspeed.base.errors import LandspeedError
from landspeed.base.log import listen, wanted_level
from landspeed.base.version import __version__
from landspeed.cli.errors import BAD_INPUT, FAILED, say
from landspeed.cli.parser import Parser, commands_of, own_words

COMMANDS = {
    "demo": ("demo_command", "Run one example: goodput over time, what limited it, and what to try next."),
    "scenarios": ("scenario_command", "List the scenarios that come with landspeed; a name stands for its file."),
    "new": ("new_command", "Write a scenario file of your own: from options, or it asks."),
    "check": ("scenario_command", "Check scenario files."),
    "show": ("scenario_command", "Print the path hop by hop and its physics."),
    "run": ("run_command", "Calibrate the path, make the transfer, judge it."),
    "sweep": ("sweep_command", "Run every combination of the values that a file varies, on all cores or on a cluster."),
    "find": ("sweep_command", "Find the least or greatest value of a key with which a goal is met."),
    "lesson": (
        "lesson_command",
        "Run a lesson of the course, compare it with theory and make its page; grade an exercise.",
    ),
    "class": (
        "class_command",
        "Keep a class of the course: students, their folders' grades, copies, tables for Moodle.",
    ),
    "explore": ("explore_command", "Make a page with sliders: what theory predicts for a path, and what was measured."),
    "predict": ("predict_command", "Predict how long a very large transfer takes, for each choice that is given."),
    "import": ("import_command", "Make a scenario from what iperf, traceroute, ss and others measured."),
    "export": ("import_command", "Write a scenario or a run as files of Mininet, tc, iperf3, Wireshark and others."),
    "compare": ("run_command", "Compare runs: bundles, scenario files, one file in several worlds, two sweeps."),
    "exec": ("program_command", "Run your own program on the emulated path, in virtual time."),
    "mn": ("mn_command", "Run a Mininet script, or mn itself, as it is: without root, in virtual time."),
    "probe": (
        "probe_command",
        "Say what limits a program on long paths: its own window, round trips, TCP, the line.",
    ),
    "shell": ("program_command", "Open a prompt on the emulated path, in real time."),
    "doctor": ("machine_command", "Check whether this computer can run everything; print a remedy for each finding."),
    "kernel": ("kernel_command", "List, build or remove the releases of Linux that runs can use."),
    "results": ("result_command", "List the runs, or query them with SQL (tables: runs, flows, samples, links)."),
    "report": ("result_command", "Write a bundle's report.html again."),
    "bundle": ("result_command", "Pack a run into one file to send."),
    "open": ("result_command", "Show a run, a packed one or a page in the browser."),
    "verify": ("result_command", "Say whether a bundle of real servers is what was signed, and by whom."),
    "real": ("real_command", "Take a rehearsed scenario to real servers."),
    "submission": ("result_command", "Write a run up as a record team would: page and PDF."),
    "record-book": ("result_command", "Rehearse every record that is not rehearsed yet, and write the record book."),
    "schema": ("scenario_command", "Print the JSON Schema of scenario files."),
    "config": ("config_command", "Show, set and remove defaults of options, which a file keeps."),
    "completion": (
        "completion_command",
        "Print what a shell needs so that Tab completes commands, options and values.",
    ),
    "help": ("help_command", "Say what a command, an option or a key of scenario files is."),
}
"""Word of a command → the module of this folder that has `add_WORD(parser)` and `do_WORD(parsed)`, and its help."""

GROUPS = {
    "Begin": ("demo", "scenarios", "help", "doctor", "config", "completion"),
    "Describe a path": ("new", "check", "show", "import", "export", "schema"),
    "Run it": ("run", "compare", "sweep", "find", "predict", "explore"),
    "Your own programs": ("exec", "mn", "probe", "shell"),
    "Results": ("results", "report", "open", "bundle", "verify", "submission", "record-book"),
    "Real servers, other kernels, the course": ("real", "kernel", "lesson", "class"),
}
"""Heading → commands below it in `landspeed --help`."""

VERBOSE = ("-v", "--verbose")

COLLECT_AFTER = 50_000
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
    atexit.register(_skip_the_last_look)
    words = sys.argv[1:] if arguments is None else arguments
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
    if word in COMMANDS and word != "config" and config_file().is_file():
        from landspeed.cli.config_command import default_words

        defaults = default_words(commands_of(parser)[word], word, own)
        own = [*own[: place + 1], *defaults, *own[place + 1 :]]
    return parser.parse_words(own)


def _answer_at_once(words: Sequence[str]) -> None:
    """Without the parser: the first words, or what a shell asks for while somebody waits at a Tab."""
    if not words:
        print(FIRST_WORDS)
        return
    from landspeed.cli.completion_command import answer_shell

    answer_shell(words[2:])


def _skip_the_last_look() -> None:
    """Skip the last garbage collection: it took as long as judging the run.

    Not where DuckDB was used: it would print everything that is left as a leak.
    """
    if "_duckdb" not in sys.modules:
        gc.freeze()


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


def make_parser(only: str | None = None) -> Parser:
    """The parser; `action` of what it returns runs the word.

    Args:
        only: the word whose arguments are wanted: the others are listed without theirs, so that nothing is imported for
            them. None: all of them.
    """
    parser = Parser(prog="landspeed", description="Rehearse very long, very fast network paths in virtual time.")
    parser.groups = GROUPS
    parser.add_argument("--version", action="version", version=f"landspeed {__version__}")
    parser.add_argument(*VERBOSE, action="count", default=0, help="log decisions on standard error; -vv: and details")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for word, (module, text) in COMMANDS.items():
        made = commands.add_parser(word, help=text, description=text)
        if only is None or only == word:
            home = import_module(f".{module}", __package__)
            name = word.replace("-", "_")
            getattr(home, f"add_{name}")(made)
            # After the word it is understood, too; SUPPRESS: the count from before the word stays.
            made.add_argument(*VERBOSE, action="count", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
            made.set_defaults(action=getattr(home, f"do_{name}"), parser=made)
    return parser


if __name__ == "__main__":
    sys.exit(main())
