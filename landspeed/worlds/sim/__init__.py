"""The simulated world: the ns-3 program, and its driver."""
