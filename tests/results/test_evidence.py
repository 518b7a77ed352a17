"""Evidence of a bundle: whatever is altered after it was signed is found, and named."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from landspeed.cli.main import main
from landspeed.results.evidence_chain import CHAIN, SIGNATURE, ChainEntry, write_chain
from landspeed.results.signature import SignatureError, sign, verify
from landspeed.worlds.real.evidence import seal
from tests.support.real_fixtures import write_lab_scenario

PARTS = {
    "plan.json": "plan",
    "scenario.yaml": "plan",
    "result.json": "result",
    "report.html": "report",
    "samples.parquet": "samples",
    "engine.json": "samples",
    "log/sender-before.txt": "log",
    "evidence/tuning/sender-before.json": "tuning",
    "evidence/tuning/receiver-after.json": "tuning",
    "evidence/inventory/hosts.yml": "inventory",
    "evidence/inventory/group_vars/all/plan.yml": "inventory",
    "evidence/watch/sender.jsonl": "evidence",
}


def key_of(folder: Path, name: str) -> Path:
    """A new ssh key without a passphrase."""
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"{name}@desk", "-f", folder / name]
    subprocess.run(words, check=True)
    return folder / name


@pytest.fixture(name="signed")
def signed_fixture(tmp_path: Path) -> Path:
    """A bundle with every part, signed by otto."""
    bundle = tmp_path / "lab-20261126T120000Z-1a2b3c"
    for name in PARTS:
        (bundle / name).parent.mkdir(parents=True, exist_ok=True)
        (bundle / name).write_text(f"content of {name}\n")
    engine = tmp_path / "engine"
    engine.write_bytes(b"\x7fELF")
    write_chain(bundle, [ChainEntry.elsewhere("binary", "landspeed-engine", engine)])
    sign(bundle, key_of(tmp_path, "otto"))
    return bundle


def failed(bundle: Path) -> list[str]:
    """Names and texts of the checks that failed, for a reader who knows otto's key."""
    return [f"{each.name}: {each.text}" for each in verify(bundle, bundle.parent / "otto.pub") if each.ok is False]


def test_what_was_signed_is_verified(signed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(signed), "--signers", str(signed.parent / "otto.pub")]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"ok: files: {len(PARTS)} files are as the chain says"
    assert said[1].startswith("not here: elsewhere: binary landspeed-engine: not in the bundle; SHA-256 ")
    assert said[2].startswith("ok: signer: signed by otto@desk with ED25519 key SHA256:")
    assert said[3:] == ["Verified"]


@pytest.mark.parametrize(("name", "about"), PARTS.items())
def test_each_part_that_is_altered_or_missing_is_named(signed: Path, name: str, about: str) -> None:
    (signed / name).write_text(f"content of {name}?\n")  # a byte more
    (altered,) = failed(signed)
    assert altered.startswith(f"altered: {name} ({about}) has ")
    (signed / name).unlink()
    assert failed(signed) == [f"missing: {name} ({about}) is not in the bundle"]


@pytest.mark.parametrize("name", ["more.txt", "evidence/tuning/sender-between.json", "log/..hidden"])
def test_what_was_added_is_named(signed: Path, name: str) -> None:
    (signed / name).write_text("")
    assert failed(signed) == [f"added: {name} is in the bundle, and not in the chain"]


def test_a_link_to_the_same_content_is_another_file(signed: Path) -> None:
    shutil.move(signed / "plan.json", signed.parent / "plan.json")
    (signed / "plan.json").symlink_to(signed.parent / "plan.json")
    (found,) = failed(signed)
    assert found.startswith("altered: plan.json (plan) has ")


def _lines(bundle: Path) -> list[str]:
    return (bundle / CHAIN).read_text().splitlines()


@pytest.mark.parametrize(
    ("change", "number"),
    [
        (lambda lines: [lines[0].replace('"bytes": ', '"bytes": 1'), *lines[1:]], 1),
        (lambda lines: [*lines[:-1], lines[-1].replace('"binary"', '"samples"')], len(PARTS) + 1),
        (lambda lines: [*lines[:3], *lines[4:]], 4),
        (lambda lines: [lines[1], lines[0], *lines[2:]], 1),
        (lambda lines: [*lines[:2], lines[1], *lines[2:]], 3),
        (lambda lines: [*lines, "{}"], len(PARTS) + 2),
        (lambda lines: [*lines, "no JSON"], len(PARTS) + 2),
        (lambda lines: [lines[0].replace(json.loads(lines[0])["file"], "../otto"), *lines[1:]], 1),
    ],
)
def test_a_line_of_the_chain_that_was_altered_is_named(
    signed: Path, change: Callable[[list[str]], list[str]], number: int
) -> None:
    (signed / CHAIN).write_text("\n".join(change(_lines(signed))) + "\n")
    found = failed(signed)
    assert len(found) == 2  # and the signature is of another chain
    assert found[0].startswith(f"chain: {CHAIN}: line {number} ")
    assert found[1].startswith(f"signature: {SIGNATURE} is not of this chain, or is none: ")


def test_a_chain_whose_last_lines_are_gone_is_not_what_was_signed(signed: Path) -> None:
    (signed / CHAIN).write_text("\n".join(_lines(signed)[:-1]) + "\n")
    (found,) = failed(signed)
    assert found.startswith("signature: ")


