from collections.abc import Callable
from typing import Any

def curvature_loss_function(
    area_factor: float = 1, euclid_factor: float = 0.02, horizontal_factor: float = 0.02
) -> Callable[[Any, Any], float]: ...
