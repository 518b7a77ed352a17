"""Measurements of a real path become a scenario, from the files of nearly every program that measures one.

agreement.py       Agreement of several files on one path: which traceroute goes which way
configured.py      Settings of devices and hosts put to the measured path: a shaper's rate and queue
fit_traceroute.py  Link delays from recorded traceroutes of both ends
import_files.py    Files of measurements → a scenario and its text
infer.py           A path from what was measured on it: round trip, bottleneck, queue, loss and window
infer_form.py      Form of an inferred path, and the words for how sure its reading is
path_evidence.py   Evidence of measuring programs on a path, in one form
peers.py           Peers in a file of `ss`: only the connections of the transfer count
probes_at_once.py  Probes of a traceroute that wait for each other: Linux's traceroute sends sixteen at once
reading.py         Helpers of the readers: JSON that may be cut off, members that may be missing
registry.py        Registry of the readers: every module of readers/ that has a `READER`
round_trip.py      The path's own round trip, and how it divides over the hops
udp.py             Transfers over UDP: what the path carries, and whether their losses are chance
write.py           Writer of the inferred scenario: each value with its source and its uncertainty in a comment
captures/          Packet captures: TCP segments, connections, and the congestion control that they show
readers/           Readers of measuring programs' files, a module each
topologies/        Maps of networks become a scenario of a network: Topology Zoo, SNDlib, containerlab

    file ──read──► PathEvidence ──infer──► InferredPath ──write──► scenario file

A reader (readers/) knows one program's output and says what it measured (path_evidence.py). registry.py finds out
which reader a file is for. infer.py makes a path of all of it. write.py writes it down, each value with its source
and uncertainty.
"""
