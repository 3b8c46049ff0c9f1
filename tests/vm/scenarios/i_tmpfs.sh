# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=dash
#
# A volume in a file on tmpfs, which has no O_DIRECT in this kernel.
#
# drive: home serial=HOME fs=ext4

must mount "$(drive HOME)" /home
must mkdir -p /tmp/here
must mount -t tmpfs -o size=64M none /tmp/here
checks=$((checks + 1))
dd if=/dev/zero of=/tmp/here/probe bs=4096 count=1 oflag=direct 2>/dev/null &&
	bad "this tmpfs has O_DIRECT: the test tests nothing"

expect 0 ugds-st-import --format --size 24M /tmp/here/volume
says err 'direct I/O is refused here, using buffered I/O and fsync'
expect 0 ugds-st-import --verify --device /tmp/here/volume \
	--manifest /home/one.json /one
says err 'direct I/O is refused here'
expect 0 ugds-st-cat --verify /home/one.json
expect 0 ugds-st-import --device /tmp/here/volume \
	--manifest /home/one.json /two
expect 0 ugds-st-import --prune --manifest /home/one.json
expect 0 ugds-st-cat --verify /home/one.json
expect 0 ugds-st-cat --raw /home/one.json lm_head.weight
tail -c 522240 /two/model-00002-of-00002.safetensors >wanted
same out wanted
expect 0 ugds-st-import --remove --manifest /home/one.json
expect 0 ugds-st-import --list --json /tmp/here/volume
says out '"used_bytes": "0"' '"checkpoints": []'

# Full: reserved when it is made.
expect 1 ugds-st-import --format --size 60M /tmp/here/other
[ ! -e /tmp/here/other ] || bad "half a volume is left"
