# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=dash
#
# Both drives in each other's slots: what was /dev/nvme0n1 is /dev/nvme1n1. The
# paths in the manifest are wrong, the labels are right.
#
# drive: blue from=a_import lba=4096 serial=BLUE eui64=02 uuid=02
# drive: red from=a_import lba=512 serial=RED eui64=01 uuid=01
# drive: home from=a_import serial=HOME

red=$(drive RED) blue=$(drive BLUE)
must mount "$(drive HOME)" /home
[ "$(cat /home/red.path)" = "$blue" ] || bad "not swapped: $red $blue"

expect 0 ugds-st-cat --verify /home/one.json
expect 0 ugds-st-cat --verify --device "$red" --device "$blue" /home/one.json
expect 0 ugds-st-cat --verify --device "$blue" --device "$red" /home/one.json
expect 0 ugds-st-import --device "$red" --device "$blue" \
	--manifest /home/one.json /one
says out 'unchanged, generation 1'

# One of two does not serve.
expect 1 ugds-st-cat --verify --device "$blue" /home/one.json

expect 0 ugds-st-import --device "$blue" --device "$red" \
	--manifest /home/one.json /two
says out 'generation 2' '1 copied' '1 already there'
expect 0 ugds-st-cat --verify /home/one.json
expect 0 ugds-st-import --prune --manifest /home/one.json
expect 0 ugds-st-cat --verify /home/one.json
