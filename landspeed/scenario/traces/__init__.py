"""Traces: a link's rate and delay over time, from files and from models.

made_traces.py  The traces that come with landspeed
trace_file.py   A trace: a file that says what a direction of a link is over time
"""
