"""Failure of a play as a sentence: what, where, and the remedy; what ssh said among them."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CANNOT_SEND = "Data could not be sent to remote host"  # Ansible's, when ssh ends before it has the task: a failed one
SSH_WORDS = re.compile(r"over ssh: (?!\[Errno)\S", re.IGNORECASE)  # what follows them is ssh's own
ASKED_S = 30.0  # some times what ssh waits for an address (ansible.cfg)


def explain(host: str, result: dict[str, Any], *, unreachable: bool) -> str:
    """A failure as a sentence that names host and remedy."""
    message = str(result.get("msg") or result.get("stderr") or result.get("stdout") or "no message").strip()
    if unreachable or CANNOT_SEND in message:
        return f"{host}: {_unreachable(host, message)}"
    last = message.splitlines()[-1]
    for pattern, said in CAUSES:
        if found := re.search(pattern, message):
            return f"{host}: {said.format(*found.groups(), last=last)}"
    return message if message.startswith(host) else f"{host}: {message}"


CAUSES = (
    ("Incorrect sudo password", "the password for sudo is wrong. Remedy: give the right one (--ask-become-pass)"),
    (
        r"([^\s'\":]*python[^\s'\":]*)['\"]?:? (?:was )?(?:not found|No such file)",
        "there is no {0}. Remedy: install python3 there, or name another one in host_vars (ansible_python_interpreter)",
    ),
    (
        r"sudo: |password is required|Missing sudo|not in the sudoers",
        "no root there ({last}). Remedy: allow sudo for the user, or give --ask-become-pass",
    ),
)
"""What a host says where a task cannot begin → the cause and its remedy."""


def _unreachable(host: str, message: str) -> str:
    """Say why no connection came about, and what to do."""
    last = message.splitlines()[-1]
    if "Permission denied" in message:
        remedy = f"put your public key there (ssh-copy-id), or name the user: user@{host}"
        return f"ssh refuses the login ({last}). Remedy: {remedy}"
    if "Host key verification failed" in message:
        return _host_key(host, message)
    if "privilege escalation" in message:
        return f"sudo does not answer ({last}). Remedy: a busy host? try again"
    remedy = "is it up, is the address right, is a jump host needed (,jump=…)?"
    return f"cannot be reached over ssh ({last}). Remedy: {remedy}"


def _host_key(host: str, message: str) -> str:
    """Turn ssh's message on a host key into a sentence: whose key, what is wrong, what is right."""
    named = re.search(r"host key (?:for|is known for) (\S+?) (?:has changed|and you)", message, re.IGNORECASE)
    whose = named[1] if named else host
    shown = re.search(r"key sent by the remote host is\s+(SHA256:[\w+/=]+)", message)
    key = f"the key of {whose} ({shown[1]})" if shown else f"the key of {whose}"
    check = "on the host, `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` prints the fingerprint of the right one"
    if offending := re.search(r"Offending .*key in (.+):(\d+)", message):
        wrong = (
            f"{key} is not the one in {offending[1]}, line {offending[2]}: the host has a new key, or is another one"
        )
        forget = f"if it is right, `ssh-keygen -f {shlex.quote(offending[1])} -R {shlex.quote(whose)}`, and add it"
        return f"host key verification failed: {wrong}. Remedy: {check}; {forget}"
    add = f"add it to known_hosts, or remove one that is wrong there with `ssh-keygen -R {shlex.quote(whose)}`"
    return f"host key verification failed: {key} is not known, or not the known one. Remedy: {check}; {add}"


def words_lost(result: Mapping[str, Any]) -> bool:
    """Tell whether Ansible did not wait for the words of an ssh that was about to end."""
    message = str(result.get("msg"))
    return CANNOT_SEND in message and not SSH_WORDS.search(message)


def ask_ssh(
    hosts: Sequence[str], inventory: Path, options: Sequence[str], environment: Mapping[str, str], folder: Path
) -> dict[str, dict[str, Any]]:
    """Ask why hosts cannot be reached, by a task without input for ssh: so Ansible waits for its words.

    Args:
        hosts: of the inventory.
        inventory: the file.
        options: words for Ansible, such as where the vault's password is.
        environment: of the play.
        folder: of the play, whose variables hold.

    Returns:
        results of those that cannot be reached now either, as far as they were learned.
    """
    words = ["ansible", ":".join(hosts), "-i", str(inventory), "-m", "ansible.builtin.raw", "-a", "true", *options]
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env={**environment, "ANSIBLE_CALLBACK_RESULT_FORMAT": "json"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=ASKED_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    found: dict[str, dict[str, Any]] = {}
    for told in re.finditer(r"^(\S+) \| UNREACHABLE! => ", done.stdout, re.MULTILINE):
        with contextlib.suppress(ValueError):
            found[told[1]], _ = json.JSONDecoder().raw_decode(done.stdout, told.end())
    return found
