#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# run.sh [SCENARIO]... - the tools on a real NVMe stack: Debian's cloud kernel
# in an emulated machine with emulated drives.
#
# Without SCENARIO: all of scenarios/, then the power cuts of cuts.py over what
# scenarios/cuts.sh has logged. No root is needed, but to install qemu. The
# kernel is unpacked, never installed.
#
# UGDS_ST_TOOLS   folder of the two programs
# UGDS_ST_VM_DIR  folder to work in (beside the tools)
# UGDS_ST_CUTS    power cuts to make (3000)

set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
tools=$(cd "${UGDS_ST_TOOLS:?}" && pwd) || exit 1
work=${UGDS_ST_VM_DIR:-$(dirname "$tools")/vm}
export here top tools work
# mkfs.ext4 and the like are not in everybody's path.
PATH=$PATH:/usr/sbin:/sbin

# shellcheck source=tests/vm/machine.sh
source "$here/machine.sh"

skip() {
	echo "SKIP: vm: $*"
	exit 77
}

# A scenario and what it says of itself; at most two at a time, since each
# keeps a processor busy.
run_one() {
	local name=$1 log=$work/$1.log

	if boot "$name" && grep -q '^vm: 0 failures' "$log"; then
		echo "ok: $name"
	else
		echo "FAIL: $name: $log:"
		grep -a '^FAIL' "$log" || tail -n 20 "$log"
		touch "$work/failed"
	fi
}

# Scenarios that take another's drives come after it.
run_all() {
	local name

	for name in "$@"; do
		[ "$(jobs -rp | wc -l)" -lt 2 ] || wait -n
		case " $* " in
		*" $(sed -n 's/^# drive:.* from=\([^ ]*\).*/\1/p' \
			"$here/scenarios/$name.sh" | head -n 1) "*) wait ;;
		esac
		run_one "$name" &
	done
	wait
}

# cut SCENARIO OPTION... - the power, all along the logs of its drives.
cut() {
	local scenario=$1
	shift

	case " ${names[*]} " in
	*" $scenario "*)
		python3 "$here/cuts.py" "$@" "$tools" "$work/sources" \
			"$work/$scenario"/*/ || touch "$work/failed"
		;;
	esac
}

main() {
	local names=("$@") file

	if [ $# -eq 0 ]; then
		for file in "$here"/scenarios/*.sh; do
			file=${file##*/}
			names+=("${file%.sh}")
		done
	fi
	mkdir -p "$work" && rm -f "$work/failed" && cd "$work" || exit 1
	get_machine || exit
	make_root || exit 1
	run_all "${names[@]}"
	cut cuts --count "${UGDS_ST_CUTS:-3000}"
	cut cuts_broken --count 2000 --broken
	[ ! -e "$work/failed" ]
}

main "$@"
