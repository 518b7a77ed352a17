"""Measurements of a real path become a scenario: files of iperf3, traceroute, ss, pScheduler and its archive.

fit_traceroute.py  Link delays from recorded traceroutes of both ends
import_files.py    Files of measurements → a scenario and its text
infer.py           A path from what was measured on it: round trip, bottleneck, queue, loss and window
iperf3.py          iperf3's JSON, of the client or of the server (`--json`), also as one event a line
path_evidence.py   Evidence of measuring programs on a path, in one form
peers.py           Peers in a file of `ss`: only the connections of the transfer count
pscheduler.py      pScheduler's results (throughput, rtt, latency, trace)
reading.py         Helpers of the readers: JSON that may be cut off, members that may be missing
round_trip.py      The path's own round trip, and how it divides over the hops
sockets.py         Reader of `ss -ti`: its facts on TCP connections (ss(8) names the fields)
traceroute.py      traceroute's text: Linux (Dmitry Butskoy's, inetutils'), BSD and macOS, Cisco
udp.py             Transfers over UDP: what the path carries, and whether their losses are chance
write.py           Writer of the inferred scenario: each value with its source and its uncertainty in a comment

    file ──read──► PathEvidence ──infer──► InferredPath ──write──► scenario file

A reader (iperf3.py, traceroute.py, sockets.py, pscheduler.py) knows one program's output and says what it measured
(path_evidence.py). infer.py makes a path of all of it. write.py writes it down, each value with its source and
uncertainty.
"""
