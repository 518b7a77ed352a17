"""`landspeed real PLAY` without hosts: which play is run with what, and what was collected becomes a bundle."""

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from landspeed.cli.main import main
from landspeed.results.bundle import load_record
from landspeed.results.facts import RealFacts
from landspeed.worlds.real import runner
from landspeed.worlds.real.runner import PlaybookProgress
from landspeed.worlds.real.unchanged import playbooks_sha256
from landspeed.worlds.real.variables import read_variables
from tests.support.engine.fixtures import Bench, bench_fixture, engine_fixture  # noqa: F401  (fixtures)
from tests.support.real_fixtures import write_lab_scenario

Played = list[tuple[str, dict[str, Any], list[str]]]


@pytest.fixture
def inventory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """An inventory as the command writes it."""
    scenario, folder = write_lab_scenario(tmp_path / "lab.yaml", duration="1 s"), tmp_path / "inventory"
    hosts = ["--sender", "anna@192.0.2.1", "--receiver", "ben@192.0.2.2", "--shaper", "carl@192.0.2.3"]
    words = ["--out", str(folder), *hosts, "--late-timers", "7 ms"]
    assert main(["real", "inventory", str(scenario), *words]) == 0
    assert f"next: landspeed real preflight {folder}" in capsys.readouterr().out
    return folder


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Played:
    """Plays are written down instead of run; each says that it changed one thing at the sender."""
    found: Played = []

    def run_play(play: str, _: Path, *, variables: Any = None, options: Any = (), **__: Any) -> PlaybookProgress:
        found.append((play, variables or {}, list(options)))
        progress = PlaybookProgress(lambda _: None)
        progress.changed = {"sender": 1, "receiver": 0}
        return progress

    monkeypatch.setattr(runner, "run_play", run_play)
    return found


def test_a_play_is_run_with_what_was_said(inventory: Path, played: Played, capsys: pytest.CaptureFixture[str]) -> None:
    where = str(inventory)
    assert main(["real", "tune", where, "--check", "--ask-become-pass"]) == 0
    assert capsys.readouterr().out == "tune: receiver 0 to change, sender 1 to change\n"
    assert main(["real", "restore", where, "--remove-engine"]) == 0
    words = ["--unrehearsed", "the beam is on", "--attempt", "first", "--capture", "50"]
    assert main(["real", "attempt", where, *words]) == 0
    assert played == [
        ("tune", {}, ["--check", "--ask-become-pass"]),
        ("restore", {"remove_engine": True}, []),
        ("attempt", {"attempt": "first", "capture_packets": 50}, []),
    ]
    assert (inventory / "attempt").read_text() == "first\n"


def test_what_was_not_rehearsed_needs_a_reason(
    inventory: Path, played: Played, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["real", "deploy", str(inventory), "--runs", str(tmp_path / "none")]) == 2
    err = capsys.readouterr().err
    assert "was not rehearsed: there is no rehearsal of it in" in err
    assert 'or give --unrehearsed "reason"' in err
    assert played == []


def test_names_of_attempts(inventory: Path, played: Played, capsys: pytest.CaptureFixture[str]) -> None:
    where, go = str(inventory), ["--unrehearsed", "x"]
    for words, said in (
        (["attempt", where, *go, "--attempt", "../other"], "--attempt ../other: letters, digits, - and _ only"),
        (["collect", where], "no attempt was made with this inventory; name one with --attempt"),
    ):
        assert main(["real", *words]) == 2
        assert said in capsys.readouterr().err
    (inventory / "attempt").write_text("../other\n")
    assert main(["real", "collect", where]) == 2
    assert "it has no name of an attempt" in capsys.readouterr().err
    assert played == []
    assert main(["real", "attempt", where, *go, "--check"]) == 0
    assert (inventory / "attempt").read_text() == "../other\n"  # that was no attempt
    assert main(["real", "attempt", where, *go]) == 0
    name = (inventory / "attempt").read_text().strip()
    assert played[-1][1]["attempt"] == name
    assert name.endswith("Z") and name[8] == "T"


