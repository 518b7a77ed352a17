"""The plan: the whole work of a run in plain numbers, for processes that never see the scenario.

duration.py   How long a plan's transfer should take
flow_path.py  The path of one flow of a network, as a plan of its own
limits.py     What bounds a flow, and what follows from a plan: figures that are told beside the work
plan.py       The plan: a scenario resolved to plain numbers, the same for every world
recorded.py   What a plan tells of recorded or wanted results, and of a contest's rules
routing.py    Routes through a network, as pure figures: the shortest by delay, or given by a flow
trace.py      A trace as the plan has it
work.py       What counts of a plan: its work, which `Plan.sha256` is made of, without what is only told of it

duration.py and work.py are short because the guest, which imports plan.py at each start, does without them;
"""
