#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# demo.sh [CHECKPOINT] - watch a checkpoint go onto a volume and come back,
# tensor by tensor.
#
# CHECKPOINT is a .safetensors file, a directory or an index file; it is only
# read. Without it a small one of two shards is made. Everything is written
# below the build folder. Installs what is missing with apt.

set -euo pipefail
# shellcheck source=tools/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

if [ $# -gt 1 ] || [[ ${1:-} == -* ]]; then
	sed -n '4,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
	[ "${1:-}" = --help ] && exit 0
	exit 2
fi

need "${build_packages[@]}"
mkdir -p "$build"
say "building"
build_in demo -DUGDS_ST_BUILD_TESTS=OFF
PATH=$build/demo/tools:$PATH

work=$build/demo/run
rm -rf "$work"
mkdir -p "$work"
if [ $# -eq 1 ]; then
	first=$(realpath "$1")
else
	first=$work/first
	python3 "$here/tools/make_checkpoint.py" "$first"
fi
cd "$work"

# run COMMAND... - a line of the transcript and what it says.
exec 3>&1
run() {
	printf '\n$ %s\n' "${*@Q}" |
		sed "s/'\\([A-Za-z0-9_./:=-]*\\)'/\\1/g" >&3
	"$@"
}

# A name to look at: the first tensor of rank 2, else the first of all.
pick() {
	ugds-st-cat --json "$1" | python3 -c '
import json, sys
tensors = json.load(sys.stdin)
print(next((t["name"] for t in tensors if len(t["shape"]) == 2),
           tensors[0]["name"]))'
}

compare() {
	run python3 "$here/tools/compare_checkpoint.py" --limit 2000 \
		"$(command -v ugds-st-cat)" model.json "$1"
}

# Room for the checkpoint, its smallest shard once more, labels, alignment.
volume_mib=$(ugds-st-cat --json "$first" | python3 -c '
import collections, json, sys
shards = collections.Counter()
for tensor in json.load(sys.stdin):
    shards[tensor["shard"]] += tensor["nbytes"]
need = sum(shards.values()) + min(shards.values())
print(need // 1048576 + 32 + 4 * len(shards))')

say "a volume, and the checkpoint on it"
run ugds-st-import --format --size "${volume_mib}M" volume.img
run ugds-st-import --verify --device volume.img --manifest model.json "$first"
run ugds-st-import --list volume.img

say "what it holds"
run ugds-st-cat model.json >table.txt
head -n 40 table.txt
name=$(pick "$first")
run ugds-st-cat --stats model.json "$name"

say "every byte, by hash and tensor by tensor"
run ugds-st-cat --verify model.json
compare "$first"

say "the next generation beside it, switched by one rename"
run python3 "$here/tools/make_checkpoint.py" --vary "$first" second
run ugds-st-import --verify --device volume.img --manifest model.json second
run ugds-st-import --list volume.img
run ugds-st-cat --verify model.json
compare second

say "done; volume and manifest are in $work"
