"""The truth suite: what the network does beside what theory says, per rate class, IP version, fidelity and world.

    python -m tests.bench.truth                 everything; prints the whole table (`make truth`)
    python -m tests.bench.truth --rates 10M     some of it

A *question* is a request to a path and what theory says of its answer (question.py); theory.py has the formulas with
their sources, apart from the package's own. Questions to the wire are in packets.py, to TCP in tcp.py, to the simulator
in simulated*.py, and the BBR draft's cases in bbr_cases.py. guest/ is what runs inside the guest. test_truth.py
asks everything of one rate class in each run of the tests.
"""
