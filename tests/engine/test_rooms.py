"""The engine's sources keep to their rooms, and the check that says so finds what does not."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.engine.fixtures import ENGINE_FOLDER

CHECKER = ENGINE_FOLDER / "check_includes.py"
README = "| Room | What | From |\n|---|---|---|\n| `base` | ground | |\n| `net` | sockets | `base` |\n"
GOOD = {
    "README.md": README,
    "base/clock.h": "int clock_read(void);\n",
    "base/clock.c": '#include "base/clock.h"\n\nint clock_read(void)\n{\n\treturn 0;\n}\n',
    "net/net.h": '#include "base/clock.h"\nint net_open(void);\n',
    "net/net.c": '#include "net/net.h"\n\n#include "build_id.h"\n\nint net_open(void)\n{\n\treturn clock_read();\n}\n',
}


def checked(src: Path | None = None) -> tuple[int, str]:
    """Exit status and words of the check."""
    words = [sys.executable, str(CHECKER), *([str(src)] if src else [])]
    run = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    return run.returncode, run.stderr


def tree(folder: Path, changed: dict[str, str]) -> Path:
    """The good tree with some files of its own."""
    for name, text in (GOOD | changed).items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder


def test_the_engine_keeps_to_its_rooms() -> None:
    assert checked() == (0, "")


def test_a_good_tree_passes(tmp_path: Path) -> None:
    assert checked(tree(tmp_path, {})) == (0, "")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        pytest.param(
            {"base/clock.c": '#include "net/net.h"\n'},
            'base/clock.c: "net/net.h": README.md does not let base include from net',
            id="upward",
        ),
        pytest.param({"net/net.c": '#include "net.h"\n'}, '"net.h" is no header of a room', id="without its room"),
        pytest.param({"net/net.c": '#include "../base/clock.h"\n'}, "is no header of a room", id="by a path"),
        pytest.param({"base/clock.c": '#include "base/clocks.h"\n'}, "is no header of a room", id="not there"),
        pytest.param({"attic/old.c": "int old;\n"}, "attic/old.c: the table in README.md has no room", id="no room"),
        pytest.param(
            {"net/a.h": '#include "net/b.h"\n', "net/b.h": '#include "net/a.h"\n'},
            "a circle of includes: net/a.h → net/b.h → net/a.h",
            id="circle of headers",
        ),
        pytest.param(
            {
                "net/inside.h": "int a(void);\nint b(void);\n",
                "net/a.c": '#include "net/inside.h"\n\nint a(void)\n{\n\treturn b();\n}\n',
                "net/b.c": '#include "net/inside.h"\n\nint b(void)\n{\n\treturn a();\n}\n',
            },
            "a circle of calls: net/a.c → net/b.c → net/a.c",
            id="circle of sources behind a header that both share",
        ),
        pytest.param(
            {
                "net/inside.h": "extern const struct table things;\nint look(void);\n",
                "net/a.c": "const struct table things = {look};\n",
                "net/b.c": "int look(void)\n{\n\treturn things.count;\n}\n",
            },
            "a circle of calls: net/a.c → net/b.c → net/a.c",
            id="circle by way of a table",
        ),
        pytest.param(
            {"README.md": README.replace("| ground | |", "| ground | `net` |")},
            "a circle of rooms of README.md: base → net → base",
            id="circle in the table",
        ),
    ],
)
def test_what_breaks_the_rule_is_found(tmp_path: Path, changed: dict[str, str], said: str) -> None:
    status, words = checked(tree(tmp_path, changed))
    assert status == 1
    assert said in words


def test_words_in_comments_and_strings_are_no_calls(tmp_path: Path) -> None:
    text = GOOD["base/clock.c"].replace("return 0;", 'return text("net_open()"); /* net_open */')
    assert checked(tree(tmp_path, {"base/clock.c": text})) == (0, "")
