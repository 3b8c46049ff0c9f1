#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# kill.sh - kill -9 at random moments: import, import of another generation,
# prune and remove, on a loop device, or a file without root.
#
# What is left must be served or be gone, and the same command then finishes.
# UGDS_ST_KILLS: how many (40).

# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"
kills=${UGDS_ST_KILLS:-40}
loop='' hits=0
declare -A step_ms=()

clean_up() {
	[ -z "$loop" ] || losetup -d "$loop"
}
trap clean_up EXIT

now_ms() {
	echo $(($(date +%s%N) / 1000000))
}

# The command line of a step.
set_command() {
	command=("$import" --quiet)
	case $1 in
	import) command+=(--device "$volume" --manifest m.json one) ;;
	reimport) command+=(--device "$volume" --manifest m.json two) ;;
	prune) command+=(--prune --device "$volume" --manifest m.json) ;;
	remove)
		if [ -e m.json ]; then
			command+=(--remove --device "$volume" --manifest m.json)
		else
			command+=(--remove --checkpoint "$uuid" "$volume")
		fi
		;;
	esac
}

# What is there now, whatever was killed.
look() {
	expect 0 "$import" --list --json "$volume" || return
	cp out list
	[ ! -e m.json ] || expect 0 "$cat" --verify --device "$volume" m.json
}

has_records() {
	! grep -qF '"checkpoints": []' list
}

# Killed once, at a moment of the time it takes when it is not.
kill_one() {
	local step=$1 ms=$((RANDOM % (step_ms[$1] + 1))) rc=0 pid

	set_command "$step"
	"${command[@]}" >out 2>err </dev/null &
	pid=$!
	sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
	# What the shell says of it is of no interest.
	{
		kill -KILL "$pid"
		wait "$pid" || rc=$?
	} 2>/dev/null
	case $rc in
	137) hits=$((hits + 1)) ;;
	0) ;;
	*) bad "$step after $ms ms: expected exit 0 or a kill, found $rc:" \
		"$(cat err)" ;;
	esac
	look || bad "$step was killed after $ms ms"
}

# The whole of a step. Of a removal nothing may be left to do.
finish_one() {
	local step=$1 begin

	begin=$(now_ms)
	set_command "$step"
	if [ "$step" != remove ] || has_records; then
		expect 0 "${command[@]}"
	fi
	[ -n "${step_ms[$step]:-}" ] || step_ms[$step]=$(($(now_ms) - begin))
	look
}

truncate -s 16M image
volume=$work/volume
if [ "$(id -u)" -eq 0 ] && loop=$(losetup -f --show image 2>/dev/null); then
	volume=$loop
	expect 0 "$import" --format "$volume"
else
	echo "kill: on a file: no loop device"
	expect 0 "$import" --format --size 16M "$volume"
fi
make_checkpoint --seed 1 one
make_checkpoint --seed 2 two
look
for ((round = 0; round * 4 <= kills && failures == 0; round++)); do
	for step in import reimport prune remove; do
		# The first round says how long each takes.
		[ "$round" -eq 0 ] || kill_one "$step"
		finish_one "$step"
		[ "$step" != import ] || uuid=$(sed -n \
			's/.*"checkpoint":[[:space:]]*"\([^"]*\)".*/\1/p' m.json)
	done
	says list '"checkpoints": []' '"objects": []'
done
echo "$hits of $(((round - 1) * 4)) were killed before they had finished"
[ "$hits" -ge $((round / 2)) ] || bad "too few to tell anything"
finish
