# shellcheck shell=sh
# load.sh FLOWS: echoes to `one`, 50 in a second; from the first second on so many downloads of `many` and one of `one`. Prints the bytes that both cards
# received from 4 s to 9 s, then a line for each echo: when it came back, in s, and its round trip in ms.
# shellcheck disable=SC2016  # awk's
received() { ip netns exec "$1" awk '/eth/ { print $2 }' /proc/net/dev; }
ping -n -D -i 0.02 -w 9 one >/tmp/echoes &
for host in many one; do ip netns exec $host iperf3 -s -1 >/dev/null & done
sleep 1
iperf3 -c many -C cubic -P "$1" -t 9 >/dev/null 2>&1 &
iperf3 -c one -C cubic -t 9 >/dev/null 2>&1 &
sleep 3
many=$(received many) one=$(received one)
sleep 5
echo $(($(received many) - many)) $(($(received one) - one))
sleep 1
sed -n 's/^\[\([0-9.]*\)\].* time=\([0-9.]*\) ms$/\1 \2/p' /tmp/echoes
