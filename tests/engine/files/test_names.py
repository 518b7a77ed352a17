"""Any tree of files, whatever the names: it arrives as it was, and a second time nothing is sent."""

import itertools
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.engine.files_fixtures import describe, leftovers
from tests.support.engine.fixtures import Bench

# What Linux takes as a name: 1 to 255 bytes of any kind but two, and not the two that mean a directory.
NAMES = (
    st.one_of(
        st.binary(min_size=1, max_size=12),
        st.text("aA. -\n\\*'\"~é\u202e\U0001f600", min_size=1, max_size=8).map(str.encode),
        st.integers(200, 255).map(lambda length: b"n" * length),
        st.sampled_from([b"...", b"x.landspeed-partial", b"-r", b"--", b"%s%n", b"$(id)"]),
    )
    .map(lambda name: name.replace(b"/", b"").replace(b"\0", b""))
    .filter(lambda name: name not in (b"", b".", b".."))
    .map(os.fsdecode)
)
CONTENTS = st.binary(max_size=40)
TREES = st.recursive(
    st.dictionaries(NAMES, CONTENTS, max_size=4),
    lambda inner: st.dictionaries(NAMES, st.one_of(CONTENTS, inner), max_size=4),
    max_leaves=12,
)
Tree = dict[str, "bytes | Tree"]


def plant(place: Path, tree: Tree) -> None:
    """The tree on the disk."""
    place.mkdir()
    for name, what in tree.items():
        if isinstance(what, bytes):
            (place / name).write_bytes(what)
        else:
            plant(place / name, what)


@pytest.mark.slow
def test_any_tree_arrives_as_it_was(bench: Bench, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    receiver = bench.receive("--directory", str(target), "--anonymous")
    numbers = itertools.count()

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(TREES)
    def arrives(tree: Tree) -> None:
        source = tmp_path / f"tree-{next(numbers)}"
        plant(source, tree)
        for again in (False, True):
            sender = bench.send("--files", str(source))
            assert sender.wait() == 0, sender.errors + receiver.errors
            files = bench.result()["files"]
            filled = [path for path in source.rglob("*") if path.is_file() and path.stat().st_size]
            assert files["blocks_sent"] == (0 if again else len(filled))
        assert describe(target / source.name) == describe(source)

    arrives()
    assert leftovers(target) == []
