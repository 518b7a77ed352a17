#!/bin/sh
# PID 1 of a guest of the prototype: two hosts and the delay between them. SIDE is 0 (sends), 1 (receives) or both;
# TOOL, TIME, RATE, BURST and DELAY describe the transfer. It says BEGIN, END, the digest of the result, and DONE.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
for place in /run /tmp; do mount -t tmpfs tmpfs $place; done
here=$(dirname "$0")
engine=$here/../../../engine/build/landspeed-engine

# In a namespace: tune RUN...
tune() {
	for setting in tcp_no_metrics_save=1 tcp_slow_start_after_idle=0 "tcp_rmem=4096 131072 1835008000" \
		"tcp_wmem=4096 16384 1835008000"; do
		"$@" sysctl -qw "net.ipv4.$setting"
	done
}

# host DEVICE OWN OTHER OTHERS_MAC RUN...
host() {
	device=$1 own=$2 other=$3 mac=$4
	shift 4
	tune "$@"
	"$@" ip link set "$device" mtu 9000
	super_packets "$device" "$@"
	"$@" ip address add "$own/24" dev "$device"
	"$@" ip link set "$device" up
	"$@" ip neighbor replace "$other" lladdr "$mac" dev "$device" nud permanent
}

# IFLA_GSO_IPV4_MAX_SIZE and IFLA_GSO_MAX_SEGS, which ip of Debian 12 does not know: super_packets DEVICE RUN...
super_packets() {
	device=$1
	shift
	[ "$TOOL" = iperf3 ] || "$@" python3 -I -S -c 'import socket, struct, sys
body = struct.pack("<BxHiII", 0, 0, socket.if_nametoindex(sys.argv[1]), 0, 0)
body += struct.pack("<HHIHHI", 8, 63, 180000, 8, 40, 65535)
netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
netlink.send(struct.pack("<IHHII", 16 + len(body), 16, 5, 1, 0) + body)
assert struct.unpack_from("<i", netlink.recv(4096), 16) == (0,)' "$device"
}

# The limit of the sending host: bus DEVICE RUN...
bus() {
	device=$1
	shift
	"$@" tc qdisc add dev "$device" root handle 1: tbf rate "$RATE" burst "$BURST" limit 1200000000
	"$@" tc qdisc add dev "$device" parent 1:1 handle 2: fq limit 1000000 flow_limit 1000000
}

redirect() {
	ip netns exec box tc filter add dev "$1" parent ffff: matchall action mirred egress redirect dev "$2"
}

receive() {
	case $TOOL in
	iperf3) "$@" iperf3 -s -1 ;;
	*) "$@" "$engine" receive --quiet --one-off ;;
	esac >/dev/null 2>&1
}

send() {
	sleep 5 # of virtual time: the receiver is there
	echo BEGIN
	case $TOOL in
	iperf3) "$@" iperf3 -c 10.0.0.2 -t "$TIME" -w 16M -C cubic -J ;;
	*) "$@" "$engine" send 10.0.0.2 --quiet --json - --streams 8 --window 46565120 --congestion reno --time "$TIME" \
		--receive discard --payload-seed 1 ;;
	esac >/run/result 2>/run/errors
	echo "END $?"
	sha256sum </run/result
	cat /run/errors
	echo DONE
}

sysctl -qw net.core.rmem_max=1835008000 net.core.wmem_max=1835008000 net.core.netdev_max_backlog=1000000
sysctl -qw "net.ipv4.tcp_mem=1000000000 1000000000 1000000000"
case $SIDE in
0)
	host cut0 10.0.0.1 10.0.0.2 02:00:00:00:00:01
	bus cut0
	send
	;;
1)
	host cut0 10.0.0.2 10.0.0.1 02:00:00:00:00:00
	receive
	;;
both) # between the hosts a box that passes on what comes, later
	for name in a b box; do ip netns add $name; done
	for name in a b; do ip link add v$name netns $name type veth peer name x$name netns box; done
	for port in xa xb; do
		ip netns exec box ip link set $port mtu 9000 up
		super_packets $port ip netns exec box
		ip netns exec box tc qdisc add dev $port root netem delay "$DELAY" limit 1000000
		ip netns exec box tc qdisc add dev $port ingress
	done
	redirect xa xb
	redirect xb xa
	ip netns exec a ip link set va address 02:00:00:00:00:00
	ip netns exec b ip link set vb address 02:00:00:00:00:01
	host va 10.0.0.1 10.0.0.2 02:00:00:00:00:01 ip netns exec a
	host vb 10.0.0.2 10.0.0.1 02:00:00:00:00:00 ip netns exec b
	bus va ip netns exec a
	receive ip netns exec b &
	send ip netns exec a
	;;
esac
sleep 100000
