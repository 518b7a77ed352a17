"""Work of a plan: the part that counts, which `Plan.sha256` is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias, cast

Fields: TypeAlias = Mapping[type, frozenset[str]]
"""Names of fields, by the part of the plan that has them."""
NOT_ASKED = (None, False, "none", "tcp")


def work_of(part: Any, beside: Fields, if_asked: Fields) -> Any:
    """Reduce a part of the plan to its work, as plain values: no fields that never count or were not asked for."""
    if isinstance(part, list):
        return [work_of(each, beside, if_asked) for each in cast(list[Any], part)]
    if not is_dataclass(part):
        return part
    told, asked = (which.get(type(part), frozenset[str]()) for which in (beside, if_asked))
    return {
        each.name: work_of(getattr(part, each.name), beside, if_asked)
        for each in fields(part)
        if each.name not in told and not (each.name in asked and getattr(part, each.name) in NOT_ASKED)
    }
