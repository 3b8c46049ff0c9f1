# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=dash
#
# The bytes of a volume on another drive: one with another serial number, one
# that differs in its EUI-64 alone. An emulated drive's EUI-64 and UUID are not
# in sysfs, where readers look; the importer asks the drive.
#
# drive: red from=a_import lba=512 serial=OTHER eui64=99 uuid=99
# drive: blue from=a_import lba=4096 serial=BLUE eui64=98 uuid=02
# drive: home from=a_import serial=HOME

red=$(drive OTHER) blue=$(drive BLUE)
must mount "$(drive HOME)" /home
red_sum=$(sum "$red") blue_sum=$(sum "$blue")

refuses 'RED' 'OTHER' -- ugds-st-cat --verify --device "$red" \
	--device "$blue" /home/one.json
refuses "$red: expected EUI-64 0011223344556601, found 0011223344556699" -- \
	ugds-st-import --device "$red" --manifest /home/red.json /one
refuses "$blue: expected EUI-64 0011223344556602, found 0011223344556698" -- \
	ugds-st-import --device "$blue" --manifest /home/blue.json /one
refuses 'expected EUI-64' -- ugds-st-import --prune --device "$red" \
	--device "$blue" --manifest /home/one.json
refuses 'expected EUI-64' -- ugds-st-import --remove --device "$red" \
	--device "$blue" --manifest /home/one.json
# Looking is allowed.
expect 0 ugds-st-import --list "$red"
unchanged "$red" "$red_sum"
unchanged "$blue" "$blue_sum"
[ -s /home/one.json ] || bad "the manifest is gone"

expect 0 ugds-st-import --adopt "$red"
expect 0 ugds-st-import --adopt "$blue"
expect 0 ugds-st-cat --verify --device "$red" --device "$blue" /home/one.json
expect 0 ugds-st-import --device "$red" --device "$blue" \
	--manifest /home/one.json /two
says out 'generation 2' '1 already there'
expect 0 ugds-st-cat --verify /home/one.json
# A second time there is nothing to do.
expect 0 ugds-st-import --adopt "$red"
says err 'nothing to adopt'
