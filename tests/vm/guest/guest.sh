# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=dash
#
# guest.sh - sourced by init: what scenarios are written with.

failures=0
checks=0

bad() {
	failures=$((failures + 1))
	echo "FAIL: $*"
}

# expect RC COMMAND... - runs it; output is in the files out and err. A tool
# that fails says so in one line.
expect() {
	wanted=$1
	shift
	checks=$((checks + 1))
	rc=0
	"$@" >out 2>err </dev/null || rc=$?
	if [ "$rc" -ne "$wanted" ]; then
		bad "$*: expected exit $wanted, found $rc: $(cat err)"
		return 1
	fi
	case $1 in
	ugds-st-*)
		[ "$rc" -ne 1 ] || [ "$(wc -l <err)" -eq 1 ] ||
			bad "$*: expected one line, found: $(cat err)"
		;;
	esac
	return 0
}

# says FILE TEXT... - each text is in the file.
says() {
	file=$1
	shift
	for text in "$@"; do
		checks=$((checks + 1))
		grep -qF -e "$text" "$file" ||
			bad "expected \"$text\", found: $(head -c 600 "$file")"
	done
}

# refuses TEXT... -- COMMAND... - exit 1, each text in what it says.
refuses() {
	texts=
	while [ "$1" != -- ]; do
		texts="$texts
$1"
		shift
	done
	shift
	expect 1 "$@" || return
	echo "$texts" | sed 1d >wanted
	while read -r text; do
		says err "$text"
	done <wanted
}

# same A B
same() {
	checks=$((checks + 1))
	cmp -s "$1" "$2" || bad "$1 and $2 differ: $(cmp "$1" "$2" 2>&1)"
}

# sum DEVICE - of all its bytes.
sum() {
	md5sum <"$1"
}

# unchanged DEVICE SUM
unchanged() {
	checks=$((checks + 1))
	[ "$(sum "$1")" = "$2" ] || bad "$1: its bytes have changed"
}

# must COMMAND... - for what prepares a check.
must() {
	"$@" >out 2>err </dev/null || bad "$*: $(cat err)"
}

# drive SERIAL - the block device, as the kernel calls it today.
drive() {
	for disk in /sys/block/nvme*; do
		[ "$(tr -d ' ' <"$disk/device/serial")" = "$1" ] || continue
		echo "/dev/${disk##*/}"
		return
	done
	echo "/dev/no-drive-$1"
}
