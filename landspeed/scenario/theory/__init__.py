"""Formulas of the field, each once and with its source.

ack_path.py    The way back as a limit: how much payload the acknowledgments that fit into it stand for
datagrams.py   Datagrams: what a flow of UDP sends, and what a path lets through of it
patience.py    Patience of a transfer: how long nothing may move before it is given up
physics.py     The physics of a path, each formula once, with its source
queueing.py    Queues of a path: where one can form, where that can be ruled out, and how long a full one delays
speech.py      Speech over packets: how a call sounds, by the E-model of ITU-T Recommendation G.107
timing.py      Timing of a lone packet over a path, and the path's capacity
tolerances.py  Tolerances: how far a measured figure may be from the planned one
"""
