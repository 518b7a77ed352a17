"""Help, man page and behaviour say the same of every option; defaults themselves: engine/tests/test_options.c."""

import json
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from landspeed.worlds.engine.command import OWN_STALL_NS
from tests.support import builds
from tests.support.engine.auth import Client
from tests.support.engine.fixtures import ENGINE_FOLDER, Bench
from tests.support.engine.third_party import Three

OF_SEND = "see 'send --help'"
COMMANDS = ("send", "receive", "get", "rr", "udp", "third-party")
# Said of options that the man page describes together, or where the command itself is described.
ELSEWHERE = {("third-party", "to"), ("third-party", "to-port")}
VALUE = re.compile(r"\((\S+)\)$")
WORDS = {"none", "no", "any", "all", "TCP_NOTSENT_LOWAT"}
# What a third party may say, with a value that changes something.
VALUES = {
    "interval": "20ms",
    "stall": "20s",
    "streams": "2",
    "window": "2M",
    "congestion": "reno",
    "time": "5",
    "bytes": "3M",
    "receive": "memory",
    "pacing": "4G",
    "stagger": "10ms",
    "send": "write",
    "payload-seed": "4711",
    "affinity": "auto",
    "bind": "127.0.0.1",
    "bind-device": "lo",
    "dscp": "10",
    "mss": "1400",
    "pacing-total": "5G",
    "notsent-lowat": "1M",
    "omit": "1ms",
    "protect": "mac",
    "connect-timeout": "20s",
    "answer-timeout": "20s",
}
# They exclude others, or want another address.
APART = {"flow-label": "4711"}
FLAGS = {"window-exact", "mptcp", "reverse", "bidir", "ipv4", "ipv6"}


class Option(NamedTuple):
    """A line of the help."""

    name: str
    argument: str
    text: str

    @property
    def default(self) -> str | None:
        """What stands in brackets at its end, if it is a value."""
        found = VALUE.search(self.text)
        return found[1] if found and found[1] not in WORDS else None


def options(engine: Path, command: str) -> list[Option]:
    """What the help lists."""
    text = subprocess.run([str(engine), command, "--help"], check=True, capture_output=True, text=True).stdout
    lines = [line.strip() for line in text.splitlines() if line.startswith("  --")]
    found = [re.fullmatch(r"--(\S+)(?: ([A-Z][^ ]*|[a-z]+(?:\|[a-z]+)+))? +(.*)", line) for line in lines]
    assert all(found), lines
    return [Option(match[1], match[2] or "", match[3]) for match in found if match]


def test_the_worlds_know_the_engines_own_stall() -> None:
    told = re.search(r"\.stall_ns = UINT64_C\((\d+)\)", (ENGINE_FOLDER / "src" / "options" / "options.c").read_text())
    assert told is not None
    assert int(told[1]) == OWN_STALL_NS


@cache
def man_page() -> str:
    """As a reader has it, without fonts."""
    text = (ENGINE_FOLDER / "landspeed-engine.1").read_text()
    text = re.sub(r"\\f[A-Z]", "", text).replace("\\-", "-").replace("\\&", "")
    return re.sub(r"^\.(?:BI|BR|IB|RB|RI|IR|B|I) (.*)$", lambda line: line[1].replace('"', ""), text, flags=re.M)


def entries(name: str) -> list[str]:
    """The paragraphs of the man page that begin with that option, or name it."""
    parts = re.split(r"^\.(?:TP|PP|SH.*)$", man_page(), flags=re.M)
    return [part for part in parts if re.search(rf"--{name}(?![a-z-])", part)]


def test_the_man_page_names_every_option(engine: Path) -> None:
    for command in COMMANDS:
        for option in options(engine, command):
            if option.name != "help":
                assert entries(option.name), f"{command} --{option.name} is not in the man page"


def test_every_option_of_the_man_page_is_one(engine: Path) -> None:
    known = {option.name for command in COMMANDS for option in options(engine, command)} | {"version"}
    named = set(re.findall(r"--([a-z][a-z-]+[a-z0-9])", man_page()))
    assert named <= known, named - known


