"""The fuzz targets' kept inputs belong to the protocol of today; the inputs themselves are run by meson's tests."""

import importlib.util
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "engine" / "fuzz" / "corpus.py"


def test_kept_inputs_are_of_the_present_protocol() -> None:
    spec = importlib.util.spec_from_file_location("corpus", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    corpus = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(corpus)
    paths = corpus.inputs()
    assert len(paths) > 15
    for path in paths:
        if path.read_bytes() != corpus.present(path):
            pytest.fail(f"{path.name} is of another version: python engine/fuzz/corpus.py")
