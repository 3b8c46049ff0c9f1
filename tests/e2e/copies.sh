#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# copies.sh - two copies of each shard on two volumes: every tensor, against the
# official loader, while both are there, with one damaged, and with one gone.

# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"

"$python" -c 'import safetensors, numpy' 2>/dev/null ||
	skip "copies: the official loader is not installed"

# compare OPTION... - every tensor of both checkpoints.
compare() {
	"$python" "$top/tools/compare_checkpoint.py" --official "$@" "$cat" \
		made.json made || bad "made, $*"
	"$python" "$top/tools/compare_checkpoint.py" --official "$@" "$cat" \
		numpy.json official/numpy.safetensors || bad "numpy, $*"
}

# put COPIES DEVICE... - import both; the files made.result and numpy.result
# say what was done.
put() {
	local copies=$1 device options=()
	shift

	for device in "$@"; do
		options+=(--device "$device")
	done
	expect 0 "$import" --json --copies "$copies" --verify "${options[@]}" \
		--manifest made.json made
	cp out made.result
	expect 0 "$import" --json --copies "$copies" --verify "${options[@]}" \
		--manifest numpy.json official/numpy.safetensors
	cp out numpy.result
}

# damage DEVICE - a byte in the middle of a shard's copy there; prints the
# shard's name.
damage() {
	"$python" - "$1" <<'PYTHON'
import json, os, sys
manifest = json.load(open("made.json", encoding="utf-8"))
shard = manifest["shards"][1]
for copy in shard["copies"]:
    path = manifest["volumes"][copy["volume"]]["path"]
    if os.path.basename(path) != sys.argv[1]:
        continue
    with open(path, "r+b") as volume:
        volume.seek(int(copy["base_lba"]) * copy["lba_bytes"] +
                    copy["lead_bytes"] + int(shard["bytes"]) // 2)
        byte = volume.read(1)[0]
        volume.seek(-1, 1)
        volume.write(bytes([byte ^ 1]))
    print(shard["name"])
PYTHON
}

for volume in v w x; do
	expect 0 "$import" --format --size 96M $volume
done
make_checkpoint made
"$python" "$top/tests/e2e/official_writer.py" official ||
	bad "official_writer.py"

put 2 v w
says made.result '"shards": 2, "copies": 2, "copied": 4' '"reused": 0'
compare
expect 0 "$cat" --verify made.json
says out "2 shards on 2 volumes"
"$python" - <<'PYTHON' || bad "places"
import json
for shard in json.load(open("made.json", encoding="utf-8"))["shards"]:
    assert sorted(c["volume"] for c in shard["copies"]) == [0, 1], shard
PYTHON
put 2 w v
says made.result '"published": false' '"copied": 0' '"reused": 4'

# Damaged: verification says where, an import mends.
name=$(damage w)
[ -n "$name" ] || bad "nothing to damage"
expect 1 "$cat" --verify made.json
says err "$name" "$work/w:" "expected hash"
put 2 v w
says made.result '"generation": "2"' '"copied": 1' '"reused": 3'
expect 0 "$cat" --verify made.json

# Gone: an error, unless that is allowed for.
rm v
expect 1 "$cat" made.json
says err "/v"
compare --degraded
expect 0 "$cat" --degraded --verify made.json
says out "2 shards on 1 volume:"

# Another volume in its place.
put 2 w x
says made.result '"generation": "3"' '"copied": 2' '"reused": 2'
compare
rm w
compare --degraded
rm x
expect 1 "$cat" --degraded made.json

# From one copy to two and back; prune frees the others.
for volume in v w; do
	expect 0 "$import" --format --size 96M $volume
done
rm made.json numpy.json
put 1 v w
put 2 v w
says made.result '"generation": "2"' '"copied": 2' '"reused": 2'
compare
put 1 v w
says made.result '"generation": "3"' '"copied": 0' '"reused": 2'
expect 0 "$import" --prune --json --manifest made.json
says out '"objects": 2'
compare
expect 0 "$cat" --verify made.json
finish
