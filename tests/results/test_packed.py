"""A run as one file: packed, sent, unpacked and shown; what is no packed run is refused."""

import zipfile
from pathlib import Path

import pytest

from landspeed.base.failures import BundleError
from landspeed.cli.main import main
from landspeed.results.bundle import load_record
from landspeed.results.packed import pack, unpack
from tests.support.results_fixture import make_bundle


def test_there_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = make_bundle(tmp_path / "runs", 3)
    monkeypatch.chdir(tmp_path)
    assert main(["bundle", str(bundle)]) == 0
    file = tmp_path / f"{bundle.name}.landspeed.zip"
    assert capsys.readouterr().out == f"{file.name}\n"
    assert pack(bundle, tmp_path / "again.zip").read_bytes() == file.read_bytes()
    assert main(["open", str(file), "--no-browser", "--runs", str(tmp_path / "elsewhere")]) == 0
    page = Path(capsys.readouterr().out.strip())
    assert page == tmp_path / "elsewhere" / bundle.name / "report.html"
    assert page.read_text(encoding="utf-8") == (bundle / "report.html").read_text(encoding="utf-8")
    assert load_record(page.parent) == load_record(bundle)
    assert not list(page.parent.parent.glob(".*"))
    assert unpack(file, tmp_path / "elsewhere") == page.parent  # it is there, the same
    (page.parent / "result.json").write_text("{}")
    with pytest.raises(BundleError, match="is another run; move it away first"):
        unpack(file, tmp_path / "elsewhere")
    assert main(["open", str(page), "--no-browser"]) == 0


@pytest.mark.parametrize(
    "name", ["../x/result.json", "/x/result.json", "x/../../result.json", "x/y.json", ".x/result.json"]
)
def test_what_would_lie_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(name, "{}")
    with pytest.raises(BundleError, match="no packed bundle"):
        unpack(tmp_path / "x.zip", tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_what_is_none_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.zip").write_text("no")
    assert main(["open", str(tmp_path / "x.zip")]) == 2
    assert (
        "x.zip: no packed bundle (File is not a zip file); `landspeed bundle NAME` makes one" in capsys.readouterr().err
    )
    for words in (["bundle", "no-such-run"], ["open", "no-such-run"]):
        assert main(words) == 2
        assert "no-such-run: no run of this name" in capsys.readouterr().err
    assert main(["open", str(tmp_path / "page.html")]) == 2
    assert "there is no such file" in capsys.readouterr().err
