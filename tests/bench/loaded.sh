#!/bin/sh
# `make test` again and again beside a build of the guest's kernel at nice 19, which begins anew as often as it ends:
# whether a test hangs on how busy the machine is; no test gets a second try. Prints the summary and the time of each, and
# keeps what each said in build/loaded/; exit status 1 when one failed.
# Usage: loaded.sh [TIMES]
set -eu
cd "$(dirname "$0")/../.."
times=${1:-5}
case $times in
'' | *[!0-9]* | 0)
	echo "loaded.sh: '$times' is not a number of times" >&2
	exit 2
	;;
esac
scratch=$(mktemp -d)
builder=
suite=

# The build is a process group of its own: all of it ends.
# shellcheck disable=SC2317 # the trap calls it
end() {
	if [ -n "$suite" ]; then
		kill -TERM "$suite" 2>/dev/null || true
		wait "$suite" 2>/dev/null || true
	fi
	if [ -n "$builder" ]; then
		kill -TERM "-$builder" 2>/dev/null || true
		wait "$builder" 2>/dev/null || true
	fi
	rm -rf "$scratch"
}
trap end EXIT
trap 'exit 1' INT TERM HUP

# From the distribution's source into a cache of its own.
# shellcheck disable=SC2016 # the inner shell expands that
setsid nice -n 19 sh -c 'while rm -rf "$1/cache"; do
	XDG_CACHE_HOME=$1/cache .venv/bin/python -m landspeed.worlds.emu.kernel_build || exit 1
	echo built
done' loaded "$scratch" >"$scratch/build.log" 2>&1 </dev/null &
builder=$!

status=0
turn=1
said=build/loaded
rm -rf "$said"
mkdir -p "$said"
while [ "$turn" -le "$times" ]; do
	begin=$(date +%s)
	make test AGAIN=0 >"$said/$turn.log" 2>&1 &
	suite=$!
	wait "$suite" || status=1
	suite=
	took=$(($(date +%s) - begin))
	grep -E '^(FAILED|ERROR) ' "$said/$turn.log" || true
	echo "loaded: $turn of $times: $(grep -E "[0-9]+ (passed|failed)" "$said/$turn.log" | tail -n 1) ($took s; kernels built so far: $(grep -c '^built$' "$scratch/build.log" || true))"
	if ! kill -0 "$builder" 2>/dev/null; then
		echo "loaded: the build beside ended: $(tail -n 1 "$scratch/build.log")" >&2
		exit 1
	fi
	turn=$((turn + 1))
done
exit "$status"
