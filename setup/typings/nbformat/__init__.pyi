from typing import Any

class NotebookNode(dict[str, Any]):
    cells: list[Any]
    metadata: Any

def writes(nb: NotebookNode) -> str: ...
