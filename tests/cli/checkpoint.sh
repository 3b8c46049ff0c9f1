#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# checkpoint.sh - ugds-st-cat CHECKPOINT: the table of what is not imported,
# and one line about what is no checkpoint.

# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

make_checkpoint "$checkpoint"
for path in "$checkpoint" "$checkpoint/model.safetensors.index.json"; do
	expect 0 "$cat" --json "$path"
	"$python" - "$checkpoint" out <<'PYTHON' || bad "$path: table"
import json, os, sys
sys.path.insert(0, os.path.join(os.environ["TOP"], "tools"))
from compare_checkpoint import plain_tensors
folder, out = sys.argv[1:]
listed = json.load(open(out, encoding="utf-8"))
found = [(t["name"], t["shard"], t["dtype"], t["shape"], t["file_offset"],
          t["nbytes"]) for t in listed]
expected = []
for shard in sorted(n for n in os.listdir(folder) if n.endswith("tensors")):
    tensors = plain_tensors(os.path.join(folder, shard))
    expected += [(name, shard, *tensors[name]) for name in tensors]
assert found == expected, "expected %s, found %s" % (expected, found)
assert all(set(t) == {"name", "dtype", "shape", "nbytes", "shard",
                      "file_offset"} for t in listed)
PYTHON
done
expect 0 "$cat" "$checkpoint"
says out "26 in 2 shards" "lm_head.weight" "[1024, 256]" "BF16" "层的名字"
expect 0 "$cat" "$checkpoint/model-00001-of-00002.safetensors"
says out "12 in 1 shard"
expect 0 "$cat" "$checkpoint" lm_head.weight
says out "shape   [1024, 255]" "bytes   522240"
expect 1 "$cat" "$checkpoint" no.such.tensor
says err "no.such.tensor" "$checkpoint"
expect 1 "$cat" --raw "$checkpoint" lm_head.weight
says err "not imported"
expect 1 "$cat" --verify "$checkpoint"
says err "not imported"

# A name that would write to the terminal is printed escaped, and taken so.
"$python" - <<'PYTHON'
import json, struct
name = "a\u001b[31m\u0000\"\\\u202eb\u0085"
text = json.dumps({name: {"dtype": "U8", "shape": [1],
                          "data_offsets": [0, 1]}}).encode()
open("odd.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + b"x")
PYTHON
expect 0 "$cat" odd.safetensors
says out 'a\x1b[31m\x00\"\\\xe2\x80\xaeb\xc2\x85'
LC_ALL=C grep -q $'\x1b' out && bad "a raw escape character"
expect 0 "$cat" odd.safetensors 'a\x1b[31m\x00\"\\\xe2\x80\xaeb\xc2\x85'
expect 0 "$cat" --json odd.safetensors
"$python" -c '
import json
(t,) = json.load(open("out", encoding="utf-8"))
assert t["name"] == "a\u001b[31m\u0000\"\\\u202eb\u0085", t' || bad "odd name"

# What is no safetensors file is said to be what it is.
not_one() {
	expect 1 "$cat" "$1" && says err "$1" "$2"
}
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 1\n' \
	0 >lfs.safetensors
not_one lfs.safetensors "git-lfs"
printf '<!DOCTYPE html><html><body>404: page not found</body></html>\n' \
	>html.safetensors
not_one html.safetensors "HTML"
printf 'PK\003\004........................................................' \
	>zip.safetensors
not_one zip.safetensors "zip"
printf 'GGUF\003\000\000\000........................................' \
	>gguf.safetensors
not_one gguf.safetensors "GGUF"
: >empty.safetensors
not_one empty.safetensors "0 bytes"
head -c 100 "$checkpoint/model-00001-of-00002.safetensors" >cut.safetensors
not_one cut.safetensors "found 92 in a file of 100"
not_one absent.safetensors "No such file"
mkdir nothing
not_one nothing ""
mkfifo pipe
not_one pipe ""

# A shard that is missing is named, before anything else is said.
rm "$checkpoint/model-00002-of-00002.safetensors"
expect 1 "$cat" "$checkpoint"
says err "model-00002-of-00002.safetensors"
finish
