"""Probes that measure the path before anything is sent over it.

batches.py          Many packets by one system call (sendmmsg(2), recvmmsg(2))
calibrate.py        The calibration gate: what the built path really does, measured before a transfer counts
calibrate_flows.py  The calibration of a network: each route that a flow takes is measured as a path
settling.py         Token buckets on the way of a packet train
trains.py           Packet trains of the calibration: the rate of the bottleneck by their spacing
"""
