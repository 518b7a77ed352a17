"""The transfer engine as a tool of the worlds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from landspeed.base.failures import RunFailed
from landspeed.base.files import last_line
from landspeed.scenario.plan.plan import Plan
from landspeed.worlds.engine.command import ENGINE_BINARY, engine_commands
from landspeed.worlds.engine.identity import engine_build
from landspeed.worlds.tool import Tool

if TYPE_CHECKING:
    from landspeed.results.tool_result import TransferResult


class Engine(Tool):
    """landspeed's own transfer engine: it can do all that a scenario can ask."""

    name = "engine"
    summary = "landspeed's own transfer engine"
    networks = True

    def refusals(self, plan: Plan) -> list[str]:  # noqa: ARG002 (of every tool)
        """Refuse nothing."""
        return []

    def commands(self, plan: Plan, out: str, port: int) -> tuple[list[str], list[str]]:
        """Receiver and sender of a flow."""
        return engine_commands(plan.transfer, out, ip_version=plan.ip_version, port=port)

    def starter_command(self) -> list[str]:
        """The engine loads its libraries once for all hosts."""
        return [str(ENGINE_BINARY), "hosts"]

    def convert(self, folder: Path, plan: Plan) -> TransferResult:
        """Read the engine's result; its samples need no change. A missing second subflow is an error."""
        # saves 249 ms where it is not needed
        from landspeed.worlds.engine.datagrams import datagrams_told
        from landspeed.worlds.engine.result import ResultError, parse_result

        try:
            content = (folder / "engine.json").read_bytes()
            if plan.transfer.protocol == "udp":
                return datagrams_told(content, folder)
            told = parse_result(content, str(folder / "engine.json"))
        except (OSError, ResultError) as error:
            why = last_line(folder / "log" / "sender.log", "no message")
            broken = f"; {error}" if isinstance(error, ResultError) else ""
            raise RunFailed(f"the engine left no result (see log/sender.log): {why}{broken}") from error
        if plan.transfer.mptcp and not told.tool_result.error and (fault := _not_multipath(told)):
            raise RunFailed(f"MPTCP was asked for and was not used: {fault}")
        return told

    def build_id(self) -> str:
        """The hash of the engine's sources; "" when it is not built."""
        return engine_build(ENGINE_BINARY) or ""


def _not_multipath(told: TransferResult) -> str | None:
    """Say what is missing of MPTCP with two subflows in a transfer, by the engine's report."""
    if told.tool_result.path is None or not told.tool_result.path.mptcp:
        return "the connections fell back to TCP"
    alone = [each.stream for each in told.streams if len(each.subflows) < 2]
    which = ", ".join(map(str, alone[:8])) + (", …" if len(alone) > 8 else "")
    return f"no second subflow was joined to stream {which}" if alone else None


ENGINE = Engine()
