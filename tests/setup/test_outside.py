"""What others see of the repository first: a small top level, and files for readers, editors, forges and citations."""

import configparser
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from landspeed.base.version import __version__

ROOT = Path(__file__).resolve().parents[2]
AT_MOST = 22
KEEP_A_CHANGELOG = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security", "Known limits"}


def yaml(name: str) -> Any:
    return YAML(typ="safe").load(ROOT / name)


def tracked() -> list[str]:
    if not (ROOT / ".git").exists():
        pytest.skip("only a clone knows what is tracked")
    return subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def test_the_top_level_is_small() -> None:
    entries = {name.partition("/")[0] for name in tracked()}
    assert len(entries) <= AT_MOST, sorted(entries)


def test_git_keeps_of_the_results_what_says_what_they_are() -> None:
    assert [name for name in tracked() if name.startswith("results/")] == ["results/README.md"]


def test_the_citation_has_what_its_format_requires() -> None:
    cited = yaml("CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert (cited["cff-version"], cited["type"], cited["license"]) == ("1.2.0", "software", "BSD-3-Clause")
    assert all(set(author) == {"name"} for author in cited["authors"])
    assert "version" not in cited  # it is written once, and nothing was released


def test_the_changelog_is_in_its_form() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    first, *released = re.findall(r"^## \[(.+?)\]", text, re.MULTILINE)
    assert first == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in released)
    assert set(re.findall(r"^### (.*)", text, re.MULTILINE)) <= KEEP_A_CHANGELOG
    assert __version__ in (released or re.findall(r"calls itself (\S+),", text))


OUTSIDE = ["README.md", "CHANGELOG.md", "SECURITY.md", "results/README.md", ".github/CODE_OF_CONDUCT.md"]


@pytest.mark.parametrize("name", OUTSIDE)
def test_links_lead_to_files(name: str) -> None:
    targets = re.findall(r"\[[^\]]*\]\(([^)#\s]+)", (ROOT / name).read_text())
    assert [each for each in targets if "://" not in each and not ((ROOT / name).parent / each).exists()] == []


def test_nobody_is_asked_to_write_to_an_address() -> None:
    """There is none: reports go by the forge's private reporting."""
    texts = "".join(file.read_text() for file in [ROOT / "SECURITY.md", *(ROOT / ".github").rglob("*.md")])
    assert re.findall(r"\S+@\S+", texts) == []


def test_each_form_for_issues_has_questions_with_names_of_their_own() -> None:
    forms = [file for file in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if file.name != "config.yml"]
    assert {file.stem for file in forms} == {"bug", "question", "scenario"}
    for file in forms:
        form = yaml(str(file.relative_to(ROOT)))
        assert {"name", "description", "body"} <= set(form)
        asked = [part for part in form["body"] if part["type"] != "markdown"]
        assert len({part["id"] for part in asked}) == len(asked) > 0
        assert all(part["attributes"]["label"] for part in asked)
    assert "landspeed doctor" in str(yaml(".github/ISSUE_TEMPLATE/bug.yml"))


def test_hooks_before_a_commit_are_tools_of_the_clone() -> None:
    (repository,) = yaml("setup/pre-commit.yaml")["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        assert hook["language"] == "system"
        program = hook["entry"].split()[0]
        assert (ROOT / program).exists() if "/" in program else shutil.which(program), program


def test_editors_are_told_what_the_formatters_do() -> None:
    parser = configparser.ConfigParser()
    parser.read_string("[top]\n" + (ROOT / ".editorconfig").read_text())
    clang, ruff = yaml("setup/clang-format"), tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]
    c, python = parser["*.{c,h,cc}"], parser["*.{py,pyi}"]
    assert (int(c["indent_size"]), int(c["max_line_length"])) == (clang["IndentWidth"], clang["ColumnLimit"])
    assert (c["indent_style"], int(python["max_line_length"])) == ("tab", ruff["line-length"])


def test_every_source_in_c_finds_its_style() -> None:
    """The formatter looks in the folders above a source; without a file there it would take a style of its own."""
    for name in tracked():
        if name.endswith((".c", ".h", ".cc")):
            top = ROOT / name.partition("/")[0]
            assert (top / ".clang-format").resolve() == ROOT / "setup" / "clang-format", name
            assert (top / ".clang-tidy").is_file(), name
