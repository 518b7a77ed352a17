"""What the plays' modules use of Ansible, which has no types."""

from collections.abc import Mapping
from typing import Any, NoReturn

class AnsibleModule:
    # What the play gave, by the argument_spec; each module names the shape of its own.
    params: Any
    check_mode: bool
    def __init__(
        self, argument_spec: Mapping[str, Mapping[str, object]], *, supports_check_mode: bool = ...
    ) -> None: ...
    def exit_json(self, **result: object) -> NoReturn: ...
    def fail_json(self, msg: str, **result: object) -> NoReturn: ...
