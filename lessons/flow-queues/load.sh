# shellcheck shell=sh
# load.sh FLOWS: echoes to `one`, 50 in a second; from the first second on so many downloads of `many` and one of `one`. Prints the bytes that both cards
# received from 4 s to 9 s, then a line for each echo: when it came back, in s, and its round trip in ms.
# shellcheck disable=SC2016  # awk's
receive='
import socket, threading
def read(line):
    while line.recv(65536):
        pass
door = socket.create_server(("", 5201))
while True:
    threading.Thread(target=read, args=(door.accept()[0],)).start()'
send='
import socket, sys, threading
def write(host):
    line = socket.create_connection((host, 5201))
    while True:
        line.sendall(bytes(131072))
for host in (*["many"] * int(sys.argv[1]), "one"):
    threading.Thread(target=write, args=(host,)).start()'
received() { ip netns exec "$1" awk '/eth/ { print $2 }' /proc/net/dev; }
ping -n -D -i 0.02 -w 9 one >/tmp/echoes &
receivers=
for host in many one; do
  ip netns exec $host python3 -c "$receive" &
  receivers="$receivers $!"
done
sleep 1
python3 -c "$send" "$1" &
sleep 3
many=$(received many) one=$(received one)
sleep 5
echo $(($(received many) - many)) $(($(received one) - one))
# shellcheck disable=SC2086  # some words
kill $! $receivers
sed -n 's/^\[\([0-9.]*\)\].* time=\([0-9.]*\) ms$/\1 \2/p' /tmp/echoes