def test_an_interrupted_attempt_ends_its_engines(
    inventory: Path, played: Played, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_play = runner.run_play

    def interrupted(play: str, *words: Any, **more: Any) -> PlaybookProgress:
        done = run_play(play, *words, **more)
        if play != "stop":
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(runner, "run_play", interrupted)
    assert main(["real", "attempt", str(inventory), "--unrehearsed", "x"]) == 1
    assert "interrupted" in capsys.readouterr().err
    assert [play for play, _, _ in played] == ["attempt", "stop"]
    assert main(["real", "tune", str(inventory)]) == 1
    assert [play for play, _, _ in played] == ["attempt", "stop", "tune"]


@pytest.mark.slow
def test_the_key_is_encrypted_and_made_once(
    inventory: Path,
    played: Played,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    password = tmp_path / "password"
    password.write_text("a password\n")
    make = ["real", "key", str(inventory), "--vault-password-file", str(password)]
    vault = inventory / "group_vars" / "all" / "vault.yml"
    assert main(["real", "key", str(inventory), "--vault-password-file", str(tmp_path / "none")]) == 2
    assert "ansible-vault: " in capsys.readouterr().err
    assert main(make[:3]) == 2
    assert "give --vault-password-file FILE, or ANSIBLE_VAULT_PASSWORD_FILE" in capsys.readouterr().err
    assert main(make) == 0
    assert vault.read_text().startswith("$ANSIBLE_VAULT;")
    assert "landspeed_engine_key" not in vault.read_text()
    capsys.readouterr()
    assert main(make) == 2
    assert "exists already; remove it to make another key" in capsys.readouterr().err
    assert main(["real", "tune", str(inventory)]) == 2
    assert "has an encrypted key: give --vault-password-file FILE" in capsys.readouterr().err
    assert main(["real", "tune", str(inventory), "--vault-password-file", str(password)]) == 0
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", str(password))
    assert main(["real", "tune", str(inventory)]) == 0
    vault.unlink()  # as the page has it, and with an ansible.cfg that names a password, too
    (tmp_path / "ansible.cfg").write_text(f"[defaults]\nvault_password_file = {password}\n")
    monkeypatch.chdir(tmp_path)
    for words in (make[:3], make):
        assert main(words) == 0, capsys.readouterr().err
        vault.unlink()
    assert played == 2 * [("tune", {}, ["--vault-password-file", str(password)])]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--sender", "anna@a@b"], "the form is user@host"),
        (["--set", "transfer.streams=0"], "transfer.streams"),
    ],
)
def test_wrong_words_of_an_inventory(
    tmp_path: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = write_lab_scenario(tmp_path / "lab.yaml")
    hosts = ["--sender", "a@192.0.2.1", "--receiver", "b@192.0.2.2"]
    assert main(["real", "inventory", str(scenario), "--out", str(tmp_path / "i"), *hosts, *words]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "i").exists()
    with pytest.raises(SystemExit) as end:
        main(["real", "inventory", str(scenario), *hosts, "--late-timers", "soon"])
    assert (end.value.code, "'soon' is not a time" in capsys.readouterr().err) == (2, True)


# --- What was collected ----------------------------------------------------------------------------------------------


@pytest.fixture
def collected(inventory: Path, bench: Bench, played: Played) -> Callable[..., None]:
    """Puts archives of a transfer over the loopback device where the play `collect` puts those of hosts."""
    bench.receive("--one-off")
    live = bench.folder / "live.jsonl"
    options = "--receive verify --streams 2 --time 1 --pacing 45M --congestion reno"
    sender = bench.send(*options.split(), "--live", str(live))
    assert sender.wait() == 0, sender.errors
    seen = {
        "findings": [{"check": "kernel", "state": "pass", "found": "6.12", "wanted": "", "remedy": ""}],
        "nic": {"name": "eth7"},
        "path": {"rtt_ms": 264.1, "path_mtu_bytes": 9000},
        "figures_sha256": read_variables(inventory / "group_vars/all/plan.yml")["landspeed_figures_sha256"],
        "playbooks_sha256": playbooks_sha256(),
    }
    sent = {name: (bench.folder / f"send.{name}").read_bytes() for name in ("json", "csv")}
    files: dict[str, dict[str, bytes]] = {
        "192.0.2.1": {"engine.json": sent["json"], "sender.csv": sent["csv"], "live.jsonl": live.read_bytes()},
        "192.0.2.2": {"receiver.csv": (bench.folder / "receive.csv").read_bytes()},
    }

    def put(attempt: str, **change: bytes | None) -> None:
        folder = inventory / "collected" / attempt
        folder.mkdir(parents=True)
        for host, own in files.items():
            content = own | {"seen.json": json.dumps(seen).encode(), "before.txt": b"as it was", "/etc/passwd": b"evil"}
            content |= {"../outside": b"evil", "deeper/file": b"evil"}
            content |= {name.replace("_", "."): text for name, text in change.items() if text is not None}
            with tarfile.open(folder / f"{host}.tar", "w") as archive:
                for name, text in content.items():
                    if change.get(name.replace(".", "_"), b"") is not None:
                        member = tarfile.TarInfo(name if name.startswith("/") else f"{attempt}/{name}")
                        member.size = len(text)
                        archive.addfile(member, io.BytesIO(text))

    return put


def collect(inventory: Path, tmp_path: Path, attempt: str) -> tuple[int, Path]:
    """The exit status, and the one bundle that was made."""
    runs = tmp_path / f"runs-{attempt}"
    status = main(["real", "collect", str(inventory), "--attempt", attempt, "--runs", str(runs)])
    (bundle,) = runs.iterdir()
    return status, bundle


@pytest.mark.slow
def test_an_attempt_becomes_a_bundle_like_any_other(
    inventory: Path, bench: Bench, collected: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["real", "attempt", str(inventory), "--attempt", "first", "--unrehearsed", "the beam is on"]) == 0
    collected("first")
    _, bundle = collect(inventory, tmp_path, "first")
    record = load_record(bundle)
    assert (record.world, record.clock, record.complete, record.error) == ("real", "real", True, None)
    # What the engine told, to the bit: however fast this machine lets it be; and what had come before its clock began
    # is not in its goodput.
    told = json.loads((bench.folder / "send.json").read_text())
    assert (record.bytes, record.duration_s, record.goodput_bps) == tuple(
        told[name] for name in ("bytes", "duration_s", "goodput_bps")
    )
    arrived = told["bytes"] - told["early_bytes"]
    assert told["duration_s"] > 0.99 and told["goodput_bps"] == pytest.approx(
        8 * arrived / told["duration_s"], rel=1e-6
    )
    assert 0 < told["bytes"] <= 1.2 * 90e6 / 8 * told["duration_s"]  # paced; the first second's bursts
    assert record.rtt_ms == 264.1  # of the pings, not of the loopback device
    assert record.calibration is not None
    assert (record.calibration.passed, record.calibration.path_mtu_bytes) == (True, 9000)
    facts = record.world_facts
    assert isinstance(facts, RealFacts)
    assert (facts.attempt, facts.hosts["sender"].name) == ("first", "192.0.2.1")
    verdicts = {verdict.name: verdict for verdict in record.verdicts}
    assert (verdicts["rehearsal"].ok, verdicts["rehearsal"].text) == (None, "UNREHEARSED: the beam is on")
    assert verdicts["rtt"].ok is True and "plan" not in verdicts
    assert (bundle / "samples.parquet").exists()
    assert "UNREHEARSED: the beam is on" in (bundle / "report.html").read_text()
    # Nothing of the archive that lies elsewhere than right in the attempt's folder.
    assert {file.name for file in (bundle / "log").iterdir()} == {"sender-before.txt", "receiver-before.txt"}
    assert not [file for file in bundle.rglob("*") if file.is_file() and file.read_bytes() == b"evil"]
    assert "Report" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"engine_json": None}, "the sender's engine left no result: see log/"),
        ({"engine_json": b"{", "send_log": b"one\nout of tape\n"}, "the sender's engine left no result: out of tape; "),
    ],
)
def test_an_attempt_that_broke_is_a_bundle_that_says_so(  # noqa: PLR0917
    inventory: Path,
    collected: Callable[..., None],
    tmp_path: Path,
    change: dict[str, bytes | None],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    collected("broken", **change)
    status, bundle = collect(inventory, tmp_path, "broken")
    record = load_record(bundle)
    assert (status, record.complete, record.goodput_bps) == (1, False, None)
    assert (record.error or "").startswith(said)
    assert f"Error: {said}" in capsys.readouterr().err


@pytest.mark.slow
def test_a_transfer_that_did_not_end_well_is_told_in_the_engines_words(
    inventory: Path, collected: Callable[..., None], bench: Bench, tmp_path: Path
) -> None:
    engine = bench.result() | {"complete": False, "error": "the receiver took no data for 30 s"}
    collected("silent", engine_json=json.dumps(engine).encode())
    status, bundle = collect(inventory, tmp_path, "silent")
    assert status == 1
    assert load_record(bundle).error == "the transfer broke: the receiver took no data for 30 s"


@pytest.mark.slow
def test_what_was_not_rehearsed_has_not_passed(
    inventory: Path, collected: Callable[..., None], bench: Bench, tmp_path: Path
) -> None:
    """Whatever came into the inventory or onto the hosts: the engine tells what it was run with."""
    engine = bench.result()
    engine["options"]["time_s"] = 25.0
    engine["engine"]["build"] = "0123456789abcdef"
    seen = {
        "figures_sha256": "0" * 64,
        "playbooks_sha256": "0" * 64,
        "unavailable": ["eth7: ethtool -c shows nothing to set"],
    }
    (inventory / "group_vars" / "all" / "rehearsal.yml").write_text(
        "landspeed_rehearsal: ''\nlandspeed_rehearsed_engine_build: fedcba9876543210\n"
    )
    collected("other", engine_json=json.dumps(engine).encode(), seen_json=json.dumps(seen).encode())
    status, bundle = collect(inventory, tmp_path, "other")
    assert status == 1
    record = load_record(bundle)
    verdicts = {verdict.name: verdict for verdict in record.verdicts}
    assert (record.passed, verdicts["plan"].ok) == (False, False)
    assert verdicts["plan"].text == (
        "not what the plan asks for; time_s 25.0, the plan's 1.0; engine 0123456789abcdef, rehearsed with "
        "fedcba9876543210; the plays' figures at the sender were others; the playbooks at the sender were others than "
        "these; the plays' figures at the receiver were others; the playbooks at the receiver were others than these"
    )
    assert verdicts["settings of the sender"].text == "not in force: eth7: ethtool -c shows nothing to set"


@pytest.mark.slow
def test_an_attempt_is_collected_whatever_became_of_the_inventory(
    inventory: Path, collected: Callable[..., None], tmp_path: Path
) -> None:
    """Another engine here by then says nothing of it; an edited figure does."""
    collected("first")
    file = inventory / "group_vars" / "all" / "plan.yml"
    file.write_text(file.read_text().replace("landspeed_engine_build: ", "landspeed_engine_build: 0"))
    _, bundle = collect(inventory, tmp_path, "first")
    assert not [verdict for verdict in load_record(bundle).verdicts if verdict.name == "plan"]
    file.write_text(file.read_text().replace("--time 1 ", "--time 25 "))
    collected("second")
    status, bundle = collect(inventory, tmp_path, "second")
    (verdict,) = [verdict for verdict in load_record(bundle).verdicts if verdict.name == "plan"]
    assert (status, verdict.ok) == (1, False)
    assert f"{file}: landspeed_send_options is " in verdict.text


@pytest.mark.slow
def test_a_rehearsal_that_is_gone_is_not_compared(
    inventory: Path, collected: Callable[..., None], tmp_path: Path
) -> None:
    (inventory / "group_vars" / "all" / "rehearsal.yml").write_text("landspeed_rehearsal: lab-gone\n")
    collected("first", seen_json=b"{}")
    _, bundle = collect(inventory, tmp_path, "first")
    record = load_record(bundle)
    (rehearsal,) = [verdict for verdict in record.verdicts if verdict.name == "rehearsal"]
    assert rehearsal.ok is None and rehearsal.text.startswith("rehearsed in lab-gone, which is not compared: ")
    assert record.calibration is None  # nobody has measured the path


def test_without_an_archive_there_is_no_bundle(
    inventory: Path, played: Played, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["real", "collect", str(inventory), "--attempt", "first", "--runs", str(tmp_path / "runs")]) == 2
    assert "192.0.2.1.tar" in (err := capsys.readouterr().err)
    assert "run `landspeed real collect`" in err
    assert not (tmp_path / "runs").exists()
