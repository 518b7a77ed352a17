"""Commands of `landspeed`: which file has which of them, under which heading they stand, and the parser of all."""

from __future__ import annotations

import argparse
from importlib import import_module

from landspeed.base.version import __version__
from landspeed.cli.parser import Parser

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
        "completion.command",
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
