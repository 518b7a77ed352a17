#!/bin/sh
# Sets up what is missing and says what it does; each step is skipped when it is done. After the packages, the kernel,
# the Python environment and the C programs are made beside each other, each with a log of its own in build/stamps.
# Usage: setup.sh [run|test]. run: what `landspeed run` needs in the emulated world. Without a word: all of landspeed, the
# simulated world and the real one too. test: what the tests need.
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
stamps=build/stamps
mkdir -p "$stamps"

exec 3>&2 # what is said; steps in the background have logs for the rest
say() { printf 'setup: %s\n' "$*" >&3; }

# done_before NAME FILE...: was the step done with these very files?
done_before() {
	name=$1
	shift
	key=$(cat "$@" | sha256sum | cut -c1-32)
	[ "$(cat "$stamps/$name" 2>/dev/null)" = "$key" ]
}

# The step that done_before was asked about last is done now.
mark_done() { printf '%s\n' "$key" >"$stamps/$1"; }

installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		say "root is needed for: $*"
		say "install sudo, or run this command as root"
		exit 1
	fi
}

# First name of an a|b|c list that is installed, else the first that the distribution has.
choose() {
	for name in $(echo "$1" | tr '|' ' '); do
		installed "$name" && echo "$name" && return
	done
	for name in $(echo "$1" | tr '|' ' '); do
		apt-cache show "$name" >/dev/null 2>&1 && echo "$name" && return
	done
	echo "${1%%|*}"
}

# Series of Linux that the kernel's patches are known to fit, the preferred one first.
series() { sed -n 's/^\([0-9][0-9.]*\).*/\1/p' emu/kernel/releases; }

# The source package of the first of them that the distribution has.
linux_source() {
	for each in $(series); do
		for name in "linux-source-$each" "linux-source-$each.0"; do
			apt-cache show "$name" >/dev/null 2>&1 && echo "$name" && return
		done
	done
}

source_is_there() {
	for each in $(series); do
		[ -z "$(find /usr/src -maxdepth 2 -name "linux-source-$each.tar.*" -o -name "linux-source-$each.0.tar.*")" ] || return 0
	done
	return 1
}

updated=
update() {
	[ -n "$updated" ] || as_root apt-get -q -o DPkg::Lock::Timeout=600 update >&2
	updated=yes
}

