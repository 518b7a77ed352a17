"""What runs inside the guest: PID 1, the nodes, the shaping, the calibration, the transfer.

Every import costs wall time at each start: what start.py does without is not imported here.
"""
