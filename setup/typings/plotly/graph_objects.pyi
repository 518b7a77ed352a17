from collections.abc import Mapping
from typing import Any

class Figure:
    def __init__(self, data: Mapping[str, object] | None = None) -> None: ...
    def update_layout(self, *, title: str, showlegend: bool, template: str) -> Figure: ...
    def to_dict(self) -> dict[str, Any]: ...  # Plotly's own JSON
