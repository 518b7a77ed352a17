"""The command `mn`: any Mininet script, or `mn` itself, without root and in virtual time."""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import stat
import sys
from pathlib import Path
from typing import Any

from landspeed.cli import values
from landspeed.cli.arguments import given_options, with_world_options
from landspeed.cli.errors import FAILED, UsageError, say
from landspeed.cli.parser import Parser
from landspeed.cli.program_command import OutputCopier
from landspeed.cli.progress import make_reporter

LINE = "10 Gbit/s"
DEFAULT_NET = ["--topo=minimal"]  # of `mn` without words, which is for its prompt
LINE_DELAY = "8 µs each way"
GIVEN_LINE = "line"  # a file of the run's folder: there are such links


def add_mn(made: Parser) -> None:
    """Arguments of `mn`; all words from the first one on that is none of them are the script's, or Mininet's `mn`."""
    made.usage = "landspeed mn [options] SCRIPT.py [ARGUMENT…]\n       landspeed mn [options] OPTION OF MN…"
    made.add_argument("--seed", type=values.seed, default=1, help="seed of everything random (default: 1)")
    made.add_argument(
        "--time-limit", type=values.seconds, metavar="SECONDS", help="end the script after this virtual time"
    )
    made.add_argument("--out", type=Path, metavar="DIR", help="folder for the run's folder (default: results/mn)")
    made.add_argument(
        "--line",
        default=LINE,
        metavar="RATE|none",
        help=f"line rate of a link without bw and delay (default: {LINE}); none: infinitely fast",
    )
    made.add_argument(
        "--cpu-time",
        action="store_true",
        help="computing takes virtual time, as on this computer; runs differ",
    )
    made.add_argument(
        "--explain", action="store_true", help="print each link of the started net in words, with warnings"
    )
    made.add_argument("--as-scenario", type=Path, metavar="FILE", help="write the net that was started as a scenario")
    made.add_argument(
        "--report",
        action="store_true",
        help="sample sockets and links, and write report.html",
    )
    made.add_argument(
        "--evidence",
        action="store_true",
        help="keep captures of all links (pcap), and nodes' settings",
    )
    made.add_argument(
        "--capture",
        choices=("first", "full"),
        default="first",
        help="with --evidence: 20 MB of each, or whole (default: first)",
    )
    made.add_argument("--quiet", action="store_true", help="no progress, and nothing printed but by the script")
    with_world_options(made, "mn")


def do_mn(parsed: argparse.Namespace) -> int:
    """Returns the script's own exit status."""
    from landspeed.base.failures import RunFailed
    from landspeed.worlds.emu.mininet import Script, finish_captures, new_run_folder, run_script
    from landspeed.worlds.emu.options import EmuOptions
    from landspeed.worlds.emu.typed_lines import TypedLines

    words: list[str] = parsed.program or (DEFAULT_NET if sys.stdin.isatty() else [])
    if not words:
        raise UsageError(
            "no script given; write one, as in: landspeed mn lab.py, or options of mn: landspeed mn --test pingall"
        )
    if not words[0].startswith("-") and not Path(words[0]).is_file():
        raise UsageError(f"{words[0]}: no such file; write a Mininet script's path, or options of mn")
    if parsed.as_scenario and parsed.as_scenario.exists():
        raise UsageError(f"--as-scenario {parsed.as_scenario}: it is there already; write another name, or remove it")
    options: dict[str, Any] = given_options(parsed)
    if parsed.cpu_time and (others := {"clock", "spin_cost"} & options.keys()):
        told = " and ".join(f"--{each.replace('_', '-')}" for each in sorted(others))
        raise UsageError(f"--cpu-time with {told}: each says what computing takes; leave out one")
    script = Script(
        words=words,
        folder=Path.cwd(),
        seed=parsed.seed,
        time_limit_ns=round(parsed.time_limit * 1e9) if parsed.time_limit else 0,
        line_bps=None if parsed.line == "none" else values.rate(parsed.line, "--line"),
        tell=parsed.explain or parsed.as_scenario is not None,
        sample=parsed.report,
        evidence=parsed.capture if parsed.evidence else "",
        stdin=_given_input(),
        typed=sys.stdin.isatty(),
        cpu_time=parsed.cpu_time,
    )
    folder = new_run_folder(script, parsed.out)
    copier = OutputCopier(folder)
    # No bar where a person may type: the script's own lines are there.
    reporter = make_reporter(quiet=parsed.quiet or script.typed or not sys.stderr.isatty())
    typed = TypedLines(folder, copier.copy_to_prompt) if script.typed else None

    def poll() -> bool:
        held = typed is not None and typed.look()
        copier.copy()
        return held

    try:
        with typed.interrupts() if typed else contextlib.nullcontext():
            outcome = run_script(script, folder, EmuOptions(**options), report=reporter, each_poll=poll)
    except RunFailed as error:
        return say(error, FAILED)
    finally:
        reporter.close()
        copier.copy()
    if script.tell or script.sample:
        _tell_nets(parsed, folder)
    if script.evidence:
        captures = finish_captures(folder)
        if not parsed.quiet:
            places = sorted({str(each.parent) for each in captures})
            told = f"{sum(captures.values())} packets in {len(captures)} captures: {', '.join(places)}"
            print(f"landspeed: evidence: {told if captures else 'the script started no net'}", file=sys.stderr)
    if not parsed.quiet:
        told = outcome.guest.script
        print(f"landspeed: {told.virtual_s:.3f} s of virtual time; kept in {folder}", file=sys.stderr)
        if (folder / GIVEN_LINE).exists():
            print(f"landspeed: links without bw and delay: {parsed.line}, {LINE_DELAY} (--line)", file=sys.stderr)
    assert outcome.guest.status is not None
    return outcome.guest.status


