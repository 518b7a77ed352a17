"""What runs inside the guest: PID 1, the nodes, the shaping, the calibration, the transfer.

Every import costs wall time at each start: what start.py does without is not imported here. `dataclasses` and `typing`
are those of stdlib_stand_ins/: no order, defaults only by default_factory, no fields of a base class, no __post_init__.
"""
