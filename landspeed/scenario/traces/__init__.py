"""Traces: a link's rate and delay over time, from files and from models.

delay_tables.py  Tables of a delay's distribution, as netem has them: made as iproute2 makes its own
made_traces.py   The traces that come with landspeed
trace_file.py    A trace: a file that says what a direction of a link is over time
"""
