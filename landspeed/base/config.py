"""The user's file of defaults: `landspeed/config.toml` below XDG_CONFIG_HOME, lines such as `run.kernel = "6.12"`."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, cast

from landspeed.base.errors import LandspeedError

LINE = re.compile(r"^\s*(?P<key>[\w.-]+)\s*=")


class ConfigError(LandspeedError):
    """The file of defaults cannot be used; the message says what would be right."""


def config_file() -> Path:
    """Place of the file, whether it is there or not."""
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "landspeed" / "config.toml"


def has_config() -> bool:
    """Return whether the file is there, for this user: a home that cannot be entered has none."""
    try:
        return config_file().is_file()
    except OSError:
        return False


def read_config() -> dict[str, str | bool]:
    """Dotted key → value, as text unless it is true or false; empty without a file.

    Raises:
        ConfigError: it cannot be read.
    """
    if not has_config():
        return {}
    file = config_file()
    # saves 10 ms where there is no file, which is nearly always
    import tomllib

    try:
        return dict(_flat(tomllib.loads(file.read_text(encoding="utf-8")), ""))
    except (OSError, ValueError) as error:
        raise ConfigError(f'{file}: {error}; write lines such as: run.kernel = "6.12"') from None


def _flat(table: dict[str, Any], above: str) -> list[tuple[str, str | bool]]:
    found: list[tuple[str, str | bool]] = []
    for name, value in table.items():
        if isinstance(value, dict):
            found += _flat(cast("dict[str, Any]", value), f"{above}{name}.")
        else:
            found.append((above + name, value if isinstance(value, bool) else str(value)))
    return found


def write_config(key: str, value: str | bool | None) -> None:
    """Set a key, or remove it (None). Other lines stay as they are.

    Raises:
        ConfigError: the file cannot be written, or has tables: then it is the user's to edit.
    """
    file = config_file()
    try:
        lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
        if any(line.lstrip().startswith("[") for line in lines):
            raise ConfigError(f"{file} has tables ([run]); edit it by hand")
        kept = [line for line in lines if not ((found := LINE.match(line)) and found["key"] == key)]
        # A basic string of TOML is written as one of JSON is.
        shown = str(value).lower() if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join([*kept, *([] if value is None else [f"{key} = {shown}"]), ""]), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}") from None
