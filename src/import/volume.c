/* SPDX-License-Identifier: BSD-3-Clause */
/* volume.c - label slots on a device; see volume.h. */
#include "base/common.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "import/identity.h"
#include "import/volume.h"

/* Looks at a label that a writer may be at, and the time between them: enough
 * for one slot and its flush. */
#define LOOK_TRIES 5
#define LOOK_NAP_NS (20 * UGST_NS_PER_MS)

static uint64_t slot_off(unsigned slot)
{
	return slot * UGST_SLOT_BYTES;
}

static int check_device(const struct ugst_blockdev *dev, bool writable,
                        struct ugds_st_error *err)
{
	int read_only = 0;

	if (dev->kind == UGST_DEVICE_CHAR)
		return ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                 "%s: expected a block device or regular "
		                 "file, found a character device: bind the "
		                 "drive to the nvme driver first",
		                 dev->path);
	if (dev->lba_bytes > UGST_LBA_BYTES_MAX)
		return ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                 "%s: expected blocks of at most %u bytes, "
		                 "found %" PRIu32,
		                 dev->path, UGST_LBA_BYTES_MAX, dev->lba_bytes);
	/* Some kernels open a read-only device for writing. */
	if (writable && dev->kind == UGST_DEVICE_BLOCK &&
	    ioctl(dev->fd, BLKROGET, &read_only) == 0 && read_only)
		return ugst_fail_errno(err, UGDS_ST_IO, EROFS,
		                       "%s: expected a writable device",
		                       dev->path);
	return UGDS_ST_OK;
}

int ugst_volume_open(const struct ugst_import_env *env, const char *path,
                     bool writable, struct ugst_volume **volume_out,
                     struct ugds_st_error *err)
{
	struct ugst_volume *volume = ugst_calloc(1, sizeof(*volume));
	unsigned flags =
		writable ? UGST_BLOCKDEV_WRITE | UGST_BLOCKDEV_EXCL : 0;
	int status;

	if (!volume)
		return ugst_fail_memory(err);
	status = ugst_blockdev_open(path, flags, &volume->dev, err);
	if (status == UGDS_ST_OK)
		status = check_device(volume->dev, writable, err);
	if (status != UGDS_ST_OK) {
		ugst_volume_close(volume);
		return status;
	}
	if (env->dev_ops) {
		volume->dev->ops = env->dev_ops;
		volume->dev->ops_ctx = env->dev_ctx;
	}
	if (!volume->dev->direct)
		ugst_env_note(env,
		              "%s: direct I/O is refused here, using buffered "
		              "I/O and fsync",
		              path);
	*volume_out = volume;
	return UGDS_ST_OK;
}

void ugst_volume_close(struct ugst_volume *volume)
{
	if (!volume)
		return;
	for (unsigned i = 0; i < UGST_SLOT_COUNT; i++)
		free(volume->slots[i]);
	ugst_label_free(&volume->label);
	ugst_blockdev_close(volume->dev);
	free(volume);
}

/* ----------------------------------------------------------------- load */

/* Room for bytes of a slot, of which the first kept stay. */
static int resize_slot(struct ugst_volume *volume, unsigned slot, size_t bytes,
                       size_t kept, struct ugds_st_error *err)
{
	char *buf = ugst_alloc_aligned(bytes, UGST_SLOT_HEADER_BYTES);

	if (!buf)
		return ugst_fail_memory(err);
	if (kept)
		memcpy(buf, volume->slots[slot], kept);
	free(volume->slots[slot]);
	volume->slots[slot] = buf;
	return UGDS_ST_OK;
}

/* Header, then as much of the catalog as it says: few bytes as a rule. */
static int read_slot(struct ugst_volume *volume, unsigned slot,
                     size_t *bytes_out, struct ugds_st_error *err)
{
	const size_t header = UGST_SLOT_HEADER_BYTES;
	uint64_t off = slot_off(slot);
	size_t bytes;
	int status = resize_slot(volume, slot, header, 0, err);

	if (status == UGDS_ST_OK)
		status = ugst_blockdev_read(volume->dev, volume->slots[slot],
		                            header, off, err);
	if (status != UGDS_ST_OK)
		return status;
	bytes = header +
	        (size_t)ugst_align_up(
			ugst_slot_catalog_bytes(volume->slots[slot]), header);
	status = resize_slot(volume, slot, bytes, header, err);
	if (status == UGDS_ST_OK)
		status = ugst_blockdev_read(
			volume->dev, (char *)volume->slots[slot] + header,
			bytes - header, off + header, err);
	*bytes_out = bytes;
	return status;
}

