# shellcheck shell=sh
# A server at the far end, then clients with 1, 4 and 16 blocks unanswered; one line for each: blocks, bit/s.
ip netns exec server python3 "$1" server &
server=$!
sleep 1
for blocks in 1 4 16; do
  printf '%s ' $blocks
  python3 "$1" client server $blocks 6
done
kill $server
