"""The documents: every command in them exists, every link leads somewhere, the README's scenario is a right one."""

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from landspeed.cli import ACTIONS
from landspeed.options import make_parser, split_program
from landspeed.scenarios.load import load_scenario
from landspeed.scenarios.resolve import make_plan

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PROGRAM = re.compile(r"^(?:\.venv/bin/)?landspeed$")
PLACEHOLDERS = {"FILE", "BUNDLE", "COMMAND", "KEY=VALUE"}


def text_of(document: str) -> str:
    return (ROOT / document).read_text()


def blocks(text: str, language: str) -> list[str]:
    return [body for kind, body in FENCE.findall(text) if kind == language]


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def make_variables() -> set[str]:
    """Those that a user may set: `$(or $(NAME),…)`."""
    return set(re.findall(r"\$\(or \$\(([A-Z]+)\)", (ROOT / "Makefile").read_text()))


def commands(document: str) -> Iterator[list[str]]:
    """Every command of the `sh` blocks, and every inline piece of code that begins as one; as words."""
    text = text_of(document)
    for body in blocks(text, "sh"):
        lexer = shlex.shlex(re.sub(r"\s+# .*", "", body), posix=True, punctuation_chars="\n")
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
    for code in INLINE.findall(FENCE.sub("", text)):
        with contextlib.suppress(ValueError):  # code that is no command line
            words = shlex.split(code)
            if len(words) > 1 and (words[0] == "make" or PROGRAM.match(words[0])):
                yield words


def is_prose(words: list[str]) -> bool:
    """`landspeed exec`, `landspeed report BUNDLE`: named, not written out."""
    return len(words) == 2 or bool(PLACEHOLDERS & set(words))


def problem(words: list[str]) -> str | None:
    """What is wrong with a command of this project; None if nothing is, or if it is another program's."""
    if words[0] == "make":
        set_ones = {word.partition("=")[0] for word in words[1:] if "=" in word}
        missing = {word for word in words[1:] if "=" not in word} - make_targets() | set_ones - make_variables()
        return f"no such target or variable: {missing}" if missing else None
    if not PROGRAM.match(words[0]):
        return None if "/" not in words[0] or (ROOT / words[0]).exists() else f"no such file: {words[0]}"
    own, program = split_program(words[1:])
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            parsed = make_parser(ACTIONS).parse_args(own if not is_prose(words) else [words[1], "--help"])
    except SystemExit as end:
        return said.getvalue() if end.code else None
    if own[0] == "exec" and not program:
        return "no program after --"
    files = [getattr(parsed, "file", None), *getattr(parsed, "files", [])]
    lost = [str(file) for file in files if file and len(file.parts) > 1 and not (ROOT / file).is_file()]
    if lost:
        return f"no such file: {lost}"
    for file in files:
        if file and (ROOT / file).is_file():
            make_plan(load_scenario(ROOT / file, getattr(parsed, "overrides", [])))
    return None


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands(document: str) -> None:
    wrong = {shlex.join(words): said for words in commands(document) if (said := problem(words))}
    assert not wrong


def test_the_documents_have_commands() -> None:
    found = [words for document in DOCUMENTS for words in commands(document)]
    assert ["make", "rehearse"] in found
    subcommands = {words[1] for words in found if PROGRAM.match(words[0])}
    assert {"check", "show", "run", "exec", "shell", "doctor", "results", "report", "schema"} <= subcommands


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


def overrides() -> list[list[str]]:
    """What the README says to add to a command, in tables and in running text too."""
    found = []
    for code in re.findall(r"`(--set\s[^`]+)`", FENCE.sub("", text_of("README.md"))):
        words = shlex.split(code)
        if "KEY=VALUE" not in words:
            found.append([word for word in words if word != "--set"])
    return found


def test_overrides() -> None:
    assert len(overrides()) > 5
    first, record = ROOT / "scenarios/examples/first.yaml", ROOT / "scenarios/records/2004-06-25-geneva-pasadena.yaml"
    for added in overrides():
        make_plan(load_scenario(record if "geneva" in str(added) else first, added))


def test_example_scenario(tmp_path: Path) -> None:
    (example,) = blocks(text_of("README.md"), "yaml")
    file = tmp_path / "mine.yaml"
    file.write_text(example)
    plan = make_plan(load_scenario(file))
    assert [node.name for node in plan.nodes] == ["lyon", "paris", "tokyo-gate", "tokyo"]
    assert [(link.forward.loss, link.reverse.loss) for link in plan.links] == [(0, 0), (2e-6, 0), (0, 0)]
    make_plan(load_scenario(file, ["queue=1 BDP"]))
    make_plan(load_scenario(file, ["transfer.pacing=1.24 Gbit/s"]))


def anchors(document: Path) -> set[str]:
    """Headings as links name them: lower case, spaces to dashes, other signs gone."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", document.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links(document: str) -> None:
    broken = []
    for target in LINK.findall(FENCE.sub("", text_of(document))):
        path, _, anchor = target.partition("#")
        file = ROOT / path if path else ROOT / document
        if "://" in target or target.startswith("/") or not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert not broken
