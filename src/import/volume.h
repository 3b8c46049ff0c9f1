/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * volume.h - a volume in the importer's hands: its device, and the label that
 * is on it.
 */
#ifndef UGST_IMPORT_VOLUME_H
#define UGST_IMPORT_VOLUME_H

#include "base/common.h"
#include "devices/blockdev.h"
#include "import/env.h"
#include "pure/label.h"

struct ugst_volume {
	struct ugst_blockdev *dev;
	struct ugst_label label; /* what both slots hold at rest */
	enum ugst_slot_state states[UGST_SLOT_COUNT];
	unsigned current;             /* slot that label was read from */
	bool unequal;                 /* the other slot has to be repaired */
	void *slots[UGST_SLOT_COUNT]; /* header and catalog as read */
};

/*
 * ugst_volume_open() - open the device of a volume. Takes no lock, reads
 * nothing.
 *
 * @writable: for writing, and alone on a block device (O_EXCL).
 * @volume_out: free with ugst_volume_close().
 * Return: as ugst_blockdev_open(), and UNSUPPORTED (character device, block
 * size above 4096), IO (read-only device).
 */
int ugst_volume_open(const struct ugst_import_env *env, const char *path,
                     bool writable, struct ugst_volume **volume_out,
                     struct ugds_st_error *err);

/* NULL is fine. Locks end. */
void ugst_volume_close(struct ugst_volume *volume);

/*
 * ugst_volume_load() - read both slots and take the label that counts.
 *
 * A slot that cannot be read does not count. May be called again: under the
 * lock, what was read before it is read anew.
 *
 * Return: OK; NOT_FOUND (no label: names path); CORRUPT; UNSUPPORTED;
 * MISMATCH (the device is smaller than its volume); IO (a slot cannot be read,
 * and the other is none of ours); NO_MEMORY.
 */
int ugst_volume_load(struct ugst_volume *volume, struct ugds_st_error *err);

/*
 * ugst_volume_look() - the same without the writers' lock.
 *
 * A writer may be at the one slot when that is read, and then at the other:
 * damage is read again before it is believed.
 */
int ugst_volume_look(struct ugst_volume *volume, struct ugds_st_error *err);

/*
 * ugst_volume_check() - is this the device on which the volume was made?
 *
 * Identity and partition start against the label's record. The block size may
 * differ: all that is written lies on multiples of 4096.
 * Return: OK; MISMATCH (both values).
 */
int ugst_volume_check(const struct ugst_import_env *env,
                      const struct ugst_volume *volume,
                      struct ugds_st_error *err);

/*
 * ugst_volume_begin() - last step before changes: may this library write this
 * label at all, is it durable, and are its slots equal? Flushes, and repairs
 * the older slot.
 *
 * Return: OK; UNSUPPORTED (made by a newer library); IO.
 */
int ugst_volume_begin(struct ugst_volume *volume, struct ugds_st_error *err);

/*
 * ugst_volume_commit() - make a new catalog the volume's.
 *
 * Writes the slot that is not current, flushes, writes the other, flushes. All
 * that the catalog names must be flushed already.
 *
 * @catalog: what it holds is moved into volume->label on OK; the next sequence
 * number is taken. On failure it is left alone, and the volume must not be
 * written again: which of the two labels it has is known only after a load.
 * Return: OK; NO_SPACE (catalog too large: nothing was written); IO;
 * NO_MEMORY.
 */
int ugst_volume_commit(struct ugst_volume *volume, struct ugst_catalog *catalog,
                       struct ugds_st_error *err);

/*
 * ugst_volume_write_label() - write a label to both slots of a device, other
 * than current first.
 */
int ugst_volume_write_label(struct ugst_blockdev *dev, unsigned current,
                            const struct ugst_label *label,
                            struct ugds_st_error *err);

#endif /* UGST_IMPORT_VOLUME_H */
