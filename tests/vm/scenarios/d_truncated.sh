# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=dash
#
# A drive that has become smaller than the volume on it.
#
# drive: red from=a_import size=24M lba=512 serial=RED eui64=01 uuid=01
# drive: blue from=a_import size=4M lba=4096 serial=BLUE eui64=02 uuid=02
# drive: home from=a_import serial=HOME

red=$(drive RED) blue=$(drive BLUE)
must mount "$(drive HOME)" /home
red_sum=$(sum "$red") blue_sum=$(sum "$blue")

refuses "$red" 33554432 25165824 -- ugds-st-import --list "$red"
refuses "$red" 33554432 25165824 -- ugds-st-import --device "$red" \
	--manifest /home/red.json /one
refuses "$red" 33554432 25165824 -- ugds-st-import --adopt "$red"
refuses "$red" -- ugds-st-import --format "$red"
refuses "$red" 33554432 25165824 -- ugds-st-cat --verify --device "$red" \
	/home/one.json
refuses "$blue" 4194304 -- ugds-st-import --list "$blue"
refuses "$blue" -- ugds-st-import --format "$blue"
refuses "$blue" -- ugds-st-cat --verify --device "$blue" /home/one.json
unchanged "$red" "$red_sum"
unchanged "$blue" "$blue_sum"
