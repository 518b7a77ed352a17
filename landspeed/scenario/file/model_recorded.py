"""The sections of a scenario file that say what was recorded, or what is wanted; they follow model.py's rules."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic_core import PydanticCustomError

from landspeed.base.limits import NOT_STATED, RecordedLimit
from landspeed.base.units import TIME as TIME_KIND
from landspeed.base.units import (
    Amount,
    Delay,
    Distance,
    Duration,
    Goodput,
    Probability,
    Ratio,
    Score,
    UnitError,
    as_text,
    parse,
    quantity_schema,
)
from landspeed.scenario.file.section import Section, Text


class RecordedTime:
    """Pydantic annotation: a recorded round trip, `125 ms`, or `<1 ms` when the tool gave only a bound."""

    def validate(self, value: Any) -> tuple[float, bool]:
        """(milliseconds, whether that is only an upper bound)."""
        try:
            text = as_text(value, TIME_KIND).strip()
            below = text.startswith("<")
            return parse(TIME_KIND, text.removeprefix("<")) / 1e6, below
        except UnitError as error:
            raise PydanticCustomError("quantity", "{what}", {"what": error.what, "right": error.right}) from None

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(self.validate)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        made = quantity_schema(TIME_KIND)
        return {**made, "pattern": made["pattern"].replace(r"^\s*", r"^\s*<?\s*", 1), "examples": ["125 ms", "<1 ms"]}


class RecordedHopSection(Section):
    """A line of a recorded traceroute."""

    label: Text = Field(description="Name and address as recorded")
    rtt: list[Annotated[tuple[float, bool], RecordedTime()]] = Field(max_length=16, description="Times as recorded")


class ExpectSection(Section):
    """The recorded or wanted result."""

    source: Text = Field(description="Where the figures come from")
    measured: bool = Field(
        False, description="true: measured on a real path (`landspeed import`); not the figures of a record"
    )
    goodput: Goodput | None = Field(None, description="Payload bits per second, all streams together")
    tolerance: Probability | None = Field(None, description="Allowed difference from the goodput")
    from_: Delay | None = Field(
        None, alias="from", description="Count goodput from this time on; default: the whole run"
    )
    bytes: Amount | None = Field(None, description="Recorded size; compared only if the transfer is as large")
    duration: Duration | None = Field(None, description="Recorded duration; compared only if the transfer is as long")
    rtt: Delay | None = Field(None, description="Round-trip time, end to end")
    retransmits: int | None = Field(None, ge=0, description="Recorded number of retransmissions")
    streams_goodput: list[Goodput] | None = Field(
        None, min_length=1, max_length=1000, description="Recorded goodput of each stream"
    )
    distance: Distance | None = Field(None, description="Recorded distance")
    score: Score | None = Field(None, description="Goodput × terrestrial distance")
    forward_traceroute: list[RecordedHopSection] = Field(
        [], max_length=255, description="Recorded at the sender, for the report"
    )
    reverse_traceroute: list[RecordedHopSection] = Field(
        [], max_length=255, description="Recorded at the receiver, for the report"
    )


class PreviousRecordSection(Section):
    """The record of the same class that this one had to beat."""

    score: Score | None = Field(None, description="Goodput × terrestrial distance")
    improvement: Ratio | None = Field(None, description="By how much it was beaten, where only that is recorded")
    what: Text = Field(description="Who, when and where, and the source")


class ContestSection(Section):
    """Facts of a record's documents for the rules of the Internet2 Land Speed Record, rule by rule."""

    date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}(-\d{2})?$")] = Field(description="Day or month of the record")
    basis: Literal["documents", "public", "what if"] = Field(
        "documents",
        description="What the file is based on: the record's own documents, public notices, or nothing recorded",
    )
    networks: Text | None = Field(None, description="Networks on the path, and that they were operational")
    payload: Text | None = Field(None, description="What is said about the uniqueness of the data sent")
    bound_by: RecordedLimit = Field(NOT_STATED, description="What limited the recorded run, as its documents say")
    bound_why: Text | None = Field(None, description="Their words, or what follows from their figures")
    previous: PreviousRecordSection | None = Field(None, description="The record of the class before it")
