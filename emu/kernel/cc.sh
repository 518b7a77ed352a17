#!/bin/sh
# The compiler of the kernel's build: gcc, with the headers that most of Linux's files include compiled once (GCC's
# precompiled headers): reading them takes three quarters of the time of a small file. Two files, which the build names
# first, make them in this script's folder with their own flags: one for the kernel, one for its modules. What GCC cannot
# use them for, and every file that defines something before it includes, is compiled as ever. The lists of
# dependencies, which only a second build would need, name the file alone.
here=${0%/*}
for word; do source=$word; done
case " $* " in
*' -nostdinc '*' -D__KERNEL__ '*' -c -o '*'.c ') ;;
*) exec gcc "$@" ;;
esac
case " $* " in *' -DMODULE '*) headers=$here/module.h ;; *) headers=$here/kernel.h ;; esac
maker=
case $source in */kernel/groups.c | */net/sched/sch_drr.c) maker=yes ;; esac
[ -n "$maker" ] || [ -e "$headers.gch" ] || exec gcc "$@"
awk '/^[ \t]*#[ \t]*(define|undef)/ && !/pr_fmt/ { late = 1 } late && /^[ \t]*#[ \t]*include/ { exit 1 }' "$source" ||
	exec gcc "$@"

# What differs from file to file comes after the headers: its names, which macros of theirs have in them.
names='' object='' list='' before='' left=$#
while [ "$left" -gt 0 ]; do
	word=$1
	shift
	left=$((left - 1))
	case $word in
	-DKBUILD_MODFILE=* | -DKBUILD_BASENAME=* | -DKBUILD_MODNAME=* | -D__KBUILD_MODNAME=*)
		word=${word#-D}
		names="$names#define ${word%%=*} ${word#*=}
" ;;
	-include)
		case $1 in
		*/linux/compiler-version.h | */linux/kconfig.h | */linux/compiler_types.h) before="$before#include \"$1\"
" ;;
		*) set -- "$@" -include "$1" ;;
		esac
		shift
		left=$((left - 1))
		;;
	-o)
		object=$1
		shift
		left=$((left - 1))
		;;
	-Wp,-MMD,*) list=${word#-Wp,-MMD,} ;;
	-c | "$source") ;;
	*) set -- "$@" "$word" ;;
	esac
done
if [ -n "$maker" ]; then
	printf '%s' "$before" >"$headers" # what GCC reads in their place where it cannot use them
	cp "$headers" "${headers%.h}-alone.h"
	{
		printf '%s#define KBUILD_MODNAME "kernel"\n' "$before"
		for name in kernel module init slab sched sched/signal mm fs uaccess seq_file proc_fs netdevice skbuff rtnetlink; do
			echo "#include <linux/$name.h>"
		done
		for name in net_namespace sock netlink tcp ipv6; do echo "#include <net/$name.h>"; done
		echo '#undef KBUILD_MODNAME'
	} >"$headers.all.h"
	gcc "$@" -w -x c-header "$headers.all.h" -o "$headers.making" && mv "$headers.making" "$headers.gch"
fi
printf '%s' "$names" >"$object.names.h"
set -- -include "$object.names.h" "$@" -w -c -o "$object" "$source"
gcc -include "$headers" "$@" 2>/dev/null || gcc -include "${headers%.h}-alone.h" "$@" || exit
rm "$object.names.h"
[ -z "$list" ] || echo "$object: $source" >"$list"
