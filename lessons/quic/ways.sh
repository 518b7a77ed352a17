# shellcheck shell=sh
# ways.sh PYTHON WAYS EVERY_MS page|messages…: a server and a client, each at the node of its name; prints what the client prints.
python=$1 ways=$2 every=$3
shift 3
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout /tmp/key.pem -out /tmp/certificate.pem \
  -subj /CN=server -days 36500 2>/dev/null
"$python" "$ways" server /tmp r "$every" 2>/tmp/errors &
server=$!
sleep 1
ip netns exec client "$python" "$ways" "$@" || cat /tmp/errors >&2
kill $server
