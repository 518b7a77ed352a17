#!/bin/sh
# Do the workflows of docs/how-to/ci/ work, and how long until the first green test? A new Ubuntu in a folder is the
# runner, an ordinary user with sudo runs their `run` steps, and each job finds the system as new. What their actions bring
# is laid there before: the checkout, Python, the cache. The job from a clone is run twice: the second time with the cache
# that the first one left, which has the kernel. The job with the wheel is run where `make wheel` has made one. Exit status
# 1 when a step fails, or a promise is not kept: three minutes from a clone with the cache, 30 s with the wheel.
# Needs root, debootstrap and the network. Usage: workflow.sh [SUITE], else noble, which the workflows name.
set -eu
cd "$(dirname "$0")/.."
. setup/fresh-folder.sh
suite=${1:-noble}
mkdir -p build
fresh_folder "$suite" ca-certificates,curl,git,make,python3,python3-venv,sudo >"build/workflow-$suite.log"
echo 'stranger ALL=(ALL) NOPASSWD: ALL' >"$fresh/etc/sudoers.d/stranger"
cache=.cache/landspeed/kernel
jobs=$(mktemp -d "$PWD/build/workflow.XXXXXX")
trap 'rm -rf --one-file-system "$fresh" "$jobs"' EXIT
failed=0

# The `run` steps of a workflow's one job as a script for bash, each in a shell of its own and timed.
steps() {
	.venv/bin/python - "$1" <<-'PYTHON'
		import shlex, sys
		from ruamel.yaml import YAML
		(job,) = YAML(typ="safe").load(open(sys.argv[1]))["jobs"].values()
		for step in filter(None, (each.get("run") for each in job["steps"])):
		    print(f"echo step: {shlex.quote(step.splitlines()[0])}; time bash -e -o pipefail -c {shlex.quote(step)} </dev/null")
	PYTHON
}

# job NAME WORKFLOW MOST_S: a system as new, with what the workflow's actions bring.
job() {
	own=$jobs/$1
	mkdir -p "$own/upper" "$own/work" "$own/root"
	home=$own/upper/home/stranger
	mkdir -p "$home/$(dirname $cache)"
	mkdir "$home/work"
	cp docs/how-to/ci/test_long_paths.py README.md "$home/work"
	# shellcheck disable=SC2016
	{
		echo "set -e; TIMEFORMAT='step: %R s'; cd work; export GITHUB_OUTPUT=~/output"
		case $2 in *clone*) ;; *) echo 'python3 -m venv ~/python; PATH=$HOME/python/bin:$PATH; SECONDS=0' ;; esac
		steps "docs/how-to/ci/$2"
		echo 'echo "step: all: $SECONDS s to the first green test"'
	} >"$home/steps.sh"
	case $2 in
	*clone*)
		git clone --quiet --no-hardlinks . "$home/work/landspeed"
		[ ! -d "$jobs/cache" ] || cp -R "$jobs/cache" "$home/$cache"
		;;
	*) mkdir "$home/work/wheels" && cp build/wheel/landspeed-*.whl "$home/work/wheels" ;;
	esac
	chroot "$fresh" chown -R stranger: /home/stranger
	chown -R --reference="$fresh/home/stranger" "$home"
	echo "workflow: $1: $2"
	# Namespaces of their own: mounts and processes end with the job.
	# shellcheck disable=SC2016
	if FRESH=$fresh OWN=$own unshare --mount --pid --fork --kill-child sh -euc '
		mount -t overlay overlay -o "lowerdir=$FRESH,upperdir=$OWN/upper,workdir=$OWN/work" "$OWN/root"
		mount -t proc proc "$OWN/root/proc"
		mount --rbind /dev "$OWN/root/dev"
		mount --rbind /sys "$OWN/root/sys"
		mount -t tmpfs tmpfs "$OWN/root/tmp"
		exec chroot "$OWN/root" su - stranger -c "bash steps.sh"' >"$own/log" 2>&1; then
		grep -E '^step: |^[0-9]+ passed' "$own/log"
		all=$(sed -n 's/^step: all: \([0-9]*\) s.*/\1/p' "$own/log")
		if [ "$all" -ge "$3" ]; then
			echo "workflow: $1: FAILED: $all s to the first green test, promised $3"
			failed=1
		fi
	else
		tail -n 40 "$own/log"
		echo "workflow: $1: FAILED: a step did"
		failed=1
	fi
	if [ -d "$home/$cache" ] && [ ! -d "$jobs/cache" ]; then
		cp -R "$home/$cache" "$jobs/cache"
	fi
}

if ls build/wheel/landspeed-*.whl >/dev/null 2>&1; then
	job wheel long-paths.yml 30
else
	echo "workflow: no wheel: \`make wheel\` makes one"
fi
job first long-paths-clone.yml 3600
job cached long-paths-clone.yml 180
exit "$failed"
