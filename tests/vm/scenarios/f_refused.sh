# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=dash
#
# Namespaces that uGDS cannot read, or not read right: with metadata, zoned; a
# namespace that is not the first is taken with a warning.
#
# drive: separate serial=SEPARATE ms=8 mset=0
# drive: extended serial=EXTENDED ms=8 mset=1
# drive: zoned lba=4096 serial=ZONED zoned=on zoned.zone_size=16M
# drive: second serial=SECOND nsid=2 eui64=42
# drive: home serial=HOME fs=ext4

must mount "$(drive HOME)" /home

separate=$(drive SEPARATE)
refuses "$separate: expected a namespace without metadata, found 8 bytes" -- \
	ugds-st-import --format "$separate"
refuses "$separate" -- ugds-st-import --format --force "$separate"

# The kernel does not serve these at all: no bytes, or no device.
extended=$(drive EXTENDED)
refuses "$extended" -- ugds-st-import --format "$extended"

zoned=$(drive ZONED)
refuses "$zoned: expected a device without zones, found \"host-managed\"" -- \
	ugds-st-import --format "$zoned"
refuses "$zoned" -- ugds-st-import --format --force "$zoned"

second=$(drive SECOND)
expect 0 ugds-st-import --format "$second"
says err 'namespace 2: uGDS reads namespace 1 only'
expect 0 ugds-st-import --list --json "$second"
says out '"nsid": 2' '"eui64": "0011223344556642"'
expect 0 ugds-st-import --verify --device "$second" \
	--manifest /home/one.json /one
expect 0 ugds-st-cat --verify /home/one.json
