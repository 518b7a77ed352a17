"""Records: typed facts of each world, and what is no record of today."""

import json
import re
from pathlib import Path

import pytest

from landspeed.base.failures import BundleError
from landspeed.base.version import __version__
from landspeed.results.bundle import RESULT, BundleWriter, load_record
from landspeed.results.facts import OtherFacts
from landspeed.results.record import RunRecord
from tests.support.results_fixture import make_plan


def _bundle(folder: Path, content: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / RESULT).write_text(content)
    return folder


def test_a_world_of_somebody_else_keeps_what_it_likes(tmp_path: Path) -> None:
    facts = OtherFacts.model_validate({"world": "starlink", "dishes": [1, 2]})
    record = RunRecord(scenario="x", world="starlink", world_facts=facts)
    writer = BundleWriter(tmp_path, "x")
    again = load_record(writer.finish(record))
    assert isinstance(again.world_facts, OtherFacts)
    assert again.world_facts.model_dump() == {"world": "starlink", "dishes": [1, 2]}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"schema_version": 4, "scenario": "x"', r"result\.json:1:38: Expecting ',' delimiter"),
        ("", r"result\.json:1:1: Expecting value"),
        ("[]", r"schema_version: a record of landspeed has a whole number there"),
        ('{"schema_version": "two"}', r"schema_version: a record"),
        (
            '{"schema_version": 1, "scenario": "x", "versions": {"landspeed": "0.0.9"}}',
            rf"schema version 1, written by landspeed 0\.0\.9; this landspeed, {re.escape(__version__)}, reads 4: "
            "read it with that version, or run the bundle's scenario again$",
        ),
        ('{"schema_version": 5, "versions": 7}', r"schema version 5, written by landspeed of an unknown version; this"),
        ('{"schema_version": 4}', r"result\.json: scenario: Field required"),
        ('{"scenario": "x"}', r"schema version 1, written by landspeed of an unknown version; this"),
        (
            '{"schema_version": 4, "scenario": "x", "world_facts": {"world": "emu", "guest": {"addresses": 1}}}',
            r"world_facts\.emu\.guest\.addresses: Input should be a valid dictionary",
        ),
    ],
)
def test_a_damaged_record_is_refused_with_its_place(content: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=told):
        load_record(_bundle(tmp_path / "bad", content))


def test_bytes_that_are_no_text_are_refused_with_their_place(tmp_path: Path) -> None:
    folder = _bundle(tmp_path / "bad", "")
    (folder / RESULT).write_bytes(b'{"scenario": "\xff\xfe"}')
    with pytest.raises(BundleError, match=r"result\.json: byte 14: not UTF-8"):
        load_record(folder)


def test_a_plan_is_kept_as_it_is(tmp_path: Path) -> None:
    plan = make_plan()
    writer = BundleWriter(tmp_path, "x", RunRecord(scenario="x", plan=plan))
    bundle = writer.finish(writer.record)
    assert load_record(bundle).plan == plan
    assert json.loads((bundle / RESULT).read_bytes())["plan"] == plan.to_dict()


def test_what_is_no_plan_is_refused_with_its_place(tmp_path: Path) -> None:
    content = {"schema_version": 4, "scenario": "x", "plan": make_plan().to_dict() | {"seed": "one"}}
    with pytest.raises(BundleError, match=r"result\.json: plan: .*seed"):
        load_record(_bundle(tmp_path / "bad", json.dumps(content)))
