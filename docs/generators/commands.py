"""The command `landspeed` with all its words, made from its parser."""

import argparse
from collections.abc import Iterator

STANDARD_GROUPS = ("positional arguments", "options")


def commands() -> str:
    """A section for each subcommand: what it does, how it is written, what each word means."""
    from landspeed.cli.command_table import make_parser

    return "\n".join(_sections(make_parser(), "##"))


def _sections(parser: argparse.ArgumentParser, level: str) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, made in action.choices.items():
                yield from _section(made, helps.get(name) or made.description or "", level)
                yield from _sections(made, f"{level}#")


def _section(parser: argparse.ArgumentParser, text: str, level: str) -> list[str]:
    formatter = argparse.HelpFormatter(parser.prog, width=88)
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups, prefix="")
    lines = [f"({parser.prog.replace(' ', '-')})=", f"{level} {parser.prog}", "", _sentence(text), ""]
    lines += ["```text", formatter.format_help().strip(), "```", ""]
    for group in parser._action_groups:
        shown = [action for action in group._group_actions if _is_shown(action)]
        if shown and group.title not in STANDARD_GROUPS:
            lines += ["", (group.title or "").capitalize() + ":", ""]
        lines += [f"- {_names(action)}{_meaning(action)}" for action in shown]
    if parser.epilog:
        lines += ["", parser.epilog]
    return [*lines, ""]


def _is_shown(action: argparse.Action) -> bool:
    hidden = isinstance(action, argparse._HelpAction | argparse._SubParsersAction)
    return not hidden and action.help != argparse.SUPPRESS


def _names(action: argparse.Action) -> str:
    value = action.metavar or (action.dest.upper() if action.option_strings else action.dest)
    value = " ".join(value) if isinstance(value, tuple) else value
    if action.choices is not None and action.metavar is None:
        value = "{" + ",".join(str(choice) for choice in action.choices) + "}"
    if not action.option_strings:
        return f"`{value}`"
    word = f" {value}" if action.nargs != 0 else ""
    return ", ".join(f"`{option}{word}`" for option in action.option_strings)


def _meaning(action: argparse.Action) -> str:
    text = (action.help or "").replace("%%", "%")
    default = action.default
    known = default in (None, False, argparse.SUPPRESS, []) or "default" in text
    more = "" if known else f" (default: `{default}`)"
    return f": {text}{more}" if text else more


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") or not text else ".")
