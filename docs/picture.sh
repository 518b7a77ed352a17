#!/bin/sh
# Draws docs/report.png: the top of a run's report.html, in headless Chromium. Usage: picture.sh [BUNDLE]
# Without BUNDLE: the newest complete rehearsal of the whole record of 2004 in results/runs.
set -eu
cd "$(dirname "$0")/.."
record=2004-06-25-geneva-pasadena
width=1200 height=1552 # CSS pixels: down to the end of the first chart

bundle=${1:-$(.venv/bin/landspeed results "
	SELECT path FROM runs WHERE complete AND scenario = '$record' AND bytes >= 859e9 ORDER BY started DESC LIMIT 1" |
	tail -n +2)}
if [ ! -f "$bundle/result.json" ]; then
	echo "picture.sh: no complete rehearsal of $record in results/runs; run \`make rehearse\` first" >&2
	exit 1
fi
.venv/bin/landspeed report "$bundle" >/dev/null

sandbox=
[ "$(id -u)" != 0 ] || sandbox=--no-sandbox # Chromium refuses to run as root otherwise
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck disable=SC2086
chromium --headless=new $sandbox --disable-gpu --hide-scrollbars --user-data-dir="$scratch/profile" \
	--force-device-scale-factor=1.5 --window-size="$width,$height" --virtual-time-budget=8000 \
	--screenshot="$scratch/report.png" "file://$(realpath "$bundle")/report.html" >"$scratch/log" 2>&1 ||
	{ cat "$scratch/log" >&2; exit 1; }
[ -s "$scratch/report.png" ] || { cat "$scratch/log" >&2; exit 1; }
mv "$scratch/report.png" docs/report.png
echo "docs/report.png: $(basename "$bundle")"
