"""Samples of every socket of a guest, and what they say: which connection was held back by what.

answer.py         Limit of a program, from its runs at several round-trip times: one answer for each direction
datagrams.py      Datagrams: what one node sent to another by UDP, as the counters of its link tell it
direction.py      Limit of one direction between two nodes, of TCP or of datagrams
phases.py         Intervals of one direction of a connection
series.py         Series of socket samples, as connections: two ends
socket_limits.py  Limit of the TCP traffic from the programs of one node to those of another, in one run
ways.py           The way between two nodes as a plan has it: what a judge of sockets compares with

direction.py stands above the judges of TCP and of datagrams, which do not know each other.
"""
