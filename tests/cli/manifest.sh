#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# manifest.sh - ugds-st-cat MANIFEST: places, values, raw bytes, verification,
# and what is wrong with a volume.

# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

make_checkpoint "$checkpoint"
expect 0 "$import" --format --size 64M volume
expect 0 "$import" --quiet --device volume --manifest model.json "$checkpoint"

# The place that is printed holds the tensor.
expect 0 "$cat" --json model.json
cp out table.json
"$python" - "$checkpoint" <<'PYTHON' || bad "places"
import json, os, sys
volume = open("volume", "rb")
for t in json.load(open("table.json", encoding="utf-8")):
    if t["nbytes"] == 0:
        assert t["lba"] is None and t["skew"] is None, t
        continue
    shard = open(os.path.join(sys.argv[1], t["shard"]), "rb")
    shard.seek(t["file_offset"])
    volume.seek(t["lba"] * t["lba_bytes"] + t["skew"])
    assert 0 <= t["skew"] < t["lba_bytes"], t
    assert shard.read(t["nbytes"]) == volume.read(t["nbytes"]), t
PYTHON
expect 0 "$cat" model.json
says out "generation 1" "compatibility mode" "26 in 2 shards"
expect 0 "$cat" --device volume model.json
expect 0 "$cat" --verify model.json
says out "2 shards"

# Every tensor, byte for byte.
"$python" "$top/tools/compare_checkpoint.py" "$cat" model.json "$checkpoint" ||
	bad "bytes"
expect 0 "$cat" --raw model.json model.layers.0.empty
[ -s out ] && bad "an empty tensor has bytes"
expect 1 "$cat" --raw model.json no.such.tensor
says err "no.such.tensor" "model.json"
[ -s out ] && bad "bytes of no tensor"
expect 0 "$cat" --stats model.json
before=$(sed -n 's/^payload_bytes *//p' err)
expect 0 "$cat" --stats --raw model.json lm_head.weight
after=$(sed -n 's/^payload_bytes *//p' err)
[ $((after - before)) -eq 522240 ] ||
	bad "--stats: expected 522240 bytes more than $before, found $after"
says err "device_bytes" "commands" "staged_bytes" "retries        0"
[ "$(stat -c %s out)" -eq 522240 ] || bad "--stats on standard output"

# Nobody to write to.
expect 1 bash -c "'$cat' --raw model.json lm_head.weight >/dev/full"
says err "No space left"
expect 1 bash -c "'$cat' model.json >/dev/full"
says err "No space left"
( "$cat" --raw model.json lm_head.weight 2>err; echo $? >rc ) | head -c 1 >out
[ "$(cat rc)" -eq 1 ] || bad "closed pipe: expected exit 1, found $(cat rc)"
says err "Broken pipe"

# Several names: one that is missing does not hide the others.
expect 1 "$cat" model.json lm_head.weight no.such.tensor model.layers.0.scale
says out "lm_head.weight" "model.layers.0.scale"

# A damaged tensor: the header is whole, so the store opens; verify names the
# shard.
"$python" - <<'PYTHON'
import json
t = [t for t in json.load(open("table.json", encoding="utf-8"))
     if t["name"] == "lm_head.weight"][0]
with open("volume", "r+b") as volume:
    volume.seek(t["lba"] * t["lba_bytes"] + t["skew"])
    byte = volume.read(1)[0]
    volume.seek(-1, 1)
    volume.write(bytes([byte ^ 1]))
PYTHON
expect 0 "$cat" model.json
expect 1 "$cat" --verify model.json
says err "model-00002-of-00002.safetensors" "expected" "found"

# Not the device: absent, another volume, a file that is none.
expect 0 "$import" --format --size 64M other
expect 1 "$cat" --device other model.json
says err "other"
expect 1 "$cat" --device absent model.json
says err "absent" "No such file"
truncate -s 64M blank
expect 1 "$cat" --device blank model.json
says err "blank"
truncate -s 20M volume
expect 1 "$cat" model.json
says err "volume"

# Not the manifest.
echo '{"format": "ugds-st-manifest"' >broken.json
expect 1 "$cat" broken.json
says err "broken.json"
finish
