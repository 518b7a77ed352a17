"""Packet captures: TCP segments, connections, and the congestion control that they show.

connection.py    A TCP connection as its packets tell it, captured anywhere on the path: rates, round trips
control.py       Congestion control of a sender, guessed from what it kept in flight
sacked_holes.py  Packets that overtook others, as selective acknowledgments tell it to the sender (RFC 2018
"""