/* Which label counts, and whether the slots are equal. */
static int choose(struct ugst_volume *volume,
                  struct ugst_label labels[UGST_SLOT_COUNT],
                  const size_t bytes[UGST_SLOT_COUNT],
                  struct ugds_st_error *err)
{
	int status = ugst_label_choose(volume->states, labels, &volume->current,
	                               err);

	if (status != UGDS_ST_OK) {
		ugst_err_prefix(err, volume->dev->path);
		return status;
	}
	volume->unequal =
		bytes[0] != bytes[1] ||
		memcmp(volume->slots[0], volume->slots[1], bytes[0]) != 0;
	volume->label = labels[volume->current];
	memset(&labels[volume->current], 0, sizeof(labels[0]));
	if (volume->label.catalog.volume.bytes > volume->dev->bytes) {
		status = ugst_fail(err, UGDS_ST_MISMATCH,
		                   "%s: expected at least %" PRIu64
		                   " bytes, the size of its volume, found "
		                   "%" PRIu64,
		                   volume->dev->path,
		                   volume->label.catalog.volume.bytes,
		                   volume->dev->bytes);
		ugst_label_free(&volume->label);
	}
	return status;
}

/* A slot that cannot be read is no valid one, and unreadable says why. */
static int load_slot(struct ugst_volume *volume, unsigned slot,
                     struct ugst_label *label_out, size_t *bytes_out,
                     struct ugds_st_error *unreadable,
                     struct ugds_st_error *err)
{
	struct ugds_st_error why = {0};
	int status;

	volume->states[slot] = UGST_SLOT_BLANK;
	status = read_slot(volume, slot, bytes_out, &why);
	if (status == UGDS_ST_NO_MEMORY)
		return ugst_fail_memory(err);
	if (status != UGDS_ST_OK) {
		*bytes_out = 0;
		*unreadable = why;
		return UGDS_ST_OK;
	}
	volume->states[slot] = ugst_slot_decode(volume->slots[slot], *bytes_out,
	                                        label_out, &why);
	/* Not a verdict on the slot. */
	if (why.status == UGDS_ST_NO_MEMORY)
		return ugst_fail_memory(err);
	return UGDS_ST_OK;
}

int ugst_volume_load(struct ugst_volume *volume, struct ugds_st_error *err)
{
	struct ugst_label labels[UGST_SLOT_COUNT] = {{0}};
	size_t bytes[UGST_SLOT_COUNT] = {0};
	struct ugds_st_error unreadable = {0};
	int status = UGDS_ST_OK;

	ugst_label_free(&volume->label);
	if (volume->dev->bytes < UGST_OBJECTS_OFF)
		return ugst_fail(err, UGDS_ST_NOT_FOUND,
		                 "%s: expected a volume label, found a device "
		                 "of %" PRIu64 " bytes, too small for one",
		                 volume->dev->path, volume->dev->bytes);
	for (unsigned i = 0; i < UGST_SLOT_COUNT && status == UGDS_ST_OK; i++)
		status = load_slot(volume, i, &labels[i], &bytes[i],
		                   &unreadable, err);
	if (status == UGDS_ST_OK)
		status = choose(volume, labels, bytes, err);
	/* Nobody knows what the other slot holds. */
	if (status == UGDS_ST_NOT_FOUND && unreadable.status) {
		status = unreadable.status;
		if (err)
			*err = unreadable;
	}
	for (unsigned i = 0; i < UGST_SLOT_COUNT; i++)
		ugst_label_free(&labels[i]);
	return status;
}

int ugst_volume_look(struct ugst_volume *volume, struct ugds_st_error *err)
{
	const struct timespec nap = ugst_timespec(LOOK_NAP_NS);
	struct ugds_st_error why = {0};
	int status = ugst_volume_load(volume, &why);

	for (int i = 1; i < LOOK_TRIES && status == UGDS_ST_CORRUPT; i++) {
		(void)nanosleep(&nap, NULL);
		status = ugst_volume_load(volume, &why);
	}
	if (status != UGDS_ST_OK && err)
		*err = why;
	return status;
}

