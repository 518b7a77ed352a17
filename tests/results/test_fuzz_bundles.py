"""Damaged bundles: whatever is in them, the command reads them, marks them, or says what is wrong."""

import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landspeed.base.failures import BundleError
from landspeed.results.bundle import LINKS, RESULT, SAMPLES
from landspeed.runs.library import find_runs
from tests.support.fuzzing import JSON, damaged, damaged_bytes, examples
from tests.support.places import PROGRAMS
from tests.support.results_fixture import make_bundle

READER = PROGRAMS / "damaged_reader.py"
SERIES = (SAMPLES, LINKS)


class Reader:
    """The command in a process of its own."""

    def __init__(self) -> None:
        words = [sys.executable, str(READER)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, *words: object) -> dict[str, Any]:
        """What came of the words; it has printed no traceback, and an error is a sentence with exit status 2."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([str(word) for word in words]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"{words}: ended by signal or status {self.process.wait()}"
        found = json.loads(answer)
        assert "Traceback" not in found["err"], found["err"]
        assert found["status"] in (0, 2), found
        assert found["err"].startswith("Error: ") is (found["status"] == 2), found
        return found

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    made = Reader()
    yield made
    made.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("whole"), 2.0)


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A folder of two bundles: one to be damaged, and one that is right."""
    for name in ("damaged", "right"):
        shutil.copytree(whole, tmp_path / "runs" / name)
    return tmp_path / "runs"


def restored(whole: Path, folder: Path) -> Path:
    """The bundle to be damaged, as it was: a test has one folder for all its examples."""
    shutil.rmtree(folder / "damaged")
    shutil.copytree(whole, folder / "damaged")
    return folder / "damaged"


def look(reader: Reader, folder: Path) -> None:
    """Every word that reads bundles. The right one is in every table, whatever is beside it."""
    bundle, right = folder / "damaged", folder / "right"
    assert any(line.startswith("right\t") for line in reader.tell("results", "--runs", folder)["out"].splitlines())
    listed = reader.tell("results", "SELECT bundle FROM runs", "--runs", folder)
    assert "right" in listed["out"].split("\n")
    reader.tell("report", bundle)
    reader.tell("compare", right, bundle, "--quiet", "--out", folder.parent, "--html", folder.parent / "page.html")
    for run in find_runs(folder):
        assert run.status in (0, 1)
        with contextlib.suppress(BundleError):
            assert str(run)


@examples(25)
@given(data=st.data())
def test_a_result_with_other_values_in_it(data: st.DataObject, whole: Path, folder: Path, reader: Reader) -> None:
    content = data.draw(damaged(json.loads((whole / RESULT).read_text()), JSON))
    (restored(whole, folder) / RESULT).write_text(json.dumps(content))
    look(reader, folder)


@examples(25)
@given(data=st.data())
def test_a_result_whose_plan_has_other_values_in_it(
    data: st.DataObject, whole: Path, folder: Path, reader: Reader
) -> None:
    content = json.loads((whole / RESULT).read_text())
    content["plan"] = data.draw(damaged(content["plan"], JSON, most=1))
    (restored(whole, folder) / RESULT).write_text(json.dumps(content))
    look(reader, folder)
    reader.tell("submission", folder / "damaged", "--no-pdf")


@examples(15)
@given(data=st.data())
def test_a_result_whose_bytes_are_damaged(data: st.DataObject, whole: Path, folder: Path, reader: Reader) -> None:
    (restored(whole, folder) / RESULT).write_bytes(data.draw(damaged_bytes((whole / RESULT).read_bytes())))
    look(reader, folder)


@examples(25)
@given(data=st.data(), name=st.sampled_from(SERIES))
def test_samples_whose_bytes_are_damaged(
    data: st.DataObject, name: str, whole: Path, folder: Path, reader: Reader
) -> None:
    """Queries over all samples say which file it is, or leave it out."""
    (restored(whole, folder) / name).write_bytes(data.draw(damaged_bytes((whole / name).read_bytes())))
    look(reader, folder)
    table = name.partition(".")[0]
    reader.tell("results", f"SELECT bundle, count(*), sum(bytes) FROM {table} GROUP BY ALL", "--runs", folder)


@examples(15)
@given(
    gone=st.sets(st.sampled_from([SAMPLES, LINKS, "plan.json", "scenario.yaml", "log"]), min_size=1),
    scenario=st.one_of(st.binary(max_size=80), st.just(b"sources: 3\nassumptions: {a: [b]}\n")),
)
def test_a_bundle_without_some_of_its_files(
    gone: set[str], scenario: bytes, whole: Path, folder: Path, reader: Reader
) -> None:
    bundle = restored(whole, folder)
    for name in gone - {"log"}:
        (bundle / name).unlink()
    if "log" in gone:
        shutil.rmtree(bundle / "log")
    if "scenario.yaml" not in gone:
        (bundle / "scenario.yaml").write_bytes(scenario)
    look(reader, folder)
    assert reader.tell("report", bundle)["status"] == 0
    reader.tell("submission", bundle, "--no-pdf")
