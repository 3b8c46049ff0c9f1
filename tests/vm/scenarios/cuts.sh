# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=dash disable=SC2154
#
# Import, import of another generation, prune, remove, on drives that log every
# write and every flush. cuts.py cuts the power everywhere in the logs.
#
# drive: small lba=512 size=24M serial=SMALL eui64=01 log=on
# drive: large lba=4096 size=24M serial=LARGE eui64=02 log=on

# shellcheck source=tests/vm/guest/cuts.sh
. /cuts.sh

for serial in SMALL LARGE; do
	case $serial in
	SMALL) prepare SMALL small ;;
	LARGE) prepare LARGE large ;;
	esac
	step import 0 ugds-st-import --device "${disk}p1" \
		--manifest "$folder/m.json" /one
	step reimport 0 ugds-st-import --device "${disk}p1" \
		--manifest "$folder/m.json" /two
	step prune 0 ugds-st-import --prune --device "${disk}p1" \
		--manifest "$folder/m.json"
	step remove 0 ugds-st-import --remove --device "${disk}p1" \
		--manifest "$folder/m.json"
	finish_drive
done
