#!/bin/sh
# Do two people who build the wheels get the same bytes? Two clones of what is committed, in folders with names of
# different length, each with a cache of its own: the kernel, the engine and all the rest are built twice.
# WITH_CACHE=1 takes this user's kernel for both, which is much quicker. Usage: wheel-twice.sh
set -eu
cd "$(dirname "$0")/.."
mkdir -p build
work=$(mktemp -d "$PWD/build/twice.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
for name in a another-one; do
	git clone --quiet --no-hardlinks . "$work/$name/landspeed"
	(
		[ -n "${WITH_CACHE:-}" ] || export XDG_CACHE_HOME="$work/$name/cache"
		umask 077 # another habit than wheel.sh's own must not show
		make --silent -C "$work/$name/landspeed" wheel
	) >"$work/$name.log" 2>&1 || { tail -n 30 "$work/$name.log" >&2; exit 1; }
	(cd "$work/$name/landspeed/build/wheel" && sha256sum ./*.whl) | tee "$work/$name.sums"
done
cmp "$work/a.sums" "$work/another-one.sums" && echo "wheel-twice: the same bytes"
