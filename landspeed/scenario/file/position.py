"""Positions on the globe, as a scenario writes them: `46.2022 N, 6.1457 E`."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeAlias

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema

_NUMBER = r"[0-9]{1,3}(?:\.[0-9]{1,8})?"
_POSITION = re.compile(rf"\s*({_NUMBER})\s*°?\s*([NS])\s*,?\s*({_NUMBER})\s*°?\s*([EW])\s*")
EXAMPLE = "46.2022 N, 6.1457 E"


class PositionValue:
    """Pydantic annotation: latitude and longitude in degrees (WGS 84), north and east positive."""

    def validate(self, value: Any) -> tuple[float, float]:
        """(latitude, longitude); raises PydanticCustomError whose context has `right`, the advice."""
        match = _POSITION.fullmatch(value) if isinstance(value, str) and len(value) <= 64 else None
        if match:
            latitude = float(match[1]) * (1 if match[2] == "N" else -1)
            longitude = float(match[3]) * (1 if match[4] == "E" else -1)
            if abs(latitude) <= 90 and abs(longitude) <= 180:
                return latitude, longitude
        what = f"'{str(value)[:64]}' is not a position on the globe"
        right = f"write latitude and longitude in degrees, as in {EXAMPLE} (at most 90 N or S, 180 E or W)"
        raise PydanticCustomError("quantity", "{what}", {"what": what, "right": right})

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self.validate)

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "pattern": f"^{_POSITION.pattern}$", "examples": [EXAMPLE]}


Position: TypeAlias = Annotated[tuple[float, float], PositionValue()]
