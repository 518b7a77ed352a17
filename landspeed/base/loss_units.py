"""Losses as a scenario file has them: a share, every N-th packet, errors of bits, the next N packets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, cast

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema

from landspeed.base.units import PACKETS, PROBABILITY, Quantity, UnitError, as_text, parse, parse_exact, quantity_schema

MAX_LOST_PACKETS = 10**6
MAX_LOSS_PERIOD = 10**9
MAX_BIT_ERROR_RATE = 1e-3  # of a frame of 1500 B, 6 of a million arrive


@dataclass(frozen=True)
class LossAmount:
    """Loss of an event: the next N packets, or each packet of a time with a probability."""

    packets: int | None = None
    probability: float | None = None


class LossQuantity:
    """Pydantic annotation: a LossAmount, `1 packet`, `12 packets` or `5 %`."""

    def validate(self, value: Any) -> LossAmount:
        """The loss; raises PydanticCustomError whose context has `right`, the advice."""
        try:
            return self._checked(as_text(value, PACKETS))
        except UnitError as error:
            raise PydanticCustomError("quantity", "{what}", {"what": error.what, "right": error.right}) from None

    def _checked(self, text: str) -> LossAmount:
        if not text.strip().endswith(tuple(PROBABILITY.factors)):
            packets = parse(PACKETS, text)
            if not 1 <= packets <= MAX_LOST_PACKETS:
                raise UnitError(f"'{text.strip()}' is not a loss", f"write 1 packet to {MAX_LOST_PACKETS} packets")
            return LossAmount(packets=packets)
        probability = parse_exact(PROBABILITY, text)
        if not 0 < probability <= 1:
            raise UnitError(f"'{text.strip()}' is not the probability of a loss", "write more than 0 %, at most 100 %")
        return LossAmount(probability=float(probability))

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self.validate)

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return quantity_schema(PACKETS, *PROBABILITY.factors)


class PeriodicLoss(float):
    """Loss of every N-th packet: the share 1/N, and the N."""

    every: int

    def __new__(cls, every: int) -> PeriodicLoss:
        """The share of a period."""
        made = super().__new__(cls, 1 / every)
        made.every = every
        return made

    def __getnewargs__(self) -> tuple[int]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Make it of this in another process; a float's own would be the share."""
        return (self.every,)


class BitErrors(float):
    """Loss by errors of bits: as a share, what an unending frame loses; `rate` is the share of bits in error."""

    rate: float

    def __new__(cls, rate: float) -> BitErrors:
        """The loss at a rate of errors."""
        made = super().__new__(cls, 1.0)
        made.rate = rate
        return made

    def of_frames(self, frame_bytes: int) -> float:
        """The share of frames of this length with a bit in error, each bit for itself: 1 − (1 − rate)^bits."""
        return -math.expm1(8 * frame_bytes * math.log1p(-self.rate))


class LossShareQuantity(Quantity):
    """Pydantic annotation: a probability, a PeriodicLoss, `{every: 1000}`, or BitErrors, `{bit_error_rate: 1e-12}`."""

    def __init__(self) -> None:
        """Up to every packet."""
        super().__init__(PROBABILITY, high=1)

    def _checked(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return super()._checked(value)
        given = cast("dict[str, Any]", value)
        if given.keys() not in ({"every"}, {"bit_error_rate"}):
            what = "a loss that is a mapping has the one key 'every' or 'bit_error_rate'"
            raise UnitError(what, "write loss: {every: 1000} or loss: {bit_error_rate: 1e-12}")
        (number,) = given.values()
        if "every" in given:
            if isinstance(number, bool) or not isinstance(number, int) or not 2 <= number <= MAX_LOSS_PERIOD:
                right = f"write loss: {{every: 1000}}, a whole number of packets from 2 to {MAX_LOSS_PERIOD}"
                raise UnitError(f"'{number}' is not a period of losses", right)
            return PeriodicLoss(number)
        try:  # of YAML 1.1, 1e-12 is text: it asks for a point
            rate = math.nan if isinstance(number, bool) else float(number)
        except (TypeError, ValueError):
            rate = math.nan
        if not 0 < rate <= MAX_BIT_ERROR_RATE:
            right = f"write loss: {{bit_error_rate: 1e-12}}, a number above 0, up to {MAX_BIT_ERROR_RATE:g}"
            raise UnitError(f"'{number}' is not a share of bits in error", right)
        return BitErrors(rate)

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        every = {"type": "integer", "minimum": 2, "maximum": MAX_LOSS_PERIOD}
        period = {"type": "object", "properties": {"every": every}, "required": ["every"]}
        rate = {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_BIT_ERROR_RATE}
        errors = {"type": "object", "properties": {"bit_error_rate": rate}, "required": ["bit_error_rate"]}
        mappings = [{**each, "additionalProperties": False} for each in (period, errors)]
        return {"anyOf": [quantity_schema(PROBABILITY), *mappings]}


LossShare: TypeAlias = Annotated[float, LossShareQuantity()]
Loss: TypeAlias = Annotated[LossAmount, LossQuantity()]
