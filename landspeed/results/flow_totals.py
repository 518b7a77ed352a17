"""All flows of a run together: the figures of the record that follow from those of its flows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, Self, TypeVar, overload

from landspeed.results.calibration_result import CalibrationResult
from landspeed.results.check import Check
from landspeed.results.flow_result import Figures, FlowResult
from landspeed.results.tool_result import ToolResult

MOST_NAMED = 4  # flows that a verdict on the whole names
T = TypeVar("T")


class FlowsRecord(Protocol):
    """Record of several flows, of which totals are told."""

    @property
    def whole(self) -> Figures:
        """Figures of all of them together."""
        ...


class Total(Generic[T]):
    """Attribute of a record that is taken from its flows each time it is read."""

    def __set_name__(self, owner: type[FlowsRecord], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, record: None, owner: type[FlowsRecord]) -> Self: ...
    @overload
    def __get__(self, record: FlowsRecord, owner: type[FlowsRecord]) -> T: ...
    def __get__(self, record: FlowsRecord | None, owner: type[FlowsRecord]) -> Self | T:
        return self if record is None else getattr(record.whole, self._name)

    def __set__(self, record: FlowsRecord, value: T) -> None:
        raise AttributeError(f"{self._name} follows from the record's flows: set it there")


def whole_of(flows: Sequence[FlowResult]) -> Figures:
    """Figures of all flows together: of one, its own; of several, those that can be added up or judged together.

    Bytes and retransmits are the sums, None where no flow tells any; the duration is from the run's start to the end
    of the last flow, and the goodput that of all bytes in this time. A round-trip time, a window or a limit of several
    flows there is not.
    """
    if len(flows) == 1:
        return flows[0]
    ends = [each.begins_s + each.duration_s for each in flows if each.begins_s is not None and each.duration_s]
    counts = [each.bytes for each in flows if each.bytes is not None]
    again = [each.retransmits for each in flows if each.retransmits is not None]
    duration_s, total = max(ends, default=None), sum(counts) if counts else None
    judged = [each.passed for each in flows if each.passed is not None]
    return Figures(
        bytes=total,
        duration_s=duration_s,
        goodput_bps=8 * total / duration_s if total is not None and duration_s else None,
        retransmits=sum(again) if again else None,
        tool_result=_told(flows),
        calibration=_calibration(flows),
        verdicts=_verdicts(flows),
        passed=all(judged) if judged else None,
    )


def _told(flows: Sequence[FlowResult]) -> ToolResult:
    """The tool's result of the whole: the first flow's program, the first start, complete where every flow is."""
    told = [each.tool_result for each in flows]
    errors = [f"{each.name}: {each.tool_result.error}" for each in flows if each.tool_result.error]
    return ToolResult(
        version=next((each.version for each in told), None),
        build=next((each.build for each in told), None),
        complete=all(each.complete for each in told),
        error="; ".join(errors) or None,
        start_unix_ns=min((each.start_unix_ns for each in told if each.start_unix_ns), default=None),
    )


def _calibration(flows: Sequence[FlowResult]) -> CalibrationResult | None:
    measured = [(each.name, each.calibration) for each in flows if each.calibration]
    failures = [f"{name}: {failure}" for name, calibration in measured for failure in calibration.failures]
    return CalibrationResult(passed=not failures, failures=failures) if measured else None


def _verdicts(flows: Sequence[FlowResult]) -> list[Check]:
    """One verdict for each kind, over all flows: it fails where one fails, and names those."""
    kinds: dict[str, list[tuple[str, Check]]] = {}
    for flow in flows:
        for verdict in flow.verdicts:
            kinds.setdefault(verdict.name, []).append((flow.name, verdict))
    found: list[Check] = []
    for name, checks in kinds.items():
        failed = [(flow, verdict) for flow, verdict in checks if verdict.ok is False]
        judged = [verdict for _, verdict in checks if verdict.ok is not None]
        if failed:
            told = "; ".join(f"{flow}: {verdict.text}" for flow, verdict in failed[:MOST_NAMED])
            more = f"; and {len(failed) - MOST_NAMED} more" if len(failed) > MOST_NAMED else ""
            text = f"{len(failed)} of {len(checks)} flows: {told}{more}"
        else:
            all_of_them = len(judged) == len(checks)
            text = f"all {len(checks)} flows match" if all_of_them else f"{len(judged)} of {len(checks)} flows match"
        ok = False if failed else True if judged else None
        found.append(Check(name, ok, text, what=checks[0][1].what))
    return found
