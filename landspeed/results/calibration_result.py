"""Calibration of a path before the transfer, as the record has it."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from landspeed.results.check import Check
from landspeed.results.tool_result import Open


class CalibrationResult(Open):
    """Calibration of the built path before the transfer, against the plan.

    `hops` and `reverse_hops` have `ttl`, `node`, `address`, `rtt_ms` and `expected_ms`; `queue` has `link`,
    `direction`, `expected_bytes` and `measured_bytes`. `joined` is there when links are passed in one step: for each
    end the `rtt_ms` and the `reply_ttl` of an echo that goes so, and the rate of a train that goes hop by hop.
    """

    rtt_ms: float | None = None
    rtt_expected_ms: float | None = None
    tolerance: float | None = None
    rtt_floor_ms: float | None = None  # the least error of an RTT that counts
    hops: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    reverse_hops: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    path_mtu_bytes: int | None = None
    mtu_expected_bytes: int | None = None
    rate_bps: float | None = None
    rate_expected_bps: float | None = None
    rate_reverse_bps: float | None = None
    rate_reverse_expected_bps: float | None = None
    rate_tolerance: float | None = None
    joined: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])  # of links passed in one step
    queue: list[dict[str, Any]] | None = None
    checks: list[Check] = Field(default_factory=list[Check])
    passed: bool | None = None
    failures: list[str] = Field(default_factory=list[str])
