#!/bin/sh
# All fuzz targets at once, each for some seconds, from the kept corpora. Usage: run.sh [SECONDS]
# What they find new stays in engine/build-fuzz; an input that breaks something is shown and kept there.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
build="build-fuzz"
if [ ! -f "$build/build.ninja" ]; then
	CC=clang meson setup "$build" . -Dfuzz=true >/dev/null
fi
targets=$(for source in fuzz/fuzz_*.c; do basename "$source" .c; done)
# shellcheck disable=SC2086
ninja -C "$build" $targets >"$build/ninja.log" || { cat "$build/ninja.log" >&2; exit 1; }

pids=
for target in $targets; do
	name=${target#fuzz_}
	mkdir -p "$build/found-$name"
	"$build/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 -artifact_prefix="$build/broken-$name-" \
		"$build/found-$name" "fuzz/corpus-$name" >"$build/fuzz-$name.log" 2>&1 &
	pids="$pids $!:$name"
done
status=0
for entry in $pids; do
	name=${entry#*:}
	if wait "${entry%%:*}"; then
		runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/fuzz-$name.log")
		echo "fuzz: $name: $runs inputs in $seconds s, nothing found"
	else
		echo "fuzz: $name: broken" >&2
		tail -n 40 "$build/fuzz-$name.log" >&2
		status=1
	fi
done
exit "$status"
