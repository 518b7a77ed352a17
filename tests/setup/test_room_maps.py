"""Each room's `__init__.py` is a map of it: one line a file, in the file's own words; and rooms stay small."""

from pathlib import Path

import pytest

from landspeed.base.places import ROOT
from setup.room_maps import ENTRY, docstring, map_of, members, reasonless, rooms, with_map

MOST_FILES = 30
ROOMS = [pytest.param(room, id=str(room.relative_to(ROOT / "landspeed"))) for room in rooms()]


@pytest.mark.parametrize("room", ROOMS)
def test_the_map_names_every_file_and_no_other(room: Path) -> None:
    """Mend it with `.venv/bin/python setup/room_maps.py`."""
    told = [line for line in docstring(room).splitlines() if ENTRY.fullmatch(line)]
    assert told == (map_of(room) if members(room) else [])


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_is_for(room: Path) -> None:
    first = docstring(room).splitlines()[0]
    assert len(first) > 20
    assert first.endswith((".", "`"))
    assert not first.startswith("landspeed/")


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_small_and_says_why_a_file_is_short(room: Path) -> None:
    assert len([each for each in members(room) if each.is_file()]) <= MOST_FILES
    assert reasonless(room) == []


def test_a_map_is_written_anew(tmp_path: Path) -> None:
    """A file that came is added in its place, one that went is gone, and other text stays."""
    (tmp_path / "new.py").write_text('"""New things: more of them."""\n')
    (tmp_path / "__init__.py").write_text('"""A room.\n\ngone.py  What was\n\nWhy it is.\n"""\n')
    assert with_map(tmp_path) == '"""A room.\n\nnew.py  New things: more of them\n\nWhy it is.\n"""\n'
