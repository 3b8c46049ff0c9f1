#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# bench.sh [whole|experts|small|open]... - measure reading: a whole checkpoint
# of 4.2 GiB, random experts of 6 MiB, small tensors, opening and looking up,
# beside what fio reads from the same file and what other loaders need. Without
# an argument all of it. docs/performance.md says what each figure includes.
#
# Everything is written below the build folder: 16 GB of checkpoints and
# volumes, 6 GB of Python packages for the other loaders. Both are kept for the
# next run. Installs what is missing with apt and pip.
#
#   UGDS_ST_BENCH_ROUNDS   how often each thing is measured; 5
#   UGDS_ST_BENCH_RUN      prefix of every measured command, as "chrt -r 10"

set -euo pipefail
# shellcheck source=tools/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

rounds=${UGDS_ST_BENCH_ROUNDS:-5}
read -ra prefix <<<"${UGDS_ST_BENCH_RUN:-}"
peers=(mmap pread fastsafetensors streamer tensorizer)
peer_packages=(torch numpy safetensors==0.8.0 fastsafetensors==0.5.0
	runai-model-streamer==0.17.1 tensorizer==2.12.1)
parts=("$@")
[ $# -gt 0 ] || parts=(whole experts small open)
for part in "${parts[@]}"; do
	[[ $part =~ ^(whole|experts|small|open)$ ]] && continue
	sed -n '4,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
	[ "$part" = --help ] && exit 0
	exit 2
done

folder=$build/bench
programs=$folder/build
results=$folder/results.tsv
venv=$folder/venv

# ------------------------------------------------------------------- set-up

# model NAME - a checkpoint, its volume and its manifest, unless they are there.
model() {
	local mib

	[ -e "$folder/$1.json" ] && return
	say "making and importing checkpoint $1"
	rm -rf "${folder:?}/$1" "$folder/$1.img"
	python3 "$here/tests/bench/make_model.py" "$1" "$folder/$1"
	mib=$(du -sm "$folder/$1" | cut -f 1)
	"$programs/tools/ugds-st-import" --format --size $((mib + 600))M \
		"$folder/$1.img"
	"$programs/tools/ugds-st-import" --quiet --device "$folder/$1.img" \
		--manifest "$folder/$1.json" "$folder/$1"
}

# The other loaders; without them the rest is measured all the same.
install_peers() {
	[ -e "$venv/done" ] && return
	say "installing the other loaders"
	if python3 -m venv "$venv" &&
		"$venv/bin/pip" -q --disable-pip-version-check install \
			"${peer_packages[@]}"; then
		touch "$venv/done"
	else
		echo "cannot install them: they are left out"
		peers=()
	fi
}

need "${build_packages[@]}" libcmocka-dev fio python3-venv util-linux
mkdir -p "$folder"
say "building"
if ! { cmake -S "$here" -B "$programs" &&
	cmake --build "$programs" -j "$jobs" \
		--target bench_read bench_lists bench_open \
		ugds-st-import; } >"$folder/build.log" 2>&1; then
	cat "$folder/build.log"
	exit 1
fi
for part in "${parts[@]}"; do
	case $part in
	whole)
		model moe
		install_peers
		if [ ${#peers[@]} -gt 0 ]; then
			"$venv/bin/python" "$here/tests/bench/peers.py" \
				convert "$folder/moe"
		fi
		;;
	experts) model moe ;;
	small) model many ;;
	open)
		model moe
		model many
		;;
	esac
done

# ---------------------------------------------------------------- measuring

# Nothing of our files in the page cache. Who is not root has to ask file by
# file.
drop_caches() {
	local file

	if [ -w /proc/sys/vm/drop_caches ]; then
		echo 3 >/proc/sys/vm/drop_caches
		return
	fi
	for file in "$folder"/*.img "$folder"/m*/*; do
		dd if="$file" iflag=nocache count=0 status=none
	done
}

# touch_memory GIB - free memory that nobody has touched is slow in a virtual
# machine, where the host has yet to find a page for it, and fast afterwards:
# touch as much as the next run needs, whoever runs, and give it back.
touch_memory() {
	"${prefix[@]}" python3 - "$1" <<'PYTHON'
import mmap, sys
POPULATE_WRITE = 23
with open("/proc/meminfo") as lines:
    facts = {line.split(":")[0]: int(line.split()[1]) for line in lines}
size = min(int(sys.argv[1]) << 30, facts["MemAvailable"] * 1024 * 8 // 10)
memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_HUGEPAGE)
try:
    memory.madvise(POPULATE_WRITE)
except OSError:  # before Linux 5.14
    for at in range(0, size, 4096):
        memory[at] = 1
PYTHON
}

