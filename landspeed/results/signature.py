"""Signatures of a bundle's evidence by ssh keys, made and checked by ssh-keygen(1); and the bundle as a whole."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from landspeed.base.failures import LandspeedError
from landspeed.base.files import write_atomically
from landspeed.results.check import Check
from landspeed.results.evidence_chain import CHAIN, SIGNATURE, BrokenChain, compare_files, read_chain, write_chain

NAMESPACE = "landspeed"  # a signature for another purpose is none for a bundle
SIGNERS = "~/.ssh/allowed_signers"  # where ssh-keygen(1) and git have it by custom
KEY_LINE = re.compile(r"(ssh-|ecdsa-|sk-)\S+ \S+")


class SignatureError(LandspeedError):
    """A bundle cannot be signed, or no signature checked; the message says why, and the remedy."""


def sign(bundle: Path, key: Path, *, anew: bool = False) -> str:
    """Sign the chain of a bundle, which is as the chain says.

    Args:
        bundle: its folder.
        key: file of a private ssh key, or of a public one whose private half ssh-agent has.
        anew: make the chain of the files as they are now, whatever was altered or added since.

    Returns:
        what signed, as ssh-keygen names it.

    Raises:
        SignatureError: the bundle was altered, or ssh-keygen refuses.
    """
    try:
        links = read_chain(bundle)
        if anew:
            write_chain(bundle, [link for link in links if not link.here])
        found = [] if anew else compare_files(bundle, links)
    except OSError as error:
        raise SignatureError(f"{bundle}: it has no {CHAIN}; only what `landspeed real collect` made has one") from error
    except BrokenChain as error:
        raise SignatureError(f"{bundle / CHAIN}: {error}; collect it again") from error
    if found:
        text = "; ".join(f"{each.name}: {each.text}" for each in found)
        raise SignatureError(
            f"{bundle}: not signed, since it is not as its chain says: {text}. Remedy: --anew, if that was you"
        )
    done = _keygen("sign", "-f", str(key), given=(bundle / CHAIN).read_bytes())
    if done.returncode or not done.stdout:
        raise SignatureError(f"{key}: ssh-keygen does not sign with it: {_words(done)}")
    write_atomically(bundle / SIGNATURE, done.stdout)
    return _signer(bundle)


def verify(bundle: Path, signers: Path | None = None) -> list[Check]:
    """Compare a bundle with its chain, the chain with its signature, and that with who may have signed it.

    Args:
        bundle: its folder.
        signers: a file of allowed signers (ssh-keygen(1)), or of a public key; None: `SIGNERS`.

    Returns:
        checks, of which those that failed name what was altered, is missing, was added, is not signed or by whom.

    Raises:
        SignatureError: the file of signers was given and cannot be read, or there is no ssh-keygen.
    """
    if signers is not None and not signers.is_file():
        raise SignatureError(f"{signers}: no such file; a file of allowed signers or of a public key is wanted")
    if not (bundle / CHAIN).is_file():
        return [Check("unsigned", False, f"the bundle has no {CHAIN}: nothing says what its files were")]
    return [*_check_files(bundle), _check_signature(bundle, signers or Path(SIGNERS).expanduser())]


def _check_files(bundle: Path) -> Iterator[Check]:
    try:
        links = read_chain(bundle)
    except BrokenChain as error:
        yield Check("chain", False, f"{CHAIN}: {error}: a line was altered, taken out or put in")
        return
    found = compare_files(bundle, links)
    yield from found
    here = sum(link.here for link in links)
    if not found:
        yield Check("files", True, f"{here} files are as the chain says")
    for link in links:
        if not link.here:
            yield Check("elsewhere", None, f"{link.about} {link.file}: not in the bundle; SHA-256 {link.sha256}")


def _check_signature(bundle: Path, signers: Path) -> Check:
    if not (bundle / SIGNATURE).is_file():
        remedy = "`landspeed real sign BUNDLE --key FILE`, by whoever made it"
        return Check("unsigned", False, f"there is no {SIGNATURE}: anybody may have made the chain. Remedy: {remedy}")
    content = (bundle / CHAIN).read_bytes()
    signed = ["-s", str(bundle / SIGNATURE)]
    done = _keygen("check-novalidate", *signed, given=content)
    if done.returncode:
        return Check("signature", False, f"{SIGNATURE} is not of this chain, or is none: {_words(done)}")
    who = _signer(bundle)
    if not signers.is_file():
        remedy = "give --signers FILE, with the public key of whom you expect"
        return Check("signer", False, f"signed with {who}, and nobody says whose key that is. Remedy: {remedy}")
    with tempfile.NamedTemporaryFile(prefix="landspeed-signers-") as listed:
        lines = signers.read_text(errors="replace").splitlines()
        listed.write("".join(f"{_as_allowed(line)}\n" for line in lines).encode())
        listed.flush()
        names = _keygen("find-principals", *signed, "-f", listed.name, namespace=False).stdout.decode().splitlines()
        for name in (name for line in names for name in line.split(",")):
            if not _keygen("verify", *signed, "-f", listed.name, "-I", name, given=content).returncode:
                return Check("signer", True, f"signed by {name} with {who}")
    return Check("signer", False, f"signed by somebody else, with {who}: {signers} does not have that key")


def _as_allowed(line: str) -> str:
    """A line of a public key as one of allowed signers: whoever its comment names, else anybody who has the key."""
    if not KEY_LINE.match(line):
        return line
    kind, key, *comment = line.split()
    name = re.sub(r'[\s",*?!]+', "-", " ".join(comment)) or "the-key's-owner"
    return f"{name} {kind} {key}"


def _signer(bundle: Path) -> str:
    """Kind and fingerprint of the key that signed, such as `ED25519 key SHA256:…`."""
    done = _keygen("check-novalidate", "-s", str(bundle / SIGNATURE), given=(bundle / CHAIN).read_bytes())
    found = re.search(rb"with (.+ key SHA256:\S+)", done.stdout)
    return found[1].decode() if found else "an unknown key"


def _keygen(action: str, *words: str, given: bytes = b"", namespace: bool = True) -> subprocess.CompletedProcess[bytes]:
    """Run ssh-keygen; a passphrase it asks for at the terminal.

    Raises:
        SignatureError: it is not installed.
    """
    command = ["ssh-keygen", "-Y", action, *(["-n", NAMESPACE] if namespace else []), *words]
    try:
        return subprocess.run(command, input=given, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise SignatureError("ssh-keygen is not installed; it comes with ssh (Debian: openssh-client)") from error


def _words(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"status {done.returncode}"
