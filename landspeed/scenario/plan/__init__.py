"""The plan: the whole work of a run in plain numbers, for processes that never see the scenario.

direction.py  One direction of a link in the plan: its queue with the discipline's parameters, its rate
duration.py   Expected duration of a plan's transfer
flow_path.py  The path of one flow of a network, as a plan of its own
limits.py     Limits of a flow, and other figures that follow from a plan and are shown beside the work
plan.py       The plan: a scenario resolved to plain numbers, the same for every world
recorded.py   Recorded or expected results of a plan, and facts for a contest's rules
routing.py    Routes through a network, as pure figures: the shortest by delay, or given by a flow
trace.py      A trace as the plan has it
work.py       Work of a plan: the part that counts, which `Plan.sha256` is made of

duration.py and work.py are short because the guest, which imports plan.py at each start, does without them;
"""
