"""A tool: the program that makes the transfer inside a world. It says what it can, and refuses what it cannot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from landspeed.base.failures import NotReady

if TYPE_CHECKING:
    from pathlib import Path

    from landspeed.results.tool_result import TransferResult
    from landspeed.scenario.plan.plan import Plan


class ToolError(NotReady):
    """A program that the run needs is missing, or cannot do what the plan asks; the message says what to do."""


class UnknownTool(ToolError):  # noqa: N818 (it says what happened)
    """Unknown name of a tool; the message lists those that are there."""

    about_machine = False


class ToolRefused(ToolError):  # noqa: N818
    """The tool cannot do what the plan asks, on any host."""

    about_machine = False


class Tool(ABC):
    """A tool is an instance of a subclass, named in the entry points `landspeed.tools` of its package.

    Attributes:
        name: as in `--tool NAME` and in records.
        summary: what it is, in a few words, for `--help`.
        networks: whether it can make the flows of a network: begin at a time, and share a host with others of its kind.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    networks: ClassVar[bool] = False

    @abstractmethod
    def refusals(self, plan: Plan) -> list[str]:
        """List the parts of the plan that this tool cannot do, each with what would be right."""

    def check(self, plan: Plan) -> None:
        """Refuse what cannot be done.

        Raises:
            Refused: with all of it.
        """
        if not plan.is_path and not self.networks:
            able = "the engine can: leave out --tool"
            raise ToolRefused(f"{self.name} makes one transfer over a path, and not the flows of a network; {able}")
        if found := self.refusals(plan):
            raise ToolRefused(f"{self.name} cannot make this transfer: " + "; ".join(found))

    @abstractmethod
    def commands(self, plan: Plan, out: str, port: int) -> tuple[list[str], list[str]]:
        """Command lines of the receiver and the sender of a flow; `{receiver}` stands for the receiver's address.

        The sender begins at the whole second of the monotonic clock that LANDSPEED_WHOLE_SECOND says, counted from the
        present one; or it is started at that second (`handshake_ns`).

        Args:
            plan: of the flow's path alone.
            out: folder for what they write, as they see it.
            port: TCP port on which the receiver listens.
        """

    def starter_command(self) -> list[str]:
        """Command line of a program that starts many of this tool's at less cost (emu/guest/spawn.py); empty: none."""
        return []

    def handshake_ns(self, plan: Plan) -> int | None:  # noqa: ARG002
        """Handshake time of a sender that can neither delay nor report its start. The caller starts it at that second.

        Args:
            plan: of the flow's path alone.

        Returns:
            time from the start of the sender until it can send; None: it can do both.
        """
        return None

    @abstractmethod
    def convert(self, folder: Path, plan: Plan) -> TransferResult:
        """Put what it wrote into sender.csv and receiver.csv (results/sample_columns.py).

        Returns:
            what it told of the transfer.

        Raises:
            RunFailed: it left no result.
        """

    def build_id(self) -> str:
        """Identify this build; "" if it is not known."""
        return ""
