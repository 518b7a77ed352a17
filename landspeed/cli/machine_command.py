"""The command `doctor`: what this machine can run."""

from __future__ import annotations

import argparse
import json

from landspeed.cli.errors import FAILED


def add_doctor(made: argparse.ArgumentParser) -> None:
    """Arguments of `doctor`."""
    made.add_argument("--json", action="store_true", help="a JSON list on standard output")


def do_doctor(parsed: argparse.Namespace) -> int:
    """Every world looks at what it needs."""
    from landspeed.worlds.registry import examine

    findings = examine()
    if parsed.json:
        print(json.dumps([finding.__dict__ for finding in findings], indent=1))
    else:
        for finding in findings:
            print(f"{finding.state:<5} {finding.name}: {finding.text}")
            if finding.remedy:
                print(f"      remedy: {finding.remedy}")
    return FAILED if any(finding.state == "fail" for finding in findings) else 0
