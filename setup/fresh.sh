#!/bin/sh
# Does the set-up bring all that a machine without anything needs? A new Debian or Ubuntu in a folder, an ordinary user
# with sudo, a clone of what is committed, and one command there. It takes what a stranger's first run takes, and says
# how long (`fresh: … s`; the folder itself is not counted).
# Needs root, debootstrap and the network. Usage: fresh.sh [SUITE [COMMAND]], else bookworm and "make rehearse".
set -eu
cd "$(dirname "$0")/.."
command=${2:-make rehearse}
. setup/fresh-folder.sh
fresh_folder "${1:-bookworm}" ca-certificates,git,make,sudo
echo 'stranger ALL=(ALL) NOPASSWD: ALL' >"$fresh/etc/sudoers.d/stranger"
git clone --quiet --no-hardlinks . "$fresh/home/stranger/landspeed"
chroot "$fresh" chown -R stranger: /home/stranger

# Namespaces of their own: mounts and processes end with the command.
began=$(date +%s)
# shellcheck disable=SC2016
FRESH=$fresh COMMAND=$command unshare --mount --pid --fork --kill-child sh -euc '
	mount -t proc proc "$FRESH/proc"
	mount --rbind /dev "$FRESH/dev"
	mount --rbind /sys "$FRESH/sys"
	mount -t tmpfs tmpfs "$FRESH/tmp"
	exec chroot "$FRESH" su - stranger -c "cd landspeed && $COMMAND"'
echo "fresh: $(($(date +%s) - began)) s: $command" >&2
