"""Writes landspeed(1), the manual page, from the command's parser: a section for each group of commands.

Usage: python setup/manual_page.py >landspeed.1
"""

# argparse has no public way to a parser's arguments.
# pyright: reportPrivateUsage=false

import argparse
import re
from collections.abc import Iterator

from landspeed.base.version import __version__
from landspeed.cli.command_table import GROUPS, make_parser
from landspeed.cli.parser import Parser, commands_of

HEAD = """\
.TH LANDSPEED 1 "" "landspeed {version}" "landspeed"
.SH NAME
landspeed \\- rehearse very long, very fast network transfers in virtual time
.SH SYNOPSIS
.B landspeed
.I COMMAND
[options]
.SH DESCRIPTION
landspeed builds the path that a scenario file describes in a small guest with a real Linux kernel, sends real TCP
over it, and reports the goodput, the delay and what limited them. The guest's clock is virtual, so that neither a fast
machine nor root is needed. Wherever a scenario is named, the name of one that comes with landspeed will do: landspeed
scenarios lists them.
.PP
Each command has \\-\\-help; options that only some worlds have are shown by \\-\\-help\\-all. landspeed help WORD says
what a command, an option or a key of scenario files is. These options are common to several commands:
{common}
"""
FOOT = """\
.SH EXIT STATUS
0: done. 1: it ran, and failed, broke or was interrupted. 2: bad input, or this host lacks something; landspeed doctor
says what. landspeed exec: that of the program.
.SH ENVIRONMENT
.B LANDSPEED_LOG
is info or debug, as \\-v and \\-vv.
.SH FILES
.I ~/.config/landspeed/config.toml
has defaults of options (landspeed config).
.I ~/.local/share/landspeed/runs
has the results, of a clone its results/runs.
.I ~/.cache/landspeed
has kernels.
.SH SEE ALSO
landspeed\\-engine(1), tc\\-netem(8), mn(1)
"""
COMMON = {
    "--set": "change a value of the scenario; repeat it for more",
    "--seed": "seed of everything random",
    "--world": "where to run: emu (the default), sim, real",
    "--out": "folder or file for what is written",
    "--runs": "folder of runs",
    "--jobs": "runs at once",
    "--json": "one JSON object on standard output",
    "--open": "open the page in the browser",
    "--scheduler": "a Dask scheduler's address",
    "--quiet": "no progress, no table",
}


def page() -> str:
    """The manual page in the language of man(7)."""
    parser = make_parser()
    found = commands_of(parser)
    common = "\n".join(f".TP\n.B {_escaped(word)}\n{_escaped(text)}." for word, text in COMMON.items())
    lines = [HEAD.format(version=__version__, common=common).rstrip()]
    for heading, words in GROUPS.items():
        lines.append(f".SH {heading.upper()}")
        for word in words:
            lines += _command(found[word])
    return "\n".join([*lines, FOOT])


def _command(made: Parser) -> Iterator[str]:
    yield f".SS {_synopsis(made)}"
    yield _escaped(made.description or "")
    below = commands_of(made)
    if below:
        yield f"Commands: {_escaped(', '.join(below))}."
    for action in made._actions:
        shown = action.option_strings and action.help != argparse.SUPPRESS and action not in made.of_worlds
        names = [each for each in action.option_strings if each.startswith("--")]
        if shown and names and names[0] not in COMMON and names[0] not in ("--help", "--help-all"):
            yield f".TP\n.B {_escaped(' '.join([names[0], _value(action)]).strip())}\n{_escaped(action.help or '')}"


def _synopsis(made: Parser) -> str:
    places = [_value(action) for action in made._actions if not action.option_strings and action.help != "==SUPPRESS=="]
    return _escaped(" ".join(["landspeed", made.prog.split()[-1], *(each for each in places if each)]))


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    metavar = action.metavar if isinstance(action.metavar, str) else " ".join(action.metavar or ())
    return metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())


def _escaped(text: str) -> str:
    return re.sub(r"^([.'])", r"\\&\1", text.replace("\\", "\\e").replace("-", "\\-").replace("%%", "%"))


if __name__ == "__main__":
    print(page(), end="")
