/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * format.c - make a volume, where nothing can be lost.
 *
 * "No label found" never means "free to write": a device is formatted only if
 * everything that can be asked says that it is blank and unused.
 */
#include "base/common.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/units.h"
#include "import/identity.h"
#include "import/import.h"
#include "import/signatures.h"
#include "import/volume_set.h"

#define FLAGS_KNOWN (UGDS_ST_IMPORT_SPARSE | UGDS_ST_IMPORT_FORCE)
/* Slots, room for one object, tail. */
#define VOLUME_MIN_BYTES \
	(UGST_OBJECTS_OFF + UGST_OBJECT_ALIGN + UGST_VOLUME_TAIL_BYTES)

struct format {
	const struct ugst_import_env *env;
	const struct ugds_st_import_format_opts *opts;
	struct ugst_volume *volume;
	struct ugst_namespace ns;
	bool had_label; /* ours, whole, and named by replace_uuid */
	/* Of what was found: told in full, the first is kept for the error. */
	size_t found_count;
	char first_what[128];
	uint64_t first_off;
};

/* ------------------------------------------------------------ new files */

static int sync_folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? ugst_strndup(path, (size_t)(slash - path + 1))
	                     : ugst_strdup(".");
	int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int result = fd >= 0 ? fsync(fd) : -1;

	if (fd >= 0)
		(void)close(fd);
	free(folder);
	return result;
}

/* Reserved, so that a full file system shows now and not in the middle of an
 * import. */
static int reserve(const struct format *format, int fd, const char *path)
{
	off_t bytes = (off_t)format->opts->file_bytes;

	if (!(format->opts->flags & UGDS_ST_IMPORT_SPARSE)) {
		if (fallocate(fd, 0, 0, bytes) == 0)
			return 0;
		if (errno != EOPNOTSUPP)
			return -1;
		ugst_env_note(format->env,
		              "%s: this file system cannot reserve blocks, "
		              "the file is sparse",
		              path);
	}
	return ftruncate(fd, bytes);
}

static int create_file(const struct format *format, const char *path,
                       struct ugds_st_error *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	int errnum = 0;

	if (fd < 0 && errno == EEXIST)
		return ugst_fail_errno(err, UGDS_ST_MISMATCH, EEXIST,
		                       "%s: expected no file, found one, which "
		                       "stays",
		                       path);
	if (fd < 0)
		return ugst_fail_errno(err, ugst_errno_status(errno), errno,
		                       "%s", path);
	if (reserve(format, fd, path) < 0 || fsync(fd) < 0)
		errnum = errno;
	(void)close(fd);
	if (!errnum && sync_folder_of(path) < 0)
		errnum = errno;
	if (!errnum)
		return UGDS_ST_OK;
	(void)unlink(path);
	return ugst_fail_errno(err, ugst_errno_status(errnum), errnum,
	                       "%s: a file of %" PRIu64 " bytes", path,
	                       format->opts->file_bytes);
}

/* --------------------------------------------------------------- checks */

static void found(void *ctx, const char *what, uint64_t off)
{
	struct format *format = ctx;
	const char *path = format->volume->dev->path;

	if (format->found_count++ == 0) {
		(void)snprintf(format->first_what, sizeof(format->first_what),
		               "%s", what);
		format->first_off = off;
	}
	if (format->opts->flags & UGDS_ST_IMPORT_FORCE)
		ugst_env_note(format->env,
		              "%s: overwriting %s at byte %" PRIu64, path, what,
		              off);
}

static int check_zoned(const struct ugst_blockdev *dev,
                       struct ugds_st_error *err)
{
	char path[64];
	char text[32] = "none";
	FILE *file;

	(void)snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/queue/zoned",
	               major(dev->device), minor(dev->device));
	file = fopen(path, "re");
	if (file) {
		if (!fgets(text, sizeof(text), file))
			text[0] = '\0';
		(void)fclose(file);
	}
	text[strcspn(text, "\n")] = '\0';
	if (strcmp(text, "none"))
		return ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                 "%s: expected a device without zones, found "
		                 "\"%s\"",
		                 dev->path, text);
	return UGDS_ST_OK;
}

/* What uGDS cannot read, or not read right. */
static int check_namespace(struct format *format, struct ugds_st_error *err)
{
	const struct ugst_blockdev *dev = format->volume->dev;
	const struct ugst_namespace *ns = &format->ns;
	int status;

	if (dev->kind == UGST_DEVICE_FILE)
		return UGDS_ST_OK;
	status = check_zoned(dev, err);
	if (status != UGDS_ST_OK)
		return status;
	ugst_namespace_identify(dev, &format->ns);
	if (ns->identified && ns->metadata_bytes)
		return ugst_fail(err, UGDS_ST_UNSUPPORTED,
		                 "%s: expected a namespace without metadata, "
		                 "found %" PRIu32 " bytes a block",
		                 dev->path, ns->metadata_bytes);
	if (ns->identified && ns->capacity_nlb < ns->size_nlb)
		return ugst_fail(
			err, UGDS_ST_UNSUPPORTED,
			"%s: expected a namespace with all its %" PRIu64
			" blocks, found a capacity of %" PRIu64 ": it is thin",
			dev->path, ns->size_nlb, ns->capacity_nlb);
	if (ns->identity.known && ns->identity.nsid != 1)
		ugst_env_note(format->env,
		              "%s: namespace %" PRIu32
		              ": uGDS reads namespace 1 only, this one can be "
		              "read in compatibility mode",
		              dev->path, ns->identity.nsid);
	return UGDS_ST_OK;
}

