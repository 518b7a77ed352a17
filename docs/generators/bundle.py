"""The fields of a bundle's `result.json` and the columns of its series, made from the models that write them."""

import inspect
import re
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

COMMENT = re.compile(r"^    (\w+):.*?#\s*(.+)$", re.MULTILINE)


def result_fields() -> str:
    """A table for each model of the record, in the order in which the record leads to them."""
    from landspeed.results.record import RunRecord

    lines: list[str] = []
    for model in _reached([RunRecord]):
        if model is not RunRecord:
            lines += [f"(record-{model.__name__.lower()})=", f"### {model.__name__}", ""]
        lines += [(inspect.getdoc(model) or "").replace("\n", " "), "", "| field | type | |", "|---|---|---|"]
        parents = [each for each in model.__mro__ if each.__module__.startswith("landspeed.")]
        said = {name: text for each in parents[::-1] for name, text in COMMENT.findall(inspect.getsource(each))}
        for name, field in model.model_fields.items():
            text = (field.description or said.get(name, "")).replace("|", "\\|")
            lines.append(f"| `{name}` | {_type(field.annotation)} | {text} |")
        lines.append("")
    return "\n".join(lines)


def series_columns() -> str:
    """The columns of the series."""
    from landspeed.results.sample_columns import LINK_COLUMNS, SAMPLE_COLUMNS

    samples = ["end", *SAMPLE_COLUMNS, "goodput_bps"]
    links = [*LINK_COLUMNS, "rate_bps"]
    both = (("samples.parquet", samples), ("links.parquet", links), ("pings.parquet", ["flow", "time_ns", "rtt_ns"]))
    return "\n\n".join(f"- `{name}`: {', '.join(f'`{column}`' for column in columns)}" for name, columns in both)


def _reached(models: list[type[BaseModel]]) -> list[type[BaseModel]]:
    """These and all that their fields lead to."""
    for model in models:  # it grows meanwhile
        for field in model.model_fields.values():
            models += [each for each in dict.fromkeys(_models(field.annotation)) if each not in models]
    return models


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from _models(each)


def _type(annotation: Any) -> str:
    """In words: what to choose from, links to other tables, or the kind of value."""
    choices = [each for each in (annotation, *get_args(annotation)) if get_origin(each) is Literal]
    if choices:
        return " ".join(f"`{word}`" for word in get_args(choices[0]))
    origin = get_origin(annotation)
    found = list(dict.fromkeys(_models(annotation)))
    if found:
        links = " or ".join(f"[{each.__name__}](#record-{each.__name__.lower()})" for each in found)
        return {list: f"list of {links}", dict: f"{links}, by name"}.get(origin, links)
    text = annotation.__name__ if inspect.isclass(annotation) and origin is None else str(annotation)
    return f"`{re.sub(r'[a-z_.]+[.]', '', text).replace(' | None', '')}`".replace("|", "\\|")
