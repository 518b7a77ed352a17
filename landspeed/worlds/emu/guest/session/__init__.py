"""A guest that does one thing after the other as the host asks it.

conditions.py        Conditions that a session waits for: a listening port, a line of output
loop.py              Loop of PID 1 while virtual time passes in a session: events at their nanosecond
packet_ring.py       Ring of a session's first packets at an interface, kept by the kernel
request_fifo.py      Door of the guest, where it stands still until the host asks
session.py           A session: the host asks one thing after the other
session_programs.py  The programs of a session: started at a node, their output kept as it comes
shell.py             A prompt on the emulated path: Mininet's command line over the nodes, in real time
shell_net.py         The built network as Mininet's, for its command line: interfaces, links
shell_nodes.py       The nodes as Mininet's, for its command line; shells only when somebody types
"""
