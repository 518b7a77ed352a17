"""The pinned requirements: a hash for each file that a promised system asks for, and no other."""

import re
from importlib.metadata import requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from setup.lock_hashes import chosen_files, with_hashes
from tests.support.places import ROOT

FILES = {
    "fast-2.0.tar.gz": "0" * 64,
    "fast-2.0-cp310-cp310-manylinux_2_17_x86_64.whl": "1" * 64,
    "fast-2.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl": "2" * 64,
    "fast-2.0-cp311-cp311-manylinux_2_28_x86_64.whl": "3" * 64,
    "fast-2.0-cp311-cp311-musllinux_1_2_x86_64.whl": "4" * 64,
    "fast-2.0-cp311-cp311-manylinux_2_28_aarch64.whl": "5" * 64,
    "fast-2.0-cp311-cp311-win_amd64.whl": "6" * 64,
    "fast-2.0-cp312-abi3-manylinux1_x86_64.whl": "7" * 64,
    "fast-2.0-cp313-cp313t-manylinux_2_28_x86_64.whl": "8" * 64,
}
LIST = """\
fast==2.0 \\
    --hash=sha256:{}
    # via slow
"""


def test_each_python_has_its_best_wheel() -> None:
    """The newest glibc that Debian 12 has, and the stable interface where a Python has no wheel of its own."""
    assert {FILES[name][0] for name in chosen_files(FILES)} == {"3", "7"}


def test_without_a_wheel_for_one_of_them_the_sources_stay() -> None:
    assert {FILES[name][0] for name in chosen_files([name for name in FILES if "abi3" not in name])} == {"0", "3"}
    assert chosen_files(["pure-1-py3-none-any.whl", "pure-1.tar.gz"]) == {"pure-1-py3-none-any.whl"}
    assert chosen_files(["old-1.tar.gz"]) == {"old-1.tar.gz"}


def test_the_other_hashes_go() -> None:
    told = LIST.format(" \\\n    --hash=sha256:".join(FILES.values()))
    kept = LIST.format(" \\\n    --hash=sha256:".join(("3" * 64, "7" * 64)))
    assert with_hashes(told, {"fast==2.0": FILES}) == kept
    assert with_hashes(kept, {"fast==2.0": FILES}) == kept
    with pytest.raises(SystemExit, match=r"^fast==2.0: the index has neither a wheel .* nor the sources"):
        with_hashes(told, {"fast==2.0": {name: FILES[name] for name in FILES if "win" in name}})


@pytest.mark.parametrize("name", ["run", "more", "dev"])
def test_each_pin_has_few_hashes(name: str) -> None:
    """One for each of three Pythons and the sources at most: `make lock` drops the others."""
    text = (ROOT / "setup" / "requirements" / f"{name}.txt").read_text()
    pins = re.findall(r"^[\w.-]+==\S+ \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", text, re.MULTILINE)
    assert len(pins) == len(re.findall("==", text)) > 10
    assert all(1 <= hashes.count("--hash") <= 4 for hashes in pins)
    assert "://" not in text


def test_the_lists_are_whole() -> None:
    """What a package in them needs on this Python is in them too: set-up resolves nothing (`--no-deps`)."""
    pinned: set[str] = set()
    for name in ("run", "more", "dev"):
        text = (ROOT / "setup" / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
        pinned |= {canonicalize_name(each) for each in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)}
        needs = [(each, Requirement(need)) for each in sorted(pinned) for need in requires(each) or ()]
        told = [(each, need) for each, need in needs if not need.marker or need.marker.evaluate({"extra": ""})]
        assert not [(each, str(need)) for each, need in told if canonicalize_name(need.name) not in pinned], name
    assert len(told) > 200  # of the last round, all lists
