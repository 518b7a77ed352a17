"""The columns of the raw samples: the programs in C and C++ write those that Python reads, in the same order."""

import re
import subprocess

import pytest

from landspeed.base.places import ROOT
from landspeed.results.sample_columns import LINK_COLUMNS, PING_COLUMNS, SAMPLE_COLUMNS
from landspeed.results.socket_columns import OWNER_COLUMNS, SOCKET_COLUMNS


@pytest.mark.parametrize(
    ("file", "name", "columns"),
    [
        ("engine/src/telemetry/samples.c", "header", SAMPLE_COLUMNS),
        ("sim/src/sampler.cc", "sample_header", SAMPLE_COLUMNS),
        ("sim/src/sampler.cc", "link_header", LINK_COLUMNS),
        ("sim/src/pings.cc", "header", PING_COLUMNS),
        ("emu/linkwatch/links.h", "LINKS_HEADER", LINK_COLUMNS),
        ("emu/linkwatch/sockets.h", "SOCKETS_HEADER", SOCKET_COLUMNS),
        ("emu/linkwatch/sockets.h", "OWNERS_HEADER", ["socket", *OWNER_COLUMNS]),
    ],
)
def test_programs_write_the_columns_that_python_reads(file: str, name: str, columns: list[str]) -> None:
    assert _header(file, name).strip(",\n").split(",") == columns


def _header(file: str, name: str) -> str:
    """The text of a string in C: a variable's or a macro's."""
    source = re.sub(r"^#(include|pragma).*$", "", (ROOT / file).read_text(), flags=re.MULTILINE)
    words = ["c++" if file.endswith(".cc") else "cc", "-E", "-P", "-x", "c++" if file.endswith(".cc") else "c", "-"]
    done = subprocess.run(
        words, input=f"{source}\nmacro {name} =\n{name};\n", capture_output=True, text=True, check=True
    )
    found = re.search(rf"\b(?:{name}\[\] =|macro .* =)\s*((?:\"[^\"]*\"\s*)+);", done.stdout)
    assert found, f"{file} has no {name}"
    return "".join(re.findall(r'"([^"]*)"', found[1])).replace("\\n", "\n")