# run NAME COMMAND... - one measurement: its JSON, on one line, into results.
run() {
	local name=$1 line
	shift

	drop_caches
	line=$("${prefix[@]}" "$@" 2>"$folder/stderr" | tr -d '\n') ||
		line='{"skipped": "exit status '$?'"}'
	printf '%s\t%s\n' "$name" "$line" >>"$results"
}

# fio_run NAME OPTION... - on the volume, where the objects are. Huge pages, as
# the library's memory has them.
fio_run() {
	local name=$1 tunables=glibc.malloc.hugetlb=1
	shift
	[[ $name == *-4k ]] && tunables=
	run "$name" env GLIBC_TUNABLES=$tunables fio --name=read --readonly \
		--offset=8M --direct=1 --ioengine=libaio --norandommap \
		--output-format=json "$@"
}

# ours NAME PROGRAM OPTION...
ours() {
	local name=$1 program=$2

	shift 2
	run "$name" "$programs/tests/$program" "$@"
}

measure_whole() {
	local mib peer mode

	mib=$(du -sm --apparent-size --exclude=tensorizer "$folder/moe" |
		cut -f 1)
	for mode in fio:1M fio-4m:4M fio-4k:1M; do
		fio_run "${mode%:*}" --filename="$folder/moe.img" --rw=read \
			--bs="${mode#*:}" --iodepth=16 --size="${mib}M"
	done
	for mode in whole staged get each into; do
		touch_memory 5
		ours $mode bench_read $mode "$folder/moe.json"
	done
	for peer in "${peers[@]}"; do
		touch_memory 10
		run "$peer" "$venv/bin/python" "$here/tests/bench/peers.py" \
			"$peer" "$folder/moe"
	done
}

measure_experts() {
	local depth shape fio=(--filename="$folder/moe.img" --rw=randread
		--bs=6M --size=4200M --io_size=3840M --randseed="$RANDOM")

	for depth in 1 8 32; do
		fio_run "fio-$depth" "${fio[@]}" --iodepth=$depth
		[ $depth = 1 ] || fio_run "fio-$depth-batch" "${fio[@]}" \
			--iodepth=$depth --iodepth_batch_submit=$depth \
			--iodepth_batch_complete_min=$depth
	done
	for shape in 1x1 8x1 32x1 1x8 8x8 32x8; do
		ours "experts-$shape" bench_lists -l ${shape%x*} -t ${shape#*x} -n 640 \
			-s $((RANDOM + 1)) experts "$folder/moe.json"
	done
}

measure_small() {
	local depth shape

	for depth in 1 8 16; do
		fio_run "fio-small-$depth" --filename="$folder/many.img" \
			--rw=randread --bs=56k --size=2600M --io_size=400M \
			--iodepth=$depth --randseed="$RANDOM"
	done
	for shape in 7168x1 896x8 8x1 1x8 1x1; do
		ours "small-$shape" bench_lists -l ${shape%x*} -t ${shape#*x} \
			-n 7168 -s $((RANDOM + 1)) small "$folder/many.json"
	done
}

measure_open() {
	ours open bench_open open "$folder/many.json"
	ours find-many bench_open -n 5000000 find "$folder/many.json"
	ours find-moe bench_open -n 5000000 find "$folder/moe.json"
}

: >"$results"
sync
load=$(cut -d ' ' -f 1-3 /proc/loadavg)
for ((round = 1; round <= rounds; round++)); do
	say "round $round of $rounds"
	for part in "${parts[@]}"; do
		"measure_$part"
	done
done

say "results; each run is a line of $results"
echo "$(date -u +%F), $(uname -sr), $(nproc) CPUs:" \
	"$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)," \
	"$(sed -n 's/^MemTotal: *//p' /proc/meminfo), $(fio --version)," \
	"load $load before, $(cut -d ' ' -f 1-3 /proc/loadavg) after"
python3 "$here/tests/bench/table.py" "$results"
