"""Packet captures: TCP segments, connections, and the congestion control that they show.

connection.py  A TCP connection as its packets tell it, captured anywhere on the path: rates, round trips
control.py     Congestion control of a sender, guessed from what it kept in flight
"""
