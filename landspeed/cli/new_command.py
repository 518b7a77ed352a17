"""The command `new`: a scenario file of one's own, from options or from answers on a terminal."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from landspeed.base.errors import ScenarioError
from landspeed.cli.errors import UsageError
from landspeed.cli.scenario_command import write_new

if TYPE_CHECKING:
    from landspeed.scenario.plan.plan import Plan


def add_new(made: argparse.ArgumentParser) -> None:
    """Arguments of `new`."""
    from landspeed.scenario.file.template import QUESTIONS

    made.add_argument("file", type=Path, metavar="FILE", help="the file to write, such as mine.yaml")
    for each in QUESTIONS:
        usual = f" (default: {each.usual})" if each.usual else ""
        made.add_argument(f"--{each.option}", metavar="VALUE", help=(each.text + usual).replace("%", "%%"))
    made.epilog = "Without options, on a terminal, it asks for each of these."


def do_new(parsed: argparse.Namespace) -> int:
    """Ask, or take the options; write what passes `check`."""
    from landspeed.scenario.file.template import QUESTIONS

    file: Path = parsed.file if parsed.file.suffix == ".yaml" else parsed.file.with_name(f"{parsed.file.name}.yaml")
    if file.exists():
        raise UsageError(f"{file} is there already; remove it, or name another place")
    given = {each.option: getattr(parsed, each.option.replace("-", "_")) for each in QUESTIONS}
    answers = {option: value for option, value in given.items() if value is not None}
    _checked(file, {})  # its name
    if not answers and sys.stdin.isatty() and sys.stdout.isatty():
        answers = _asked(file)
    text, plan = _checked(file, answers)
    write_new(file, text)
    physics = plan.physics
    from landspeed.base.text import rate_text

    print(f"Written: {file} ({plan.title})")
    print(f"Theory expects {rate_text(physics.expected_goodput_bps)}. Next: landspeed run {file}")
    return 0


def _asked(file: Path) -> dict[str, str]:
    """Answers of the person at the terminal; each is right before the next is asked for."""
    from landspeed.scenario.file.template import QUESTIONS

    answers: dict[str, str] = {}
    for each in QUESTIONS:
        while True:
            usual = f" [{each.usual}]" if each.usual else ""
            answer = input(f"{each.text}{usual}: ").strip()
            try:
                _checked(file, answers | {each.option: answer})
            except UsageError as error:
                print(error)
                continue
            answers[each.option] = answer
            break
    return answers


def _checked(file: Path, answers: dict[str, str]) -> tuple[str, Plan]:
    """The file's text and plan. Raises UsageError: what is wrong, without places in a file that is not there."""
    from landspeed.base.units import UnitError
    from landspeed.scenario.file.template import check_template, template
    from landspeed.worlds.registry import plan_for

    try:
        text = template(file.stem, answers)
        return text, plan_for(check_template(text, file), "emu")
    except UnitError as error:
        raise UsageError(str(error)) from None
    except ScenarioError as error:
        raise UsageError("; ".join(f"{each.what}; {each.right}" for each in error.problems)) from None
