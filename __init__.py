"""landspeed: rehearse very long, very fast network paths. The rooms are described in ARCHITECTURE.md."""

__version__ = "0.1.0"
