"""Samples of every socket of a guest, and what they say: which connection was held back by what.

answer.py         What held a program back, from its runs at several round-trip times
datagrams.py      Datagrams: what one node sent to another by UDP, as the counters of its link tell it
phases.py         What one direction of a connection did, sample by sample: which of TCP's limits held it
series.py         What was sampled of sockets, as connections: two ends
socket_limits.py  What held back what the programs of one node sent to those of another, in one run
ways.py           The way between two nodes as a plan has it: what a judge of sockets compares with
"""