def test_the_man_page_has_every_default(engine: Path) -> None:
    missing = []
    for command in COMMANDS:
        for option in options(engine, command):
            if option.default is None or option.text == OF_SEND:
                continue
            value = rf"(?<![\w.]){re.escape(option.default)}(?![\w.])"
            said = rf"\([^()]*{value}[^()]*\)|{value}\s+\(the default\)"
            if not any(re.search(said, entry) for entry in entries(option.name)):
                missing.append((command, option.name, option.default))
    assert missing == []


def test_a_third_party_may_say_what_the_help_lists(engine: Path) -> None:
    forwarded = {option.name: option.argument for option in options(engine, "third-party") if option.text == OF_SEND}
    own = {option.name: option.argument for option in options(engine, "send")}
    assert {name: own[name] for name in forwarded} == forwarded
    assert {name for name in forwarded if forwarded[name]} == set(VALUES) | set(APART)
    assert {name for name in forwarded if not forwarded[name]} == FLAGS
    assert set(own) - set(forwarded) == {
        "help", "port", "samples", "json", "key", "tcp-info", "report-interval", "quiet", "live", "files", "direct",
    }  # fmt: skip


@pytest.mark.slow
def test_every_option_reaches_the_sender(three: Three) -> None:
    """All of them at once; what the sender's result says of each is what was asked."""
    words = [word for name, value in VALUES.items() for word in (f"--{name}", value)]
    client = three.ask(*words, "--window-exact", "--ipv4")
    assert client.wait() == 0, client.errors
    result = json.loads(client.output)
    assert result["complete"] is True
    assert result["bytes"] + result["omitted_bytes"] == 3_000_000
    assert len(result["streams"]) == 2
    assert result["window"]["asked_bytes"] == 2_000_000
    assert {stream["congestion_control"] for stream in result["streams"]} == {"reno"}
    assert result["receive_mode"] == "memory"
    assert result["sending"]["way"] == "write"
    assert result["sending"]["payload_seed"] == 4711
    path = result["path"]
    assert (path["bind"], path["bind_device"], path["dscp"], path["mss_bytes"]) == ("127.0.0.1", "lo", 10, 1400)
    assert path["notsent_lowat_bytes"] == 1_000_000
    assert path["stream_pacing_bps"] == 2_500_000_000
    assert path["affinity"]
    assert result["protect"] == "mac"


@pytest.mark.parametrize(
    "options",
    [
        {"window-exact": "yes"},
        {"window-exact": False},
        {"streams": True},
        {"streams": None},
        {"live": "-"},
        {"quiet": True},
    ],
)
def test_options_have_a_value_or_none(three: Three, options: dict) -> None:
    client = Client(three.bench, three.key)
    client.greet()
    client.prove()
    client.tagged({"type": "request", "kind": "third-party", "host": "127.0.0.1", "port": 9, "options": options})
    assert client.get(tagged=True)["text"] == "request: an option is not one for a third party"


WORDY = """
#include <stdio.h>
/* The result of `send` on standard output, behind two megabytes of nothing. */
int fputs(const char *text, FILE *file)
{
	for (int i = 0; file == stdout && i < 2 << 20; i++)
		putc(' ', file);
	return fprintf(file, "%s", text) < 0 ? EOF : 0;
}
"""


@pytest.mark.slow
def test_a_result_that_is_too_long_ends_the_session(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sender's output is read to its end, however long: nobody waits for the other."""
    source, library = tmp_path / "wordy.c", tmp_path / "wordy.so"
    source.write_text(WORDY)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True, timeout=60)
    with monkeypatch.context() as patch:
        patch.setenv("LD_PRELOAD", builds.preloaded(library))
        three = Three(bench, "--third-party")
    client = three.ask("--bytes", "1M")
    try:
        assert client.wait(20) == 1
    finally:
        three.b.close()
    assert "the peer refused: the sender's result has more than the 1048576 bytes of a message" in client.errors
