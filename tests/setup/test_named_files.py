"""Files that comments and documents name: each is there, or is another project's."""

import ast
import functools
import io
import re
import subprocess
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.places import ROOT

FILE = re.compile(
    r"(?<![\w/.$~<>*…:{}@=+-])((?:\.\./)*[A-Za-z_][\w.-]*(?:/[\w.-]+)*\.(?:py|cc|c|h|md|sh|j2))(?![\w/*{<-])"
)
OF_OTHERS = re.compile(  # of Linux, libc, ns-3, iperf3, the programs of docs/examples; what a build or a lesson makes
    r"(asm-generic|include|kernel|linux|net|netinet)/|(src/internet/model/)?(tcp[-_]|rtt-)[\w-]+\.(c|cc)$|examples/tcp/|iperf\w*\.[ch]$|"
    r"(src/)?(HttpServer|nghttp)\.cc$|nghttp2\.h$|(lib/)?http2\.c$|(sftp-client|channels)\.[ch]$|(src/aioquic/|congestion/)|"
    r"connection\.py$|coverage\.py$|mk\.sh$|iperf3_parser\.py$|build_id\.h$|licences/|task\.md$|store\.py$|a\.b\.|first\.(py|sh)$|SCRIPT\.py$|inet_\w+\.c$|sch_\w+\.c$|simult_flows\.sh$|draft-[\w-]+\.md$|tablecode\.c$|tcp_dctcp\.h$"
)
ANYWHERE = "__init__.py"  # every room has one
PLACEHOLDER = re.compile(r"NAME|NNNN")


@pytest.mark.xdist_group("files that are named")  # one worker reads all files, once
def test_the_files_that_comments_and_documents_name_are_there() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    ends = {"/".join(parts[at:]) for parts in (name.split("/") for name in tracked) for at in range(len(parts))}
    gone = [
        f"{name}: {said}"
        for name in tracked
        if (ROOT / name).is_file()
        for said in sorted(files_named(ROOT / name))
        if said not in ends and not (ROOT / name).parent.joinpath(said).exists()
    ]
    assert gone == []


@pytest.mark.xdist_group("files that are named")  # one worker reads all files, once
def test_a_bare_name_is_of_the_same_folder_its_parents_or_the_room() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    far = [
        f"{name}: {said}"
        for name in tracked
        if (ROOT / name).is_file() and not name.endswith(".md")
        for said in sorted(files_named(ROOT / name))
        if "/" not in said and said != ANYWHERE and not is_near(name, said, tracked)
    ]
    assert far == []


MODULE = re.compile(r"python3? -m ((?:tests|docs|landspeed|setup)(?:\.\w+)*)")


def test_the_modules_that_comments_and_documents_call_are_there() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    texts = [name for name in tracked if name.endswith((".md", ".py", ".sh", ".yml", "Makefile"))]
    called = {module for name in texts for module in MODULE.findall((ROOT / name).read_text(errors="ignore"))}
    files = {module: module.replace(".", "/") for module in called}
    gone = [m for m, file in files.items() if not {f"{file}.py", f"{file}/__main__.py"} & set(tracked)]
    assert gone == []


def test_where_a_bare_name_is_looked_for() -> None:
    emu, real = "landspeed/worlds/emu/guest/joined.py", "landspeed/worlds/real/shaping.py"
    tracked = [emu, real, "landspeed/worlds/emu/doctor.py", "landspeed/errors.py", "Makefile.py", "sim/src/a.cc"]
    assert is_near(emu, "doctor.py", tracked)
    assert is_near(emu, "errors.py", tracked)
    assert is_near(emu, "Makefile.py", tracked)
    assert not is_near(emu, "shaping.py", tracked)
    assert not is_near(real, "doctor.py", tracked)
    assert is_near("sim/tests/b.cc", "a.cc", tracked)
    assert not is_near("engine/src/b.c", "a.cc", tracked)


