"""`landspeed config`: defaults in a file; what is wrong in it is told where it is used."""

from pathlib import Path

import pytest

from landspeed.base.config import has_config, read_config
from landspeed.base.places import runs_dir
from landspeed.cli.command_table import make_parser
from landspeed.cli.config_command import default_words
from landspeed.cli.main import main
from landspeed.cli.parser import commands_of


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "landspeed" / "config.toml"


def defaults(word: str, *given: str) -> list[str]:
    return default_words(commands_of(make_parser(word))[word], word, given)


def test_what_is_set_is_shown_used_and_removed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "where"]) == 0
    assert capsys.readouterr().out == f"{file}\n"
    for key, value in (("run.kernel", "6.12"), ("run.quiet", "true"), ("show.json", "true"), ("runs", "/some/where")):
        assert main(["config", "set", key, value]) == 0
    assert main(["config"]) == 0
    assert capsys.readouterr().out == "run.kernel = 6.12\nrun.quiet = true\nshow.json = true\nruns = /some/where\n"
    assert defaults("run") == ["--kernel=6.12", "--quiet"]
    assert defaults("run", "--world", "sim") == ["--quiet"]  # another world's own options
    assert runs_dir() == Path("/some/where")
    assert main(["show", "first"]) == 0
    assert capsys.readouterr().out.startswith("{")
    file.write_text("# mine\n" + file.read_text())
    assert main(["config", "set", "show.json", "false"]) == 0
    assert main(["config", "unset", "run.kernel"]) == 0
    assert file.read_text() == '# mine\nrun.quiet = true\nruns = "/some/where"\nshow.json = false\n'
    assert main(["show", "first"]) == 0
    assert not capsys.readouterr().out.startswith("{")


def test_what_is_given_goes_before_a_default(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "set", "show.set", "transfer.streams=2"]) == 0
    assert main(["show", "first", "--set", "transfer.streams=3", "--json"]) == 0
    assert '"streams": 3' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("run.kernell", "6.12", "landspeed run has no option --kernell; did you mean run.kernel?"),
        ("rn.kernel", "6.12", "'rn.kernel' is no option of a command; did you mean run.kernel?"),
        ("jobs", "3", "write COMMAND.OPTION, such as run.jobs, or runs"),
        ("sweep.jobs", "x", "sweep.jobs: 'x' is not a positive integer"),
        ("run.clock", "reel", "run.clock: 'reel' is none of its values; did you mean real?"),
        ("run.quiet", "yes", "run.quiet: --quiet takes no value; write true or false"),
    ],
)
def test_what_cannot_be_a_default(
    key: str, value: str, told: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "set", key, value]) == 2
    assert told in capsys.readouterr().err
    assert not file.exists()
    file.parent.mkdir(parents=True)
    file.write_text(f'{key} = "{value}"\n')  # by hand: told when that command is used, with the file
    word = key.partition(".")[0] if key.partition(".")[0] in ("run", "sweep") else "run"
    assert main([word, "first"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"Error: {file}: ")
    assert told in err


@pytest.mark.parametrize("text", ["run.kernel = 6.12.1\n", "\xff", "= 3"])
def test_a_file_that_is_not_toml_is_told(text: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode("latin-1"))
    assert main(["show", "first"]) == 2
    assert capsys.readouterr().err.startswith(f"Error: {file}: ")
    assert main(["config"]) == 2


def test_tables_are_read_and_left_alone(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.parent.mkdir(parents=True)
    file.write_text('[run]\nkernel = "6.12"\n')
    assert read_config() == {"run.kernel": "6.12"}
    assert main(["config", "set", "run.quiet", "true"]) == 2
    assert "edit it by hand" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["set"], ["set", "run.quiet"], ["unset"], ["get", "x"], ["unset", "run.quiet"]])
def test_words_that_it_does_not_know(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", *words]) == 2
    assert capsys.readouterr().err.startswith("Error: ")


def test_a_home_that_cannot_be_entered_has_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", refused)
    assert read_config() == {} and not has_config()
