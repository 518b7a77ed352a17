# shellcheck shell=sh
# CUBIC from a host that paces and from one that does not. Prints for each: which, how often the spacing of acknowledgments and how
# often the delay ended slow start, the window at that moment in packets, and the packets sent again.
for pacing in pacing nopacing; do
  tc qdisc change dev eth1 parent 1:1 handle 2: fq $pacing
  ip tcp_metrics flush all
  ip netns exec "$1" iperf3 -s -1 >/dev/null &
  sleep 1
  nstat -n
  iperf3 -c "$1" -C cubic -t 3 -f m >/tmp/said
  wait
  nstat -sz | awk -v pacing=$pacing -v again="$(sed -n 's/.*sec  *\([0-9][0-9]*\) *sender$/\1/p' /tmp/said)" '
    { count[$1] = $2 }
    END { print pacing, count["TcpExtTCPHystartTrainDetect"], count["TcpExtTCPHystartDelayDetect"],
      count["TcpExtTCPHystartTrainCwnd"] + count["TcpExtTCPHystartDelayCwnd"], again }'
done
