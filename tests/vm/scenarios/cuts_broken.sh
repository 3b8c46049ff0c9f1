# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=dash disable=SC2154
#
# The same by programs that forget one flush, for cuts.py to notice: of a label
# slot, of an object, of the slot before the last, of the manifest, of its
# folder after the rename, and after the unlink.
#
# drive: slot size=24M serial=SLOT log=on
# drive: object size=24M serial=OBJECT log=on
# drive: commit size=24M serial=COMMIT log=on
# drive: manifest size=24M serial=MANIFEST log=on
# drive: folder size=24M serial=FOLDER log=on
# drive: unlink size=24M serial=UNLINK log=on

# shellcheck source=tests/vm/guest/cuts.sh
. /cuts.sh

# forgetful SERIAL FOLDER SKIP=N - an import.
forgetful() {
	prepare "$1" "$2"
	step import 0 env LD_PRELOAD=/skip_flush.so "$3" ugds-st-import \
		--device "${disk}p1" --manifest "$folder/m.json" /one
	finish_drive
}

forgetful SLOT slot SKIP_FDATASYNC=1
forgetful OBJECT object SKIP_FDATASYNC=3
forgetful COMMIT commit SKIP_FDATASYNC=9
forgetful MANIFEST manifest SKIP_FSYNC=1
forgetful FOLDER folder SKIP_FSYNC=2

prepare UNLINK unlink
step import 0 ugds-st-import --device "${disk}p1" \
	--manifest "$folder/m.json" /one
step remove 0 env LD_PRELOAD=/skip_flush.so SKIP_FSYNC=1 ugds-st-import \
	--remove --device "${disk}p1" --manifest "$folder/m.json"
finish_drive
