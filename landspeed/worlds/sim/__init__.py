"""The simulated world: the ns-3 program, and its driver.

calibration_facts.py  Measurements of the simulator on its path before the transfer, against the plan
doctor.py             Checks of the simulated world
flows.py              Simulator's results of each flow, in the record; and the place of each flow's samples
overtaking.py         Packets that overtake others: how far they may here, and what is refused
process.py            The simulator as a process: started, followed by its progress lines
program.py            The program that simulates: where it is, which build of it
world.py              The simulated world: a plan in, the ns-3 program run over it, a bundle out

doctor.py is short because there is one thing to look at; program.py because doctor.py and world.py share it.
"""