/* Nobody writes here, nobody reads, through whatever node. */
static int lock_all(const struct format *format, struct ugds_st_error *err)
{
	int status = ugst_blockdev_lock(format->volume->dev, UGST_LOCK_WRITER,
	                                true, err);

	if (status == UGDS_ST_OK)
		status = ugst_volume_lock_readers(format->volume, err);
	return status;
}

/* Our own label there: only by the name of the volume. */
static int check_label(struct format *format, struct ugds_st_error *err)
{
	struct ugst_volume *volume = format->volume;
	char text[UGST_UUID_TEXT_BYTES];
	struct ugst_uuid allowed;
	struct ugds_st_error why;
	int status = ugst_volume_load(volume, &why);

	memcpy(allowed.bytes, format->opts->replace_uuid,
	       sizeof(allowed.bytes));
	if (status == UGDS_ST_OK) {
		const struct ugst_uuid *uuid =
			&volume->label.catalog.volume.uuid;

		if (!ugst_uuid_equal(uuid, &allowed))
			return ugst_fail(
				err, UGDS_ST_MISMATCH,
				"%s: found volume %s, with %zu "
				"objects, which stays unless it is "
				"named: --force=%s",
				volume->dev->path, ugst_uuid_text(uuid, text),
				volume->label.catalog.object_count, text);
		format->had_label = true;
		return UGDS_ST_OK;
	}
	if (status == UGDS_ST_CORRUPT) {
		found(format, "damaged volume label of ours", 0);
		status = UGDS_ST_OK;
	} else if (status == UGDS_ST_NOT_FOUND) {
		status = UGDS_ST_OK;
	} else if (err) {
		*err = why;
	}
	if (status == UGDS_ST_OK && !ugst_uuid_is_nil(&allowed))
		return ugst_fail(err, UGDS_ST_MISMATCH,
		                 "%s: expected volume %s, found none",
		                 volume->dev->path,
		                 ugst_uuid_text(&allowed, text));
	return status;
}

static int check_blank(struct format *format, struct ugds_st_error *err)
{
	struct ugst_blockdev *dev = format->volume->dev;
	int status = check_label(format, err);

	/* A file that is not ours is somebody's, whatever is in it. */
	if (status == UGDS_ST_OK && dev->kind == UGST_DEVICE_FILE &&
	    !format->had_label && !format->opts->file_bytes)
		return ugst_fail(err, UGDS_ST_MISMATCH,
		                 "%s: expected a volume file of ours, found "
		                 "another file, which stays",
		                 dev->path);
	if (status == UGDS_ST_OK)
		status = ugst_signatures_find(dev, found, format, err);
	if (status == UGDS_ST_OK && !format->had_label)
		status = ugst_bytes_find(dev, found, format, err);
	if (status != UGDS_ST_OK)
		return status;
	if (format->found_count &&
	    !(format->opts->flags & UGDS_ST_IMPORT_FORCE))
		return ugst_fail(
			err, UGDS_ST_MISMATCH,
			"%s: expected a blank device, found %s at byte "
			"%" PRIu64 "%s",
			dev->path, format->first_what, format->first_off,
			format->found_count > 1 ? ", and more" : "");
	return UGDS_ST_OK;
}

/* ---------------------------------------------------------------- write */

static int write_zeros(struct ugst_blockdev *dev, uint64_t off, uint64_t bytes,
                       struct ugds_st_error *err)
{
	void *zeros = ugst_alloc_aligned((size_t)UGST_MIB, UGST_PAGE_BYTES);
	int status = UGDS_ST_OK;

	if (!zeros)
		return ugst_fail_memory(err);
	memset(zeros, 0, (size_t)UGST_MIB);
	while (bytes && status == UGDS_ST_OK) {
		uint64_t piece = ugst_min(bytes, UGST_MIB);

		status = ugst_blockdev_write(dev, zeros, (size_t)piece, off,
		                             err);
		off += piece;
		bytes -= piece;
	}
	free(zeros);
	return status;
}

static int new_label(const struct format *format, struct ugst_label *label_out,
                     struct ugds_st_error *err)
{
	const struct ugst_blockdev *dev = format->volume->dev;
	uint8_t random[16];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return ugst_fail_errno(err, UGDS_ST_IO, errno,
		                       "random bytes for a UUID");
	*label_out = (struct ugst_label){
		.sequence = format->volume->label.sequence + 1,
		.catalog = {.volume = {.uuid = ugst_uuid_from_random(random),
	                               .lba_bytes = dev->lba_bytes,
	                               .bytes = ugst_align_down(dev->bytes,
	                                                        UGST_MIB),
	                               .start_bytes = dev->start_bytes,
	                               .identity = format->ns.identity},
	                    .next_object_id = 1}};
	return UGDS_ST_OK;
}

