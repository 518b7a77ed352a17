"""The version of this package, for all rooms: its face imports them, so they cannot import it."""

__version__ = "0.1.0"
