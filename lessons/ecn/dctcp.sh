# shellcheck shell=sh
# DCTCP at both ends (its SYN is marked, which only another DCTCP accepts: iperf3 sets it at both), and ping beside it.
# Prints: Mbit/s that the receiver read, then the round trips of ping in ms, one a line.
ip netns exec b iperf3 -s -1 >/dev/null &
sleep 1
iperf3 -c b -C dctcp -t 6 -O 2 -f m -w 8M >/tmp/iperf3 &
sleep 3
ping -n -c 40 -i 0.1 b | sed -n 's/.*time=\([0-9.]*\) ms/\1/p' >/tmp/pings
wait
sed -n 's/.* \([0-9.]*\) Mbits\/sec.*receiver$/\1/p' /tmp/iperf3
cat /tmp/pings
