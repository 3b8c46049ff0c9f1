#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# headers.sh - each public header stands alone, as C11 and as C++17, under
# flags stricter than our own; what is pinned stays.

set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
strict=(-pedantic -Werror -Wall -Wextra -fsyntax-only "-I$top/include")

for header in "$top"/include/*.h; do
	name=$(basename "$header")
	for c in gcc clang; do
		command -v $c >/dev/null || continue
		echo "#include <$name>" |
			$c -std=c11 -Wstrict-prototypes "${strict[@]}" -x c -
		echo "#include <$name>" |
			$c -std=c++17 -Wold-style-cast "${strict[@]}" -x c++ -
	done
	echo "$name: alone, C11 and C++17"
done
gcc -std=c11 "${strict[@]}" -x c "$top/tests/abi/pinned.c"
gcc -std=c++17 "${strict[@]}" -x c++ "$top/tests/abi/pinned.c"