def _given_input() -> bytes | None:
    """Commands for the script, such as for `CLI`: the rest of a file, or of a pipe that has something by now."""
    try:
        kind = os.fstat(0).st_mode
        if stat.S_ISREG(kind):  # without moving its position, which a loop of the shell around this may read on from
            return os.pread(0, os.fstat(0).st_size, os.lseek(0, 0, os.SEEK_CUR))
        if stat.S_ISFIFO(kind) and select.select([0], [], [], 0)[0]:
            return sys.stdin.buffer.read()
    except OSError:  # there is none
        pass
    return None


def scenario_of_script(file: Path, name: str) -> str:
    """Run a script in the guest, and return the last net that it started as a scenario.

    Raises:
        UsageError: it started none.
        RunFailed: the guest broke.
    """
    from landspeed.runs.scratch import scratch_folder
    from landspeed.worlds.emu.mininet import Script, run_script, script_nets
    from landspeed.worlds.emu.options import EmuOptions
    from landspeed.worlds.emu.script_net import as_scenario

    script = Script(words=[str(file)], folder=Path.cwd(), line_bps=values.rate(LINE, "--line"), tell=True)
    with scratch_folder() as folder:
        outcome = run_script(script, folder, EmuOptions())
        if not (nets := script_nets(folder)):
            said = (folder / "log" / "stderr").read_text(errors="replace").strip().splitlines()[-1:]
            raise UsageError(
                f"{file}: it started no net of Mininet (exit status {outcome.guest.status}"
                f"{': ' + said[0] if said else ''}); give a script that does without arguments, or write: landspeed mn "
                f"--as-scenario NET.yaml {file} ARGUMENT…"
            )
        return as_scenario(nets[-1].told, name)


def _tell_nets(parsed: argparse.Namespace, folder: Path) -> None:
    """The last net that the script started, in words and as a scenario, and the page of all, as far as asked for."""
    from landspeed.worlds.emu.mininet import script_nets
    from landspeed.worlds.emu.script_net import as_scenario, explained

    nets = script_nets(folder)
    if parsed.report:
        from landspeed.cli.mn_page import write_page

        told = [(net.told, explained(net.told), net.samples) for net in nets if net.samples is not None]
        page = write_page(folder, parsed.program, told)
        if not parsed.quiet:
            print(f"landspeed: report: {page}", file=sys.stderr)
    if not nets:
        print("landspeed: the script started no net of Mininet: nothing to explain", file=sys.stderr)
        return
    if parsed.explain:
        print("\n".join(explained(nets[-1].told)))
    if parsed.as_scenario:
        parsed.as_scenario.write_text(as_scenario(nets[-1].told, parsed.as_scenario.stem), encoding="utf-8")
