#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# run.sh [ROUNDS] - the importer is killed at random moments.
#
# Two versions of a checkpoint take turns on one volume, a loop device for
# root. After each kill the manifest is one of the two, and every byte that it
# names is there; a prune is killed too, now and then. Importing once more
# always succeeds. UGDS_ST_SEED repeats the moments, as far as the machine
# does.

# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"
rounds=${1:-40}
seed=${UGDS_ST_SEED:-$(date +%s)}
RANDOM=$((seed % 32768))
echo "seed $seed, $rounds rounds"
loop=''
trap '[ -z "$loop" ] || losetup -d "$loop"' EXIT

truncate -s 192M image
volume=$work/volume
if loop=$(losetup --direct-io=on -f --show image 2>/dev/null); then
	volume=$loop
	expect 0 "$import" --format "$volume"
else
	loop=''
	expect 0 "$import" --format --size 192M "$volume"
fi

# Two versions that share a shard; the others differ in one byte at the end, so
# that their headers are equal.
"$python" - <<'PYTHON'
import json, os, struct
for version in (0, 1):
    folder = "version%d" % version
    os.mkdir(folder)
    where = {}
    for shard in range(4):
        name = "model-%05d-of-00004.safetensors" % (shard + 1)
        nbytes = 8 << 20
        text = json.dumps({"t%d" % shard: {"dtype": "U8", "shape": [nbytes],
                           "data_offsets": [0, nbytes]}}).encode()
        data = bytearray(os.urandom(1 << 20) * 8)
        if version == 1:
            with open("version0/" + name, "rb") as old:
                data = bytearray(old.read()[8 + len(text):])
            if shard:
                data[-1] ^= 1
        with open(os.path.join(folder, name), "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text + data)
        where["t%d" % shard] = name
    with open(folder + "/model.safetensors.index.json", "w") as out:
        json.dump({"weight_map": where}, out)
PYTHON

# How long a whole import takes, in ms.
start=$(date +%s%N)
expect 0 "$import" --quiet --device "$volume" --manifest m.json version0
whole=$((($(date +%s%N) - start) / 1000000 + 1))

# intact VERSION... - the manifest is one of these, and whole.
intact() {
	local version shard

	expect 0 "$cat" --verify m.json || return
	"$cat" --raw m.json t3 >found
	for version; do
		shard=version$version/model-00004-of-00004.safetensors
		tail -c $((8 << 20)) "$shard" | cmp -s - found && return
	done
	bad "the manifest is none of versions $*"
}

# cut COMMAND... - start it, kill it somewhere.
cut_short() {
	"$@" >/dev/null 2>&1 &
	local pid=$! pause=$((RANDOM % (whole * 5 / 4 + 1)))

	sleep "$((pause / 1000)).$(printf %03d $((pause % 1000)))"
	kill -9 "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
}

version=0
for ((round = 1; round <= rounds; round++)); do
	next=$((1 - version))
	cut_short "$import" --device "$volume" --manifest m.json \
		"version$next"
	intact "$version" "$next"
	if [ $((round % 3)) -eq 0 ]; then
		cut_short "$import" --prune --manifest m.json
		intact "$version" "$next"
	fi
	if [ $((round % 2)) -eq 0 ]; then
		expect 0 "$import" --verify --device "$volume" \
			--manifest m.json "version$next"
		intact "$next"
		expect 0 "$import" --prune --manifest m.json
		intact "$next"
		version=$next
	elif cmp -s found <(tail -c $((8 << 20)) \
		"version$next/model-00004-of-00004.safetensors"); then
		version=$next
	fi
	[ "$failures" -eq 0 ] || break
done
expect 0 "$import" --remove --manifest m.json
expect 0 "$import" --list --json "$volume"
says out '"checkpoints": [], "objects": []'
finish
