# shellcheck shell=sh
# Installs into .venv by uv, which takes a third of pip's processor time; source this, then `install_wheels LIST OPTIONS…`.
# LIST is a file for what pip is configured by, which uv does not read: it is told the common settings, and where there
# are others, pip does the work. So it does where uv is not to be had or fails, and then says why it fails too.

# The value of a setting of pip's: its environment before its files.
configured() { # configured LIST KEY
	for part in :env: install global; do sed -n "s/^$part\.$2='\(.*\)'\$/\1/p" "$1"; done | head -n 1 | sed 's/\\n/ /g'
}

# Settings that uv is told, and those that say nothing about what is installed.
TOLD='cert|proxy|index-url|extra-index-url|find-links'
IDLE='(default-)?timeout|retries|quiet|disable-pip-version-check|no-cache-dir|cache-dir|root-user-action'

uv_will_do() { # uv_will_do LIST
	.venv/bin/pip config list >"$1" || return
	! grep -qvE "\.($TOLD|$IDLE)=" "$1" || return
	[ -x .venv/bin/uv ] || pip_install --require-hashes -r setup/requirements/installer.txt
}

pip_install() { .venv/bin/pip --disable-pip-version-check -q install --no-deps --no-compile "$@"; }

install_wheels() {
	settings=$1
	shift
	if uv_will_do "$settings" && by_uv "$@"; then return; fi
	pip_install "$@"
}

by_uv() {
	index=$(configured "$settings" index-url) cert=$(configured "$settings" cert) proxy=$(configured "$settings" proxy)
	for each in $(configured "$settings" extra-index-url); do set -- --extra-index-url "$each" "$@"; done
	for each in $(configured "$settings" find-links); do set -- --find-links "$each" "$@"; done
	# Its folder of unpacked wheels, in the same file system, is linked into the environment and not kept.
	env ${cert:+"SSL_CERT_FILE=$cert"} ${proxy:+"ALL_PROXY=$proxy"} .venv/bin/uv -q --cache-dir build/uv pip install \
		--python .venv/bin/python --no-deps ${index:+--index-url "$index"} "$@"
}
