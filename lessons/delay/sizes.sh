# shellcheck shell=sh
# Three echoes of each size; one line for each: the size, and the least round trip in ms.
for size in 400 600 800 1000 1200 1472; do
  printf '%s ' $size
  ping -q -n -c 3 -i 1 -s $size "$1" | sed -n 's/^rtt [^=]*= \([0-9.]*\).*/\1/p'
done
