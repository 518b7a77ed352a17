"""The transfer engine as a tool of the worlds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..results.failure import RunFailed
from ..results.files import last_line
from ..scenarios.plan import Plan
from ..worlds.tool import Tool
from .command import ENGINE_BINARY, engine_commands
from .identity import engine_build


class Engine(Tool):
    """landspeed's own transfer engine: it can do all that a scenario can ask."""

    name = "engine"
    summary = "landspeed's own transfer engine"
    networks = True

    def refusals(self, plan: Plan) -> list[str]:  # noqa: ARG002 (of every tool)
        """Nothing."""
        return []

    def commands(self, plan: Plan, out: str) -> tuple[list[str], list[str]]:
        """Receiver and sender."""
        return engine_commands(plan.transfer, out)

    def commands_at(self, plan: Plan, out: str, port: int) -> tuple[list[str], list[str]]:
        """Receiver and sender of a flow."""
        return engine_commands(plan.transfer, out, port=port)

    def convert(self, folder: Path, plan: Plan) -> dict[str, Any]:  # noqa: ARG002 (of every tool)
        """Its samples are right as they are."""
        from .result import ResultError, read_result

        try:
            return read_result(folder / "engine.json").model_dump(mode="json")
        except (OSError, ResultError) as error:
            why = last_line(folder / "log" / "sender.log", "no message")
            broken = f"; {error}" if isinstance(error, ResultError) else ""
            raise RunFailed(f"the engine left no result (see log/sender.log): {why}{broken}") from error

    def build_id(self) -> str:
        """The hash of the engine's sources; "" when it is not built."""
        return engine_build(ENGINE_BINARY) or ""


ENGINE = Engine()
