# shellcheck shell=sh
# A new Debian or Ubuntu in a folder of build/, for the scripts that try a set-up there; source this, then
# `fresh_folder SUITE PACKAGES` sets $fresh. An ordinary user `stranger` is in it.
# A host without the keys of the other family checks no signatures: DEBOOTSTRAP_OPTIONS=--no-check-gpg.
fresh_folder() {
	suite=$1
	name=$(basename "$0")
	[ "$(id -u)" = 0 ] || { echo "$name: run it as root" >&2; exit 2; }
	command -v debootstrap >/dev/null || { echo "$name: apt-get install debootstrap" >&2; exit 2; }
	# Debootstrap's scripts of a family are all one; one that is older than a suite lacks only its name.
	case $suite in
	bookworm | trixie) family=debian script=sid components=main ;;
	jammy | noble) family=ubuntu script=gutsy components=main,universe ;;
	*) echo "$name: '$suite': bookworm, trixie, jammy or noble" >&2; exit 2 ;;
	esac
	# /dev of this machine is bound into the folder: everything in it is unmounted before it is removed.
	mkdir -p build
	fresh=$(mktemp -d "$PWD/build/fresh.XXXXXX")
	trap 'rm -rf --one-file-system "$fresh"' EXIT
	trap 'exit 1' HUP INT TERM
	chmod 755 "$fresh"
	# shellcheck disable=SC2086
	debootstrap --variant=minbase "--components=$components" "--include=$2" ${DEBOOTSTRAP_OPTIONS:-} \
		"$suite" "$fresh" "" "/usr/share/debootstrap/scripts/$script"
	lines=$(sources)
	echo "$lines" >"$fresh/etc/apt/sources.list"
	# How this machine reaches the registries, and whom it trusts.
	apt-config dump | grep '^Acquire::' >"$fresh/etc/apt/apt.conf.d/00host"
	for file in /etc/ssl/certs/ca-certificates.crt /etc/pip.conf /etc/resolv.conf; do
		[ ! -e "$file" ] || cp "$file" "$fresh$file"
	done
	chroot "$fresh" useradd --create-home --shell /bin/bash stranger
}

# From debootstrap's one line, what an installer writes.
sources() {
	read -r _ mirror _ <"$fresh/etc/apt/sources.list"
	if [ "$family" = debian ]; then
		printf 'deb %s main\n' "$mirror $suite" "$mirror $suite-updates" "$mirror-security $suite-security"
	else
		printf "deb $mirror %s main universe\n" "$suite" "$suite-updates" "$suite-security"
	fi
}
