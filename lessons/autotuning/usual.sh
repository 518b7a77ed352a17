# shellcheck shell=sh
# Both hosts with the buffers of a usual Linux: at most 6 MiB to receive, 4 MiB to send. Prints Mbit/s that the receiver read from
# the sixth second on, and the largest window that it offered, in bytes.
for host in "" "ip netns exec $1"; do
  $host sysctl -q -w net.ipv4.tcp_rmem="4096 131072 6291456" net.ipv4.tcp_wmem="4096 16384 4194304"
done
ip netns exec "$1" iperf3 -s -1 -f m >/tmp/read &
sleep 1
iperf3 -c "$1" -t 15 -O 5 -f m >/dev/null &
sleep 18
ss -tinH dst "$LANDSPEED_B" | sed -n 's/.*snd_wnd:\([0-9]*\).*/\1/p' | sort -n | tail -n 1 >/tmp/window
wait
printf '%s %s\n' "$(sed -n 's/.* \([0-9.]*\) Mbits\/sec.*receiver$/\1/p' /tmp/read)" "$(cat /tmp/window)"
