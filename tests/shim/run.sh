#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# run.sh - the read tests with the real uGDS, over a model of its driver.
#
#	UGDS_LIB=DIR UGDS_SHIM=DIR [CUDART_LIB=DIR] tests/shim/run.sh [TESTS]
#
# UGDS_LIB holds an unmodified libugds.so (CUDA backend, linked with the shared
# CUDA runtime), UGDS_SHIM the model of its driver, of an NVMe controller and of
# CUDA: libugds_drv_shim.so, to be preloaded, here or in build/. TESTS is the
# folder of the test programs as built. No GPU, no drive and no privilege are
# needed. Exit status 77: skipped, as one of these is missing.
#
# Programs may have been built with the address sanitizer; what uGDS and the
# model leak is theirs. The thread sanitizer does not see how these two, which it
# did not build, wait for each other.
#
# SHIM_ONLY=WORD runs only what has WORD in its line. With UGDS_INC, the folder
# of ugds.h, the binary interface that we assume is compared with it.
set -u

skip() {
	echo "skipped: $*"
	exit 77
}

top=$(cd "$(dirname "$0")/../.." && pwd)
tests=${1:-${UGDS_ST_TOOLS:+$UGDS_ST_TOOLS/../tests}}
tests=${tests:-$top/build/tests}
[ -n "${UGDS_LIB:-}" ] || skip "UGDS_LIB=DIR of libugds.so is not given"
[ -n "${UGDS_SHIM:-}" ] || skip "UGDS_SHIM=DIR of the driver model is not given"
[ -e "$UGDS_LIB/libugds.so" ] || skip "$UGDS_LIB has no libugds.so"
shim=$UGDS_SHIM
[ -e "$shim/libugds_drv_shim.so" ] || shim=$UGDS_SHIM/build
[ -e "$shim/libugds_drv_shim.so" ] ||
	skip "$UGDS_SHIM has no libugds_drv_shim.so"
[ -x "$tests/test_shim_read" ] ||
	skip "$tests has no test_shim_read (is the CUDA Toolkit there?)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work UGDS_SHIM_DIR=$work UGDS_SHIM_VERBOSE=0
# The address sanitizer's library wants to be the first; and it must not look for
# symbols when it starts, with calls that reach the model before there is an
# environment (addr2line finds them afterwards).
first=$(ldd "$tests/test_shim_read" |
	sed -n 's/.*=> \(.*libasan\.so[^ ]*\) .*/\1/p')
! ldd "$tests/test_shim_read" | grep -q libtsan ||
	skip "not under the thread sanitizer"
printf 'leak:%s\n' libugds.so libugds_drv_shim.so >"$work/leaks"
export ASAN_OPTIONS=${ASAN_OPTIONS:-symbolize=0}
export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$work/leaks:print_suppressions=0}
libraries=$UGDS_LIB:${CUDART_LIB:-/usr/local/cuda/lib64}:$shim/stub
count=0
failed=0

# run PROGRAM [NAME=VALUE]...: once, with the model set so.
run() {
	local program=$1 begin=$SECONDS status
	shift
	case "$program $*" in
	*"${SHIM_ONLY:-}"*) ;;
	*) return ;;
	esac
	env "$@" LD_LIBRARY_PATH="$libraries" \
		LD_PRELOAD="$first $shim/libugds_drv_shim.so" \
		timeout 300 "$tests/test_shim_$program" >"$work/log" 2>&1
	status=$?
	count=$((count + 1))
	if [ $status = 0 ]; then
		printf 'ok      %-7s %s (%d s)\n' "$program" "$*" \
			$((SECONDS - begin))
		grep -h '^[a-z].*[0-9] s$\|maps stay$\|wanted,' "$work/log" |
			sed 's/^/        /'
	else
		failed=$((failed + 1))
		printf 'FAILED  %-7s %s (status %d)\n' "$program" "$*" $status
		grep -v '^ugds-shim' "$work/log" | tail -40
	fi
}

if [ -n "${UGDS_INC:-}" ]; then
	count=$((count + 1))
	if ${CC:-cc} -std=c11 -D_GNU_SOURCE -fsyntax-only -I"$top/include" \
		-I"$top/src" -I"$UGDS_INC" "$top/tests/shim/abi.c"; then
		echo "ok      abi     $UGDS_INC/ugds.h"
	else
		failed=$((failed + 1))
		echo "FAILED  abi     $UGDS_INC/ugds.h"
	fi
fi

# Block and command sizes: 4, 64 and 128 KiB, 2 MiB, and 2 MiB + 4 KiB.
for lba in 512 4096; do
	for mdts in 0 4 5 9 13; do
		size="UGDS_SHIM_LBA=$lba UGDS_SHIM_MDTS=$mdts"
		run device $size
		run read $size
		run faults $size
		run loss $size
		run rules $size
	done
done

# Queues, memory and buses.
for setting in UGDS_SHIM_HUGETLB=fail UGDS_SHIM_HUGETLB=one \
	UGDS_SHIM_MQES=95 UGDS_SHIM_MQES=330 UGDS_SHIM_QUEUES=2 \
	"UGDS_SHIM_LAT_US=100 UGDS_SHIM_JITTER_US=3000" \
	UGDS_SHIM_BUS=scramble UGDS_SHIM_DEVMEM_PROT=1 \
	UGDS_SHIM_CUDA_ALIGN=512 \
	"UGDS_SHIM_HUGETLB=fail UGDS_SHIM_BUS=scramble UGDS_SHIM_DEVMEM_PROT=1 \
	UGDS_SHIM_CUDA_ALIGN=512 UGDS_SHIM_JITTER_US=1000"; do
	run read $setting
	run faults $setting
	run rules $setting
done
run device UGDS_SHIM_QUEUES=2 UGDS_SHIM_HUGETLB=fail
run device UGDS_INTERRUPT_MODE=1
run read UGDS_INTERRUPT_MODE=1
run loss UGDS_INTERRUPT_MODE=1
run loss UGDS_SHIM_HUGETLB=fail
run lent UGDS_SHIM_MDTS=5

# Loss that makes uGDS wait for a controller that does not answer, for a command
# that never ends, for a place in a queue.
run loss TEST_SHIM_SLOW=1
run rules TEST_SHIM_SLOW=1 UGDS_SHIM_MQES=330

# What cannot be served.
for setting in UGDS_SHIM_MQES=62 UGDS_SHIM_MQES=65535 UGDS_SHIM_QUEUES=1 \
	UGDS_SHIM_LBA=8192 UGDS_SHIM_NCAP=0; do
	run refused $setting
done

# Two drives, behind one IOMMU each, and on a common bus.
run two UGDS_SHIM_NDEV=3 UGDS_SHIM_SHARED_MAP=0
run two UGDS_SHIM_NDEV=3 UGDS_SHIM_SHARED_MAP=1

# A whole checkpoint: how full the commands are.
for mdts in 0 4 5 9 13; do
	run whole UGDS_SHIM_MDTS=$mdts
done
run whole UGDS_SHIM_MDTS=5 UGDS_SHIM_LBA=4096 UGDS_SHIM_JITTER_US=500

run cuda UGDS_SHIM_CUDA_ALIGN=65536
run cuda UGDS_SHIM_CUDA_ALIGN=512 UGDS_SHIM_DEVMEM_PROT=1

echo "$count runs, $failed failed"
[ $count -gt 0 ] && [ $failed = 0 ]
