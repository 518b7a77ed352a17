"""What runs inside the guest: PID 1, the Mininet nodes, the shaping, the calibration, the transfer.

These modules read the plan as plain JSON: importing the models would cost half a second of every start in the guest.
"""
