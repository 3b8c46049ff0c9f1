# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=dash
#
# Devices that something else uses or has used: a mounted partition, swap, an
# active logical volume, a running array, what an array leaves at the end of a
# drive; and dm-flakey, a device that fails.
#
# drive: parts serial=PARTS
# drive: swap serial=SWAP
# drive: lvm serial=LVM
# drive: raid1 serial=RAID1
# drive: raid2 serial=RAID2
# drive: flaky lba=4096 serial=FLAKY
# drive: home serial=HOME fs=ext4

modprobe -a dm-mod dm-flakey raid1
mkdir -p /run /etc/lvm /dev/mapper
must mount "$(drive HOME)" /home

# refused DEVICE TEXT... - by format and by import, and not a byte changes.
refused() {
	device=$1
	shift
	before=$(sum "$device")
	refuses "$device" "$@" -- ugds-st-import --format "$device"
	expect 1 ugds-st-import --device "$device" --manifest /home/no.json /one
	unchanged "$device" "$before"
}

in_use='expected a device that nobody uses, found it mounted, in use as swap'

# ---- partitions
parts=$(drive PARTS)
printf 'label: gpt\nsize=8M\nsize=16M\n' | sfdisk -q "$parts" >out 2>err ||
	bad "sfdisk: $(cat err)"
must mkfs.ext4 -q "${parts}p1"
must mkdir -p /tmp/mounted
# Read-only: a file system that is not in use must not change either.
must mount -o ro,noload "${parts}p1" /tmp/mounted
refused "${parts}p1" "$in_use"
refused "$parts" "$in_use"
must umount /tmp/mounted
refused "${parts}p1" ext4
refused "$parts"
# A partition of its own is the advice.
expect 0 ugds-st-import --format "${parts}p2"
expect 0 ugds-st-import --list --json "${parts}p2"
says out '"start_bytes": "9437184"' '"serial": "PARTS"'
expect 0 ugds-st-import --verify --device "${parts}p2" \
	--manifest /home/part.json /one
expect 0 ugds-st-cat --verify /home/part.json
# The same bytes, through the whole drive.
expect 0 ugds-st-cat --verify --device "$parts" /home/part.json
refused "$parts"

# ---- swap
swap=$(drive SWAP)
must mkswap "$swap"
must swapon "$swap"
refused "$swap" "$in_use"
must swapoff "$swap"
refused "$swap" swap

# ---- logical volumes
lvm=$(drive LVM)
must lvm pvcreate -qq "$lvm"
must lvm vgcreate -qq group "$lvm"
must lvm lvcreate -qq -y -Wn -Zn -L 20M -n part group
must dmsetup mknodes
refused "$lvm" "$in_use"
expect 0 ugds-st-import --format /dev/mapper/group-part
expect 0 ugds-st-import --device /dev/mapper/group-part \
	--manifest /home/lv.json /one
expect 0 ugds-st-cat --verify /home/lv.json
must lvm vgchange -qq -an group
refused "$lvm" LVM2_member

# ---- arrays
raid1=$(drive RAID1) raid2=$(drive RAID2)
must mdadm --create /dev/md0 --run --level=1 --metadata=1.0 \
	--raid-devices=2 --assume-clean --bitmap=none "$raid1" "$raid2"
refused "$raid1" "$in_use"
expect 0 ugds-st-import --format /dev/md0
expect 0 ugds-st-import --device /dev/md0 --manifest /home/md.json /one
expect 0 ugds-st-cat --verify /home/md.json
must mdadm --stop /dev/md0
# A half of it begins with a label of ours, and ends as an array's.
refuses "$raid1" 'which stays unless it is named' -- \
	ugds-st-import --format "$raid1"
must dd if=/dev/zero of="$raid1" bs=1M count=31 oflag=direct
must dd if=/dev/zero of="$raid2" bs=1M count=31 oflag=direct
refused "$raid1" linux_raid_member
expect 0 ugds-st-import --format --force "$raid1"
says err 'overwriting linux_raid_member'
checks=$((checks + 1))
mdadm --examine "$raid1" >out 2>&1 && bad "still an array: $(cat out)"
expect 0 wipefs --no-act "$raid1"
[ ! -s out ] || bad "signatures are left: $(cat out)"

# ---- a device that fails
flaky=$(drive FLAKY)
sectors=$(blockdev --getsz "$flaky")

# table TEXT - of /dev/mapper/flaky from now on.
table() {
	echo "0 $sectors $1" >table
	if dmsetup info flaky >/dev/null 2>&1; then
		must dmsetup suspend --noflush flaky
		must dmsetup load flaky table
		must dmsetup resume flaky
	else
		must dmsetup create flaky table
	fi
}

table "linear $flaky 0"
must dmsetup mknodes
expect 0 ugds-st-import --format /dev/mapper/flaky
expect 0 ugds-st-import --device /dev/mapper/flaky \
	--manifest /home/flaky.json /one
must cp /home/flaky.json /tmp/old.json
# Writes fail: the old generation is served.
table "flakey $flaky 0 0 3600 1 error_writes"
refuses /dev/mapper/flaky 'Input/output error' -- \
	ugds-st-import --device /dev/mapper/flaky \
	--manifest /home/flaky.json /two
same /home/flaky.json /tmp/old.json
expect 0 ugds-st-cat --verify /home/flaky.json
# Writes are lost in silence: told by reading back.
table "flakey $flaky 0 0 3600 1 drop_writes"
refuses hash -- ugds-st-import --verify --device /dev/mapper/flaky \
	--manifest /home/flaky.json /two
same /home/flaky.json /tmp/old.json
# Everything fails.
table "flakey $flaky 0 0 3600"
refuses /dev/mapper/flaky -- ugds-st-cat --verify /home/flaky.json
refuses /dev/mapper/flaky -- ugds-st-import --device /dev/mapper/flaky \
	--manifest /home/flaky.json /two
same /home/flaky.json /tmp/old.json
# And it comes back.
table "linear $flaky 0"
expect 0 ugds-st-cat --verify /home/flaky.json
expect 0 ugds-st-import --verify --device /dev/mapper/flaky \
	--manifest /home/flaky.json /two
says out 'generation 2'
expect 0 ugds-st-cat --verify /home/flaky.json
must dmsetup remove flaky
