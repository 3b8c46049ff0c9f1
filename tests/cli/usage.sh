#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# usage.sh - help, version, manual pages, and command lines that make no sense.

# shellcheck source=tests/cli/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

version=$(sed -n 's/^#define UGDS_ST_VERSION "\(.*\)"/\1/p' \
	"$top/include/ugds_st.h")
for tool in ugds-st-cat ugds-st-import; do
	expect 0 "$tools/$tool" --version
	[ "$(cat out)" = "$tool $version" ] ||
		bad "$tool --version: expected $version, found $(cat out)"
	expect 0 "$tools/$tool" --help
	cp out "$tool.help"
	[ -s err ] && bad "$tool --help: standard error: $(cat err)"
	# The options of the help text are those of the manual page.
	grep -oE -- '--[a-z]+' "$tool.help" | sort -u >help.options
	sed 's/\\-/-/g' "$top/docs/man/$tool.1" |
		grep -E '^\.(B|BR) ' | grep -oE -- '--[a-z]+' | sort -u \
		>man.options
	diff help.options man.options >option.diff ||
		bad "$tool: help (<) and manual (>): $(cat option.diff)"
	# A full disk is an error, of help too.
	expect 1 bash -c "'$tools/$tool' --help >/dev/full"
	expect 2 "$tools/$tool"
	expect 2 "$tools/$tool" --no-such-option
	says err "--no-such-option" "Try '$tool --help'"
	command -v man >/dev/null || continue
	man --warnings -E UTF-8 -l -Tutf8 "$top/docs/man/$tool.1" 2>&1 \
		>/dev/null | grep . && bad "$tool.1: warnings"
done

make_checkpoint "$checkpoint"
expect 2 "$cat" --raw "$checkpoint"
says err "--raw" "NAME"
expect 2 "$cat" --raw "$checkpoint" a b
expect 2 "$cat" --verify "$checkpoint" a
expect 2 "$cat" --raw --verify "$checkpoint" a
expect 2 "$cat" --json --raw "$checkpoint" a
expect 2 "$cat" --device
expect 1 "$cat" --degraded "$checkpoint"
says err "--degraded" "not imported"
expect 2 "$import" --format
expect 2 "$import" --list
expect 2 "$import" --format --list volume
expect 2 "$import" --format --size 12Q volume
expect 2 "$import" --device volume "$checkpoint"
expect 2 "$import" --manifest model.json "$checkpoint"
expect 2 "$import" --device volume --manifest model.json
for copies in 0 -1 2x 4294967296 ''; do
	expect 2 "$import" --copies "$copies" --device volume \
		--manifest model.json "$checkpoint"
	says err "--copies: expected a number of 1 or more, found \"$copies\""
done
expect 2 "$import" --copies 2 --list volume
says err "--copies"
expect 1 "$import" --copies 2 --device volume --manifest model.json \
	"$checkpoint"
says err "found 1 for 2 copies"
[ -e model.json ] && bad "a manifest of two copies on one device"
expect 2 "$import" --prune
expect 2 "$import" --prune --remove --manifest model.json
expect 2 "$import" --remove volume
expect 2 "$import" --remove --checkpoint 12 volume
expect 2 "$import" --adopt
finish
