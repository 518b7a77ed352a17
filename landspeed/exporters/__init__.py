"""Scenarios and runs as files of other programs of the field: scripts, topologies, results, captures.

addresses.py     Addresses and routes of a plan's nodes, as scripts for other programs have them
export.py        Export of a scenario or a run as files of another program
exporter.py      Exporters: each turns a plan, or a run's bundle, into files of another program of the field
seconds.py       A run's flows in steps of a second, as measuring programs print them: what arrived
stock_qdiscs.py  Directions of links as words for `tc`, for any Linux: the qdiscs of the guest
formats/         Forms of other programs, a module each with its `EXPORTER`

    scenario, or a run's bundle ──export──► files
"""
