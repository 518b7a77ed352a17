"""Queue disciplines: what the file can say of each, and what the plan has of it, with the defaults of `tc` filled in.

A class below is a discipline: its fields are the keys of the file, with the defaults that tc(8) gives them. What has no
default here follows from the link (`resolve`). Which world has which discipline is the world's to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic_core import PydanticCustomError, core_schema

from landspeed.base.near import meant
from landspeed.base.units import RATE, BucketSize, Perturbation, Probability, Rate, SojournTime, format_exact
from landspeed.scenario.file.key_names import plan_values
from landspeed.scenario.plan.direction import DisciplineName, QueueParameters
from landspeed.scenario.theory import physics as ph

Flows = Annotated[int, Field(ge=1, le=65_536)]
FRAME_BYTES = 100  # what a bucket counts beside an IP packet, at most
ECN = "true: packets that negotiated ECN are marked instead of dropped"


class Parameters(BaseModel):
    """The parameters of one discipline."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class Fifo(Parameters):
    """First in, first out; a packet that finds the queue full is dropped."""


class Red(Parameters):
    """Random early detection (Floyd and Jacobson 1993), not gentle; thresholds are of the average queue."""

    min: BucketSize | None = Field(
        None, description="Average queue at which it begins to drop; default 1/12 of `queue`"
    )
    max: BucketSize | None = Field(
        None, description="Average queue at which it drops everything; default 1/4 of `queue`"
    )
    probability: Probability = Field(
        ph.RED_MAX_PROBABILITY, description="Probability of a drop just below `max`; default 2 %"
    )
    ecn: bool = Field(True, description=ECN + "; default true")
    instant: bool = Field(
        False,
        description="true: thresholds are of the queue itself, as DCTCP has it, not of its average; default false",
    )


class Codel(Parameters):
    """Controlled delay (RFC 8289)."""

    target: SojournTime = Field(ph.CODEL_TARGET_NS, description="Queueing delay that is allowed to last; default 5 ms")
    interval: SojournTime = Field(
        ph.CODEL_INTERVAL_NS,
        description="Time for which the delay must be above target before a drop; about the RTT; default 100 ms",
    )
    ecn: bool = Field(False, description=ECN + "; default false")
    ce_threshold: SojournTime | None = Field(None, description="Every packet that waited longer is marked; default off")


class FqCodel(Codel):
    """CoDel in a separate queue for each flow, served in turns (RFC 8290)."""

    ecn: bool = Field(True, description=ECN + "; default true")
    flows: Flows = Field(ph.FQ_CODEL_FLOWS, description="Number of queues that flows are hashed to; default 1024")
    quantum: BucketSize | None = Field(None, description="Bytes sent in a turn; default one packet of the link's MTU")


class Pie(Parameters):
    """Proportional integral controller enhanced (RFC 8033)."""

    target: SojournTime = Field(ph.PIE_TARGET_NS, description="Queueing delay that it aims at; default 15 ms")
    update: SojournTime = Field(ph.PIE_UPDATE_NS, description="Time between two computations; default 15 ms")
    alpha: int = Field(ph.PIE_ALPHA, ge=0, le=32, description="Weight of the delay's error, in 1/16; default 2")
    beta: int = Field(ph.PIE_BETA, ge=0, le=32, description="Weight of the delay's change, in 1/16; default 20")
    ecn: bool = Field(False, description=ECN + ", while its probability is below 10 %; default false")


class FqPie(Pie):
    """PIE in a separate queue for each flow, served in turns."""

    flows: Flows = Field(ph.FQ_CODEL_FLOWS, description="Number of queues that flows are hashed to; default 1024")
    quantum: BucketSize | None = Field(None, description="Bytes sent in a turn; default one packet of the link's MTU")


class DualPi2(Parameters):
    """Dual queue of L4S (RFC 9332): PI2 for what is ECT(0) or not ECN-capable, and marks at a threshold for ECT(1)."""

    target: SojournTime = Field(ph.DUALPI2_TARGET_NS, description="Delay that PI2 aims at; default 15 ms")
    update: SojournTime = Field(ph.DUALPI2_UPDATE_NS, description="Time between two computations; default 16 ms")
    alpha: int = Field(
        ph.DUALPI2_ALPHA, ge=0, le=65_535, description="Weight of the delay's error, in 1/256 Hz; default 41"
    )
    beta: int = Field(
        ph.DUALPI2_BETA, ge=0, le=65_535, description="Weight of the delay's change, in 1/256 Hz; default 819"
    )
    ce_threshold: SojournTime = Field(
        ph.DUALPI2_STEP_NS, description="An L4S packet that waited longer is marked; default 1 ms"
    )
    coupling: int = Field(
        2, ge=1, le=255, description="L4S is marked this many times as likely as PI2's root; default 2"
    )
    classic_share: int = Field(
        10, ge=0, le=100, description="Percentage of the line that PI2's queue gets while L4S has packets; default 10"
    )


class Sfq(Parameters):
    """Stochastic fairness queueing (McKenney 1990): flows in turns; the longest queue loses its last packet."""

    perturb: Perturbation = Field(
        0, description="Time after which flows are hashed again, in whole seconds; default never"
    )
    depth: int = Field(127, ge=1, le=127, description="Most packets of one flow; default 127, the maximum")
    flows: Flows = Field(127, description="Most flows at once; default 127")
    quantum: BucketSize | None = Field(None, description="Bytes sent in a turn; default one packet of the link's MTU")