def test_what_is_found_of_a_text(tmp_path: Path) -> None:
    python, c, page = tmp_path / "a.py", tmp_path / "a.c", tmp_path / "a.md"
    python.write_text('"""As gone/one.py does."""\nNAME = "gone/two.py"  # gone/three.h, net/ipv4/tcp_bbr.c\n')
    c.write_text(
        '#include "gone/one.h"\nint x; /* gone/two.h,\n   gone/three.c */ char *y = "four.c"; // gone/five.c\n'
    )
    page.write_text(
        "<!-- file: mine.py -->\n```sh\ngone/one.py\n```\nSee `gone/two.md`, mine.py and lessons/NAME/it.py.\n"
    )
    assert files_named(python) == {"gone/one.py", "gone/three.h"}
    assert files_named(c) == {"gone/two.h", "gone/three.c", "gone/five.c"}
    assert files_named(page) == {"gone/two.md"}


@functools.cache
def files_named(file: Path) -> set[str]:
    """The files that a file's comments, docstrings or prose name, without those of other projects."""
    if not FILE.search(file.read_text(errors="ignore")):
        return set()  # most: what is prose in it need not be found
    text = prose(file)
    made = set(re.findall(r"<!-- file: (\S+) -->", text))  # by the reader, as the page says
    return {each for each in FILE.findall(text) if not OF_OTHERS.match(each) and not PLACEHOLDER.search(each)} - made


def docstrings(node: ast.AST) -> Iterator[str]:
    """What is said of a module and all that is defined in it; expressions, most of a tree, are passed over."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield ast.get_docstring(node) or ""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from docstrings(child)


def is_near(name: str, bare: str, tracked: list[str]) -> bool:
    """Whether a file of this bare name is in the same folder, in one of its parents, or in the room of the file."""
    folders = {str(folder) for folder in Path(name).parents}
    room = room_of(name)
    places = [Path(each) for each in tracked if each.rpartition("/")[2] == bare]
    return any(str(place.parent) in folders or room in map(str, place.parents) for place in places)


def room_of(name: str) -> str:
    """A world's folder, a room of the package, or a folder at the top."""
    parts = name.split("/")
    deep = 1 if parts[0] != "landspeed" else 3 if parts[1] == "worlds" else 2
    return "/".join(parts[:-1][:deep]) or "Makefile"  # a file at the top has none


def prose(file: Path) -> str:
    """What a file says to people."""
    match file.suffix:
        case ".md":
            return re.sub(r"^```.*?^```", "", file.read_text(), flags=re.MULTILINE | re.DOTALL)
        case ".py":
            text = file.read_text()
            tokens = tokenize.generate_tokens(io.StringIO(text).readline)
            comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
            return "\n".join([*comments, *docstrings(ast.parse(text))])
        case ".c" | ".h" | ".cc":
            return "\n".join(re.findall(r"/\*.*?\*/|//.*?$", file.read_text(), flags=re.MULTILINE | re.DOTALL))
        case ".sh" | ".yaml" | ".yml":
            return "\n".join(re.findall(r"#.*$", file.read_text(), flags=re.MULTILINE))
        case _:
            return ""


def test_what_mutation_changes_and_runs_is_there() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]
    named = [*config["only_mutate"], *config["also_copy"], *config["pytest_add_cli_args_test_selection"]]
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_shell_scripts_find_the_tests_that_they_run() -> None:
    """From the folder that they go to first."""
    gone = []
    for script in ROOT.glob("tests/bench/*.sh"):
        text = script.read_text()
        home = script.parent / re.findall(r'^cd "\$\(dirname "\$0"\)/([./]+)"$', text, re.M)[0]
        assert home.resolve() == ROOT, script
        gone += [
            f"{script.name}: {word}" for word in re.findall(r"\stests/[\w./*]+", text) if not [*home.glob(word.strip())]
        ]
    assert gone == []
