# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# setup.sh - sourced by check.sh and demo.sh: where things are, and how what is
# missing gets installed.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${UGDS_ST_BUILD_DIR:-$here/build}
jobs=$(nproc 2>/dev/null || echo 2)
# libjson-c-dev and libssl-dev: what Debian's libnvme.pc names, and libnvme-dev
# does not bring.
# shellcheck disable=SC2034
build_packages=(gcc libc6-dev cmake make pkg-config libcjson-dev libxxhash-dev
	libnvme-dev libjson-c-dev libssl-dev libblkid-dev python3)

say() {
	printf '\n== %s\n' "$*"
}

# need PACKAGE... - Debian packages, installed only where missing.
need() {
	local missing=() package sudo=()

	if ! command -v dpkg-query >/dev/null; then
		echo "not a Debian system: expected to be installed already:" "$@"
		return 0
	fi
	for package in "$@"; do
		dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null |
			grep -q 'ok installed' || missing+=("$package")
	done
	[ ${#missing[@]} -eq 0 ] && return 0
	if [ "$(id -u)" -ne 0 ]; then
		if ! command -v sudo >/dev/null; then
			echo "missing packages; as root: apt-get install" \
				"${missing[@]}" >&2
			return 1
		fi
		sudo=(sudo)
	fi
	say "installing ${missing[*]}"
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q update &&
		"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
			install --no-install-recommends "${missing[@]}"
}

# build_in NAME OPTION... - a build folder of that name, built.
build_in() {
	local folder=$build/$1
	shift

	cmake -S "$here" -B "$folder" "$@" >"$folder.log" 2>&1 &&
		cmake --build "$folder" -j "$jobs" >>"$folder.log" 2>&1 && return 0
	cat "$folder.log"
	return 1
}
