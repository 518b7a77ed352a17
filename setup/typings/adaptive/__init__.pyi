"""What is used of python-adaptive."""

from collections.abc import Callable
from typing import Any

class Learner1D:
    def __init__(
        self,
        function: Callable[[float], float] | None,
        bounds: tuple[float, float],
        loss_per_interval: Callable[[Any, Any], float] | None = None,
    ) -> None: ...
    def ask(self, n: int, tell_pending: bool = True) -> tuple[list[float], list[float]]: ...
    def tell(self, x: float, y: float) -> None: ...
