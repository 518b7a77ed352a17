"""A checked scenario becomes a plan.

flow_physics.py  Theory for one flow: the limits of the path that it takes, as if it were alone there
flows.py         Scenario → Plan: the flows
netem.py         A direction whose delays and chances are those of netem: a line of tc as values of the plan
recorded.py      Scenario → Plan: what was recorded, and what the documents say on the contest's rules
resolve.py       Scenario → Plan: defaults filled in, both directions of each link spelt out, seeds derived
unusual.py       Warnings of what is unusual in a plan, and may be a slip of the pen: it can be meant

unusual.py is short because it warns, where its neighbours refuse.
"""
