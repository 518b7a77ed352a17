# shellcheck shell=sh
# A thousand small packets, ten in a second; mean and standard deviation of the round trip in ms.
ping -q -n -c 1000 -i 0.1 "$1" | sed -n 's|^rtt [^=]*= [0-9.]*/\([0-9.]*\)/[0-9.]*/\([0-9.]*\) ms.*|\1 \2|p'
