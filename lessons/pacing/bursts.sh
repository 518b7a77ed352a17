# shellcheck shell=sh
# A window of one BDP (the receiver's route limits it) from a host whose queue fq does not pace, then paced by fq itself and at several
# rates. One line for each: the way, Mbit/s from the second second on, packets sent again, then Mbit/s of each second.
ip netns exec "$1" ip route change default via "$(ip netns exec "$1" ip route show default | cut -d' ' -f3)" window 7400000
for way in nopacing pacing 900M 970M 1100M; do
  case $way in
    *pacing) tc qdisc change dev eth1 parent 1:1 handle 2: fq $way; rate= ;;
    *) rate="--fq-rate $way" ;;
  esac
  ip tcp_metrics flush all
  ip netns exec "$1" iperf3 -s -1 -f m >/tmp/read &
  sleep 1
  # shellcheck disable=SC2086  # an option and its value
  iperf3 -c "$1" -C cubic -w 8M -t 12 -f m $rate >/tmp/sent
  wait
  printf '%s %s' $way "$(sed -n 's/.*sec  *\([0-9][0-9]*\) *sender$/\1/p' /tmp/sent)"
  sed -n '/receiver/d; s|.*-.* sec .* \([0-9.]*\) Mbits/sec.*|\1|p' /tmp/read | head -n 12 | tr '\n' ' ' | sed 's/^/ /'
  echo
done
