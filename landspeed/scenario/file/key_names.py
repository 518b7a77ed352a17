"""Names of the file's keys in the plan, with their units; the keys that not every world honours."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from landspeed.base.json_form import object_of
from landspeed.base.units import RATE, SIZE, TIME, Quantity

_SUFFIXES = ((TIME, "_ns"), (SIZE, "_bytes"), (RATE, "_rate_bps"))
_RENAMED = {
    "bytes": "bytes",
    "initial_window": "initial_window_packets",
    "line_rate": "rate_bps",
    "depth": "depth_packets",
    "one_way_delay": "delay_ns",
    "rate": "rate_bps",
}
_SPECIAL = "x-not-in-every-world"


def special(default: Any, *, description: str, **more: Any) -> Any:
    """A field of a section that a world honours only if it says so (`Capabilities.special_keys`)."""
    return Field(default, description=description, json_schema_extra={_SPECIAL: True}, **more)


def special_keys(section: type[BaseModel]) -> tuple[str, ...]:
    """The keys of a section that not every world honours."""
    return tuple(key for key, field in section.model_fields.items() if _SPECIAL in _extra(field))


def _extra(field: FieldInfo) -> dict[str, Any]:
    return object_of(field.json_schema_extra)


@cache
def plan_names(section: type[BaseModel]) -> Mapping[str, str]:
    """Key of a section → its name in the plan: `duration_ns` of `duration`, `window_bytes`, `streams` as it is."""
    return {key: _plan_name(key, field) for key, field in section.model_fields.items()}


def _plan_name(key: str, field: FieldInfo) -> str:
    if key in _RENAMED:
        return _RENAMED[key]
    quantity = next(_quantities(field.annotation, field.metadata), None)
    return key + next((suffix for kind, suffix in _SUFFIXES if quantity and quantity.kind is kind), "")


def plan_values(section: BaseModel) -> dict[str, Any]:
    """The section's values by the plan's names."""
    return {name: getattr(section, key) for key, name in plan_names(type(section)).items()}


def _quantities(annotation: Any, metadata: list[Any]) -> Iterator[Quantity]:
    """Yield the quantities of an annotation such as `Window | None`."""
    yield from (each for each in metadata if isinstance(each, Quantity))
    for part in typing.get_args(annotation):
        yield from _quantities(part, list(getattr(part, "__metadata__", ())))


def keys_meant(word: str) -> tuple[str, ...]:
    """The keys of this format that are meant where a key has the name it has in other programs and papers."""
    return next((keys for names, keys in _ELSEWHERE if word.lower().replace("-", "_") in names), ())


_ELSEWHERE: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("delay", "latency"), ("one_way_delay", "rtt")),
    (("owd", "propagation_delay"), ("one_way_delay",)),
    (("bandwidth", "bw", "capacity", "rate", "speed", "data_rate"), ("line_rate", "nic")),
    (("buffer", "buffer_size", "qlen", "queue_size", "limit", "max_queue_size"), ("queue",)),
    (("aqm", "qdisc", "scheduler"), ("discipline",)),
    (("cc", "congestion", "cca", "algorithm", "tcp"), ("congestion_control",)),
    (("time", "seconds", "runtime"), ("duration",)),
    (("size", "amount", "volume", "data"), ("bytes",)),
    (("window_size", "rwnd", "socket_buffer", "sockbuf"), ("window",)),
    (("parallel", "connections"), ("streams",)),
    (("src", "source", "sender"), ("from",)),
    (("dst", "dest", "destination", "target", "receiver"), ("to",)),
    (("packet_loss", "plr", "drop", "loss_rate"), ("loss",)),
    (("nodes",), ("hosts", "routers")),
    (("between", "ends"), ("from", "to")),
    (("links", "hops", "topology"), ("path", "network")),
)
"""Names elsewhere → keys here."""
