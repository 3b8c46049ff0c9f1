#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run.sh - build every fuzz target with clang and libFuzzer, and run each.
#
#	tests/fuzz/run.sh SECONDS [TARGET...]
#
# SECONDS for each target; without TARGET all fuzz_*.c here. What is found new
# is kept in $FUZZ_DIR/corpus (default: build-fuzz), a crash in $FUZZ_DIR.
set -eu

if [ $# -lt 1 ]; then
	echo "usage: tests/fuzz/run.sh SECONDS [TARGET...]" >&2
	exit 2
fi
seconds=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${FUZZ_DIR:-$root/build-fuzz}
mkdir -p "$out"
if [ $# -eq 0 ]; then
	for source in "$here"/fuzz_*.c; do
		name=$(basename "$source" .c)
		set -- "$@" "${name#fuzz_}"
	done
fi

failed=0
for target in "$@"; do
	corpus=$out/corpus/$target
	mkdir -p "$corpus"
	# Only the pure code is needed: no file, no device.
	${CLANG:-clang} -std=c11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -g -O2 \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
		-I"$root/include" -I"$root/src" -I"$here" \
		-o "$out/fuzz_$target" "$here/fuzz_$target.c" \
		"$root"/src/base/*.c "$root"/src/pure/*.c -lcjson -lxxhash
	echo "fuzz_$target: $seconds s"
	(
		cd "$out"
		set -- "$corpus"
		[ ! -d "$here/corpus/$target" ] ||
			set -- "$@" "$here/corpus/$target"
		[ ! -f "$here/$target.dict" ] ||
			set -- "-dict=$here/$target.dict" "$@"
		"./fuzz_$target" -max_total_time="$seconds" \
			-print_final_stats=1 -timeout=10 -rss_limit_mb=2048 \
			-max_len="${FUZZ_MAX_LEN:-4096}" "$@"
	) >"$out/$target.log" 2>&1 || {
		echo "fuzz_$target: FAILED, see $out/$target.log" >&2
		failed=1
	}
	grep -E '^stat::number_of_executed_units|^stat::new_units' \
		"$out/$target.log" || :
done
exit $failed
