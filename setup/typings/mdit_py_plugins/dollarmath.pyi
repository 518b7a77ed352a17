from typing import Any

dollarmath_plugin: Any
