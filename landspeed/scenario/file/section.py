"""Base of every mapping of a scenario file, and the plain texts in them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(min_length=1, max_length=4000)]


class Section(BaseModel):
    """A mapping of the file: unknown keys are errors, values are what they say (no text for a number)."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True, defer_build=True)