class Cake(Parameters):
    """Common applications kept enhanced: flow isolation, COBALT; the line's rate is the link's."""

    rtt: SojournTime = Field(100_000_000, description="Its interval; the target is a twentieth of it; default 100 ms")
    ack_filter: bool = Field(False, description="true: drops acknowledgments that a later one includes; default false")
    isolation: Literal["triple-isolate", "flows", "hosts", "flowblind"] = Field(
        "triple-isolate", description="What gets equal shares; default triple-isolate: hosts first, then flows"
    )


class Tbf(Parameters):
    """A token bucket before the line. With a queue of few packets it is a policer: it drops what has no tokens."""

    rate: Rate = Field(description="Rate of IP packets with their framing, at most the line's")
    burst: BucketSize = Field(description="Bytes that pass at the line's rate after a pause")


class Discipline(BaseModel):
    """Queue discipline: a name, or a name with parameters (`codel: {target: 10 ms}`)."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    fifo: Fifo | None = Field(None, description="First in, first out; the default")
    red: Red | None = Field(None, description="Random early detection")
    codel: Codel | None = Field(None, description="Controlled delay (RFC 8289)")
    fq_codel: FqCodel | None = Field(None, description="CoDel for each flow (RFC 8290)")
    pie: Pie | None = Field(None, description="PIE (RFC 8033)")
    fq_pie: FqPie | None = Field(None, description="PIE for each flow")
    dualpi2: DualPi2 | None = Field(None, description="Two coupled queues for L4S (RFC 9332); Linux 6.17 and later")
    sfq: Sfq | None = Field(None, description="Stochastic fairness queueing")
    cake: Cake | None = Field(None, description="Flow isolation with COBALT")
    tbf: Tbf | None = Field(None, description="A token bucket; with a short queue a policer")

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        """`codel` is `{codel: {}}`."""
        if isinstance(value, str):
            value = {value: {}}
        if not isinstance(value, dict) or len(cast(dict[Any, Any], value)) != 1:
            raise _wrong("a discipline is one name, or one name with its parameters")
        ((name, parameters),) = cast(dict[Any, Any], value).items()
        if name not in cls.model_fields:
            raise _wrong(f"discipline '{name}' is not known", str(name))
        return {name: parameters}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        made = handler(core)
        mapping = handler.resolve_ref_schema(made)
        mapping |= {"minProperties": 1, "maxProperties": 1}
        return {"anyOf": [{"type": "string", "enum": list(cls.model_fields)}, made]}

    @property
    def kind(self) -> DisciplineName:
        """Name of the discipline."""
        return cast(DisciplineName, next(iter(self.model_fields_set)))

    @property
    def parameters(self) -> Parameters:
        """Parameters of the discipline, defaults filled in."""
        return getattr(self, self.kind)


def _wrong(what: str, name: str = "") -> PydanticCustomError:
    right = f"{meant(name, Discipline.model_fields)}write one of: {', '.join(Discipline.model_fields)}"
    return PydanticCustomError("discipline", "{what}", {"what": what, "right": right})


def resolve(discipline: Discipline | None, queue_bytes: int) -> tuple[DisciplineName, QueueParameters | None]:
    """Name and parameters as the plan has them; what the file leaves to the link is filled in from its queue."""
    if discipline is None or discipline.kind == "fifo":
        return "fifo", None
    said: dict[str, Any] = {
        name: value for name, value in plan_values(discipline.parameters).items() if value is not None
    }
    if discipline.kind == "red":
        least, most = ph.red_thresholds_bytes(queue_bytes)
        said = {"min_bytes": least, "max_bytes": most} | said
        said["weight_log"] = 0 if said.pop("instant") else ph.red_weight_log(said["max_bytes"])
    return discipline.kind, QueueParameters(**said)


def check_parameters(
    parameters: QueueParameters, queue_bytes: int, line_rate_bps: int, largest_bytes: int
) -> Iterator[tuple[str, str, str]]:
    """Find the contradictions of parameters and link: the key, what is wrong, what would be right.

    Args:
        parameters: as resolved.
        queue_bytes: of the link.
        line_rate_bps: of the link.
        largest_bytes: what must pass a bucket whole: a packet, or a super-packet.
    """
    least, most = parameters.min_bytes, parameters.max_bytes
    if least is not None and most is not None and not least < most <= queue_bytes:
        what = f"RED's thresholds of {least} B and {most} B do not fit a queue of {queue_bytes} B"
        yield ("max" if least < most else "min"), what, "write min below max, and max at most the queue"
    rate, burst = parameters.rate_bps, parameters.burst_bytes
    if rate is not None and rate > line_rate_bps:
        what = f"tokens come at {format_exact(RATE, rate)}, faster than the line"
        yield "rate", what, f"write at most {format_exact(RATE, line_rate_bps)}"
    if burst is not None and burst < largest_bytes + FRAME_BYTES:
        what = f"a burst of {burst} B lets no packet of {largest_bytes} B through"
        yield "burst", what, f"write at least {largest_bytes + FRAME_BYTES} B"
