"""Standard modules, in the little that the guest needs of them (start.py).

dataclasses.py  Stand-in for dataclasses
typing.py       Stand-in for typing: names without meaning

typing.py is short because it has only what the guest needs of the real one.
"""
