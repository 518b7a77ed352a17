"""The C transfer engine: its command line and its result, for Python."""
