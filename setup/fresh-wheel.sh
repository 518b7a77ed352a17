#!/bin/sh
# Does the wheel run where there is nothing but Python? A new Debian or Ubuntu in a folder, an ordinary user without
# sudo, `pip install` of the wheel into a folder with spaces and other letters in its name, and the first example; then
# the same with a read-only home, in another locale and time zone, and in containers without any rights. Each time the
# samples must be, byte for byte, those of the wheel on this machine. Says how long it took from `pip install` to the first result.
# Needs root, debootstrap and the network, and for the containers bubblewrap, and podman with runc.
# Usage: fresh-wheel.sh [SUITE], else bookworm. Run `make wheel` first.
set -eu
cd "$(dirname "$0")/.."
. setup/fresh-folder.sh
suite=${1:-bookworm}
case $suite in
fedora | arch)
	echo "fresh-wheel.sh: '$suite': Debian's and Ubuntu's archives alone are reached from here" >&2
	exit 2
	;;
esac
wheel=$(find build/wheel -name 'landspeed-*.whl' 2>/dev/null | head -n 1)
[ -n "$wheel" ] || { echo "fresh-wheel.sh: make wheel" >&2; exit 2; }
say() { printf 'fresh-wheel: %s: %s\n' "$suite" "$*" >&2; }

fresh_folder "$suite" ca-certificates,python3,python3-venv,locales >"build/fresh-$suite.log"
chroot "$fresh" localedef -i tr_TR -f UTF-8 tr_TR.UTF-8
home="$fresh/home/stranger"
place="/home/stranger/mit Leerzeichen/Überlänge 東京"
cp "$wheel" "$home"
cat >"$home/install" <<-END
	set -eu
	python3 -m venv "$place"
	"$place/bin/pip" --disable-pip-version-check -q install ~/$(basename "$wheel")
END
cat >"$home/try" <<-END
	set -eu
	rm -rf "\${OUT:=\$HOME/.local/share/landspeed/runs}"/first-*
	"$place/bin/landspeed" run first --quiet \${GIVEN:+--out "\$OUT"}
	sha256sum "\$OUT"/first-*/samples.parquet | cut -d' ' -f1
END
chroot "$fresh" chown -R stranger: /home/stranger

# stranger PREPARATION COMMAND: as that user, in namespaces that end with the command.
# shellcheck disable=SC2016
stranger() {
	FRESH=$fresh PREPARE=$1 COMMAND=$2 unshare --mount --pid --fork --kill-child sh -euc '
		mount -t proc proc "$FRESH/proc"
		mount --rbind /dev "$FRESH/dev"
		mount -t tmpfs tmpfs "$FRESH/tmp"
		eval "$PREPARE"
		exec chroot "$FRESH" su - stranger -c "$COMMAND"'
}

# What it must be: the same wheel on this machine, with this machine's Python, in another folder.
ours=$fresh/ours
python3 -m venv "$ours"
"$ours/bin/pip" --disable-pip-version-check -q install "$wheel"
"$ours/bin/landspeed" run first --quiet --out "$ours/runs"
wanted=$(sha256sum "$ours"/runs/first-*/samples.parquet | cut -d' ' -f1)
rm -rf "$ours"
failed=0
check() { # check WHAT HASH
	if [ "$2" = "$wanted" ]; then
		say "ok: $1: the same samples, byte for byte"
	else
		say "FAILED: $1: '$2', this machine has $wanted"
		failed=1
	fi
}

began=$(date +%s.%N)
stranger : 'sh install'
installed=$(date +%s.%N)
first=$(stranger : 'sh try')
ended=$(date +%s.%N)
say "$(awk "BEGIN { printf \"%.1f s from pip install to the first result: %.1f s to install, %.1f s to run\", \
	$ended - $began, $installed - $began, $ended - $installed }")"
check "ordinary user, spaces and other letters in the path" "$first"
# shellcheck disable=SC2016
check "read-only home" "$(stranger 'mount --bind "$FRESH/home" "$FRESH/home"; mount -o remount,bind,ro "$FRESH/home"' \
	'OUT=/tmp/out GIVEN=1 sh try')"
check "locale C, time zone of Kathmandu" "$(stranger : 'LC_ALL=C TZ=Asia/Kathmandu sh try')"
check "Turkish locale, time zone of Chatham" "$(stranger : 'LC_ALL=tr_TR.UTF-8 TZ=Pacific/Chatham sh try')"
if command -v bwrap >/dev/null; then
	check "bubblewrap: no capability, no network, a user namespace" "$(setpriv --reuid 1000 --regid 1000 \
		--clear-groups bwrap --unshare-all --cap-drop ALL --die-with-parent --bind "$fresh" / --proc /proc --dev /dev \
		--tmpfs /tmp --clearenv --setenv HOME /home/stranger --setenv PATH /usr/bin:/bin --setenv OUT /tmp/out --setenv GIVEN 1 \
		--chdir /home/stranger sh try)"
fi
if command -v podman >/dev/null && command -v runc >/dev/null; then
	check "podman: its own seccomp profile, /dev/shm of 64 MB" "$(podman --cgroup-manager=cgroupfs --runtime runc \
		run --rm --network none --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 --user 1000:1000 --cap-drop all \
		--security-opt no-new-privileges --env HOME=/home/stranger --env OUT=/tmp/out --env GIVEN=1 \
		--workdir /home/stranger --rootfs "$fresh:O" sh try)"
fi
exit "$failed"
