# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
#
# machine.sh - sourced by run.sh: an emulated machine, its kernel, its root
# file system, its drives.

modules=(dm-mod dm-flakey md-mod raid1 loop)
programs=(mkfs.ext4 sfdisk lvm dmsetup losetup wipefs)

# ------------------------------------------------------------------- what for

# unpack PACKAGE - a Debian package into $work/PACKAGE/, not installed.
unpack() {
	local folder=$work/$1

	[ -e "$folder/unpacked" ] && return
	rm -rf "$folder" && mkdir -p "$folder" &&
		(cd "$folder" && apt-get -q download "$1" >log 2>&1 &&
			dpkg-deb -x ./*.deb . && rm -f ./*.deb && : >unpacked) &&
		return
	skip "cannot get $1: $(tail -n 1 "$folder/log" 2>/dev/null)"
}

install_missing() {
	local packages=()

	command -v qemu-system-x86_64 >/dev/null || packages+=(qemu-system-x86)
	command -v mkfs.ext4 >/dev/null || packages+=(e2fsprogs)
	command -v sfdisk >/dev/null || packages+=(fdisk)
	command -v lvm >/dev/null || packages+=(lvm2)
	command -v dmsetup >/dev/null || packages+=(dmsetup)
	[ ${#packages[@]} -eq 0 ] && return
	[ "$(id -u)" -eq 0 ] || skip "missing, and no root: ${packages[*]}"
	DEBIAN_FRONTEND=noninteractive apt-get -q -y install \
		--no-install-recommends "${packages[@]}" >"$work/apt.log" 2>&1 ||
		skip "cannot install ${packages[*]}: $(tail -n 1 "$work/apt.log")"
}

find_kernel() {
	apt-cache depends linux-image-cloud-amd64 2>/dev/null |
		sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1
}

# Kernel, busybox and mdadm from packages that stay in the build folder.
get_machine() {
	local package

	[ "$(uname -m)" = x86_64 ] || skip "needs x86_64, found $(uname -m)"
	# It goes over the kernel's command line.
	[[ $work =~ ^[A-Za-z0-9_./+-]+$ ]] ||
		skip "needs a folder without special characters, found $work"
	command -v apt-get >/dev/null ||
		skip "needs apt-get: the kernel is Debian's"
	package=$(find_kernel)
	if [ -z "$package" ] && [ "$(id -u)" -eq 0 ]; then
		apt-get -q update >"$work/apt.log" 2>&1
		package=$(find_kernel)
	fi
	[ -n "$package" ] || skip "no linux-image-cloud-amd64 in apt's lists"
	install_missing
	unpack "$package"
	unpack busybox-static
	unpack mdadm
	kernel=$work/$package
	version=${package#linux-image-}
	busybox=$work/busybox-static/bin/busybox
}

# ------------------------------------------------------------ root file system

# put FILE... - programs, and the libraries that they load.
put() {
	local file library

	for file in "$@"; do
		cp -L "$file" "$root/bin/" || return
		ldd "$file" | sed -n 's/^[^/]*\(\/[^ ]*\) .*/\1/p' |
			while read -r library; do
				cp -uL "$library" "$root/lib/"
			done
	done
}

put_modules() {
	local folder=$kernel/lib/modules/$version module line

	[ -e "$folder/modules.dep" ] ||
		"$busybox" depmod -b "$kernel" "$version" || return
	for module in "${modules[@]}"; do
		line=$(grep "/$module\.ko:" "$folder/modules.dep") || {
			echo "machine.sh: no module $module in $folder"
			return 1
		}
		for line in ${line/:/ }; do
			install -D "$folder/$line" \
				"$root/lib/modules/$version/$line" || return
		done
	done
	cp "$folder/modules.dep" "$root/lib/modules/$version/"
}

# Checkpoint "two" is "one" with another second shard.
put_checkpoints() {
	local made=$top/tools/make_checkpoint.py

	python3 "$made" --seed 1 "$work/sources/one" &&
		python3 "$made" --seed 2 "$work/sources/two" &&
		cp -r "$work"/sources/* "$root/"
}

make_root() {
	local program

	root=$work/root
	rm -rf "$root"
	mkdir -p "$root"/{bin,dev,proc,sys,tmp,home,etc,lib} &&
		ln -s lib "$root/lib64" || return
	"${CC:-cc}" -shared -fPIC -O2 -Wall -Wextra -Werror \
		-o "$work/skip_flush.so" "$here/skip_flush.c" -ldl || return
	cp "$busybox" "$here"/guest/* "$work/skip_flush.so" "$root/" &&
		mv "$root/busybox" "$root/bin/" &&
		cp -r "$here/scenarios" "$root/" || return
	echo 'root:x:0:0::/:/bin/sh
user:x:1000:1000::/:/bin/sh' >"$root/etc/passwd"
	put "$tools/ugds-st-cat" "$tools/ugds-st-import" \
		"$work/mdadm/sbin/mdadm" || return
	for program in "${programs[@]}"; do
		put "$(command -v "$program")" || return
	done
	put_modules && put_checkpoints &&
		(cd "$root" && find . | "$busybox" cpio -o -H newc) \
			>"$work/root.cpio" 2>"$work/cpio.log"
}

# ---------------------------------------------------------------------- drives

# add_drive SCENARIO NAME [KEY=VALUE]... - its image, and the options that say
# so to the emulator:
#   size=32M lba=512 serial=NAME nsid=1 eui64= uuid= ms= zoned=   the namespace
#   from=SCENARIO   as that scenario left the drive; with size=, cut to it
#   log=on          every write and flush is logged to NAME/volume.log
#   fs=ext4         made before
# eui64, uuid: a number that makes one.
add_drive() {
	local name=$2 word size='' lba=512 serial=$2 from='' log=''
	local fs='' space=nsid=1 image=$work/$1/$2.img node
	shift 2

	for word in "$@"; do
		case $word in
		size=*) size=${word#*=} ;;
		lba=*) lba=${word#*=} ;;
		serial=*) serial=${word#*=} ;;
		from=*) from=${word#*=} ;;
		log=*) log=on ;;
		fs=*) fs=${word#*=} ;;
		nsid=*) space=$word${space#nsid=1} ;;
		eui64=*) space+=,eui64=0x00112233445566${word#*=} ;;
		uuid=*)
			space+=,uuid=12345678-9abc-4def-8123-4567890abc
			space+=${word#*=}
			;;
		*) space+=,$word ;;
		esac
	done
	[ -z "$from" ] || cp --sparse=always "$work/$from/$name.img" "$image" ||
		return
	[ -n "$from" ] || size=${size:-32M}
	[ -z "$size" ] || truncate -s "$size" "$image" || return
	[ -z "$fs" ] || [ -n "$from" ] || "mkfs.$fs" -q "$image" || return
	node=driver=file,filename=$image,cache.no-flush=on
	if [ -n "$log" ]; then
		mkdir -p "${image%.img}" && : >"${image%.img}/volume.log" ||
			return
		node=driver=blklogwrites,log-sector-size=512
		node+=,file.driver=file,file.filename=$image
		node+=,file.cache.no-flush=on
		node+=,log.driver=file,log.filename=${image%.img}/volume.log
		node+=,log.cache.no-flush=on
	fi
	drives+=(-blockdev "$node,node-name=node-$name"
		-device "nvme,id=$name,serial=$serial"
		-device "nvme-ns,bus=$name,drive=node-$name,$space,$(
		)logical_block_size=$lba,physical_block_size=$lba")
}

# boot SCENARIO - the machine runs it and goes off; what it says is in
# $work/SCENARIO.log.
boot() {
	local name=$1 script=$here/scenarios/$1.sh words drives=() rc

	rm -rf "${work:?}/$name" && mkdir -p "$work/$name" || return
	while read -r words; do
		# shellcheck disable=SC2086
		add_drive "$name" $words || return
	done < <(sed -n 's/^# drive: //p' "$script")
	timeout "${UGDS_ST_VM_SECONDS:-600}" qemu-system-x86_64 \
		-M q35 -accel tcg -cpu max -m 768 -smp 1 \
		-nodefaults -display none -no-reboot -serial stdio \
		-kernel "$kernel/boot/vmlinuz-$version" \
		-initrd "$work/root.cpio" \
		-append "console=ttyS0 quiet panic=-1 $(
		)mitigations=off no_timer_check scenario=$name work=$work/$name" \
		"${drives[@]}" </dev/null 2>&1 | tr -d '\r' >"$work/$name.log"
	rc=${PIPESTATUS[0]}
	[ "$rc" -ne 124 ] || echo "FAIL: the machine did not finish in time" \
		>>"$work/$name.log"
	return "$rc"
}
