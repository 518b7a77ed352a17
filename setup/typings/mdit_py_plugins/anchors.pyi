from typing import Any

anchors_plugin: Any
