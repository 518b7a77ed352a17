#!/bin/sh
# The C and C++ programs under sanitizers, by the tests that drive them: the engine under ASan with UBSan and under TSan,
# the simulator under ASan with UBSan. Exit status 1 when a test fails or a sanitizer reports anything.
# Usage: sanitize.sh [JOBS [engine-asan|engine-tsan|sim-asan...]]
#
# linkwatch and launch: tests/setup/test_small_programs.py, which `make test` runs too. ns-3 comes from the distribution and is
# not instrumented; nothing had to be suppressed for it.
set -eu
cd "$(dirname "$0")/../.."
jobs=${1:-$(nproc)}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- engine-asan engine-tsan sim-asan
status=0
for each in "$@"; do
	word=${each#*-}
	case $each in
	engine-asan | engine-tsan)
		variable=LANDSPEED_ENGINE_BUILD
		# Its own builds, and what boots a guest with the users' build.
		set -- -m "not guest" --ignore tests/engine/test_sanitizers.py tests/engine
		;;
	sim-asan)
		variable=LANDSPEED_SIM_BUILD
		set -- tests/sim/test_path.py tests/sim/test_cost.py tests/sim/test_mend.py
		;;
	*)
		echo "sanitize.sh: $each is none of engine-asan, engine-tsan, sim-asan" >&2
		exit 2
		;;
	esac
	echo "sanitize: $each" >&2
	.venv/bin/python -c 'import sys; from tests.support import builds; builds.build_of(*sys.argv[1:])' \
		"${each%-*}" "$word"
	env "$variable=$word" .venv/bin/python -m pytest -n "$jobs" --dist loadgroup --max-worker-restart 0 \
		--timeout 3600 "$@" || status=1
done
exit "$status"
