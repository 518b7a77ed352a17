#!/bin/sh
# Makes build/wheel/landspeed-VERSION-….whl: everything that a run needs on any x86-64 Linux with glibc 2.36 and
# Python 3.11 or newer. The programs are those of `make setup`; auditwheel puts their libraries beside them and refuses
# what an older glibc lacks. The same commit gives the same bytes (`make wheel-twice` shows it).
# Usage: wheel.sh [FOLDER], else build/wheel. Needs `make setup-test`.
set -eu
umask 022
cd "$(dirname "$0")/.."
root=$PWD
out=${1:-build/wheel}
platform=manylinux_2_36_x86_64
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC PATH="$root/.venv/bin:$PATH"
mkdir -p build "$out"
work=$(mktemp -d "$root/build/wheel.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

say() { printf 'wheel: %s\n' "$*" >&2; }

# quietly NAME COMMAND...: what it said is shown if it fails.
quietly() {
	log=$work/$1.log
	shift
	"$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
}

# package_of FILE: the installed package that the file is of.
package_of() { dpkg-query -S "$(realpath "$1")" 2>/dev/null || dpkg-query -S "$(realpath "$1" | sed 's,^/usr,,')"; }

# 1. The sources as they stand; below landspeed/data what the clone has beside the package, and the programs.
tree=$work/tree
data=$tree/landspeed/data
mkdir "$tree"
git ls-files -z | tar --null --files-from=- --create --mode=go-w,a+rX | tar -x -C "$tree"
cp setup/wheel/setup.py "$tree"
python -m landspeed.scenario.traces.made_traces "$tree/scenarios/traces"
landspeed schema >"$tree/scenarios/scenario.schema.json"
mkdir -p "$data/emu/kernel"
cp -r "$tree/scenarios" "$tree/lessons" "$tree/playbooks" "$data"
cp -r "$tree/emu/kernel/config" "$tree/emu/kernel/config-mininet" "$tree/emu/kernel/cc.sh" "$tree/emu/kernel/patches" "$data/emu/kernel"
for program in engine/build/landspeed-engine emu/launch/build/landspeed-launch emu/launch/build/landspeed-polled.so emu/linkwatch/build/landspeed-linkwatch emu/linkwatch/build/landspeed-sockwatch; do
	mkdir -p "$data/$(dirname "$program")"
	strip --strip-all --remove-section=.note.gnu.build-id -o "$data/$program" "$program" # of where it was built
done
kernel=$(python -c 'from landspeed.worlds.emu.kernel_build import find_kernel; print(find_kernel().executable.parent)')
mkdir "$data/emu/kernel/built"
cp -r "$kernel/linux" "$kernel/modules" "$kernel/kernel.json" "$kernel/config" "$data/emu/kernel/built"

# 2. Licences, and the names of the source packages.
licences=$tree/licences
mkdir "$licences"
archive=$(python -c 'from landspeed.worlds.emu.kernel_build import find_source; print(find_source())')
# sources PROGRAM...: a line of the table for each library that goes along; copies what Debian says of its licence.
sources() {
	cat setup/wheel/SOURCES.md
	for file in $(ldd "$@" | awk '$2 == "=>" && $1 !~ /^lib(c|m|stdc\+\+|gcc_s)\./ { print $3 }' | sort -u); do
		source_of "$file"
	done
}
# source_of FILE: its line.
source_of() {
	package=$(package_of "$1" | cut -d: -f1 | head -n 1)
	# shellcheck disable=SC2016
	dpkg-query -W -f '| `'"$(basename "$1")"'` | `${source:Package}` | `${source:Version}` | `copyright-'"$package"'` |\n' "$package"
	cp "/usr/share/doc/$package/copyright" "$licences/copyright-$package"
}
{
	sources engine/build/landspeed-engine emu/linkwatch/build/landspeed-linkwatch
	source_of "$archive"
} >"$licences/SOURCES.md"
cp /usr/share/common-licenses/GPL-2 "$licences/GPL-2"
cp /usr/share/common-licenses/LGPL-2.1 "$licences/LGPL-2.1"
sed -i 's/^license = .*/license = "BSD-3-Clause AND GPL-2.0-only AND LGPL-2.1-or-later AND Apache-2.0 AND MIT AND ISC AND BSD-2-Clause"/' "$tree/pyproject.toml"

# 3. For the shell and for man.
share=$tree/share
mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" "$share/fish/vendor_completions.d"
landspeed completion bash >"$share/bash-completion/completions/landspeed"
landspeed completion zsh >"$share/zsh/site-functions/_landspeed"
landspeed completion fish >"$share/fish/vendor_completions.d/landspeed.fish"
python -m landspeed.cli.completion.table >"$data/completion.json"
python setup/manual_page.py >"$share/man/man1/landspeed.1"
cp engine/landspeed-engine.1 "$share/man/man1"

# 4. The wheel, its libraries, its name.
pack() { # pack TREE
	quietly build python -m build --wheel --no-isolation --outdir "$work/plain" "$1"
}
pack "$tree"

# 5. The simulated world, a wheel of its own, where it is built.
if [ -x sim/build/landspeed-sim ]; then
	tree=$work/sim
	mkdir -p "$tree/landspeed_sim" "$tree/licences"
	cp setup/wheel/sim.toml "$tree/pyproject.toml"
	cp setup/wheel/setup.py "$tree"
	version=$(python -c 'import landspeed; print(landspeed.__version__)')
	# shellcheck disable=SC2016
	printf '"""The simulator of `landspeed --world sim`: a program, no module."""\n\n__version__ = "%s"\n' "$version" \
		>"$tree/landspeed_sim/__init__.py"
	strip --strip-all --remove-section=.note.gnu.build-id -o "$tree/landspeed_sim/landspeed-sim" sim/build/landspeed-sim
	PYTHONPATH="$root" python setup/simulator_wheel.py key >"$tree/landspeed_sim/sources"
	licences=$tree/licences
	sources sim/build/landspeed-sim >"$licences/SOURCES.md"
	cp /usr/share/common-licenses/GPL-2 /usr/share/common-licenses/LGPL-2.1 LICENSE "$licences"
	pack "$tree"
fi

mkdir -p "$work/repaired"
for wheel in "$work"/plain/*.whl; do
	quietly auditwheel auditwheel repair --plat "$platform" --only-plat --wheel-dir "$work/repaired" "$wheel"
done
rm -f "$out"/landspeed*.whl
cp "$work"/repaired/*.whl "$out"
(cd "$out" && du -h landspeed*.whl >&2 && sha256sum landspeed*.whl)
