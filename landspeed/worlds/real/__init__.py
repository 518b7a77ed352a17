"""The real world: Ansible plays that an operator can run by themselves, and what drives them from a scenario.

archive.py           Archive of an attempt as `collect` fetched it of a host
beside_rehearsal.py  Rehearsed beside real: how far apart they are, and which limit explains it
collected.py         Bundle of world `real` from what `collect` fetched: judged and reported like any other
errors.py            Errors before or while plays run
evidence.py          Evidence of an attempt that can be believed later: what its bundle was made from
explanations.py      Failure of a play as a sentence: what, where, and the remedy; what ssh said among them
fleet.py             Fleet: several flows of a network
fleet_collected.py   Bundle of a fleet's attempt: each flow judged as the transfer over its path
inventory.py         The inventory of a real attempt, written from a scenario: hosts
rehearsal_gate.py    The gate: what goes to real servers was rehearsed, with this plan and this engine
runner.py            Runs a playbook through ansible-runner and tells what happens, a line a task
shaping.py           The plan's links as lines for `tc qdisc add`
unchanged.py         Comparison of what runs with what was rehearsed: figures of the inventory
variables.py         Files of an inventory in YAML: which there are, what they say, and how one is written
watched.py           Watch of the hosts during an attempt: kept in its bundle
world.py             The real world: what real servers honour

errors.py is short because all other files need it, archive.py because the bundles of two hosts and of many, and the
watch, do.
"""
