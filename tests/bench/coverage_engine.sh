#!/bin/sh
# Line coverage of the engine's C, by its unit tests and by the Python tests that drive it. Exit status 1 below the
# least. Usage: coverage_engine.sh [PERCENT [JOBS]]
set -eu
cd "$(dirname "$0")/../.."
least=${1:-85}
jobs=${2:-$(nproc)}
build=engine/build-coverage
.venv/bin/python -c 'from tests.support import builds; builds.build_of("engine", "coverage")'
find "$build" -name '*.gcda' -delete # of an earlier run
meson test -C "$build" --print-errorlogs --quiet
LANDSPEED_ENGINE_BUILD=coverage .venv/bin/python -m pytest -n "$jobs" --dist loadgroup --max-worker-restart 0 \
	-m "not guest" tests/engine
# Each source is measured in the library and nowhere else: fuzz replays link it, unit tests too.
.venv/bin/gcovr --root engine --filter 'engine/src/' --object-directory "$build" --sort uncovered-number --html-details \
	"$build/coverage.html" --txt "$build/coverage.txt" --json-summary "$build/coverage.json" "$build"
.venv/bin/python - "$build/coverage.json" "$least" <<'SCRIPT'
import json
import sys

told = json.load(open(sys.argv[1]))
for each in sorted(told["files"], key=lambda file: file["line_covered"] - file["line_total"])[:10]:
    print(f"{each['line_total'] - each['line_covered']:5} lines not run in {each['filename']} ({each['line_percent']} %)")
print(f"coverage-engine: {told['line_percent']} % of {told['line_total']} lines, at least {sys.argv[2]} % wanted")
sys.exit(told["line_percent"] < float(sys.argv[2]))
SCRIPT
