#!/bin/sh
# Draws the top of a run's report.html in headless Chromium, 1200 pixels wide. Usage: report.sh PICTURE HEIGHT [BUNDLE]
# Without BUNDLE: the newest complete rehearsal of the whole record of 2004 in results/runs of the clone.
set -eu
here=$(dirname "$(realpath "$0")")
root=$(dirname "$(dirname "$here")")
picture=$1
height=$2
record=2004-06-25-geneva-pasadena

bundle=${3:-$("$root/.venv/bin/landspeed" results "
	SELECT path FROM runs WHERE complete AND scenario = '$record' AND bytes >= 859e9 ORDER BY started DESC LIMIT 1" |
	tail -n +2)}
if [ ! -f "$bundle/result.json" ]; then
	echo "report.sh: no complete rehearsal of $record in results/runs; run \`make rehearse\` first" >&2
	exit 1
fi
"$root/.venv/bin/landspeed" report "$bundle" >/dev/null

sandbox=
[ "$(id -u)" != 0 ] || sandbox=--no-sandbox # Chromium refuses to run as root otherwise
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck disable=SC2086
chromium --headless=new $sandbox --disable-gpu --hide-scrollbars --user-data-dir="$scratch/profile" \
	--force-device-scale-factor=1.5 --window-size="1200,$height" --virtual-time-budget=8000 \
	--screenshot="$scratch/report.png" "file://$(realpath "$bundle")/report.html" >"$scratch/log" 2>&1 ||
	{ cat "$scratch/log" >&2; exit 1; }
[ -s "$scratch/report.png" ] || { cat "$scratch/log" >&2; exit 1; }
mv "$scratch/report.png" "$picture"
echo "$picture: $(basename "$bundle")"