def test_a_chain_made_anew_is_unsigned_or_somebody_elses(signed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (signed / "result.json").write_text("a better result\n")
    write_chain(signed)
    (found,) = failed(signed)
    assert found.startswith(f"unsigned: there is no {SIGNATURE}: anybody may have made the chain")
    sign(signed, key_of(signed.parent, "mallory"))
    (found,) = failed(signed)
    assert found.startswith("signer: signed by somebody else, with ED25519 key SHA256:")
    assert main(["verify", str(signed), "--signers", str(signed.parent / "otto.pub")]) == 1
    assert capsys.readouterr().out.endswith("\nNOT verified\n")


def test_a_signature_for_another_purpose_is_none(signed: Path) -> None:
    words = ["ssh-keygen", "-Y", "sign", "-f", signed.parent / "otto", "-n", "git"]
    done = subprocess.run(words, input=(signed / CHAIN).read_bytes(), capture_output=True, check=True)
    (signed / SIGNATURE).write_bytes(done.stdout)
    (found,) = failed(signed)
    assert found.startswith("signature: ")


def test_whose_key_it_is_has_to_be_known(signed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By custom in ~/.ssh/allowed_signers; without it nothing is believed."""
    monkeypatch.setenv("HOME", str(signed.parent))
    *_, last = verify(signed)
    assert last.ok is False and "nobody says whose key that is. Remedy: give --signers FILE" in last.text
    (signed.parent / ".ssh").mkdir()
    kind, key, _ = (signed.parent / "otto.pub").read_text().split()
    (signed.parent / ".ssh" / "allowed_signers").write_text(f'anna,otto namespaces="landspeed" {kind} {key}\n')
    *_, last = verify(signed)
    assert last.ok and last.text.startswith("signed by anna with ED25519 key")
    (signed.parent / ".ssh" / "allowed_signers").write_text(f'otto namespaces="git" {kind} {key}\n')
    *_, last = verify(signed)
    assert last.ok is False and last.text.startswith("signed by somebody else")


def test_a_bundle_without_a_chain_is_unsigned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plan.json").write_text("{}")
    assert main(["verify", str(tmp_path)]) == 1
    assert f"unsigned: the bundle has no {CHAIN}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [(["verify", "nowhere"], "no such folder"), (["verify", ".", "--signers", "nobody"], "nobody: no such file")],
)
def test_bad_words_of_verify(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert said in capsys.readouterr().err


def test_what_was_altered_is_not_signed(signed: Path) -> None:
    (signed / "plan.json").write_text("another plan\n")
    with pytest.raises(SignatureError, match=r"not signed, since it is not as its chain says: altered: plan\.json"):
        sign(signed, signed.parent / "otto")
    (signed / "submission.html").write_text("made later\n")
    sign(signed, signed.parent / "otto", anew=True)
    assert not failed(signed)
    assert _lines(signed)[-1].startswith('{"about": "binary"')  # what is elsewhere stays


def test_a_key_that_is_none(signed: Path) -> None:
    (signed.parent / "no-key").write_text("nothing\n")
    with pytest.raises(SignatureError, match="no-key: ssh-keygen does not sign with it: "):
        sign(signed, signed.parent / "no-key")


def test_an_attempt_is_sealed_with_its_inventory_and_without_its_secrets(tmp_path: Path) -> None:
    """Of what others wrote into the inventory, and of the key, the bundle has the hash alone."""
    scenario, folder = write_lab_scenario(tmp_path / "lab.yaml"), tmp_path / "inventory"
    hosts = ["--sender", "anna@192.0.2.1", "--receiver", "ben@192.0.2.2"]
    assert main(["real", "inventory", str(scenario), "--out", str(folder), *hosts]) == 0
    (folder / "group_vars/all/vault.yml").write_text("$ANSIBLE_VAULT;1.1;AES256\n00\n")
    (folder / "host_vars/192.0.2.1.yml").write_text("ansible_become_password: beam\n")
    (folder / "collected/first").mkdir(parents=True)
    (folder / "collected/first/192.0.2.1.tar").write_bytes(b"archive")
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    (bundle / "plan.json").write_bytes((folder / "plan.json").read_bytes())
    signer = seal(bundle, folder, "first", key_of(tmp_path, "otto"))
    assert signer and signer.startswith("ED25519 key SHA256:")
    assert not failed(bundle)
    lines = [json.loads(line) for line in _lines(bundle)]
    assert [(line["about"], line["file"]) for line in lines if line["here"]] == [
        ("inventory", "evidence/inventory/group_vars/all/plan.yml"),
        ("inventory", "evidence/inventory/hosts.yml"),
        ("plan", "plan.json"),
    ]
    assert [(line["about"], line["file"]) for line in lines if not line["here"]] == [
        ("inventory", "group_vars/all/vault.yml"),
        ("inventory", "host_vars/192.0.2.1.yml"),
        ("archive", "192.0.2.1.tar"),
        ("binary", "landspeed-engine"),
    ]
    assert not [file for file in bundle.rglob("*") if file.is_file() and b"beam" in file.read_bytes()]
