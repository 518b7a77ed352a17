# shellcheck shell=sh
# replies.sh FETCH NETWORKS MSS SIZE…: replies of these sizes over new connections; one line for each: network, size, bytes read, seconds.
# Networks: open; closed: the tunnel's entry sends no ICMP, as behind a firewall (a rule of routing: this kernel has no packet filter);
# probing: closed, and the server has tcp_mtu_probing=1; clamped: closed, and the client's SYN says this MSS.
fetch=$1 networks=$2 mss=$3 router=$(ip netns exec client ip route show default | cut -d' ' -f3)
shift 3
python3 "$fetch" server &
server=$!
sleep 1
for network in $networks; do
  if [ "$network" != open ]; then
    ip netns exec entry ip rule add priority 1 lookup local 2>/dev/null
    ip netns exec entry ip rule del priority 0
    ip netns exec entry ip rule add priority 0 iif lo ipproto icmp blackhole
  fi
  probing=0
  [ "$network" != probing ] || probing=1
  sysctl -q -w net.ipv4.tcp_mtu_probing=$probing
  [ "$network" != clamped ] || ip netns exec client ip route change default via "$router" advmss "$mss"
  for size in "$@"; do
    ip route flush cache
    printf '%s ' "$network"
    ip netns exec client python3 "$fetch" client server 60 "$size"
  done
done
kill $server
