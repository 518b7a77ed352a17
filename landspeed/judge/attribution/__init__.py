"""States of a flow over time: what kept it from sending more, interval by interval.

attribution.py    Attribution: every interval of every stream of a flow to exactly one state
intervals.py      Intervals of a stream: what its sender's samples say of the time between two of them
line_evidence.py  Evidence from the lines of a flow's path, over time: which was full
"""
