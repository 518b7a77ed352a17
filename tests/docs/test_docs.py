"""The documents: every command in them exists and is run or marked why not, every link leads somewhere."""

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from docs.blocks import Block, MarkerError, read_blocks
from docs.figures import documents
from landspeed.cli.command_table import make_parser
from landspeed.cli.main import split_program
from landspeed.cli.parser import Parser
from landspeed.scenario.file.load import load_scenario
from landspeed.scenario.resolve.resolve import make_plan

ROOT = Path(__file__).resolve().parents[2]
INLINE = re.compile(r"`([^`]+)`")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PROGRAM = re.compile(r"^(?:\.venv/bin/)?landspeed$")
PLACEHOLDERS = {"FILE", "BUNDLE", "COMMAND", "KEY=VALUE", "PLAY", "…"}
TOLD = ("run", "not run", "file")  # a file is used by a later block
DOCUMENTS = [str(document.relative_to(ROOT)) for document in documents()]


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def make_variables() -> set[str]:
    """Those that a user may set: `NAME ?=`, `$(or $(NAME),…)`, `$(if $(NAME),…)`, and FILES."""
    found = re.findall(r"^([A-Z]+) \?=|\$\((?:or|if) \$\(([A-Z]+)\)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return {name for pair in found for name in pair if name} | {"FILES"}


def script_of(block: Block) -> str:
    """What is typed."""
    if block.language == "console":
        return "\n".join(re.sub(r"^> ", "", line[2:]) for line in block.body.splitlines() if line[:2] in ("$ ", "> "))
    return block.body


def commands(document: str) -> Iterator[list[str]]:
    """Every command of the blocks to be typed, and every inline piece of code that begins as one; as words."""
    blocks = read_blocks(ROOT / document)
    for block in blocks:
        if block.language in ("sh", "console"):
            yield from words_of(script_of(block))
    for code in INLINE.findall(FENCED.sub("", (ROOT / document).read_text())):
        with contextlib.suppress(ValueError):  # code that is no command line
            words = shlex.split(code)
            if len(words) > 1 and (words[0] == "make" or PROGRAM.match(words[0])):
                yield words


def words_of(script: str) -> Iterator[list[str]]:
    """The commands of a script, as words."""
    lexer = shlex.shlex(re.sub(r"\s+# .*", "", script.replace("\\\n", " ")), posix=True, punctuation_chars="\n")
    lexer.whitespace, lexer.commenters = " \t", ""
    lexer.whitespace_split = True
    words: list[str] = []
    for token in lexer:
        if token.strip("\n"):
            words.append(token)
        elif words:
            yield words
            words = []
    if words:
        yield words


def is_prose(words: list[str]) -> bool:
    """`landspeed exec`, `landspeed report BUNDLE`: named, not written out."""
    return len(words) == len(named(words)) + 1 or bool(PLACEHOLDERS & set(words)) or any("…" in word for word in words)


def named(words: list[str]) -> list[str]:
    """The subcommand: `run`, or `real tune`."""
    return words[1:3] if words[1] == "real" and not PLACEHOLDERS & set(words[2:3]) else words[1:2]


def problem(words: list[str]) -> str | None:
    """What is wrong with a command of this project; None if nothing is, or if it is another program's."""
    if words[0] == "make":
        set_ones = {word.partition("=")[0] for word in words[1:] if "=" in word}
        missing = {word for word in words[1:] if "=" not in word} - make_targets() | set_ones - make_variables()
        return f"no such target or variable: {missing}" if missing else None
    if PROGRAM.match(words[0]):
        return None if words[1] in PLACEHOLDERS else problem_of_ours(words)
    built = "build" in Path(words[0]).parts  # not in every clone
    return None if "/" not in words[0] or built or (ROOT / words[0]).exists() else f"no such file: {words[0]}"


@cache
def parser() -> Parser:
    """That of all commands with all arguments, made once: parsing leaves nothing in it."""
    return make_parser()


def problem_of_ours(words: list[str]) -> str | None:
    """The same for a command that begins with `landspeed`."""
    own, program = split_program(words[1:])
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            parsed = parser().parse_args(own if not is_prose(words) else [*named(words), "--help"])
    except SystemExit as end:
        return said.getvalue() if end.code else None
    if own[0] == "exec" and not program:
        return "no program after --"
    files = [getattr(parsed, "file", None), *getattr(parsed, "files", [])]
    lost = [str(file) for file in files if file and len(file.parts) > 1 and not (ROOT / file).is_file()]
    if lost:
        return f"no such file: {lost}"
    return None


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands(document: str) -> None:
    wrong = {shlex.join(words): said for words in commands(document) if (said := problem(words))}
    assert not wrong


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_block_to_be_typed_is_run_or_says_why_not(document: str) -> None:
    bare = [block for block in read_blocks(ROOT / document) if block.is_shell and block.verb not in TOLD]
    assert [f"{document}:{block.line}" for block in bare] == []


def test_the_documents_have_commands() -> None:
    found = [words for document in DOCUMENTS for words in commands(document)]
    assert ["make", "rehearse"] in found
    subcommands = {words[1] for words in found if PROGRAM.match(words[0])}
    told = {"check", "show", "run", "compare", "exec", "shell", "doctor", "results", "report", "submission", "real"}
    assert told | {"record-book"} <= subcommands
    run = [block for document in DOCUMENTS for block in read_blocks(ROOT / document) if block.verb in ("run", "made")]
    assert len([block for block in run if block.kind == "quick"]) > 20


@pytest.mark.parametrize(
    "words",
    [
        "make reherse",
        "make fresh SIUTE=noble",
        "landspeed rnu FILE",
        "landspeed run FILE2 --sed 1",
        "landspeed show scenarios/examples/frist.yaml",
        "landspeed exec scenarios/examples/first.yaml --at amsterdam",
    ],
)
def test_a_wrong_command_is_found(words: str) -> None:
    assert problem(words.split())


def test_overrides_in_running_text() -> None:
    """What the documents say to add to a command of the first scenario is right for it."""
    texts = [FENCED.sub("", (ROOT / document).read_text()) for document in DOCUMENTS]
    codes = [code for text in texts for code in re.findall(r"`(--set\s[^`]+)`", text)]
    added = [[word for word in shlex.split(code) if word != "--set"] for code in codes]
    added = [words for words in added if not PLACEHOLDERS & set(words) and "vary=null" not in words]
    assert len(added) > 5
    first, record = ROOT / "scenarios/examples/first.yaml", ROOT / "scenarios/records/2004-06-25-geneva-pasadena.yaml"
    for words in added:
        make_plan(load_scenario(record if "geneva" in str(words) else first, words))


def test_example_scenario(tmp_path: Path) -> None:
    (example,) = [
        block.body for block in read_blocks(ROOT / "docs/how-to/write-a-scenario.md") if block.text == "mine.yaml"
    ]
    file = tmp_path / "mine.yaml"
    file.write_text(example)
    plan = make_plan(load_scenario(file))
    assert [node.name for node in plan.nodes] == ["lyon", "paris", "tokyo-gate", "tokyo"]
    assert [(link.forward.loss, link.reverse.loss) for link in plan.links] == [(0, 0), (2e-6, 0), (0, 0)]
    make_plan(load_scenario(file, ["queue=1 BDP"]))
    make_plan(load_scenario(file, ["transfer.pacing=1.24 Gbit/s"]))


def anchors(document: Path) -> set[str]:
    """Headings as links name them (lower case, spaces to dashes, other signs gone), and names given to places."""
    text = document.read_text()
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.MULTILINE)
    named = set(re.findall(r"^\(([a-z0-9-]+)\)=$", text, re.MULTILINE))
    return named | {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links(document: str) -> None:
    broken = []
    for target in LINK.findall(FENCED.sub("", (ROOT / document).read_text())):
        path, _, anchor = target.partition("#")
        file = (ROOT / document).parent / path if path else ROOT / document
        if "://" in target or target.startswith("/") or not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert not broken


def test_tests_that_are_named_exist() -> None:
    """By the name alone, as `test_…`, or as a path; what has more words is a program of the simulator's."""
    files = (ROOT / "tests").rglob("test_*.py")
    defined = {name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)}
    defined |= {file.stem for room in ("engine/tests", "sim/mend/tests") for file in (ROOT / room).glob("test_*.c*")}
    codes = [code for document in DOCUMENTS for code in INLINE.findall(FENCED.sub("", (ROOT / document).read_text()))]
    names = {code for code in codes if re.fullmatch(r"test_\w+", code)}
    assert len(names) > 30
    assert names <= defined
    paths = {code for code in codes if re.fullmatch(r"[\w/]*tests/[\w/]+\.(?:py|cc?)", code)}
    assert all((ROOT / path).is_file() for path in paths), paths


