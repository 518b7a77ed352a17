"""What landspeed uses of ruamel.yaml, whose own annotations name few types."""

from io import StringIO
from pathlib import Path
from typing import Literal

from .error import YAMLError as YAMLError
from .nodes import Node

class YAML:
    default_flow_style: bool | None
    width: int
    allow_unicode: bool
    def __init__(self, *, typ: Literal["rt", "safe"] = "rt", pure: bool = False) -> None: ...
    def compose(self, stream: str) -> Node | None: ...
    def load(self, stream: str | Path) -> object: ...
    def dump(self, data: object, stream: StringIO) -> None: ...
