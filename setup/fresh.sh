#!/bin/sh
# Does the set-up bring all that a machine without anything needs? A new Debian or Ubuntu in a folder, an ordinary user
# with sudo, a clone of what is committed, and one command there. It takes what a stranger's first run takes.
# A host without the keys of the other family checks no signatures: DEBOOTSTRAP_OPTIONS=--no-check-gpg.
# Needs root, debootstrap and the network. Usage: fresh.sh [SUITE [COMMAND]], else bookworm and "make rehearse".
set -eu
cd "$(dirname "$0")/.."
suite=${1:-bookworm}
command=${2:-make rehearse}
[ "$(id -u)" = 0 ] || { echo "fresh.sh: run it as root" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "fresh.sh: apt-get install debootstrap" >&2; exit 2; }

# Debootstrap's scripts of a family are all one; one that is older than a suite lacks only its name.
case $suite in
bookworm | trixie) family=debian script=sid ;;
jammy | noble) family=ubuntu script=gutsy ;;
*) echo "fresh.sh: '$suite': bookworm, trixie, jammy or noble" >&2; exit 2 ;;
esac

# From debootstrap's one line, what an installer writes.
sources() {
	read -r _ mirror _ <"$fresh/etc/apt/sources.list"
	if [ "$family" = debian ]; then
		printf 'deb %s main\n' "$mirror $suite" "$mirror $suite-updates" "$mirror-security $suite-security"
	else
		printf "deb $mirror %s main universe\n" "$suite" "$suite-updates" "$suite-security"
	fi
}

# /dev of this machine is bound into the folder: everything in it is unmounted before it is removed.
mkdir -p build
fresh=$(mktemp -d "$PWD/build/fresh.XXXXXX")
trap 'rm -rf --one-file-system "$fresh"' EXIT
trap 'exit 1' HUP INT TERM
chmod 755 "$fresh"

# shellcheck disable=SC2086
debootstrap --variant=minbase --include=ca-certificates,git,make,sudo ${DEBOOTSTRAP_OPTIONS:-} \
	"$suite" "$fresh" "" "/usr/share/debootstrap/scripts/$script"
lines=$(sources)
echo "$lines" >"$fresh/etc/apt/sources.list"
# How this machine reaches the registries, and whom it trusts.
apt-config dump | grep '^Acquire::' >"$fresh/etc/apt/apt.conf.d/00host"
for file in /etc/ssl/certs/ca-certificates.crt /etc/pip.conf /etc/resolv.conf; do
	[ ! -e "$file" ] || cp "$file" "$fresh$file"
done
chroot "$fresh" useradd --create-home --shell /bin/bash stranger
echo 'stranger ALL=(ALL) NOPASSWD: ALL' >"$fresh/etc/sudoers.d/stranger"
git clone --quiet --no-hardlinks . "$fresh/home/stranger/landspeed"
chroot "$fresh" chown -R stranger: /home/stranger

# Namespaces of their own: mounts and processes end with the command.
# shellcheck disable=SC2016
FRESH=$fresh COMMAND=$command unshare --mount --pid --fork --kill-child sh -euc '
	mount -t proc proc "$FRESH/proc"
	mount --rbind /dev "$FRESH/dev"
	mount --rbind /sys "$FRESH/sys"
	mount -t tmpfs tmpfs "$FRESH/tmp"
	exec chroot "$FRESH" su - stranger -c "cd landspeed && $COMMAND"'
