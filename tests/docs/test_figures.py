"""What the documents show of commands is what the commands print: deterministic figures are equal to the digit."""

from pathlib import Path

import pytest

from docs.blocks import read_blocks
from docs.figures import LOCALE, differences, documents, remake
from tests.support.command_in_shells import command_for_shells
from tests.support.command_process import server

ROOT = Path(__file__).resolve().parents[2]

QUICK = [
    str(document.relative_to(ROOT))
    for document in documents()
    if any(block.kind == "quick" for block in read_blocks(document) if block.verb in ("run", "made"))
]


@pytest.mark.guest
@pytest.mark.exact
@pytest.mark.parametrize("document", QUICK)
def test_quick_figures_are_not_stale(document: str) -> None:
    file = ROOT / document
    with command_for_shells(server(LOCALE)) as command:
        before, after = remake(file, ["quick"], pictures=False, landspeed=command)
    if before != after:  # an assertion would print both whole
        pytest.fail(f"make figures KIND=quick\n{differences(file, before, after)}", pytrace=False)


def page(folder: Path, text: str) -> Path:
    document = folder / "page.md"
    document.write_text(text)
    return document


def test_a_stale_figure_is_found_and_made_anew(tmp_path: Path) -> None:
    text = "<!-- run -->\n```console\n$ echo 2\n{}\n```\n\n<!-- made by: echo '| 3 |' -->\n{}\n<!-- end -->\nRest.\n"
    stale = page(tmp_path, text.format(1, "| 2 |"))
    before, after = remake(stale, ["quick"])
    assert before != after
    assert after == text.format(2, "\n| 3 |\n")
    assert remake(page(tmp_path, after), ["quick"]) == (after, after)


@pytest.mark.parametrize("command", ["false", "true", "echo 3; exit 2"])
def test_a_command_that_fails_or_prints_nothing_leaves_the_part_as_it_is(tmp_path: Path, command: str) -> None:
    with pytest.raises(RuntimeError, match=command):
        remake(page(tmp_path, f"<!-- made by: {command} -->\n| 2 |\n<!-- end -->\n"), ["quick"])


def test_kinds_that_were_not_asked_for_stay(tmp_path: Path) -> None:
    text = "<!-- run: slow -->\n```console\n$ echo 2\n1\n```\n<!-- run -->\n```console\n$ echo 4\n3\n```\n"
    _, after = remake(page(tmp_path, text), ["quick"])
    assert after == text.replace("\n3\n", "\n4\n")


def test_lines_left_out_are_marked(tmp_path: Path) -> None:
    _, after = remake(page(tmp_path, "<!-- run: keep b -->\n```console\n$ printf 'a\\nb\\n'\n```\n"), ["quick"])
    assert after.endswith("$ printf 'a\\nb\\n'\nb\n…\n```\n")


def test_a_file_of_the_document_is_there_for_its_commands(tmp_path: Path) -> None:
    text = "<!-- file: a.yaml -->\n```yaml\nx: 1\n```\n<!-- run -->\n```console\n$ cat a.yaml\nx: 1\n```\n"
    assert remake(page(tmp_path, text), ["quick"]) == (text, text)


def test_another_exit_status_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="ended with status 1, not 0"):
        remake(page(tmp_path, "<!-- run -->\n```sh\nfalse\n```\n"), ["quick"])
    remake(page(tmp_path, "<!-- run: status 1 -->\n```sh\nfalse\n```\n"), ["quick"])
