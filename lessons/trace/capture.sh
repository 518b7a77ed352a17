# shellcheck shell=sh
# capture.sh WINDOW SECONDS [BYTES]: a transfer from a to b, and its capture at this node on standard output, so many bytes of each packet.
device=$(ip -o link show | sed -n 's/^[0-9]*: \(eth[0-9]*\)@.*/\1/p')
tcpdump -i "$device" -s "${3:-96}" -w - tcp port 5201 2>/dev/null &
capture=$!
sleep 0.5
ip netns exec b iperf3 -s -1 >/dev/null &
sleep 0.5
ip netns exec a iperf3 -c b -w "$1" -t "$2" >/dev/null
sleep 2  # it gets packets a second late
kill $capture
