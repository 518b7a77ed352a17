"""What landspeed uses of pandas: its own types take the checker minutes."""

from typing import Any

class Series:
    def tolist(self) -> list[Any]: ...
    def __iter__(self) -> Any: ...

class DataFrame:
    def __getitem__(self, key: str) -> Series: ...
