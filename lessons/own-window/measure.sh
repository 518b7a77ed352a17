# shellcheck shell=sh
# The client's host without pacing (lesson.md says why), a server at the far end, then clients with 1, 4 and 16 blocks unanswered; one line for each: blocks, bit/s.
tc qdisc change dev eth1 parent 1:1 handle 2: fq nopacing
ip netns exec server python3 "$1" server &
server=$!
sleep 1
for blocks in 1 4 16; do
  printf '%s ' $blocks
  python3 "$1" client server $blocks 12
done
kill $server
