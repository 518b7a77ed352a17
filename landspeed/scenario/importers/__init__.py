"""What was measured on a real path becomes a scenario: files of iperf3, traceroute, ss, pScheduler and its archive.

    file ──read──► Evidence ──infer──► Inferred ──write──► scenario file

A reader (iperf3.py, traceroute.py, sockets.py, pscheduler.py) knows one program's output and says what it measured
(evidence.py). infer.py makes a path of all of it. write.py writes it down, each value with its source and uncertainty.
"""
