"""The help is short and in groups; whatever is mistyped on the command line, what is suggested is accepted."""

# argparse has no public way to a parser's arguments.
# pyright: reportPrivateUsage=false

import re

import pytest

from landspeed.cli.command_table import COMMANDS, GROUPS, make_parser
from landspeed.cli.main import main
from landspeed.cli.parser import Parser, commands_of
from landspeed.scenario.file.keys import scenario_keys
from tests.support.mistakes import mistyped

MOST_LINES = 60
WORDS = commands_of(make_parser())


def options(parser: Parser) -> list[str]:
    """The long options of a parser, without help."""
    shown = (action for action in parser._actions if "==SUPPRESS==" not in str(action.help))
    return sorted({each for action in shown for each in action.option_strings if each.startswith("--")} - {"--help"})


MISTYPED_OPTIONS = sorted(
    {(word, wrong) for word in WORDS for each in options(WORDS[word]) for wrong in mistyped(each)}
)
MISTYPED_COMMANDS = sorted({wrong for word in COMMANDS for wrong in mistyped(word)} - set(COMMANDS))


def suggestion(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What is suggested instead of these words; empty: they are accepted, as abbreviations are."""
    try:
        make_parser(words[0]).parse_words(words)
    except SystemExit as ended:
        if not ended.code:
            return ""
        told = capsys.readouterr().err
        assert "usage" not in told
        if "missing" in told or "needs" in told or "ambiguous" in told:
            return ""
        found = re.search(r"did you mean (\S+)\?\n", told)
        assert found, told
        return found[1]
    return ""


def test_hundreds_of_mistakes() -> None:
    assert len(MISTYPED_OPTIONS) + len(MISTYPED_COMMANDS) >= 200


@pytest.mark.parametrize("wrong", MISTYPED_COMMANDS)
def test_a_mistyped_command(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert suggestion(capsys, wrong) in COMMANDS


def test_mistyped_options(capsys: pytest.CaptureFixture[str]) -> None:
    """Each suggestion is an option of that command, and nearly always the one that was meant."""
    wrong_words = 0
    for word, wrong in MISTYPED_OPTIONS:
        parser = WORDS[word]
        if wrong in options(parser) or any(each.startswith(wrong) for each in options(parser)):
            continue
        told = re.search(r"did you mean (\S+)\?$", parser.left_over(wrong))
        assert told, (word, wrong)
        known = {each for made in (parser, *commands_of(parser).values()) for each in options(made)} | {"--help"}
        assert told[1] in known
        wrong_words += wrong not in list(mistyped(told[1]))
    assert wrong_words <= 0.03 * len(MISTYPED_OPTIONS)
    with pytest.raises(SystemExit, match="2"):
        make_parser("run").parse_words(["run", "first", "--sed", "3"])
    assert capsys.readouterr().err.startswith("Error: landspeed run: no option --sed; did you mean --seed?\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("run", "landspeed run: missing: FILE"),
        ("exec first", "landspeed exec: missing: --at; write --at NODE: node that runs the program"),
        ("run first --clock reel", "landspeed run: --clock: 'reel' is none of its values; did you mean real?"),
        ("run first --seed", "landspeed run: --seed: needs a value"),
        ("run first second", "landspeed run: 'second' is one word too many"),
        ("scenarios dsl --yaml --json", "landspeed scenarios: --json: not allowed with --yaml"),
        ("kernel lst", "landspeed kernel: no command 'lst'; did you mean list?"),
    ],
)
def test_what_the_command_line_cannot_be(words: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words.split())
    shown = capsys.readouterr().err.splitlines()
    assert shown[0].startswith(f"Error: {told}")
    assert shown[1:] == [f"`{told.partition(':')[0]} --help` lists what it takes"]


def test_every_command_is_in_one_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert sorted(word for words in GROUPS.values() for word in words) == sorted(COMMANDS)
    assert main(["help"]) == 0
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) <= MOST_LINES
    for heading, words in GROUPS.items():
        assert re.search(rf"^{heading}:\n  {words[0]} ", shown, re.MULTILINE)


@pytest.mark.parametrize("word", COMMANDS)
def test_help_of_a_command_is_one_screen(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    pages = {word: WORDS[word], **{f"{word} {below}": made for below, made in commands_of(WORDS[word]).items()}}
    assert {name: len(made.format_help().splitlines()) for name, made in pages.items()} == {
        name: pytest.approx(1, abs=MOST_LINES - 1) for name in pages
    }


def test_options_of_worlds_are_shown_when_everything_is(capsys: pytest.CaptureFixture[str]) -> None:
    for word, shown in (("--help", False), ("--help-all", True)):
        with pytest.raises(SystemExit, match="0"):
            main(["run", word])
        told = capsys.readouterr().out
        assert ("--spin-cost" in told, "options of the world sim" in told) == (shown, shown)
        assert "--help-all" in told


def test_help_says_what_a_word_is(capsys: pytest.CaptureFixture[str]) -> None:
    def told(word: str) -> str:
        assert main(["help", word]) == 0
        return capsys.readouterr().out

    assert told("run").startswith("usage: landspeed run ")
    assert told("spin-cost").startswith("--spin-cost (run, sweep, ")
    assert told("--spin-cost") == told("spin-cost").partition("\n")[0] + "\n"
    assert told("window").startswith("transfer.window, flows.N.window: Window of each stream")
    assert told("window").splitlines()[-1].startswith("window: what limits a transfer. TCP sends as much as")
    assert re.search(r"^path\.N\.queue, path\.N\.reverse\.queue, links\.N\.queue, ", told("queue"), re.MULTILINE)
    assert told("transfer.window").count("\n") == 1
    assert told("line rate").startswith("line rate: what limits a transfer. The slowest line is full.")
    assert told("first").startswith("first: a scenario that comes with landspeed;")
    assert told("latency").startswith("path.N.one_way_delay, ")
    assert told("cake").startswith("path.N.discipline, ")
    assert told("bbr").startswith("transfer.congestion_control, flows.N.")
    assert told("wireshark").startswith("--evidence (run, ")
    assert told("bufferbloat") == told("RPM")
    assert told("rpm").startswith("transfer.ping: ")
    assert main(["help", "transfer.windw"]) == 2
    assert "did you mean transfer.window?" in capsys.readouterr().err
    assert main(["help", "frist"]) == 2
    assert "did you mean first?" in capsys.readouterr().err


def test_every_key_says_what_it_is() -> None:
    keys = scenario_keys()
    assert {"transfer.window", "path.N.reverse.line_rate", "hosts.NAME.nic", "flows.N.from", "mtu"} <= set(keys)
    assert [key for key, text in keys.items() if not text] == []