int ugst_volume_check(const struct ugst_import_env *env,
                      const struct ugst_volume *volume,
                      struct ugds_st_error *err)
{
	const struct ugst_volume_record *record = &volume->label.catalog.volume;
	const struct ugst_blockdev *dev = volume->dev;
	struct ugst_namespace ns;
	const char *what;
	char expected[64];
	char found[64];

	/* An image of a volume in a file is wherever somebody put it. */
	if (dev->kind == UGST_DEVICE_FILE)
		return UGDS_ST_OK;
	if (record->start_bytes != dev->start_bytes)
		return ugst_fail(err, UGDS_ST_MISMATCH,
		                 "%s: expected a partition that starts at byte "
		                 "%" PRIu64 ", found %" PRIu64
		                 ": if the volume was moved, adopt it",
		                 dev->path, record->start_bytes,
		                 dev->start_bytes);
	ugst_namespace_identify(dev, &ns);
	switch (ugst_identity_compare(&record->identity, &ns.identity, &what,
	                              expected, found)) {
	case 0:
		return ugst_fail(err, UGDS_ST_MISMATCH,
		                 "%s: expected %s %s, found %s: if the volume "
		                 "was moved, adopt it",
		                 dev->path, what, expected, found);
	case -1:
		if (record->identity.known)
			ugst_env_note(env,
			              "%s: the identity of the namespace "
			              "could not be checked",
			              dev->path);
		break;
	default:
		break;
	}
	return UGDS_ST_OK;
}

/* --------------------------------------------------------------- change */

int ugst_volume_begin(struct ugst_volume *volume, struct ugds_st_error *err)
{
	const char *path = volume->dev->path;
	unsigned other = !volume->current;
	size_t bytes;
	int status;

	if (volume->label.read_only || volume->label.catalog.has_unknown ||
	    volume->states[other] == UGST_SLOT_UNSUPPORTED)
		return ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                 "%s: expected a label that this library "
		                 "knows in full, found one of a newer "
		                 "library, which may be read only",
		                 path);
	/* What was read may not be durable yet, whether the slots differ or
	 * not: whoever wrote it was killed before its flush. Without this both
	 * slots could be lost at once. */
	status = ugst_blockdev_flush(volume->dev, err);
	if (status != UGDS_ST_OK || !volume->unequal)
		return status;
	bytes = UGST_SLOT_HEADER_BYTES +
	        (size_t)ugst_align_up(
			ugst_slot_catalog_bytes(volume->slots[volume->current]),
			UGST_SLOT_HEADER_BYTES);
	status =
		ugst_blockdev_write(volume->dev, volume->slots[volume->current],
	                            bytes, slot_off(other), err);
	if (status == UGDS_ST_OK)
		status = ugst_blockdev_flush(volume->dev, err);
	if (status == UGDS_ST_OK)
		volume->unequal = false;
	return status;
}

int ugst_volume_write_label(struct ugst_blockdev *dev, unsigned current,
                            const struct ugst_label *label,
                            struct ugds_st_error *err)
{
	void *slot = NULL;
	size_t slot_bytes = 0;
	int status = ugst_slot_encode(label, &slot, &slot_bytes, err);

	if (status != UGDS_ST_OK) {
		ugst_err_prefix(err, dev->path);
		return status;
	}
	for (unsigned i = 0; i < UGST_SLOT_COUNT && status == UGDS_ST_OK; i++) {
		unsigned target = i == 0 ? !current : current;

		status = ugst_blockdev_write(dev, slot, slot_bytes,
		                             slot_off(target), err);
		if (status == UGDS_ST_OK)
			status = ugst_blockdev_flush(dev, err);
	}
	free(slot);
	return status;
}

int ugst_volume_commit(struct ugst_volume *volume, struct ugst_catalog *catalog,
                       struct ugds_st_error *err)
{
	struct ugst_label next = {.sequence = volume->label.sequence + 1,
	                          .catalog = *catalog};
	int status = ugst_volume_write_label(volume->dev, volume->current,
	                                     &next, err);

	if (status != UGDS_ST_OK)
		return status;
	ugst_catalog_free(&volume->label.catalog);
	volume->label = next;
	memset(catalog, 0, sizeof(*catalog));
	return UGDS_ST_OK;
}
