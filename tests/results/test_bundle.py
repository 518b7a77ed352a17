"""The bundle survives what may happen to it: a kill, a full disk, a folder that cannot be written."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from landspeed.base.failures import BundleError
from landspeed.results import bundle as bundle_module
from landspeed.results.bundle import BundleWriter, OutputError, list_bundles, load_record
from landspeed.results.record import RunRecord, command_json
from tests.support.path_record import path_record
from tests.support.results_fixture import make_bundle, write_samples


def _only(folder: Path) -> Path:
    (found,) = list(list_bundles(folder))
    return found


def test_finish_renames_and_marks_complete(tmp_path: Path) -> None:
    writer = BundleWriter(tmp_path, "first")
    assert writer.path.name == writer.name + ".partial"
    assert json.loads((writer.path / "result.json").read_text())["complete"] is False
    final = writer.finish(path_record("first", goodput_bps=1e9))
    assert final == tmp_path / writer.name == writer.path
    assert [each.name for each in tmp_path.iterdir()] == [writer.name]
    assert sorted(each.name for each in final.iterdir()) == ["log", "result.json"]
    assert load_record(final).complete
    assert load_record(final).goodput_bps == 1e9


def test_two_runs_at_once_never_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suffixes = iter(["aaaaaa", "aaaaaa", "bbbbbb"])
    monkeypatch.setattr(bundle_module.secrets, "token_hex", lambda _: next(suffixes))
    monkeypatch.setattr(bundle_module.time, "strftime", lambda *_: "20261121T000000Z")
    one, two = BundleWriter(tmp_path, "first"), BundleWriter(tmp_path, "first")
    assert one.path != two.path
    assert two.name.endswith("bbbbbb")


def test_a_finished_bundle_is_never_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suffixes = iter(["aaaaaa", "aaaaaa", "bbbbbb"])
    monkeypatch.setattr(bundle_module.secrets, "token_hex", lambda _: next(suffixes))
    monkeypatch.setattr(bundle_module.time, "strftime", lambda *_: "20261121T000000Z")
    first = BundleWriter(tmp_path, "first")
    first.finish(RunRecord(scenario="first"))
    assert BundleWriter(tmp_path, "first").name.endswith("bbbbbb")


def test_fail_keeps_samples_and_says_why(tmp_path: Path) -> None:
    writer = BundleWriter(tmp_path, "first")
    write_samples(writer.path, 3)
    final = writer.fail("the guest stalled", path_record("first", rtt_ms=264.0))
    record = load_record(final)
    assert (record.complete, record.passed, record.error, record.rtt_ms) == (False, False, "the guest stalled", 264.0)
    assert (final / "samples.parquet").exists()
    assert not (final / "sender.csv").exists()
    assert final.name == writer.name


def test_fail_keeps_csv_that_cannot_be_converted(tmp_path: Path) -> None:
    writer = BundleWriter(tmp_path, "first")
    (writer.path / "sender.csv").write_text("not,our,columns\n1,2,3\n")
    record = load_record(writer.fail("broke"))
    assert record.error is not None
    assert record.error.startswith("broke (samples left as CSV: ")
    assert (_only(tmp_path) / "sender.csv").exists()


@pytest.mark.parametrize(("error", "said"), [(KeyboardInterrupt(), "interrupted"), (ValueError("bad"), "bad")])
def test_block_that_raises_leaves_an_incomplete_bundle(tmp_path: Path, error: BaseException, said: str) -> None:
    with pytest.raises(type(error)), BundleWriter(tmp_path, "first"):
        raise error
    assert load_record(_only(tmp_path)).error == said


def test_killed_process_leaves_a_partial_that_readers_list(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from landspeed.results.bundle import BundleWriter; from landspeed.results.record import RunRecord\n"
        "w = BundleWriter(Path(sys.argv[1]), 'killed', RunRecord(scenario='killed', seed=7))\n"
        "(w.path / 'sender.csv').write_text('time_ns')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    status = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode
    assert status == -signal.SIGKILL
    found = _only(tmp_path)
    assert found.name.endswith(".partial")
    assert (load_record(found).complete, load_record(found).seed) == (False, 7)


def test_kill_between_result_and_rename_counts_as_incomplete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = BundleWriter(tmp_path, "first")
    monkeypatch.setattr(writer, "_settle", lambda: writer.path)
    writer.finish(RunRecord(scenario="first"))
    assert json.loads((writer.path / "result.json").read_text())["complete"] is True
    assert load_record(_only(tmp_path)).complete is False


def test_an_error_of_the_first_note_leaves_nothing_and_is_no_cause_of_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask follows an error's causes to their end: a circle took all memory of a sweep on a full disk."""
    monkeypatch.setattr(bundle_module.os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(OutputError, match="the disk is full") as caught:
        BundleWriter(tmp_path, "first")
    causes, error = list[BaseException](), caught.value.__cause__
    while error is not None and error not in causes:
        causes.append(error)
        error = error.__cause__
    assert error is None and [type(each) for each in causes] == [OSError]
    assert list(tmp_path.iterdir()) == []


def test_result_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = BundleWriter(tmp_path, "first")
    monkeypatch.setattr(bundle_module.os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(OutputError, match="the disk is full"):
        writer.finish(path_record("first", goodput_bps=1.0))
    assert load_record(_only(tmp_path)).goodput_bps is None
    assert not list(writer.path.glob(".result.json*"))


def test_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"file/deeper: a part of this path is a file; give another folder"):
        BundleWriter(tmp_path / "file" / "deeper", "first")


def test_folder_that_may_not_be_written(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    tmp_path.chmod(0o755)
    root = os.geteuid() == 0
    parents = [each for each in tmp_path.parents if not each.stat().st_mode & 0o001]
    if root and parents:
        for each in parents:
            each.chmod(each.stat().st_mode | 0o111)
    if root:
        os.seteuid(65534)
    try:
        with pytest.raises(OutputError, match="no permission to write there"):
            BundleWriter(locked, "first")
    finally:
        if root:
            os.seteuid(0)


FULL = """
import resource, sys
from pathlib import Path
from landspeed.results.bundle import BundleWriter, OutputError, load_record
from landspeed.results.record import RunRecord
from tests.support.path_record import path_record
writer = BundleWriter(Path(sys.argv[1]), "full", RunRecord(scenario="full"))
try:
    with (writer.path / "log" / "big").open("wb") as big:
        while True:
            big.write(b"x" * 4096)
            big.flush()
except OSError as error:
    print("full:", error.errno)
try:
    writer.finish(RunRecord(scenario="full", command=["y" * 200000]))
except OutputError as error:
    print("finish:", error)
    final = writer.fail(str(error), path_record("full", rtt_ms=1.5))
    record = load_record(final)
    print("kept:", record.complete, record.rtt_ms, final.name == writer.name)
"""


@pytest.mark.slow
def test_full_disk_still_leaves_a_marked_bundle(tmp_path: Path) -> None:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=640k", "tmpfs", str(tmp_path)], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("a small file system cannot be mounted here")
    try:
        done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], check=False, capture_output=True, text=True)
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
    assert "full: 28" in done.stdout, done
    assert "the disk is full; free some space" in done.stdout
    assert "kept: False 1.5 True" in done.stdout


