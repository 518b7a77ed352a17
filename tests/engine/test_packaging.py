"""What ships with the engine is true: unit files, completions, the manual page, the name of the build."""

import platform
import re
import shlex
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support import builds
from tests.support.engine.fixtures import ENGINE_FOLDER

COMMANDS = ("receive", "send", "get", "rr", "udp", "third-party", "key")


def options_of(engine: Path, command: str) -> set[str]:
    """The long options that the command's help lists."""
    text = subprocess.run(
        [str(engine), command, "--help"], capture_output=True, text=True, check=True, timeout=20
    ).stdout
    return set(re.findall(r"^ +(--[a-z0-9-]+)", text, re.M))


def complete(script: str, shell: list[str]) -> set[str]:
    """What a completion offers."""
    run = subprocess.run([*shell, script], capture_output=True, text=True, check=False, timeout=30)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_bash_completes_every_option(engine: Path, command: str) -> None:
    file = ENGINE_FOLDER / "completions" / "landspeed-engine.bash"
    script = f"""source {file}; COMP_WORDS=({engine} {command} --); COMP_CWORD=2
    _landspeed_engine; printf '%s\\n' "${{COMPREPLY[@]}}" """
    assert complete(script, ["bash", "-c"]) == options_of(engine, command)


def test_bash_completes_commands(engine: Path) -> None:
    file = ENGINE_FOLDER / "completions" / "landspeed-engine.bash"
    script = f"""source {file}; COMP_WORDS=({engine} ''); COMP_CWORD=1
    _landspeed_engine; printf '%s\\n' "${{COMPREPLY[@]}}" """
    assert complete(script, ["bash", "-c"]) == {*COMMANDS, "--help", "--version"}


@pytest.mark.parametrize("command", COMMANDS)
def test_zsh_completes_every_option(engine: Path, command: str) -> None:
    file = ENGINE_FOLDER / "completions" / "_landspeed-engine"
    script = f"""_describe() {{ local name=$2; print -l -- ${{${{(P)name}}%%:*}} }}; _files() {{ }}
    words=({engine} {command} --); CURRENT=3; source {file}"""
    assert complete(script, ["zsh", "-f", "-c"]) == options_of(engine, command)


def test_the_manual_page_names_every_option(engine: Path) -> None:
    page = (ENGINE_FOLDER / "landspeed-engine.1").read_text().replace("\\-", "-")
    for command in COMMANDS:
        for option in options_of(engine, command) - {"--help"}:
            assert re.search(rf"{option}\b", page), f"{command} {option}"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_the_service_is_hardened() -> None:
    unit = ENGINE_FOLDER / "systemd" / "landspeed-engine.service"
    run = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", run.stdout)
    assert exposure, run.stderr
    assert float(exposure[1]) <= 2.5


def test_the_service_has_an_end_of_memory_and_no_cores() -> None:
    """A session that takes too much takes nobody along; keys are in no file; the server's own filter may be set."""
    unit = (ENGINE_FOLDER / "systemd" / "landspeed-engine.service").read_text().splitlines()
    assert {"MemoryMax=50%", "OOMPolicy=continue", "LimitCORE=0"} <= set(unit)
    assert "SystemCallFilter=@system-service seccomp" in unit


@pytest.mark.slow
def test_the_build_is_named_after_sources_and_flags(tmp_path: Path) -> None:
    def named(flags: str, text: str) -> str:
        source = tmp_path / "a.c"
        source.write_text(text)
        script = ENGINE_FOLDER / "build_id.py"
        subprocess.run(["python3", str(script), str(tmp_path / "out.h"), "1.0", flags, str(source)], check=True)
        found = re.search(r'ENGINE_BUILD "([0-9a-f]{16})"', (tmp_path / "out.h").read_text())
        assert found
        return found[1]

    first = named("-O2", "int a;")
    assert named("-O2", "int a;") == first
    assert len({first, named("-O3", "int a;"), named("-O2", "int b;")}) == 3


@pytest.mark.slow
def test_a_source_that_moves_to_another_room_is_another_build(tmp_path: Path) -> None:
    def named(room: str, place: str) -> str:
        source = tmp_path / place / "src" / room / "a.c"
        source.parent.mkdir(parents=True)
        source.write_text("int a;")
        script = ENGINE_FOLDER / "build_id.py"
        subprocess.run(["python3", str(script), str(tmp_path / "out.h"), "1.0", "", str(source)], check=True)
        return (tmp_path / "out.h").read_text()

    assert named("base", "here") == named("base", "there")
    assert named("base", "again") != named("net", "again")


@pytest.mark.skipif(bool(builds.chosen("engine")), reason="this build is not the users' own")
def test_the_program_is_hardened(engine: Path) -> None:
    def elf(what: str, file: Path = engine) -> str:
        words = ["readelf", "--wide", what, str(file)]
        return subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout

    assert re.search(r"Type: +DYN", elf("--file-header"))  # PIE
    assert "GNU_RELRO" in elf("--program-headers")
    assert re.search(r"FLAGS_1.*\bNOW\b.*\bPIE\b", elf("--dynamic"))
    symbols = elf("--dyn-syms")
    assert "__stack_chk_fail" in symbols
    assert "__snprintf_chk" in symbols  # FORTIFY
    if platform.machine() == "x86_64":
        # The program has the mark only where the distribution's own start files have it; ours is in all of our code.
        notes = elf("--notes", engine.parent / "libengine.a")
        objects = [part for part in notes.split("File: ") if ".c.o" in part]
        assert len(objects) > 100
        assert all(re.search(r"x86 feature: IBT, SHSTK", part) for part in objects)


def joined_words(line: str) -> list[tuple[str, str]]:
    """Words of a line of man(7) that alternates fonts (.BR and others): it puts no space between them."""
    macro, _, rest = line.partition(" ")
    if macro not in (".BR", ".RB", ".BI", ".IB", ".IR", ".RI"):
        return []
    words = [word.replace("\\-", "-").replace('""', '"') for word in shlex.split(rest.replace("\\", "\\\\"))]
    return [(a, b) for a, b in pairwise(words) if a[-1:].isalnum() and b[:1].isalnum()]


def test_the_man_page_joins_no_words() -> None:
    lines = (ENGINE_FOLDER / "landspeed-engine.1").read_text().splitlines()
    # Of a font before or behind a word, such as the number of a section or a plural, there is no other.
    assert {line: joined for line in lines if (joined := joined_words(line))} == {}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("meson") is None, reason="no meson here")
def test_all_of_it_is_installed(engine: Path, tmp_path: Path) -> None:
    words = ["meson", "install", "-C", str(engine.parent), "--no-rebuild", "--destdir", str(tmp_path)]
    subprocess.run(words, check=True, capture_output=True, timeout=60)
    prefix = tmp_path / "usr" / "local"
    assert {str(path.relative_to(prefix)) for path in tmp_path.rglob("*") if path.is_file()} == {
        "bin/landspeed-engine",
        "share/man/man1/landspeed-engine.1",
        "share/bash-completion/completions/landspeed-engine",
        "share/zsh/site-functions/_landspeed-engine",
        "lib/systemd/system/landspeed-engine.service",
        "lib/systemd/system/landspeed-engine.socket",
    }
    unit = (prefix / "lib/systemd/system/landspeed-engine.service").read_text()
    assert "\nExecStart=/usr/local/bin/landspeed-engine receive " in unit
