"""Functions that tests call in a guest: in a module that imports little, since that is what takes time there."""

import os


def square(value: int) -> tuple[int, str]:
    """To be called in the guest: its host's name says that it is."""
    return value * value, os.uname().nodename


def refuse(value: int) -> None:
    """Fails."""
    raise KeyError(value)


def leave() -> None:
    """Ends its Python."""
    os._exit(3)
