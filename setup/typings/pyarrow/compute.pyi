from collections.abc import Sequence

from . import Column, DataType, Scalar
from . import Expression as Expression

class CastOptions:
    def __init__(self, target_type: DataType | None = None) -> None: ...

class SetLookupOptions:
    def __init__(self, value_set: Column) -> None: ...

# Arrow returns a scalar where all arguments are scalars; here one always is a column.
def call_function(
    name: str, args: Sequence[Column | Scalar], options: CastOptions | SetLookupOptions | None = None
) -> Column: ...
def field(name: str) -> Expression: ...
