"""The command `landspeed` (being built)."""


def main() -> int:
    """Entry point."""
    return 0
