# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=dash
#
# Format, import, verify, read, adopt: blocks of 512 and of 4096 bytes, and who
# the namespace is, as Identify says.
#
# drive: red lba=512 serial=RED eui64=01 uuid=01
# drive: blue lba=4096 serial=BLUE eui64=02 uuid=02
# drive: green lba=512 serial=GREEN eui64=03 uuid=03
# drive: home serial=HOME fs=ext4

red=$(drive RED) blue=$(drive BLUE) green=$(drive GREEN)
must mount "$(drive HOME)" /home
echo "$red" >/home/red.path

expect 0 ugds-st-import --format "$red"
expect 0 ugds-st-import --list --json "$red"
says out '"nsid": 1, "serial": "RED", "model": "QEMU NVMe Ctrl"' \
	'"eui64": "0011223344556601"' \
	'"uuid": "12345678-9abc-4def-8123-4567890abc01"' \
	'"lba_bytes": 512' '"bytes": "33554432"' '"label_sequence": "1"'
expect 0 ugds-st-import --format "$blue"
expect 0 ugds-st-import --list --json "$blue"
says out '"serial": "BLUE"' '"eui64": "0011223344556602"' '"lba_bytes": 4096'

# Two volumes share the shards.
expect 0 ugds-st-import --verify --device "$blue" --device "$red" \
	--manifest /home/one.json /one
says out 'generation 1' '2 shards: 2 copied'
expect 0 ugds-st-cat --verify /home/one.json
expect 0 ugds-st-cat --raw /home/one.json lm_head.weight
tail -c 522240 /one/model-00002-of-00002.safetensors >wanted
same out wanted
expect 0 ugds-st-cat --json /home/one.json
says out '"lba_bytes": 512' '"lba_bytes": 4096'
expect 0 ugds-st-import --device "$red" --device "$blue" \
	--manifest /home/one.json /one
says out 'unchanged, generation 1'

# A copy of a drive on another is not that drive until it is adopted.
must dd if="$red" of="$green" bs=1M oflag=direct
refuses 'on both: one is a copy of the other' -- \
	ugds-st-import --device "$red" --device "$green" --device "$blue" \
	--manifest /home/one.json /one
refuses 'expected EUI-64 0011223344556601, found 0011223344556603' adopt -- \
	ugds-st-import --device "$green" --device "$blue" \
	--manifest /home/one.json /one
refuses RED GREEN -- ugds-st-cat --verify --device "$green" \
	--device "$blue" /home/one.json
expect 0 ugds-st-import --adopt "$green"
expect 0 ugds-st-import --list --json "$green"
says out '"serial": "GREEN"' '"eui64": "0011223344556603"'
expect 0 ugds-st-cat --verify --device "$green" --device "$blue" \
	/home/one.json
