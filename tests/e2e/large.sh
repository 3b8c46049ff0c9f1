#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# large.sh - tensors of 2.3 and 4.1 GiB come back exactly.
#
# Sources are sparse, with marks where 32-bit arithmetic and the kernel's limit
# of one read (2,147,479,552 bytes) would go wrong.

# In memory where there is plenty: the disk is not what is tested.
if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ] &&
	[ "$(df --output=avail -k /dev/shm | tail -n 1)" -gt 10485760 ] &&
	[ "$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)" \
		-gt 12582912 ]
then
	export TMPDIR=/dev/shm
fi
# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"
gib=$((1 << 30))
free_kib=$(df --output=avail -k "$work" | tail -n 1)
[ "$free_kib" -gt $((6 * 1024 * 1024)) ] ||
	skip "large: expected 6 GiB free in $work, found $free_kib KiB"

# large BYTES DTYPE ELEMENT_BYTES
large() {
	local bytes=$1

	"$python" - "$@" <<'PYTHON'
import json, struct, sys
nbytes, dtype, each = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
text = json.dumps({"large": {"dtype": dtype, "shape": [nbytes // each],
                             "data_offsets": [0, nbytes]}}).encode()
start = 8 + len(text)
with open("large.safetensors", "wb") as out:
    out.write(struct.pack("<Q", len(text)) + text)
    out.truncate(start + nbytes)
    for at in (0, 1 << 24, 2147479552, 1 << 31, 1 << 32, nbytes):
        for near in (at - 8, at):
            if 0 <= near <= nbytes - 8:
                out.seek(start + near)
                out.write(struct.pack("<Q", 0x5a00000000000000 | near + 1))
PYTHON
	expect 0 "$import" --format --size $((bytes / 1048576 + 16))M volume
	expect 0 "$import" --quiet --device volume --manifest large.json \
		large.safetensors
	( ulimit -v $((2 * 1024 * 1024)); "$cat" --raw large.json large ) |
		cmp - <(tail -c "$bytes" large.safetensors) ||
		bad "$bytes bytes"
	rm -f volume large.json large.safetensors
}

large $((23 * gib / 10 / 16 * 16)) F32 4
large $((41 * gib / 10 / 16 * 16)) U8 1
finish