install_packages() {
	done_before "packages-$#" "$@" /var/lib/dpkg/status && return
	missing=
	optional=
	while read -r entry; do
		name=${entry#\?}
		installed "$(choose "$name")" && continue
		if [ "$name" = "$entry" ]; then missing="$missing $entry"; else optional="$optional $name"; fi
	done <<-LIST
		$(grep -hv '^#' "$@")
	LIST
	source_is_there || missing="$missing linux-source"
	[ -z "$optional" ] || install_optional "$#" "$optional"
	if [ -z "$missing" ]; then
		mark_done "packages-$#"
		return
	fi
	say "apt packages missing:$missing"
	update
	names=
	for entry in $missing; do
		if [ "$entry" = linux-source ]; then
			name=$(linux_source)
			[ -n "$name" ] || { say "this distribution has no linux-source package of a release that fits: $(series | paste -sd' ')"; exit 1; }
		else
			name=$(choose "$entry")
		fi
		names="$names $name"
	done
	# Without recommended packages: Mininet would bring Open vSwitch and start it.
	# shellcheck disable=SC2086
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 install -y --no-install-recommends $names >&2
}

# Packages without which only the simulated world is missing. install_optional STAMP NAMES
install_optional() {
	say "apt packages missing, for the simulated world:$2"
	update
	# shellcheck disable=SC2086
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $2 >&2 ||
		say "they are not to be had here: everything but the simulated world (--world sim) works without them"
}

# The distribution's first: it is compiled for speed (profile, link time), which one from a version manager often is not.
find_python() {
	for candidate in /usr/bin/python3 python3 python3.13 python3.12 python3.11; do
		"$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v "$candidate" && return
	done
	say "Python 3.11 or newer with venv is needed"
	exit 1
}

# shellcheck source=setup/install_wheels.sh
. setup/install_wheels.sh

# A virtual environment is bound to the place it was made in.
environment_is_ours() { [ -x .venv/bin/python ] && .venv/bin/python -c "import sys; sys.exit(sys.prefix != '$root/.venv')" 2>/dev/null; }

install_python() {
	if ! environment_is_ours; then
		python=$(find_python)
		say "making the Python environment with $python"
		rm -rf .venv "$stamps"/*.txt "$stamps/package"
		"$python" -m venv .venv
	fi
	# setuptools, which builds the package, is among the pinned ones
	for list in "$@"; do
		if ! done_before "$(basename "$list")" "$list"; then
			say "installing $list (pinned, hashes checked)"
			# The lists are whole: there is nothing to resolve. What the tests alone need is compiled where it is imported, and so
			# is what no program in a guest imports; the tests that pandas and others bring along, half of the rest, never.
			install_wheels "$stamps/pip-config" --require-hashes -r "$list"
			[ "$list" = setup/requirements/dev.txt ] ||
				.venv/bin/python -m compileall -q -x '/(tests|plotly|ansible(_test)?|bokeh|scipy)/' .venv/lib/python3*/site-packages >/dev/null || true
			mark_done "$(basename "$list")"
		fi
	done
	printf '%s\n' "$root" >build/root
	if ! done_before package build/root pyproject.toml; then
		say "installing the package landspeed"
		install_wheels "$stamps/pip-config" --no-build-isolation -e .
		# The guest sees this tree read-only and could not keep what it compiles.
		.venv/bin/python -m compileall -q landspeed .venv/lib/python3*/site-packages/mininet >/dev/null || true
		mark_done package
	fi
	rm -rf build/uv
	# For the editor and the reader: what follows from the code is made, not kept.
	# shellcheck disable=SC2046
	if [ ! -f build/scenario.schema.json ] || ! done_before made $(find landspeed/scenario landspeed/base -name '*.py' | sort); then
		.venv/bin/landspeed schema >build/scenario.schema.json
		.venv/bin/python -m landspeed.scenario.traces.made_traces
		mark_done made
	fi
}

# build FOLDER [TARGET]: configures and builds.
build() {
	if [ ! -f "$1/build/build.ninja" ]; then
		say "configuring $1"
		meson setup "$1/build" "$1"
	fi
	ninja -C "$1/build" -n ${2:+"$2"} 2>/dev/null | grep -q 'no work to do' && return
	say "building $1"
	ninja -C "$1/build" ${2:+"$2"}
}

# The simulated world is built where ns-3 is there; without it the rest works. `landspeed doctor` says what is missing.
build_sim() {
	program=landspeed-sim
	[ "$level" != test ] || program= # what tests the mends, too
	if [ -n "${LANDSPEED_SIM_WHEEL:-}" ] && [ "$level" != test ] && [ ! -f sim/build/build.ninja ]; then
		PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$root" "$(find_python)" setup/simulator_wheel.py take "$LANDSPEED_SIM_WHEEL" >&3 && return
	fi
	if [ -z "${NS3_HOME:-}" ] && [ ! -f /usr/include/ns3/core-module.h ] && ! installed libns3-dev; then
		say "ns-3 is not there: the simulated world (--world sim) is left out"
		return
	fi
	build sim $program && return
	[ "$level" != test ] || return 1
	say "the simulated world could not be built ($stamps/simulator.log); the rest works without it"
}

# The kernel is built by a module of the package that needs no other one: it does not wait for the Python environment.
build_kernel() {
	more=
	[ "$level" != test ] || more=modules # for `landspeed mn`, which builds them at its first use
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$root" "$(find_python)" -m landspeed.worlds.emu.kernel_build $more
}

build_programs() {
	build engine landspeed-engine
	[ "$level" != test ] || build engine
	build emu/launch
	build emu/linkwatch
}

# In the background: what it says itself comes at once, line by line; the rest goes to its log.
begin() { # begin NAME COMMAND...
	step=$1
	shift
	(
		set -eu
		exec 3>&2 >"$stamps/$step.log" 2>&1
		step_began=$(date +%s)
		"$@"
		times >"$stamps/$step.times" # of the processor: the second line, user and system
		echo "$step $(($(date +%s) - step_began)) s ($(sed -n '2s/ /, /p' "$stamps/$step.times"))" >"$stamps/$step.took"
	) &
	jobs="$jobs $step:$!" steps="$steps $step"
}

# Waits for all; a step that failed is told with the end of its log, and so are the others that failed.
finish() {
	failed=
	for job in $jobs; do
		wait "${job#*:}" && continue
		failed="$failed ${job%%:*}"
		printf 'setup: %s failed; the end of %s:\n' "${job%%:*}" "$stamps/${job%%:*}.log" >&2
		tail -n 30 "$stamps/${job%%:*}.log" | sed 's/^/  /' >&2
	done
	jobs=
	[ -z "$failed" ]
}

level=${1:-all}
jobs='' steps=''
trap 'for job in $jobs; do kill "${job#*:}" 2>/dev/null || :; done' EXIT
trap 'exit 1' HUP INT TERM
case $level in
run) packages=setup/apt-packages.txt lists=setup/requirements/run.txt ;;
all) packages='setup/apt-packages.txt setup/apt-packages-more.txt' lists='setup/requirements/run.txt setup/requirements/more.txt' ;;
test)
	packages='setup/apt-packages.txt setup/apt-packages-more.txt setup/apt-packages-test.txt'
	lists='setup/requirements/run.txt setup/requirements/more.txt setup/requirements/dev.txt'
	;;
*) echo "setup.sh: '$level': run, test or nothing" >&2; exit 2 ;;
esac
began=$(date +%s)
install_packages setup/apt-packages.txt
begin kernel build_kernel # these two need no more: the other packages are installed meanwhile
# shellcheck disable=SC2086
begin python install_python $lists
# shellcheck disable=SC2086
[ "$level" = run ] || install_packages $packages
packed=$(date +%s)
begin programs build_programs
[ "$level" = run ] || begin simulator build_sim
finish || exit 1
now=$(date +%s)
[ $((now - began)) -ge 10 ] || exit 0
say "done in $((now - began)) s: packages $((packed - began)) s, the rest $((now - packed)) s; of the processor, user and system:"
for name in $steps; do say "  $(cat "$stamps/$name.took")"; done
