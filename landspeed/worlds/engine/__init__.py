"""The C transfer engine: its command line and its result, for Python.

command.py    The command lines of the C transfer engine, built from a plan's transfer
datagrams.py  The JSON result of the engine's `udp`, and the receiver's bytes over time
identity.py   Identity of the engine's build
result.py     The JSON result of the C transfer engine (`send --json`), read as the result of every tool
tool.py       The transfer engine as a tool of the worlds

identity.py is short because inventories of real hosts need it without the tool.
"""
