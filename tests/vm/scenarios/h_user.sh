# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=dash
#
# An ordinary user who may read the devices reads everything, and changes
# nothing.
#
# drive: red from=a_import lba=512 serial=RED eui64=01 uuid=01
# drive: blue from=a_import lba=4096 serial=BLUE eui64=02 uuid=02
# drive: home from=a_import serial=HOME

red=$(drive RED) blue=$(drive BLUE)
must mount "$(drive HOME)" /home
red_sum=$(sum "$red") blue_sum=$(sum "$blue")
chmod 644 "$red" "$blue" /home/one.json
chmod 755 /home /one

# user COMMAND... - as one.
user() {
	# shellcheck disable=SC2016
	su user -c 'exec "$0" "$@"' -- "$@"
}

# Not even that: the device says no.
chmod 600 "$red"
expect 1 user ugds-st-cat --verify /home/one.json
says err "$red" 'Permission denied'
chmod 644 "$red"

expect 0 user id -u
says out 1000
expect 0 user ugds-st-cat --verify /home/one.json
expect 0 user ugds-st-cat --raw /home/one.json lm_head.weight
tail -c 522240 /one/model-00002-of-00002.safetensors >wanted
same out wanted
expect 0 user ugds-st-cat --json --device "$red" --device "$blue" \
	/home/one.json model.embed_tokens.weight
expect 0 user ugds-st-import --list --json "$red"
says out '"serial": "RED"' '"eui64": "0011223344556601"'

for verb in --format --adopt "--device $blue --manifest /home/one.json /two"; do
	case $verb in
	--device*) target= ;;
	*) target=$red ;;
	esac
	# shellcheck disable=SC2086
	expect 1 user ugds-st-import $verb $target
	says err 'Permission denied'
done
expect 1 user ugds-st-import --prune --manifest /home/one.json
expect 1 user ugds-st-import --remove --manifest /home/one.json
unchanged "$red" "$red_sum"
unchanged "$blue" "$blue_sum"
[ -s /home/one.json ] || bad "the manifest is gone"
