"""Standard modules, in the little that the guest needs of them (start.py).

dataclasses.py  What the guest needs of dataclasses
typing.py       What the guest needs of typing: names that stand for nothing

typing.py is short because it has only what the guest needs of the real one.
"""
