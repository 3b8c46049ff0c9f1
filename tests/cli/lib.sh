# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034
#
# lib.sh - sourced by tests of the tools.
#
# UGDS_ST_TOOLS is the folder of the two programs. Each test runs in a folder
# of its own, which is removed when it passes.

set -uo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export TOP=$top
tools=$(cd "${UGDS_ST_TOOLS:?}" && pwd)
cat=$tools/ugds-st-cat
import=$tools/ugds-st-import
python=${UGDS_ST_PYTHON:-python3}
work=$(mktemp -d "${TMPDIR:-/tmp}/ugds-st-test.XXXXXX")
cd "$work" || exit 1
failures=0
checkpoint=$work/checkpoint

finish() {
	if [ "$failures" -gt 0 ]; then
		echo "$failures checks failed; files are in $work"
		exit 1
	fi
	cd /
	rm -rf "$work"
	echo "ok"
}

bad() {
	failures=$((failures + 1))
	echo "FAIL: $*"
}

skip() {
	echo "SKIP: $*"
	cd /
	rm -rf "$work"
	exit 77
}

# expect RC COMMAND... - runs it; output is in the files out and err. Anything
# but 0 must have said one line on standard error, and usage a hint besides.
expect() {
	local wanted=$1 rc=0 lines
	shift

	"$@" >out 2>err </dev/null || rc=$?
	lines=$(wc -l <err)
	if [ "$rc" -ne "$wanted" ]; then
		bad "$*: expected exit $wanted, found $rc: $(cat err)"
		return 1
	fi
	if [ "$rc" -eq 1 ] && [ "$lines" -ne 1 ]; then
		bad "$*: expected one line on standard error, found $lines:" \
			"$(cat err)"
		return 1
	fi
	return 0
}

# says FILE TEXT... - each text is in the file.
says() {
	local file=$1 text
	shift

	for text in "$@"; do
		grep -qF -e "$text" "$file" ||
			bad "expected \"$text\", found: $(head -c 600 "$file")"
	done
}

# same A B WHAT
same() {
	cmp -s "$1" "$2" || bad "$3: bytes differ: $(cmp "$1" "$2" 2>&1)"
}

make_checkpoint() {
	"$python" "$top/tools/make_checkpoint.py" "$@"
}
