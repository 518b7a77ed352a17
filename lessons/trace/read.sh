# shellcheck shell=sh
# read.sh CAPTURE SECONDS WINDOW…: one line for each window: it, the bytes and packets that the interface counted, the capture in Base64.
capture=$1 seconds=$2
shift 2
counted() {
  ip -s link show type veth | awk '/[RT]X:/ { getline; bytes += $1; packets += $2 } END { printf "%d %d", bytes, packets }'
}
for window in "$@"; do
  before=$(counted)
  sh "$capture" "$window" "$seconds" >/tmp/trace.pcap
  echo "$window $before $(counted) $(gzip -9 </tmp/trace.pcap | base64 -w 0)"
done
