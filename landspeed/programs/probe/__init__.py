"""Probe: the effect of a long path on any program.

folder.py     Folder of a probe: its samples, its output and its page
kept_page.py  The page of a probe, from what it found and kept
one_case.py   One run of a probe: the servers, the client, and what was seen of their sockets
paths.py      The path of a probe: two hosts, or a scenario, at the round-trip time
probe.py      `landspeed.probe`: what any program does to a long path, and what holds it back
spec.py       Specification of a probe: servers, a client, and the paths between them
table.py      Table of a probe's results for a terminal

folder.py is short because it is about the disk, and the rest about programs.
"""
