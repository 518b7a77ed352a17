"""Packet captures: TCP segments, connections, and the congestion control that they show.

connection.py  A TCP connection as its packets tell it, captured anywhere on the path: rates, round trips
control.py     Congestion control of a sender, guessed from what it kept in flight
segments.py    TCP segments of a packet capture: what the headers say, of every link layer that hosts capture on
"""
