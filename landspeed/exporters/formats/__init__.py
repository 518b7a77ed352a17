"""Forms of other programs, a module each with its `EXPORTER`.

containerlab.py    A topology of containerlab: each node a container, its addresses
flent.py           Flent's data file (version 4): each stream's goodput and TCP's round-trip time
influx.py          InfluxDB's line protocol: every sample of both ends and of every link's direction
iperf3_json.py     iperf3's JSON, as its client prints it with `--json`
mahimahi.py        A pair of traces for mahimahi's mm-link
mininet_script.py  A Mininet script: every node, link and qdisc of the plan, on any Linux with Mininet
ns3_program.py     A program for a stock ns-3: nodes, point-to-point links
openmetrics.py     OpenMetrics with times, for Prometheus
pcapng.py          A pcapng file of a run's captures: both ends on one clock
pscheduler.py      A result of pScheduler's throughput test, with the test beside it, as its archivers get it
qlog.py            qlog of TCP's state, for qvis: windows, flight, round-trip times, states of recovery
tc_script.py       A script of `tc` for two real machines: the path as one line there and one back
"""
