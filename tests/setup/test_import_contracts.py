"""The table of rooms in docs/ARCHITECTURE.md is the law that `make lint` holds: a contract for each row."""

import configparser
import re
import subprocess
import sys
from pathlib import Path

import pytest

from landspeed.base.places import ROOT
from setup.import_contracts import TABLE, contracts, modules, rooms

TEXT = TABLE.read_text(encoding="utf-8")
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)*(?:/|\.py|\.md))`")
HEAD = "| room | what lives there | may import |\n|---|---|---|\n"


def test_each_row_is_a_contract() -> None:
    table = rooms(TEXT)
    made = configparser.ConfigParser()
    made.read_string(contracts(table))
    assert len(made.sections()) == 1 + len(table)
    forbidden = made["importlinter:contract:0"]["forbidden_modules"].split()
    everything = sum(len(each) for each in modules([room.name for room in table]).values())
    assert table[0].name == "base/"
    assert len(forbidden) == everything - len(modules([room.name for room in table])["base/"])


def test_an_arrow_that_the_table_forbids_is_named(tmp_path: Path) -> None:
    """The report needs the judge; in a table without that arrow, its imports are told with file and line."""
    row = next(line for line in TEXT.splitlines() if line.startswith("| `report/` |"))
    told = TEXT.replace(row, row.replace(", `judge/`", ""))
    assert told != TEXT
    config = tmp_path / "contracts.ini"
    config.write_text(contracts(rooms(told)))
    words = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache", "--config", str(config)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    broken = re.findall(r"landspeed\.report\.\w+ -> landspeed\.judge[\w.]* \(l\.\d+", done.stdout)
    assert len(broken) > 10, done.stdout
    assert f"{len(rooms(TEXT)) - 1} kept, 1 broken" in done.stdout


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("", "no table of rooms"),
        (HEAD + "| `a/` | x | `b/` |\n| `b/` | x | nothing |\n", "a/ may import b/, which has no row above it"),
        (HEAD + "| a | x | nothing |\n", "not a row; right is"),
    ],
    ids=["none", "upwards", "no row"],
)
def test_a_wrong_table_is_told(table: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        rooms(table)


def test_a_module_without_a_room_is_told(tmp_path: Path) -> None:
    (tmp_path / "attic").mkdir()
    (tmp_path / "attic" / "chest.py").touch()
    with pytest.raises(ValueError, match=r"landspeed/attic/chest\.py is in no room of the table"):
        modules(["base/"], tmp_path)


def test_the_document_names_only_what_is_there() -> None:
    made_by_runs = {"state.json"}
    named = {path for path in PATH.findall(TEXT) if path not in made_by_runs}
    assert len(named) > 50
    missing = [path for path in sorted(named) if not any((ROOT / place / path).exists() for place in ("", "landspeed"))]
    assert missing == []
