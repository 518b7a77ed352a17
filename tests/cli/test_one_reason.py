"""The same path by every command that names what bounds it: one reason, the same word, a remedy that exists there."""

import csv
import re
import tarfile
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from landspeed.base.limits import WINDOW
from landspeed.explore.goodput_theory import bound
from landspeed.explore.setting import Setting, values_of
from landspeed.report.summary import summary_lines
from landspeed.results.bundle import load_record
from landspeed.results.sample_columns import SAMPLE_COLUMNS
from landspeed.runs.scenario import Scenario
from landspeed.worlds.real.collected import make_bundle
from landspeed.worlds.real.inventory import read_plan
from tests.support.command import landspeed

SMALL_WINDOW = """format: 1
name: narrow
title: A window far below the BDP
hosts: {a: {role: sender}, b: {role: receiver}}
path: [{from: a, to: b, rtt: 50 ms, line_rate: 100 Mbit/s}]
transfer: {window: 128 kB, duration: 2 s}
"""
ROWS = {
    "show": r"Expected goodput .*limit: (.+?) *$",
    "run": r"^Bound by: ([a-z ]+):",
    "compare": r"^ *Bound by {2,}(.+?) {2,}(.+?) *$",
    "sweep": r"^ *128 kB .* {3}(\S.*?) *$",
    "predict": r"Mbit/s .* ms {2,}(\S.*?) *$",
    "find": r"No longer met at .*; bound by (.+?)\)$",
    "real collect": r"^Bound by: ([a-z ]+):",
}
"""Where a command says what bounds the path."""


@pytest.mark.guest
def test_every_command_names_the_window(tmp_path: Path) -> None:
    (tmp_path / "narrow.yaml").write_text(SMALL_WINDOW)
    (tmp_path / "vary.yaml").write_text("extends: narrow.yaml\nname: vary\nvary: {transfer.window: [128 kB]}\n")
    said = {"run": _said(tmp_path, "run", "narrow.yaml", "--out", "runs")}
    (bundle,) = (tmp_path / "runs").iterdir()
    said["show"] = _said(tmp_path, "show", "narrow.yaml")
    said["compare"] = _said(tmp_path, "compare", bundle, bundle)
    said["sweep"] = _said(tmp_path, "sweep", "vary.yaml", "--out", "sweep")
    far = ("--bytes", "1GB", "--seeds", 1, "--at-most", 4, "--out", "far")
    said["predict"] = _said(tmp_path, "predict", "narrow.yaml", *far)
    goal = ("--vary", "transfer.window=128 kB..1 MB", "--goal", "goodput >= 25 Mbit/s", "--within", "90 %")
    said["find"] = _said(tmp_path, "find", "narrow.yaml", *goal, "--seeds", 1, "--out", "sweep")
    said["real collect"] = "\n".join(_collected(tmp_path, bundle))
    for command, row in ROWS.items():
        found = re.findall(row, said[command], re.MULTILINE)
        words = [word for each in found for word in ([each] if isinstance(each, str) else each)]
        assert words == [WINDOW] * len(words) != [], f"{command}: {words}\n{said[command]}"
    assert "Window: a larger transfer.window, or more transfer.streams, allow more" in said["run"]
    theory = Setting(**values_of(Scenario.load(tmp_path / "narrow.yaml").plan()))
    assert bound(theory.curve, theory.share) == WINDOW  # what the page of explore says


def _collected(folder: Path, bundle: Path) -> list[str]:
    """What `real collect` prints of an attempt whose two servers measured what this run's did."""
    inventory, runs, name = folder / "inventory", folder / "attempts", "one"
    to = ("--receiver", "b@west,address=192.0.2.2", "--out", inventory)
    _said(folder, "real", "inventory", "narrow.yaml", "--sender", "a@east,address=192.0.2.1", *to)
    files = {"east": ["engine.json", "sender.csv"], "west": ["receiver.json", "receiver.csv"]}
    samples = pq.read_table(bundle / "samples.parquet")
    for end in ("sender", "receiver"):
        rows = samples.filter(pc.field("end") == end).select(SAMPLE_COLUMNS).to_pylist()
        with (folder / f"{end}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([SAMPLE_COLUMNS, *(row.values() for row in rows)])
    (inventory / "collected" / name).mkdir(parents=True)
    for host, names in files.items():
        with tarfile.open(inventory / "collected" / name / f"{host}.tar", "w") as archive:
            for each in names:
                archive.add((folder if each.endswith(".csv") else bundle) / each, f"{name}/{each}")
    made = make_bundle(inventory, read_plan(inventory), name, runs)
    return summary_lines(load_record(made))


def _said(folder: Path, *words: object) -> str:
    done = landspeed(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout
