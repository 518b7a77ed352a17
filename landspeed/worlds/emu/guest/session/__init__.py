"""A guest that does one thing after the other as the host asks it.

conditions.py        What a session waits for: a port that somebody listens on, a line of output
loop.py              What PID 1 does while virtual time passes in a session: events at their nanosecond
request_fifo.py      Where the guest stands still until the host asks something of it
session.py           A session: the host asks one thing after the other
session_programs.py  The programs of a session: started at a node, their output kept as it comes
shell.py             A prompt on the emulated path: Mininet's command line over the nodes, in real time
shell_nodes.py       The nodes as Mininet's, for its command line; shells only when somebody types
"""
