#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# values.sh - runs values.py; then a tensor of more bytes than are read at a
# time, whose values are those of numbers counted up.

# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

"$python" "$top/tests/cli/values.py" "$cat" "$import" "$work" || bad "values.py"

# 5,000,000 rows of one U32 each: 20 MB, two pieces.
"$python" - <<'PYTHON'
import array, json, struct, sys
n = 5000000
text = json.dumps({"n": {"dtype": "U32", "shape": [n, 1],
                         "data_offsets": [0, 4 * n]}}).encode()
data = array.array("I", range(n))
assert sys.byteorder == "little" and data.itemsize == 4
with open("count.safetensors", "wb") as out:
    out.write(struct.pack("<Q", len(text)) + text)
    data.tofile(out)
PYTHON
expect 0 "$import" --format --size 64M large
expect 0 "$import" --quiet --device large --manifest count.json \
	count.safetensors
expect 0 "$cat" count.json n
# The mean of 0 to n - 1 is (n - 1) / 2.
says out "min     0" "max     4999999" "mean    2499999.5" \
	"first   0 1 2 3 4 5 6 7"
expect 0 "$cat" --raw count.json n
tail -c 20000000 count.safetensors | cmp - out || bad "raw in pieces"
finish
