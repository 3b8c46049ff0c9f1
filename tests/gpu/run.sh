#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# run.sh - CUDA memory and reads into it, on a machine with a GPU.
#
#	tests/gpu/run.sh [TESTS]
#
# TESTS is the folder of the test programs as built. It takes less than four
# minutes, 2 GiB of host memory and 2 GiB below TMPDIR, and up to 32 GiB of GPU
# memory (60 % of what is free, if that is less). No uGDS drive is needed: files
# are read in compatibility mode. Exit status 77: skipped, there is no GPU.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd)
tests=${1:-$top/build/tests}
if ! [ -x "$tests/test_gpu" ]; then
	echo "skipped: $tests has no test_gpu (is the CUDA Toolkit there?)"
	exit 77
fi
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader \
	2>/dev/null || echo "nvidia-smi: none"
timeout 60 "$tests/test_shim_cuda" || exit 1
timeout 170 "$tests/test_gpu"
