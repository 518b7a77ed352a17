"""The merge requests for ns-3 (sim/upstream): each becomes a patch of its own, on a tree that has what they ask for."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sim.upstream import make

REQUESTS = make.requests()


def tree_of(folder: Path, requests: list[dict[str, Any]]) -> Path:
    """A repository whose files hold just what the requests change."""
    texts: dict[str, str] = {str(make.LISTED): ""}
    for request in requests:
        texts[str(make.LISTED)] += f"    test/{request['test']['after']}-test.cc\n"
        for edit in request["edit"]:
            texts[edit["file"]] = texts.get(edit["file"], "") + (edit["find"] + "\n") * edit.get("times", 1)
    (folder / make.TESTS).mkdir(parents=True)
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for words in (["init", "-q"], ["config", "user.name", "a"], ["config", "user.email", "a@b"], ["add", "-A"]):
        make.git(folder, *words)
    make.git(folder, "commit", "-q", "-m", "base")
    return folder


@pytest.mark.parametrize("name", REQUESTS)
def test_each_is_a_patch_that_git_takes(tmp_path: Path, name: str) -> None:
    tree, out = tree_of(tmp_path / "tree", [REQUESTS[name]]), tmp_path / "out"
    command = [sys.executable, make.__file__, tree, out, name]
    subprocess.run(command, check=True, capture_output=True)
    assert make.git(tree, "status", "--porcelain") == ""
    make.git(tree, "am", "-q", str(out / f"{name}.patch"))
    for edit in REQUESTS[name]["edit"]:
        assert edit["replace"].strip() in (tree / edit["file"]).read_text()
    test = f"{REQUESTS[name]['test']['suite']}-test.cc"
    assert make.test_file(REQUESTS[name]) == (tree / make.TESTS / test).read_text()
    assert f"test/{test}\n" in (tree / make.LISTED).read_text()


@pytest.mark.parametrize("name", REQUESTS)
def test_each_has_a_text_and_cases_that_are_there(name: str) -> None:
    request = REQUESTS[name]
    assert request["subject"].startswith("internet: (fixes) ") and len(request["text"]) > 100
    classes = set(re.findall(r"^class (\w+)", request["test"]["source"], re.MULTILINE))
    assert {case.split("(")[0] for case in request["test"]["cases"]} <= classes
    assert len({each["test"]["suite"] for each in REQUESTS.values()}) == len(REQUESTS)


def test_a_fragment_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"^2 times, not 1"):
        make.changed("a b a", "a", "c")
    assert make.changed("a b a", "a", "c", 2) == "c b c"
