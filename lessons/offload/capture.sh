# shellcheck shell=sh
# capture.sh RATE…: for each pacing rate in Mbit/s a transfer of 2 MiB from a to b without offload, then with it (TSO at a, GRO at b). A line for each: the rate,
# off or on, and of the captures at a and at b the usual payload of a packet in B and how many packets had payload.
device() { ip netns exec "$1" ip -o link show type veth | sed -n '1s/^[0-9]*: \(eth[0-9]*\)@.*/\1/p'; }
read_capture() {
  tcpdump -nr "/tmp/$1.pcap" 'dst port 5201 and ip[2:2] > 500' 2>/dev/null | awk '
    { sizes[$NF]++ }
    END { for (size in sizes) if (sizes[size] > most) { most = sizes[size]; usual = size }; printf " %d %d", usual, NR }'
}
receive='
import socket
line, _ = socket.create_server(("", 5201)).accept()
while line.recv(65536):
    pass'
send='
import socket, sys
line = socket.socket()
line.setsockopt(socket.SOL_SOCKET, 47, int(sys.argv[1]) * 125000)  # SO_MAX_PACING_RATE
line.connect(("b", 5201))
line.sendall(bytes(2 << 20))
line.shutdown(socket.SHUT_WR)
line.recv(1)'
a=$(device a) b=$(device b)
for state in off on; do
  if [ $state = on ]; then
    ethtool -K "$a" tso on gso on
    ip netns exec b ethtool -K "$b" gro on
    tc qdisc replace dev "$a" root fq  # the card, not the rate of its line, cuts the packets
  fi
  for rate in "$@"; do
    tcpdump -i "$a" -s 96 -w /tmp/a.pcap tcp port 5201 2>/dev/null & at_a=$!
    ip netns exec b tcpdump -i "$b" -s 96 -w /tmp/b.pcap tcp port 5201 2>/dev/null & at_b=$!
    ip netns exec b python3 -c "$receive" &
    sleep 0.5
    python3 -c "$send" "$rate"
    sleep 2  # a capture gets packets a second late
    kill $at_a $at_b
    sleep 0.3
    echo "$rate $state$(read_capture a)$(read_capture b)"
  done
done
