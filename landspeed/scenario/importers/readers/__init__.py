"""Readers of measuring programs' files, a module each; `READER` in it is what the import knows of it.

capture.py            Packet captures (pcap, pcapng, also compressed by gzip)
flent.py              Flent's data file (`.flent.gz`, `.flent`, old `.json.gz`)
host_settings.py      Settings of a host: `sysctl -a`, `ethtool DEVICE`, `ip link show`
iperf2.py             iperf2's report: of the client or the server, over TCP or UDP, plain, `-e` or CSV (`-y C`)
iperf3.py             iperf3's JSON, of the client or of the server (`--json`), also as one event a line
mtr_data.py           mtr's JSON (`--json`) and CSV (`--csv`); its report as text is read with the traceroutes
ndt7.py               ndt7 of M-Lab: the server's archived result, or what a client prints as JSON lines
netperf.py            netperf's result: TCP_STREAM, TCP_MAERTS, UDP_STREAM and TCP_RR as tables
nuttcp.py             nuttcp's result, over TCP or UDP: plain, with `-i`, or `-fparse`
perfsonar_archive.py  perfSONAR's archive (OpenSearch)
ping.py               ping of Linux, BSD, macOS, busybox, Windows in any language, Cisco, RouterOS
pscheduler.py         pScheduler's results (throughput, rtt, latency, trace)
ripe_atlas.py         RIPE Atlas: results of traceroutes and pings, as the API gives them or one a line
scamper.py            scamper's JSON (`sc_warts2json`, `scamper -O json`), CAIDA's: its traceroutes and pings
speedtest.py          Speed tests of Ookla (`speedtest -f json`) and of speedtest-cli (`--json`)
ss.py                 Reader of `ss -ti`: its facts on TCP connections (ss(8) names the fields)
tc.py                 `tc -s qdisc`, also as JSON (`-j`): a device's disciplines, their rate, queue and loss
tracepath.py          tracepath's text: hops, and the MTU of the path, which it probes
traceroute.py         traceroute's text: Linux (Dmitry Butskoy's, inetutils'), BSD and macOS, Cisco

Adding one is adding its module here: registry.py finds it.
"""