def test_file_size_limit_is_told_before_anything_is_made(tmp_path: Path) -> None:
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n" + FULL
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, capture_output=True, text=True)
    assert "a limit on file size was hit" in done.stderr
    assert not list(tmp_path.iterdir())


def test_broken_older_and_newer_results_are_named(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path, 2)
    file = bundle / "result.json"
    text = file.read_text()
    for other in (3, 5):
        file.write_text(text.replace('"schema_version": 4', f'"schema_version": {other}', 1))
        with pytest.raises(
            BundleError, match=rf"result\.json: schema version {other}, written by landspeed .* reads 4: "
        ):
            load_record(bundle)
    file.write_text(text[:100])
    with pytest.raises(BundleError, match=r"result\.json:\d+:\d+: "):
        load_record(bundle)


def test_command_json_has_what_the_command_promises(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path, 12)
    data = command_json(load_record(bundle), bundle)
    promised = (
        "scenario world clock seed goodput_bps steady_goodput_bps bytes duration_s wall_s rtt_ms retransmits streams "
        "score_bit_m_per_s limited_by verdicts passed complete bundle"
    )
    assert set(promised.split()) <= set(data)
    assert data["bundle"] == str(bundle)
    assert "goodput_bps" in data["streams"][0]
    assert "plan" not in data
    assert "guest" not in data["world_facts"]
    json.dumps(data)


def test_import_is_quick_and_light() -> None:
    code = (
        "import sys; import landspeed.results.bundle, landspeed.judge.judge, landspeed.report.summary\n"
        "print([name for name in ('plotly', 'duckdb', 'pyarrow', 'jinja2', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
