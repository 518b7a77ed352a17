"""Losses as a scenario file has them: a share, every N-th packet, the next N packets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, cast

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema

from landspeed.base.units import PACKETS, PROBABILITY, Quantity, UnitError, as_text, parse, parse_exact, quantity_schema

MAX_LOST_PACKETS = 10**6
MAX_LOSS_PERIOD = 10**9


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


class LossShareQuantity(Quantity):
    """Pydantic annotation: a probability, or a PeriodicLoss, `{every: 1000}`."""

    def __init__(self) -> None:
        """Up to every packet."""
        super().__init__(PROBABILITY, high=1)

    def _checked(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return super()._checked(value)
        given = cast("dict[str, Any]", value)
        right = f"write loss: {{every: 1000}}, a whole number of packets from 2 to {MAX_LOSS_PERIOD}"
        if given.keys() != {"every"}:
            raise UnitError("a loss that is a mapping has the one key 'every'", right)
        every = given["every"]
        if isinstance(every, bool) or not isinstance(every, int) or not 2 <= every <= MAX_LOSS_PERIOD:
            raise UnitError(f"'{every}' is not a period of losses", right)
        return PeriodicLoss(every)

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        every = {"type": "integer", "minimum": 2, "maximum": MAX_LOSS_PERIOD}
        period = {"type": "object", "properties": {"every": every}, "required": ["every"]}
        return {"anyOf": [quantity_schema(PROBABILITY), {**period, "additionalProperties": False}]}


LossShare: TypeAlias = Annotated[float, LossShareQuantity()]
Loss: TypeAlias = Annotated[LossAmount, LossQuantity()]
