#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# storage.sh KIND - every tensor, against the official loader, over one kind of
# volume: file, ext4, tmpfs, ramfs, loop512, loop4096. All but file need root.
#
# Checkpoints that we made and files that the official writer wrote share the
# volume; all of them are compared when all are on it.

# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"
kind=$1
mounted='' loop=''

clean_up() {
	[ -z "$loop" ] || losetup -d "$loop"
	[ -z "$mounted" ] || umount "$mounted"
}
trap clean_up EXIT

"$python" -c 'import safetensors, numpy' 2>/dev/null ||
	skip "$kind: the official loader is not installed"
[ "$kind" = file ] || [ "$(id -u)" -eq 0 ] || skip "$kind: needs root"

# What the block size must come out as, on the way to the tensors.
lba_bytes=4096
volume=$work/volume
mkdir mount
case $kind in
file) ;;
ext4)
	truncate -s 160M image
	mkfs.ext4 -q image
	mount -o loop image mount 2>err ||
		skip "ext4: cannot mount: $(cat err)"
	mounted=$work/mount volume=$work/mount/volume
	;;
tmpfs | ramfs)
	mount -t "$kind" -o size=160M none mount 2>err ||
		skip "$kind: cannot mount: $(cat err)"
	mounted=$work/mount volume=$work/mount/volume
	;;
loop512 | loop4096)
	lba_bytes=${kind#loop}
	truncate -s 96M image
	loop=$(losetup --direct-io=on --sector-size "$lba_bytes" -f --show \
		image 2>err) || skip "$kind: no loop device: $(cat err)"
	volume=$loop
	;;
esac
if [ -n "$loop" ]; then
	expect 0 "$import" --format "$volume"
else
	expect 0 "$import" --format --size 96M "$volume"
fi

make_checkpoint made
"$python" "$top/tests/e2e/official_writer.py" official ||
	bad "official_writer.py"
for source in made official/numpy.safetensors official/raw.safetensors; do
	name=$(basename "$source").json
	expect 0 "$import" --verify --quiet --device "$volume" \
		--manifest "$name" "$source"
done
for source in made official/numpy.safetensors official/raw.safetensors; do
	name=$(basename "$source").json
	"$python" "$top/tools/compare_checkpoint.py" --official \
		--device "$volume" "$cat" "$name" "$source" || bad "$source"
	expect 0 "$cat" --verify --device "$volume" "$name"
	expect 0 "$cat" --json --device "$volume" "$name"
	"$python" -c '
import json, sys
found = {t.get("lba_bytes", int(sys.argv[1])) for t in json.load(open("out"))}
assert found == {int(sys.argv[1])}, found' "$lba_bytes" || bad "block size"
done
finish
