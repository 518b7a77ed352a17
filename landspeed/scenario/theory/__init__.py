"""Formulas of the field, each once and with its source.

ack_path.py  The way back as a limit: how much payload the acknowledgments that fit into it stand for
physics.py   The physics of a path, each formula once, with its source
queueing.py  Where on a path a queue can form, and where that can be ruled out
timing.py    How long a lone packet takes over a path, and what a path carries
"""
