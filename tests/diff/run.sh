#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# run.sh [COUNT [SEED]] - our verdicts beside those of the official loader, on
# files made for it; see headers.py. UGDS_ST_TOOLS is the folder of the built
# tools, UGDS_ST_PYTHON a Python that has the safetensors package.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
helper=$(cd "${UGDS_ST_TOOLS:?}/../tests" && pwd)/diff_headers
work=$(mktemp -d "${TMPDIR:-/tmp}/ugds-st-diff.XXXXXX")
cd "$work"
if "${UGDS_ST_PYTHON:-python3}" "$here/headers.py" "$helper" "${1:-20000}" \
	"${2:-1}"; then
	cd /
	rm -rf "$work"
	exit 0
else
	rc=$?
	[ "$rc" -eq 77 ] || echo "files that differ are in $work"
	exit "$rc"
fi
