"""Questions to the emulated world: one guest for each path, which answers all of them."""

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.emu.guest.network.network import link_address
from landspeed.worlds.emu.world import EmuOptions, EmuWorld
from tests.support.emu_fixtures import plan_of, scenario

from .classes import FASTEST_BPS, MTU, bps
from .question import Finding, Question

PROGRAM = Path(__file__).resolve().parent / "guest" / "ask.py"


def plan_over(folder: Path, links: list[dict[str, Any]], ip: int, fidelity: str) -> Plan:
    """The plan of a path over these links; its hosts are no limit."""
    content = scenario(links, ip=ip, mtu=f"{MTU} B", fidelity=fidelity, nic=bps(FASTEST_BPS))
    return plan_of(folder, content)


def address(plan: Plan, origin: int, target: int) -> str:
    """Address of a node (by its position) on the side of another."""
    link, side = (target - 1, 1) if origin < target else (target, 0)
    return link_address(plan.ip_version, link, side)


def answers(plan: Plan, requests: list[dict[str, Any]], folder: Path, program: Path = PROGRAM) -> Any:
    """What a guest answers."""
    (folder / "requests.json").write_text(json.dumps(requests))
    words = [sys.executable, str(program), "/run/landspeed/requests.json", "/run/landspeed/answers.json"]
    status = EmuWorld(EmuOptions()).execute(plan, folder, at="alpha", command=words, calibrate=False)
    if status != 0:
        raise RuntimeError((folder / "log" / "stderr").read_text())
    return json.loads((folder / "answers.json").read_text())


def ask(plan: Plan, questions: list[Question], folder: Path) -> list[Finding]:
    """Put all questions to one guest, and judge what it answers."""
    told = answers(plan, [question.request for question in questions], folder)
    return [found for question, answer in zip(questions, told, strict=True) for found in question.judge(answer)]


@contextmanager
def a_folder() -> Iterator[Path]:
    """One that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="landspeed-truth-") as name:
        yield Path(name)
