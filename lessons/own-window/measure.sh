# A server at the far end, then clients with 1, 4, 16 and 64 blocks unanswered; one line for each: blocks, bit/s.
ip netns exec server python3 "$1" server &
server=$!
sleep 1
for blocks in 1 4 16 64; do
  printf '%s ' $blocks
  python3 "$1" client server $blocks 12
done
kill $server