def test_the_readme_is_a_door() -> None:
    """First fifty lines: what it is, beside what, how to install it, a command with its output. And it is short."""
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 160
    screen = "\n".join(lines[:50])
    assert "make setup" in screen
    assert "$ landspeed run first" in screen
    assert "Goodput: " in screen
    assert "Bound by: " in screen
    assert re.match(r"# landspeed\n\n\*\*[^*]+\.\*\*\n", screen), "one bold sentence says what it is"
    assert "(docs/pictures/demo.svg)" in screen
    assert screen.index("**For you if**") < screen.index("**Not for you if**") < screen.index("**Install**")
    assert re.findall(r"^\| (netem|Mininet|ns-3)\b", screen, re.MULTILINE) == ["netem", "Mininet", "ns-3"]


@pytest.mark.parametrize("marker", ["run: qiuck", "run: status", "run; slow", "not run", "file"])
def test_a_wrong_marker_is_an_error(tmp_path: Path, marker: str) -> None:
    document = tmp_path / "page.md"
    document.write_text(f"<!-- {marker} -->\n```sh\ntrue\n```\n")
    with pytest.raises(MarkerError, match=r"page\.md:1: "):
        read_blocks(document)


def test_no_page_has_an_empty_block_in_the_repository() -> None:
    """What is made for the site only stands in a comment; elsewhere there is a table, or a link to what it is."""
    for document in sorted((ROOT / "docs").rglob("*.md")):
        text = document.read_text()
        assert "{made}" not in text, document
        shown = re.sub(r"<!--.*?-->|^#[^\n]*$|```\{toctree\}.*?```", "", text, flags=re.MULTILINE | re.DOTALL)
        assert len(shown.split()) > 2, document
