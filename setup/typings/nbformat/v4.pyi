from typing import Any

from . import NotebookNode

def new_output(output_type: str, data: Any = None, **members: Any) -> NotebookNode: ...
