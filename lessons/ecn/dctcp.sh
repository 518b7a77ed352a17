# DCTCP at both ends (it must mark its SYN, which only another DCTCP accepts), and ping beside it.
# Prints: Mbit/s that the receiver read, then the round trips of ping in ms, one a line.
ip netns exec b sysctl -qw net.ipv4.tcp_congestion_control=dctcp
ip netns exec b iperf3 -s -1 >/dev/null &
sleep 1
iperf3 -c b -C dctcp -t 12 -O 2 -f m -w 8M >/tmp/iperf3 &
sleep 4
ping -n -c 80 -i 0.1 b | sed -n 's/.*time=\([0-9.]*\) ms/\1/p' >/tmp/pings
wait
sed -n 's/.* \([0-9.]*\) Mbits\/sec.*receiver$/\1/p' /tmp/iperf3
cat /tmp/pings
