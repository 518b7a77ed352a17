#!/bin/sh
# Does the image of docs/how-to/classroom build, and does a lesson run in it? A new Debian in a folder stands for the
# base image, and buildah builds without an engine. In the image, as its user and without network, a lesson is run, and
# executed as a notebook of Jupyter.
# Needs root, debootstrap, buildah and the network. Usage: image.sh. Run `make wheel` first.
set -eu
cd "$(dirname "$0")/.."
. setup/fresh-folder.sh
[ -n "$(find build/wheel -name 'landspeed-*.whl' 2>/dev/null)" ] || { echo "image.sh: make wheel" >&2; exit 2; }
command -v buildah >/dev/null || { echo "image.sh: apt-get install buildah" >&2; exit 2; }
fresh_folder bookworm ca-certificates >build/image.log
chroot "$fresh" userdel --remove stranger 2>/dev/null # who a base image has not
# The image's own ca-certificates is configured once more while it is built, and forgets whom only this machine trusts.
cp /etc/ssl/certs/ca-certificates.crt "$fresh/etc/ssl/host.crt"
[ ! -e "$fresh/etc/pip.conf" ] || sed -i 's#/etc/ssl/certs/ca-certificates.crt#/etc/ssl/host.crt#' "$fresh/etc/pip.conf"
course=$(mktemp -d "$PWD/build/classroom.XXXXXX")
store=$course/store
trap 'b rm --all >/dev/null; rm -rf --one-file-system "$fresh" "$course"' EXIT
b() { $alone buildah --root "$store" --runroot "$course/run" --storage-driver vfs "$@"; }
alone=

base=$(b from scratch)
b copy --quiet "$base" "$fresh" / >/dev/null
b commit --quiet "$base" localhost/debian:12 >/dev/null
mkdir "$course/class"
cp -r docs/how-to/classroom/. "$course/class"
mkdir "$course/class/wheels"
cp build/wheel/landspeed-*.whl "$course/class/wheels"
began=$(date +%s)
b bud --quiet --pull-never --isolation chroot --file "$course/class/binder/Dockerfile" --tag course "$course/class" >>build/image.log
echo "image: $(($(date +%s) - began)) s to build" >&2
made=$(b from localhost/course)
# With this isolation buildah gives no network but the machine's, so that it is started where there is only a loopback.
printf '#!/bin/sh\nip link set lo up\nexec "$@"\n' >"$course/alone"
alone="unshare --net sh $course/alone"
# shellcheck disable=SC2016
b run --isolation chroot --network host "$made" -- sh -euc '
	test "$(id -un) $PWD" = "student /home/student"
	jupyter lab --version
	jupyter server extension list 2>&1 | grep -q "jupytext.*OK"
	landspeed lesson framing --quiet --out site
	test -s site/framing.html
	jupytext --quiet --to notebook --execute lessons/framing/lesson.md'
echo "image: a lesson was run, as its user, and its notebook was executed" >&2
