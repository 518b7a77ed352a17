"""The flows of a network's run together: what stands in the record beside each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from landspeed.results.tool_result import ToolResult

if TYPE_CHECKING:
    from landspeed.results.flow_result import FlowResult
    from landspeed.results.record import RunRecord


def with_flows(record: RunRecord, flows: list[FlowResult]) -> RunRecord:
    """The record with its flows and their totals.

    Bytes and retransmits are the sums, None where no flow tells any; the duration is from the run's start to the end
    of the last flow, and the goodput that of all bytes in this time. The tool's result is that of the first flow, and
    complete where every flow's is.
    """
    ends = [each.begins_s + each.duration_s for each in flows if each.begins_s is not None and each.duration_s]
    counts = [each.bytes for each in flows if each.bytes is not None]
    again = [each.retransmits for each in flows if each.retransmits is not None]
    errors = [f"{each.name}: {each.tool_result.error}" for each in flows if each.tool_result.error]
    duration_s, total = max(ends, default=None), sum(counts) if counts else None
    first = flows[0].tool_result
    whole = ToolResult(
        version=first.version,
        build=first.build,
        complete=all(each.tool_result.complete for each in flows),
        error="; ".join(errors) or None,
    )
    return record.model_copy(
        update={
            "flows": flows,
            "bytes": total,
            "duration_s": duration_s,
            "goodput_bps": 8 * total / duration_s if total is not None and duration_s else None,
            "retransmits": sum(again) if again else None,
            "tool_result": whole,
        }
    )
