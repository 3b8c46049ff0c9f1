# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=dash
#
# One label slot wiped, then the other, then both; and damaged instead.
#
# drive: red from=a_import lba=512 serial=RED eui64=01 uuid=01
# drive: blue from=a_import lba=4096 serial=BLUE eui64=02 uuid=02
# drive: home from=a_import serial=HOME

red=$(drive RED) blue=$(drive BLUE)
must mount "$(drive HOME)" /home
must cp /home/one.json /tmp/one.json

# wipe DEVICE SLOT
wipe() {
	must dd if=/dev/zero of="$1" bs=1M count=4 seek=$(($2 * 4)) oflag=direct
}

# damage DEVICE SLOT - a byte of the catalog.
damage() {
	printf X | dd of="$1" bs=1 seek=$(($2 * 4194304 + 4200)) conv=notrunc \
		2>/dev/null || bad "damage $1"
	must sync
}

for slot in 0 1; do
	for spoil in wipe damage; do
		for device in "$red" "$blue"; do
			"$spoil" "$device" "$slot"
			expect 0 ugds-st-import --list --json "$device"
		done
		expect 0 ugds-st-cat --verify /home/one.json
		# Nothing to import is nothing to repair; an update repairs.
		expect 0 ugds-st-import --device "$red" --device "$blue" \
			--manifest /home/one.json /one
		expect 0 ugds-st-import --device "$red" --device "$blue" \
			--manifest /home/one.json /two
		expect 0 ugds-st-import --prune --manifest /home/one.json
		expect 0 ugds-st-import --device "$red" --device "$blue" \
			--manifest /home/one.json /one
		expect 0 ugds-st-import --prune --manifest /home/one.json
		expect 0 ugds-st-cat --verify /home/one.json
		# Each volume that was written to has two equal slots again.
		for device in "$red" "$blue"; do
			expect 0 ugds-st-import --list --json "$device"
			says out '"damaged_slots": 0'
		done
	done
done

# Both damaged: a damaged volume, never a blank one.
damage "$red" 0
damage "$red" 1
red_sum=$(sum "$red")
refuses "$red" -- ugds-st-import --list "$red"
refuses "$red" -- ugds-st-cat --verify /home/one.json
refuses "$red" 'damaged volume label' -- ugds-st-import --format "$red"
refuses "$red" -- ugds-st-import --device "$red" --device "$blue" \
	--manifest /home/one.json /one
refuses "$red" -- ugds-st-import --adopt "$red"
unchanged "$red" "$red_sum"

# Both wiped: not a volume, and still not blank.
wipe "$red" 0
wipe "$red" 1
red_sum=$(sum "$red")
refuses "$red" -- ugds-st-import --list "$red"
refuses "$red" -- ugds-st-cat --verify /home/one.json
refuses "$red" -- ugds-st-import --device "$red" --device "$blue" \
	--manifest /home/one.json /one
refuses "$red" 'unknown bytes' -- ugds-st-import --format "$red"
unchanged "$red" "$red_sum"
