#!/bin/sh
# Two DCTCP flows of iperf3 without TCP's timestamps, which Windows does not send; K = 5. Prints what each had.
#   landspeed exec tests/bench/published/dctcp/scenario.yaml --at s1 --set \
#   'links.2.discipline={red: {min: 7570 B, max: 7571 B, probability: 100 %, instant: true}}' -- \
#   sh $PWD/tests/bench/published/dctcp/without_timestamps.sh
for host in s1 s2 r1; do ip netns exec $host sysctl -qw net.ipv4.tcp_timestamps=0; done
for port in 5201 5202; do ip netns exec r1 iperf3 -s -1 -p $port >/dev/null & done
sleep 1
ip netns exec s2 iperf3 -c r1 -p 5202 -C dctcp -t 5 -f m | grep receiver &
iperf3 -c r1 -p 5201 -C dctcp -t 5 -f m | grep receiver
wait