/*
 * Signatures go first, then what is not the label's becomes zeros, then the
 * label comes. Where a volume of ours is replaced its label stays in one slot
 * until the new one is durable in the other: a cut leaves the old volume or
 * the new one.
 */
static int write_volume(struct format *format, struct ugst_uuid *uuid_out,
                        struct ugds_st_error *err)
{
	struct ugst_blockdev *dev = format->volume->dev;
	struct ugst_label label;
	uint64_t tail;
	int status = new_label(format, &label, err);

	if (status == UGDS_ST_OK && format->had_label)
		status = ugst_volume_begin(format->volume, err);
	if (status == UGDS_ST_OK && format->found_count)
		status = ugst_signatures_wipe(dev, err);
	if (status == UGDS_ST_OK && !format->had_label)
		status = write_zeros(dev, 0, UGST_OBJECTS_OFF, err);
	if (status != UGDS_ST_OK)
		return status;
	/* To the end of the device, which may lie past the last whole MiB. */
	tail = label.catalog.volume.bytes - UGST_VOLUME_TAIL_BYTES;
	status = write_zeros(dev, tail, dev->bytes - tail, err);
	if (status == UGDS_ST_OK)
		status = ugst_blockdev_flush(dev, err);
	if (status == UGDS_ST_OK)
		status = ugst_volume_write_label(dev, format->volume->current,
		                                 &label, err);
	*uuid_out = label.catalog.volume.uuid;
	/* Partitions that the kernel still has of a table that is gone. */
	if (dev->kind == UGST_DEVICE_BLOCK && format->found_count)
		(void)ioctl(dev->fd, BLKRRPART);
	return status;
}

static int format_open(struct format *format, struct ugst_uuid *uuid_out,
                       struct ugds_st_error *err)
{
	const struct ugst_blockdev *dev = format->volume->dev;
	int status = lock_all(format, err);

	if (status == UGDS_ST_OK)
		status = check_namespace(format, err);
	if (status == UGDS_ST_OK)
		status = check_blank(format, err);
	if (status == UGDS_ST_OK && dev->bytes < VOLUME_MIN_BYTES)
		status = ugst_fail(err, UGDS_ST_NO_SPACE,
		                   "%s: expected at least %" PRIu64
		                   " bytes, found %" PRIu64,
		                   dev->path, VOLUME_MIN_BYTES, dev->bytes);
	if (status == UGDS_ST_OK)
		status = write_volume(format, uuid_out, err);
	return status;
}

static int check_opts(const char *device,
                      const struct ugds_st_import_format_opts *opts,
                      struct ugds_st_error *err)
{
	if (!device)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "device: expected a path, found NULL");
	if (opts->flags & ~FLAGS_KNOWN)
		return ugst_fail(err, UGDS_ST_INVALID_ARG,
		                 "options: expected known flags, found "
		                 "0x%" PRIx32,
		                 opts->flags);
	if (opts->file_bytes > UGST_OFF_MAX ||
	    (opts->file_bytes && opts->file_bytes < VOLUME_MIN_BYTES))
		return ugst_fail(err, UGDS_ST_NO_SPACE,
		                 "%s: expected a size of at least %" PRIu64
		                 " bytes, found %" PRIu64,
		                 device, VOLUME_MIN_BYTES, opts->file_bytes);
	return UGDS_ST_OK;
}

int ugst_format(const struct ugst_import_env *env, const char *device,
                const struct ugds_st_import_format_opts *opts,
                uint8_t uuid_out[16], struct ugds_st_error *err)
{
	struct ugds_st_import_format_opts own = {0};
	struct ugst_import_env own_env = *env;
	struct format format = {.env = &own_env, .opts = &own};
	struct ugst_uuid uuid = {{0}};
	bool created = false;
	int status = ugst_opts_read(&own, sizeof(own), opts, "opts", err);

	if (status == UGDS_ST_OK)
		status = check_opts(device, &own, err);
	if (status != UGDS_ST_OK)
		return status;
	own_env.note = own.note;
	own_env.ctx = own.ctx;
	if (own.file_bytes) {
		own.file_bytes = ugst_align_down(own.file_bytes, UGST_MIB);
		status = create_file(&format, device, err);
		created = status == UGDS_ST_OK;
	}
	if (status == UGDS_ST_OK)
		status = ugst_volume_open(&own_env, device, true,
		                          &format.volume, err);
	if (status == UGDS_ST_OK)
		status = format_open(&format, &uuid, err);
	ugst_volume_close(format.volume);
	if (status != UGDS_ST_OK && created)
		(void)unlink(device);
	if (status == UGDS_ST_OK && uuid_out)
		memcpy(uuid_out, uuid.bytes, sizeof(uuid.bytes));
	return status;
}

UGST_API int
ugds_st_import_format(const char *device,
                      const struct ugds_st_import_format_opts *opts,
                      uint8_t uuid_out[16], struct ugds_st_error *err)
{
	struct ugst_import_env env;

	ugst_env_init(&env);
	return ugst_format(&env, device, opts, uuid_out, err);
}
