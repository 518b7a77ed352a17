"""The library `landspeed` as autodoc sees it: what `landspeed.__all__` names, whatever that is."""

import inspect
import re
from functools import cached_property
from typing import Any

CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")


def library() -> str:
    """Functions, then classes."""
    public = _public()
    functions = [name for name, value in public.items() if inspect.isroutine(value)]
    classes = [name for name, value in public.items() if inspect.isclass(value) and not _is_failure(value)]
    lines: list[str] = []
    for heading, directive, names in (("Functions", "autofunction", functions), ("Classes", "autoclass", classes)):
        if names:
            lines += [f"## {heading}", "", *(_autodoc(directive, name, directive == "autoclass") for name in names)]
    return "\n".join(lines)


def failures() -> str:
    """Every exception of the library."""
    shown = [name for name, value in _public().items() if _is_failure(value)]
    return "\n".join(_autodoc("autoexception", name, False) for name in shown)


def library_names() -> str:
    """A line for each function, class and member, with the first sentence of its docstring."""
    lines = ["| name | |", "|---|---|"]
    for name, value in _public().items():
        if _is_failure(value):
            continue
        short = name.removeprefix("landspeed.")
        if not inspect.isclass(value):
            shown = ", ".join(inspect.signature(value).parameters) if inspect.isroutine(value) else ""
            lines.append(f"| `{short}({shown})` | {_first(value)} |")
            continue
        lines.append(f"| **`{short}`** | {_first(value)} |")
        members = {key: each for key, each in vars(value).items() if key[0] != "_" and _documented(each)}
        lines += [f"| `{short}.{key}` | {_first(getattr(value, key))} |" for key in members]
    return "\n".join(lines)


def failure_names() -> str:
    """A line for each exception."""
    shown = {name: value for name, value in _public().items() if _is_failure(value)}
    lines = [f"| `{name.removeprefix('landspeed.')}` | {_first(value)} |" for name, value in shown.items()]
    return "\n".join(["| exception | |", "|---|---|", *lines])


def _documented(member: Any) -> bool:
    kinds = (property, cached_property, classmethod, staticmethod)
    return (inspect.isfunction(member) or isinstance(member, kinds)) and bool(inspect.getdoc(member))


def _first(value: Any) -> str:
    """The first sentence of a docstring, for a cell of a table."""
    return " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split()).replace("|", "\\|")


def module(name: str) -> str:
    """All public functions of a module."""
    return (
        f"```{{eval-rst}}\n.. automodule:: {name}\n   :members:\n   :exclude-members: model_config\n   :noindex:\n```\n"
    )


def as_rst(_app: object, what: str, _name: str, _object: object, _options: object, lines: list[str]) -> None:
    """Docstrings here write `code` with one backtick, and examples as indented lines: in reStructuredText's terms."""
    if what == "property" and lines:
        lines[0] = lines[0].replace(": ", " – ")  # napoleon takes what is before a colon for a type
    found: list[str] = []
    literal = False
    for line in lines:
        if line[:1] == " " and len(found) > 1 and found[-1] == "" and found[-2][:1] != " ":
            found += ["::", ""]
            literal = True
        literal = literal and line[:1] in ("", " ")
        found.append(line if literal else CODE.sub(lambda code: f"``{code[1].strip()}``", line))
    lines[:] = found


def _public() -> dict[str, Any]:
    """Full name → object, of all that `landspeed.__all__` names."""
    import landspeed

    return {f"landspeed.{name}": getattr(landspeed, name) for name in landspeed.__all__}


def _is_failure(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, BaseException)


def _autodoc(directive: str, name: str, members: bool) -> str:
    more = "   :members:\n" if members else "   :show-inheritance:\n" * ("exception" in directive)
    return f"```{{eval-rst}}\n.. {directive}:: {name}\n{more}```\n"
