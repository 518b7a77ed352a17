"""What a document shows of commands: fenced blocks and made parts, each with a marker that says how it is kept true.

A marker is an HTML comment in the line before. Readers do not see it.

    <!-- run -->                                 a `console`, `sh`, `python` block: a test runs it
    <!-- run: slow; status 1; keep ^Goodput -->  the same, with conditions
    <!-- not run: it needs three servers -->     why no test runs it
    <!-- file: mine.yaml -->                     the block is this file; later blocks of the document use it
    <!-- made by: COMMAND -->                    what follows, up to <!-- end -->, is what the command prints
    <!-- drawn by (slow): COMMAND -->            the command draws the picture that follows

Kinds: `quick` (the default; the tests run it), `slow` (virtual time: the same everywhere, but takes minutes) and
`measured` (depends on the machine). `make figures` runs all of them, `make figures KIND=quick` some.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

KINDS = ("quick", "slow", "measured")
SHELLS = ("console", "sh", "python")
FENCE = re.compile(r"^(?P<marker><!-- [^\n]* -->\n)?```(?P<language>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
PART = re.compile(
    r"^<!-- (?P<verb>made|drawn) by(?: \((?P<kind>\w+)\))?: (?P<command>[^\n]*) -->\n(?P<body>.*?)(?=^<!-- |\Z)",
    re.MULTILINE | re.DOTALL,
)
MARKER = re.compile(r"<!-- (?P<verb>run|not run|file)(?:: (?P<rest>.*?))? -->\n")


class MarkerError(ValueError):
    """A marker that is none; the message names file and line."""


@dataclass(frozen=True)
class Block:
    """A fenced block, or a part that a command makes.

    Attributes:
        verb: `run`, `not run`, `file`, `made`, `drawn`; empty: a block without a marker.
        kind: one of KINDS, where it is run.
        language: of the fence.
        body: what stands there now.
        span: where that is in the document's text.
        command: of a made part.
        text: the file's name, or the reason.
        status: exit status that the commands are to have; None: any.
        keep: of the output, only lines in which this is found.
        drop: … and none in which this is found.
    """

    document: Path
    line: int
    verb: str
    language: str
    body: str
    span: tuple[int, int]
    kind: str = "quick"
    command: str = ""
    text: str = ""
    status: int | None = 0
    keep: str = ""
    drop: str = ""
    where: str = field(default="", compare=False)

    @property
    def is_shell(self) -> bool:
        """Whether somebody is meant to type it."""
        return self.language in SHELLS


def read_blocks(document: Path) -> list[Block]:
    """The blocks and made parts of a document, in order.

    Raises:
        MarkerError: a marker says nothing that is known here.
    """
    text = document.read_text(encoding="utf-8")
    found = [_fenced(document, text, match) for match in FENCE.finditer(text)]
    parts = [_part(document, text, match) for match in PART.finditer(text)]
    inside = [block for block in found if not any(_contains(part, block) for part in parts if part.verb == "made")]
    return sorted([*inside, *parts], key=lambda block: block.span)


def _contains(part: Block, block: Block) -> bool:
    return part.span[0] <= block.span[0] and block.span[1] <= part.span[1]


def _fenced(document: Path, text: str, match: re.Match[str]) -> Block:
    line = text.count("\n", 0, match.start()) + 1
    base = Block(document, line, "", match["language"], match["body"], (match.start("body"), match.end("body")))
    if not match["marker"]:
        return base
    marker = MARKER.fullmatch(match["marker"])
    if marker is None and re.match(r"<!-- (run|not run|file)\b", match["marker"]):
        raise MarkerError(f"{document}:{line}: {match['marker'].strip()}: docs/blocks.py has the markers")
    if marker is None:
        return base  # a comment
    return _with(base, marker["verb"], marker["rest"] or "")


def _with(base: Block, verb: str, rest: str) -> Block:
    values = {**base.__dict__, "verb": verb}
    if verb != "run":
        if not rest:
            raise MarkerError(f"{base.document}:{base.line}: <!-- {verb}: … --> needs a text")
        return Block(**{**values, "text": rest})
    for word in filter(None, (each.strip() for each in rest.split(";"))):
        name, _, value = word.partition(" ")
        if word in KINDS:
            values["kind"] = word
        elif name == "status" and value:
            values["status"] = None if value == "any" else int(value)
        elif name in ("keep", "drop") and value:
            values[name] = value
        else:
            raise MarkerError(
                f"{base.document}:{base.line}: '{word}': write {', '.join(KINDS)}, status N, keep REGEX or drop REGEX"
            )
    return Block(**values)


def _part(document: Path, text: str, match: re.Match[str]) -> Block:
    line = text.count("\n", 0, match.start()) + 1
    kind = match["kind"] or "quick"
    if kind not in KINDS:
        raise MarkerError(f"{document}:{line}: '{kind}': write one of {', '.join(KINDS)}")
    if match["verb"] == "made" and not text[match.end() :].startswith("<!-- end -->"):
        raise MarkerError(f"{document}:{line}: the made part has no <!-- end -->")
    begin, end = (match.start("body"), match.end("body")) if match["verb"] == "made" else (match.end("command"),) * 2
    return Block(
        *(document, line, match["verb"], "", text[begin:end], (begin, end)),
        kind=kind,
        command=match["command"],
        status=None,
    )
