"""What the property tests share: how many examples, and things that are nearly right.

In `make test` each test has the same few examples in every run (conftest.py). LANDSPEED_EXAMPLES=2000, which is
`make fuzz-python`, has that many for each, chosen anew.
"""

import copy
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

LONG = int(os.environ.get("LANDSPEED_EXAMPLES", "0"))
USUAL = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]
settings.register_profile(
    "steady",
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],  # making a failure smaller takes minutes: that is for `make fuzz-python`
    suppress_health_check=USUAL,
)
settings.register_profile("long", max_examples=LONG or 100, deadline=None, suppress_health_check=USUAL)

Step = str | int
NUMBERS = st.one_of(
    st.sampled_from([0, -1, 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**30, 1e308, -1e308, 5e-324, 0.5]),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
)
TEXTS = st.one_of(
    st.sampled_from(["", " ", "x", "0", "1 ms", "1 Gbit/s", "1 %", "\0", "a\nb", "x" * 5000]), st.text(max_size=12)
)
PLAIN = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS)
JSON = st.recursive(
    PLAIN, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)), max_leaves=6
)


def examples(count: int) -> Any:
    """So many examples, or as many as LANDSPEED_EXAMPLES says; and the markers `fuzz` and `slow`."""

    def both(test: Any) -> Any:
        return pytest.mark.slow(pytest.mark.fuzz(settings(max_examples=LONG or count)(test)))

    return both


def places(data: Any, path: tuple[Step, ...] = ()) -> list[tuple[Step, ...]]:
    """Every key path below the top."""
    found: list[tuple[Step, ...]] = []
    items: Any = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for step, value in items:
        found += [(*path, step), *places(value, (*path, step))]
    return found


@st.composite
def damaged(draw: st.DrawFn, data: Any, values: st.SearchStrategy[Any] = JSON, most: int = 3) -> Any:
    """Data with up to `most` things in it replaced, removed, renamed or repeated."""
    found = copy.deepcopy(data)
    for _ in range(draw(st.integers(1, most))):
        known = places(found)
        if not known:
            return draw(values)
        *way, last = draw(st.sampled_from(known))
        parent = found
        for step in way:
            parent = parent[step]
        act = draw(st.sampled_from(["replace", "replace", "replace", "remove", "rename", "repeat"]))
        if act == "replace":
            parent[last] = draw(values)
        elif act == "remove":
            del parent[last]
        elif isinstance(parent, dict):
            parent[draw(TEXTS)] = parent.pop(last) if act == "rename" else copy.deepcopy(parent[last])
        else:
            parent.insert(draw(st.integers(0, len(parent))), copy.deepcopy(parent[last]))
    return found


@st.composite
def damaged_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    """A file that was cut short, has bits turned, a hole, or something in it twice."""
    act = draw(st.sampled_from(["cut", "flip", "flip", "hole", "twice", "other"]))
    begin = draw(st.integers(0, max(0, len(content) - 1)))
    length = draw(st.integers(1, 64))
    if act == "cut":
        return content[:begin]
    if act == "flip":
        found = bytearray(content)
        for place in draw(st.lists(st.integers(0, max(0, len(content) - 1)), min_size=1, max_size=8)):
            found[place] ^= 1 << draw(st.integers(0, 7))
        return bytes(found)
    if act == "hole":
        return content[:begin] + bytes(length) + content[begin + length :]
    if act == "twice":
        return content[: begin + length] + content[begin:]
    return draw(st.binary(max_size=200))
