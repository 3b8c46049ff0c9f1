#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# import.sh [GIB [DEVICE]] - an import beside a plain direct copy of the same
# file to the same place, each with its flush: rates, memory, and pages left in
# the cache. DEVICE is a volume, whose checkpoints stay; without it two files
# are used. UGDS_ST_TOOLS is the folder of ugds-st-import.
set -euo pipefail
gib=${1:-4}
import=${UGDS_ST_TOOLS:?}/ugds-st-import
work=$(mktemp -d "${TMPDIR:-/var/tmp}/ugds-st-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

python3 - "$gib" <<'PYTHON'
import json, os, struct, sys
nbytes = int(sys.argv[1]) << 30
text = json.dumps({"w": {"dtype": "U8", "shape": [nbytes],
                         "data_offsets": [0, nbytes]}}).encode()
with open("source.safetensors", "wb") as out:
    out.write(struct.pack("<Q", len(text)) + text)
    piece = os.urandom(1 << 24)
    for _ in range(nbytes >> 24):
        out.write(piece)
    os.fsync(out.fileno())
    os.posix_fadvise(out.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
PYTHON
volume=${2:-$work/volume}
if [ $# -lt 2 ]; then
	"$import" --format --size $((gib * 1024 + 64))M "$volume" >/dev/null
	# Blocks that were never written are cheaper or dearer, as the file
	# system has it: write them once, also those of the copy.
	dd if=/dev/zero of="$volume" bs=4M seek=3 count=$((gib * 256)) \
		oflag=direct conv=notrunc,fsync status=none
fi
dd if=/dev/zero of=copy bs=4M count=$((gib * 256 + 1)) oflag=direct \
	conv=fsync status=none

now() {
	date +%s%N
}

for round in 1 2 3; do
	start=$(now)
	dd if=source.safetensors of=copy bs=4M iflag=direct oflag=direct \
		conv=notrunc,fsync status=none
	middle=$(now)
	/usr/bin/time -o memory -f %M "$import" --quiet --device "$volume" \
		--manifest manifest.json source.safetensors
	end=$(now)
	"$import" --quiet --remove --manifest manifest.json \
		--device "$volume"
	awk -v gib="$gib" -v copy=$((middle - start)) \
		-v import=$((end - middle)) -v kib="$(cat memory)" \
		-v round=$round 'BEGIN {
		printf "%d: copy %.2f GiB/s, import %.2f GiB/s, ratio %.2f, " \
			"memory %.0f MiB\n", round, gib * 1e9 / copy,
			gib * 1e9 / import, copy / import, kib / 1024 }'
done
echo "pages left in the cache:"
fincore --raw --noheadings --output PAGES,FILE source.safetensors
[ $# -ge 2 ] || fincore --raw --noheadings --output PAGES,FILE "$volume"
