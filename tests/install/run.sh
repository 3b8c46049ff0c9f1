#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# run.sh BUILD_FOLDER - what is installed serves programs of every kind.
#
# Installs to a prefix below BUILD_FOLDER, builds the example with pkg-config
# (shared and static), find_package (C and C++) and add_subdirectory, moves the
# prefix and does it again, and removes what the install manifest lists:
# nothing may be left.

set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
work=$build/install-test
example=$top/docs/examples/read_tensor.c
rm -rf "$work"
mkdir -p "$work"
cd "$work"

say() {
	echo "-- $*"
}

# Runs, and says no to a manifest that is not there: the library was loaded.
serves() {
	local out

	if out=$("$@" "$work/absent.json" name 2>&1); then
		echo "$*: expected a failure, found success"
		exit 1
	fi
	case $out in
	*absent.json*) ;;
	*) echo "$*: expected a line about absent.json, found: $out" && exit 1 ;;
	esac
}

use_pkg_config() {
	local prefix=$1 libdir

	libdir=$(dirname "$(find "$prefix" -name ugds_st.pc)")
	export PKG_CONFIG_PATH=$libdir
	say "pkg-config, shared"
	# shellcheck disable=SC2046
	gcc -o shared "$example" $(pkg-config --cflags --libs ugds_st)
	LD_LIBRARY_PATH=$(dirname "$libdir") serves ./shared
	say "pkg-config, static"
	# shellcheck disable=SC2046
	gcc -o static "$example" $(pkg-config --cflags ugds_st) \
		-Wl,-Bstatic -L"$(dirname "$libdir")" -lugds_st -Wl,-Bdynamic \
		$(pkg-config --static --libs ugds_st | sed 's/-lugds_st//')
	ldd ./static | grep -q ugds_st && echo "static: found libugds_st" &&
		exit 1
	serves ./static
}

use_cmake() {
	local prefix=$1 kind

	for kind in find_package add_subdirectory; do
		say "$kind, C and C++"
		rm -rf "user-$kind"
		if ! { cmake -S "$top/tests/install/user" -B "user-$kind" \
			-DUSER_KIND=$kind -DUSER_TOP="$top" \
			-DCMAKE_PREFIX_PATH="$prefix" &&
			cmake --build "user-$kind"; } >"$kind.log" 2>&1
		then
			cat "$kind.log"
			exit 1
		fi
		serves "user-$kind/user_c"
		serves "user-$kind/user_static"
		"user-$kind/user_cxx"
	done
}

say "install"
cmake --install "$build" --prefix "$work/first" >/dev/null
sort "$build/install_manifest.txt" >listed
find "$work/first" ! -type d | sort >found
diff listed found
use_pkg_config "$work/first"
use_cmake "$work/first"

say "tools run from the prefix, with no help from the environment"
for tool in "$work"/first/bin/*; do
	env -u LD_LIBRARY_PATH "$tool" --version
done

say "the prefix moves"
mv "$work/first" "$work/second"
use_pkg_config "$work/second"
env -u LD_LIBRARY_PATH "$work/second/bin/ugds-st-cat" --version
mv "$work/second" "$work/first"

say "uninstall leaves nothing"
xargs rm <"$build/install_manifest.txt"
find "$work/first" ! -type d >left
if [ -s left ]; then
	cat left
	exit 1
fi

say "readme"
# shellcheck disable=SC2016
sed -n '/^```c$/,/^```$/{/^```/d;p}' "$top/README.md" >readme.c
tail -n +2 "$example" | diff - readme.c
