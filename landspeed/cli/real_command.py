"""The command `real PLAY`: a rollout on real servers."""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from landspeed.base.places import runs_dir
from landspeed.cli.real_rules import given_rules, with_rules
from landspeed.worlds.real.errors import PlayFailed, RealError

TAKES_A_HOST = ("tune", "deploy", "shape", "attempt", "site")
GATED = ("deploy", "attempt", "site")
ALWAYS = ("restore", "stop", "collect")  # possible also where figures are others by now; what is collected says so
LONGEST_HOURS = 24 * 31
KEY_HELP = "a private ssh key, or a public one whose private half ssh-agent has"
VAULT_VARIABLE = "ANSIBLE_VAULT_PASSWORD_FILE"  # Ansible's own
VAULT_HELP = f"password of Ansible Vault (default: the file that {VAULT_VARIABLE} in the environment names)"
AT_THE_SHAPER = ("shape", "restore", "site")


def add_real(parser: argparse.ArgumentParser) -> None:
    """The plays, each a word of its own."""
    commands = parser.add_subparsers(required=True, metavar="PLAY")
    inventory = commands.add_parser("inventory", help="write an inventory from a scenario")
    inventory.set_defaults(play_action=_inventory)
    inventory.add_argument("file", type=Path, metavar="SCENARIO")
    roles = {
        "sender": "host that sends; interface=, jump= and ssh_config= may follow",
        "receiver": "host that receives",
        "shaper": "Linux router between them that emulates the path",
    }
    for role, text in roles.items():
        inventory.add_argument(f"--{role}", metavar="user@HOST[,address=IP,…]", help=text)
    inventory.add_argument(
        "--host",
        dest="hosts",
        action="append",
        default=[],
        metavar="NODE=user@HOST[,address=IP,…]",
        help="of a network: the server that is this end of its flows (one for each end)",
    )
    inventory.add_argument(
        "--late-timers",
        type=_time,
        default="1 ms",
        metavar="TIME",
        help="how late the shaper's timers may be; its token buckets are that large (default: 1 ms; a virtual machine "
        "on shared processors needs tens of milliseconds)",
    )
    inventory.add_argument(
        "--out", type=Path, metavar="DIR", help="folder of the inventory (default: inventories/SCENARIO)"
    )
    inventory.add_argument("--again", action="store_true", help="overwrite an existing inventory")
    inventory.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a value of the scenario, as in its rehearsal",
    )
    inventory.add_argument("--seed", type=int, help="seed of its rehearsal (default: the scenario's)")

    key = commands.add_parser("key", help="make the engine's key, encrypted by Ansible Vault")
    key.set_defaults(play_action=_key)
    key.add_argument("inventory", type=Path, metavar="INVENTORY")
    key.add_argument("--vault-password-file", type=Path, metavar="FILE", help=VAULT_HELP)

    signing = commands.add_parser("sign", help="sign the bundle of an attempt with your ssh key")
    signing.set_defaults(play_action=_sign)
    signing.add_argument("bundle", type=Path, metavar="BUNDLE")
    signing.add_argument("--key", type=Path, required=True, metavar="FILE", help=KEY_HELP)
    signing.add_argument(
        "--anew", action="store_true", help="sign the files as they are now, such as with a submission"
    )

    texts = {
        "preflight": "look at the hosts and the path; change nothing",
        "mesh": "measure loss, RTT and MTU from every sender to every receiver; change nothing",
        "advise": "say what tune would change, and why; change nothing",
        "tune": "set the hosts up for the plan's window; former values are saved",
        "deploy": "install the engine (needs a rehearsal that passed)",
        "shape": "turn a Linux router between the hosts into the scenario's path",
        "attempt": "make the transfer (needs a rehearsal that passed)",
        "stop": "end an attempt",
        "collect": "fetch the results and make a bundle of them",
        "restore": "put back every value that was changed",
        "site": "preflight, tune, deploy, shape, attempt and collect, in this order",
    }
    for play, text in texts.items():
        made = commands.add_parser(play, help=text, description=text)
        made.set_defaults(play_action=_play, play=play)
        made.add_argument("inventory", type=Path, metavar="INVENTORY")
        made.add_argument("--check", action="store_true", help="change nothing; say what would change")
        made.add_argument(
            "--runs",
            type=Path,
            default=runs_dir(),
            metavar="DIR",
            help="folder of bundles (default: results/runs of a clone, else ~/.local/share/landspeed/runs)",
        )
        made.add_argument("--vault-password-file", type=Path, metavar="FILE", help=VAULT_HELP)
        made.add_argument("--ask-become-pass", action="store_true", help="ask for the password of sudo")
        if play in GATED:
            made.add_argument(
                "--unrehearsed", metavar="REASON", help="allow this without a rehearsal; the report shows the reason"
            )
        if play in ("attempt", "collect", "site"):
            made.add_argument("--attempt", metavar="NAME", help="its name (default: the time; for collect: the newest)")
            made.add_argument(
                "--capture",
                type=int,
                default=0,
                metavar="PACKETS",
                help="keep the first packets of both hosts, so many (default: 0)",
            )
        if play in ("attempt", "site"):
            with_rules(made)
        if play in ("collect", "site"):
            made.add_argument("--sign", type=Path, metavar="FILE", help=f"sign the bundle: {KEY_HELP}")
        if play in (*TAKES_A_HOST, "restore", "stop"):
            made.add_argument("--force", action="store_true", help="also where a host is somebody else's; says whose")
        if play in TAKES_A_HOST:
            made.add_argument(
                "--hours", type=_hours, metavar="HOURS", help="how long the hosts are yours (default: 24)"
            )
        if play in ("advise", "tune"):
            made.add_argument("--persistent", action="store_true", help="settings that last beyond a boot")
        if play == "restore":
            made.add_argument("--remove-engine", action="store_true", help="remove the engine, too")


