# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=dash
#
# cuts.sh - sourced by scenarios whose drives log what is written to them.
#
# A drive has a volume, a file system for the manifest, and a partition whose
# first block says in the log what was being done. Manifests lie where the host
# will put them: a record names the path.

home=$(sed 's/.*work=\([^ ]*\).*/\1/' /proc/cmdline)

modprobe loop

# prepare SERIAL FOLDER - partitions, file system, volume. The loop device is
# there since it asks for flushes where the file system asks for FUA, which
# the emulated drive does not log.
prepare() {
	disk=$(drive "$1")
	folder=$home/$2/home
	block_bytes=$(blockdev --getss "$disk")
	printf 'label: dos\nsize=12M\nsize=8M\nsize=1M\n' |
		sfdisk -q "$disk" >out 2>err || bad "sfdisk: $(cat err)"
	loop=$(/bin/losetup -f)
	must /bin/losetup --direct-io=on --sector-size "$block_bytes" "$loop" \
		"${disk}p2"
	[ "$block_bytes" -ge 1024 ] || block_bytes=1024
	must mkfs.ext4 -q -b "$block_bytes" "$loop"
	must mkdir -p "$folder"
	must mount "$loop" "$folder"
	must ugds-st-import --format "${disk}p1"
	must sync
}

# mark TEXT - a block that begins with it.
mark() {
	printf '%-512s' "$1" >block
	while [ "$(stat -c %s block)" -lt 4096 ]; do
		printf '%512s' '' >>block
	done
	must dd if=block of="${disk}p3" bs=4096 oflag=direct
}

# step NAME RC COMMAND... - between two marks.
step() {
	name=$1
	wanted_rc=$2
	shift 2
	mark "begin $name"
	expect "$wanted_rc" "$@" && mark "end $name"
}

finish_drive() {
	mark "over all"
	must umount "$folder"
	must /bin/losetup -d "$loop"
}
