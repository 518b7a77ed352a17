#!/bin/sh
# The compiler of the kernel's build: gcc, with two savings.
#
# The headers that most of Linux's files include are compiled once (GCC's precompiled headers): reading them takes three
# quarters of the time of a small file. Two files, which the build names first, make them in this script's folder with
# their own flags: one for the kernel, of which what does not name the network gets a smaller set, as each file pays for
# what it loads, and one for its modules. What GCC cannot use them for, and every file that defines something that they
# speak of before it includes, is compiled as ever. The lists of dependencies, which only a second build would need,
# name the file alone.
#
# Only what packets, clocks and calls pass is optimized in full. `perf` (`make profile`) does not see the rest while a
# transfer runs, and it is compiled in half the time.
here=${0%/*} tree=''
for word; do
	case $word in */include/linux/kconfig.h) tree=${word%/include/linux/kconfig.h} ;; esac
	source=$word
done
case " $* " in
*' -nostdinc '*' -D__KERNEL__ '*' -c -o '*'.c ') ;;
*) exec gcc "$@" ;;
esac
maker='' file=${source#"$tree"/}
case $file in kernel/groups.c | net/sched/sch_drr.c) maker=yes ;; esac
case " $* " in
*' -DMODULE '*) headers=$here/module.h ;;
*)
	headers=$here/kernel.h
	[ -n "$maker" ] || ! grep -qE '^# *include <(net/|linux/(netdevice|skbuff|inet))' "$source" || headers=$here/network.h
	;;
esac
[ -n "$maker" ] || [ -e "$headers.gch" ] || exec gcc "$@"

optimization='-Og -ftree-bit-ccp' # without the second one, Linux's checks while it is compiled fail
case $file in
lib/vsprintf.c | net/sched/cls_api.c | net/sched/cls_flower.c | drivers/net/vxlan/*) ;;
# Of these, the checks fail all the same.
mm/memblock.c | kernel/ptrace.c | kernel/signal.c | ipc/msg.c | ipc/sem.c | fs/namespace.c | io_uring/rsrc.c | \
	io_uring/epoll.c | drivers/tty/tty_io*.c | net/core/filter.c | net/ethtool/ioctl.c) optimization=-O1 ;;
*/../* | arch/* | lib/* | crypto/* | net/sched/* | kernel/time/* | kernel/sched/* | kernel/locking/* | kernel/rcu/* | \
	kernel/futex/* | kernel/softirq.c | kernel/workqueue.c | kernel/irq_work.c | kernel/user_namespace.c | \
	mm/shmem.c | mm/filemap.c | mm/slub.c | mm/page_alloc.c | mm/swap.c | mm/percpu.c | mm/readahead.c | mm/memory.c | \
	mm/mmap.c | mm/vma.c | mm/util.c | mm/truncate.c | mm/mm_init.c | fs/splice.c | fs/select.c | fs/eventpoll.c | \
	fs/file.c | fs/read_write.c | fs/dcache.c | fs/inode.c | fs/namei.c | fs/pipe.c | fs/timerfd.c | fs/hostfs/* | \
	io_uring/io_uring.c | io_uring/rw.c | io_uring/net.c | drivers/net/*.c | net/socket.c | net/core/skbuff.c | \
	net/core/dev.c | net/core/sock.c | net/core/gro.c | net/core/gso.c | net/core/datagram.c | net/core/stream.c | \
	net/core/dst.c | net/ethernet/* | net/netlink/af_netlink.c | net/unix/af_unix.c | \
	net/packet/af_packet.c | net/ipv[46]/tcp* | net/ipv[46]/udp* | net/ipv[46]/inet* | net/ipv[46]/af_inet* | \
	net/ipv[46]/route.c | net/ipv4/fib_trie.c | net/ipv4/ip_[iof][nour]* | net/ipv6/ip6_[ifo]* | net/ipv6/output_core.c | \
	net/mptcp/protocol.c | net/mptcp/subflow.c | net/mptcp/options.c | net/tls/* | net/strparser/* | \
	net/bridge/br_[fi]* | net/openvswitch/actions.c | net/openvswitch/datapath.c | net/openvswitch/flow*e.c | \
	net/openvswitch/flow.c | net/netfilter/core.c | net/netfilter/*_core.c | net/netfilter/nf_conntrack_proto_tcp.c | \
	net/netfilter/x_tables.c | net/ipv[46]/netfilter/ip*_tables.c | fs/proc/array.c) optimization='' ;;
esac
case $tree in */linux-source-6.12) ;; *) optimization='' ;; esac # others may have more such checks, which fail when linked

# Names that the file defines before it includes something. Of CREATE_TRACE_POINTS the headers speak in a comment alone.
late=$(awk '/^[ \t]*#[ \t]*(define|undef)/ && !/pr_fmt|CREATE_TRACE_POINTS/ {
		name = $0
		sub(/^[ \t]*#[ \t]*[a-z]+[ \t]+/, "", name)
		sub(/[^A-Za-z0-9_].*/, "", name)
		names = names name "\n"
	}
	/^[ \t]*#[ \t]*include/ { printf "%s", names; names = "" }' "$source")
if [ -n "$late" ] && [ -z "$maker" ] && grep -qwF "$late" "$headers.texts"; then
	# shellcheck disable=SC2086
	[ -z "$optimization" ] || ! gcc "$@" $optimization -w 2>/dev/null || exit 0
	exec gcc "$@"
fi

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

# make_headers NAME HEADERS…: compiles them, and keeps the texts of all that they include.
make_headers() {
	made=$here/$1
	shift
	printf '%s' "$before" >"$made" # what GCC reads in their place where it cannot use them
	cp "$made" "${made%.h}-alone.h"
	{
		printf '%s#define KBUILD_MODNAME "kernel"\n' "$before"
		for name; do echo "#include <$name.h>"; done
		echo '#undef KBUILD_MODNAME'
	} >"$made.all.h"
	eval "gcc $flags"' -w -MD -MF "$made.list" -x c-header "$made.all.h" -o "$made.making"' &&
		sed 's/^[^:]*://; s/\\$//' "$made.list" | xargs cat >"$made.texts" && mv "$made.making" "$made.gch"
}
if [ -n "$maker" ]; then
	flags=
	for word; do flags="$flags '$(printf %s "$word" | sed "s/'/'\\\\''/g")'"; done
	core=$(printf 'linux/%s ' kernel module init slab sched sched/signal mm fs uaccess seq_file proc_fs)
	network=$(printf 'linux/%s ' netdevice skbuff rtnetlink; printf 'net/%s ' net_namespace sock netlink tcp ipv6)
	# shellcheck disable=SC2086
	case $headers in
	*/module.h) make_headers module.h $core $network ;;
	*)
		make_headers kernel.h $core &
		make_headers network.h $core $network
		wait
		;;
	esac
fi
printf '%s' "$names" >"$object.names.h"
set -- -include "$object.names.h" "$@" -w -c -o "$object" "$source"
# shellcheck disable=SC2086
gcc -include "$headers" "$@" $optimization 2>/dev/null || gcc -include "${headers%.h}-alone.h" "$@" || exit
rm "$object.names.h"
[ -z "$list" ] || echo "$object: $source" >"$list"