def do_real(parsed: argparse.Namespace) -> int:
    """Run the play."""
    return parsed.play_action(parsed)


def _time(text: str) -> int:
    from landspeed.base.units import TIME, UnitError, parse

    try:
        return parse(TIME, text)
    except UnitError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _hours(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < (hours := float(text)) <= LONGEST_HOURS:
            return hours
    raise argparse.ArgumentTypeError(f"'{text}' is no time; hours are wanted, more than 0, at most {LONGEST_HOURS}")


def _inventory(parsed: argparse.Namespace) -> int:
    from landspeed.scenario.file.load import load_scenario
    from landspeed.worlds.real.fleet import write_fleet
    from landspeed.worlds.real.inventory import InventoryHost, write_inventory
    from landspeed.worlds.registry import plan_for

    loaded = load_scenario(parsed.file, parsed.overrides)
    plan = plan_for(loaded, "emu", parsed.seed)
    roles = ("sender", "receiver", "shaper")
    hosts = {role: InventoryHost.parse(getattr(parsed, role)) for role in roles if getattr(parsed, role)}
    folder = parsed.out or Path("inventories") / plan.scenario
    if plan.is_path:
        if missing := [f"--{role}" for role in ("sender", "receiver") if role not in hosts] or parsed.hosts:
            raise RealError(
                f"{plan.scenario} is a path: it takes --sender and --receiver; not so: {', '.join(missing)}"
            )
        write_inventory(folder, loaded, plan, hosts, again=parsed.again, late_timers_ns=parsed.late_timers)
    else:
        if hosts:
            raise RealError(f"{plan.scenario} is a network: it takes --host NODE=user@HOST, not --{next(iter(hosts))}")
        named = {node: InventoryHost.parse(text) for node, _, text in (each.partition("=") for each in parsed.hosts)}
        if len(named) < len(parsed.hosts):
            raise RealError("--host: an end of a flow is named twice")
        write_fleet(folder, loaded, plan, named, again=parsed.again)
    print(f"{folder}: plan {plan.sha256[:12]}; next: landspeed real preflight {folder}")
    return 0


def _key(parsed: argparse.Namespace) -> int:
    import secrets

    from landspeed.worlds.real.inventory import read_hosts, read_plan
    from landspeed.worlds.real.runner import PLAYBOOKS

    read_plan(parsed.inventory)
    read_hosts(parsed.inventory)
    target = parsed.inventory / "group_vars" / "all" / "vault.yml"
    if target.exists():
        raise RealError(f"{target} exists already; remove it to make another key")
    if not (password := _vault_password(parsed)):
        raise RealError(f"a key is encrypted: give --vault-password-file FILE, or {VAULT_VARIABLE}")
    program = Path(sys.executable).parent / "ansible-vault"
    made = subprocess.run(
        [program, "encrypt", "--vault-password-file", password, "--output", target, "-"],
        input=f"landspeed_engine_key: {secrets.token_hex(32)}\n",
        capture_output=True,
        text=True,
        check=False,
        # A second password, from the environment or somebody's ansible.cfg, has it ask which of them is meant.
        env={name: value for name, value in os.environ.items() if name != VAULT_VARIABLE}
        | {"ANSIBLE_CONFIG": str(PLAYBOOKS / "ansible.cfg")},
    )
    if made.returncode:
        raise RealError(f"ansible-vault: {made.stderr.strip()}")
    print(f"{target}: a new key, encrypted; every play needs its password")
    return 0


def _play(parsed: argparse.Namespace) -> int:
    from landspeed.worlds.real.inventory import read_hosts, read_plan
    from landspeed.worlds.real.rehearsal_gate import pass_gate
    from landspeed.worlds.real.runner import run_play
    from landspeed.worlds.real.unchanged import check_figures

    inventory = parsed.inventory
    plan = read_plan(inventory)
    named = read_hosts(inventory)
    if parsed.play not in ALWAYS:
        check_figures(inventory, plan)
    ends = [*named["sender"], *named["receiver"]]
    hosts = [*ends, *named["shaper"]] if parsed.play in AT_THE_SHAPER else ends
    if parsed.play == "shape" and not named["shaper"]:
        print("shape: nothing to do, the inventory has no shaper (landspeed real inventory … --shaper)")
        return 0
    if (key := getattr(parsed, "sign", None)) and not key.is_file():
        raise RealError(f"--sign {key}: no such file; {KEY_HELP} is wanted")
    if not plan.is_path and getattr(parsed, "iperf3", None):
        raise RealError(f"{plan.scenario} is a network: --iperf3 is for two hosts")
    if parsed.play in GATED:
        pass_gate(inventory, plan, parsed.runs, parsed.unrehearsed)
    variables = _variables(parsed, inventory) | ({} if plan.is_path else {"attempt_play": "fleet"})
    vault = _vault(parsed, inventory)
    options = ["--vault-password-file", str(vault)] if vault else []
    options += ["--check"] if parsed.check else []
    options += ["--ask-become-pass"] if parsed.ask_become_pass else []
    play = "fleet" if parsed.play == "attempt" and not plan.is_path else parsed.play
    try:
        progress = run_play(play, inventory, hosts=hosts, variables=variables, options=options)
    except (KeyboardInterrupt, PlayFailed) as error:
        # Of a fleet some flows may run when others fail.
        if parsed.play in ("attempt", "site") and (isinstance(error, KeyboardInterrupt) or not plan.is_path):
            with contextlib.suppress(PlayFailed):  # the first error is the one to tell, whether or not anybody listens
                run_play("stop", inventory, hosts=ends, options=options, say=lambda _: None)
        raise
    changed = "to change" if parsed.check or parsed.play == "advise" else "changed"
    print(
        f"{parsed.play}: " + ", ".join(f"{host} {count} {changed}" for host, count in sorted(progress.changed.items()))
    )
    if parsed.play in ("collect", "site") and not parsed.check:
        from landspeed.worlds.real.collected import make_bundle
        from landspeed.worlds.real.fleet_collected import make_fleet_bundle

        make = make_bundle if plan.is_path else make_fleet_bundle
        return _show(make(inventory, plan, variables["attempt"], parsed.runs), parsed)
    return 0


def _variables(parsed: argparse.Namespace, inventory: Path) -> dict[str, Any]:
    """Turn the words into variables of the plays without their `landspeed_`."""
    variables = given_rules(parsed)
    if hasattr(parsed, "attempt"):
        variables |= {"attempt": _attempt_name(parsed, inventory), "capture_packets": parsed.capture}
    variables |= {
        word: getattr(parsed, word) for word in ("force", "hours", "persistent") if getattr(parsed, word, None)
    }
    if parsed.play == "restore":
        variables["remove_engine"] = parsed.remove_engine
    return variables


def _sign(parsed: argparse.Namespace) -> int:
    from landspeed.results.signature import sign

    print(f"{parsed.bundle}: signed with {sign(parsed.bundle, parsed.key, anew=parsed.anew)}")
    return 0


def _show(folder: Path, parsed: argparse.Namespace) -> int:
    """Write the bundle's report, seal it, and print its summary; exit status 0: it passed."""
    from rich.console import Console

    from landspeed.report.run_report import write_report
    from landspeed.report.summary import render_summary
    from landspeed.results.bundle import load_record
    from landspeed.results.facts import RealFacts
    from landspeed.worlds.real.evidence import seal

    report, record = write_report(folder), load_record(folder)
    assert isinstance(record.world_facts, RealFacts) and record.world_facts.attempt
    signer = seal(folder, parsed.inventory, record.world_facts.attempt, parsed.sign)
    Console().print(render_summary(record, folder, report))
    print(f"Signed with {signer}" if signer else "Not signed; `landspeed real sign` does that later")
    if record.error:
        print(f"Error: {record.error}", file=sys.stderr)
    return 0 if record.passed and not record.error else 1


def _vault(parsed: argparse.Namespace, inventory: Path) -> Path | None:
    password = _vault_password(parsed)
    if not password and (inventory / "group_vars" / "all" / "vault.yml").exists():
        raise RealError(f"{inventory} has an encrypted key: give --vault-password-file FILE, or {VAULT_VARIABLE}")
    return password


def _vault_password(parsed: argparse.Namespace) -> Path | None:
    named = parsed.vault_password_file or os.environ.get(VAULT_VARIABLE)
    return Path(named).resolve() if named else None


def _is_name(text: str) -> bool:
    return text.replace("-", "").replace("_", "").isalnum()


def _attempt_name(parsed: argparse.Namespace, inventory: Path) -> str:
    latest = inventory / "attempt"
    if parsed.play == "collect" and not parsed.attempt:
        if not latest.exists():
            raise RealError("no attempt was made with this inventory; name one with --attempt")
        name = latest.read_text(errors="replace").strip()
        if not _is_name(name):
            raise RealError(f"{latest}: it has no name of an attempt; name one with --attempt")
        return name
    name = parsed.attempt or time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    if not _is_name(name):
        raise RealError(f"--attempt {name}: letters, digits, - and _ only")
    if not parsed.check:
        latest.write_text(name + "\n")
    return name
