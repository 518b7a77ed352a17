# shellcheck shell=sh
# The least round trip of five echoes, in ms.
ping -q -n -c 5 -i 1 "$1" | sed -n 's/^rtt [^=]*= \([0-9.]*\).*/\1/p'
