#!/bin/sh
# Run a program of this folder in the User-Mode Linux that Debian packages, which has none of landspeed's patches:
#
#   sh emu/kernel/reproduce/on-debians-uml.sh emu/kernel/reproduce/red-idle-below-tbf.py
#
# It downloads the package into a folder of its own, and needs apt, iproute2 and kmod; nothing is installed. With Linux
# 6.1.176, in real time: "burst: 205 of 600 dropped", "after 10 s of nothing: 4 of 50 dropped"; another time 203 and 2.
set -eu
program=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
(cd "$scratch" && apt-get download user-mode-linux >/dev/null 2>&1 && dpkg-deb -x user-mode-linux_*.deb .)
modules=$(echo "$scratch"/usr/lib/uml/modules/*)
cat >"$scratch/init" <<INIT
#!/bin/sh
export PATH=/usr/sbin:/sbin:/usr/bin:/bin
mount -t proc proc /proc
insmod $modules/kernel/drivers/net/veth.ko
insmod $modules/kernel/net/sched/sch_tbf.ko
insmod $modules/kernel/net/sched/sch_red.ko
uname -r
python3 $program
poweroff -f
INIT
chmod 755 "$scratch/init"
"$scratch/usr/bin/linux.uml" mem=256M rootfstype=hostfs rootflags=/ ro init="$scratch/init" con=null con0=fd:0,fd:1 \
	quiet uml_dir="$scratch/" </dev/null
