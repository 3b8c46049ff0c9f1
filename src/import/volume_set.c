/* SPDX-License-Identifier: BSD-3-Clause */
/* volume_set.c - several volumes in order; see volume_set.h. */
#include "base/common.h"

#include <inttypes.h>
#include <limits.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "devices/holders.h"
#include "import/edit.h"
#include "import/volume_set.h"

/* Absolute, but with the links that the caller chose: /dev/disk/by-id/... says
 * more than what it stands for today. */
static char *absolute(const char *path)
{
	char folder[PATH_MAX];
	char *joined;
	char *text;

	if (path[0] == '/' || !getcwd(folder, sizeof(folder)))
		return ugst_json_text(path);
	joined = ugst_printf("%s/%s", folder, path);
	text = joined ? ugst_json_text(joined) : NULL;
	free(joined);
	return text;
}

static bool is_same_device(const struct ugst_blockdev *a,
                           const struct ugst_blockdev *b)
{
	return a->kind == b->kind && a->device == b->device &&
	       (a->kind == UGST_DEVICE_BLOCK || a->inode == b->inode);
}

/* A second exclusive open of a block device would only say "busy". */
static int check_twice(const struct ugst_volume_set *set, const char *path,
                       struct ugds_st_error *err)
{
	struct ugst_blockdev *dev;
	int status = ugst_blockdev_open(path, 0, &dev, err);

	if (status != UGDS_ST_OK)
		return status;
	for (size_t i = 0; i < set->count && status == UGDS_ST_OK; i++) {
		const struct ugst_blockdev *other = set->members[i].volume->dev;

		if (is_same_device(dev, other))
			status = ugst_fail(err, UGDS_ST_INVALID_ARG,
			                   "%s: expected each device once, "
			                   "found it also as %s",
			                   path, other->path);
	}
	ugst_blockdev_close(dev);
	return status;
}

static int open_one(const struct ugst_import_env *env, const char *path,
                    struct ugst_volume_set *set, struct ugds_st_error *err)
{
	struct ugst_volume_member *member = &set->members[set->count];
	int status = check_twice(set, path, err);

	if (status == UGDS_ST_OK)
		status =
			ugst_volume_open(env, path, true, &member->volume, err);
	if (status != UGDS_ST_OK)
		return status;
	set->count++;
	member->path = absolute(path);
	if (!member->path)
		return ugst_fail_memory(err);
	/* Without the lock: only to know the order in which to lock. */
	return ugst_volume_look(member->volume, err);
}

static const struct ugst_uuid *uuid_of(const struct ugst_volume_member *member)
{
	return &member->volume->label.catalog.volume.uuid;
}

static int by_uuid(const void *a, const void *b)
{
	return ugst_uuid_compare(uuid_of(a), uuid_of(b));
}

static int check_clones(const struct ugst_volume_set *set,
                        struct ugds_st_error *err)
{
	char text[UGST_UUID_TEXT_BYTES];

	for (size_t i = 1; i < set->count; i++) {
		const struct ugst_volume_member *a = &set->members[i - 1];
		const struct ugst_volume_member *b = &set->members[i];

		if (ugst_uuid_equal(uuid_of(a), uuid_of(b)))
			return ugst_fail(err, UGDS_ST_MISMATCH,
			                 "%s and %s: expected two volumes, "
			                 "found volume %s on both: one is a "
			                 "copy of the other",
			                 a->volume->dev->path,
			                 b->volume->dev->path,
			                 ugst_uuid_text(uuid_of(a), text));
	}
	return UGDS_ST_OK;
}

/* A label older than the manifest is an old copy of the volume: writing to it
 * would fork its history. */
static int check_stale(const struct ugst_volume_set_opts *opts,
                       const struct ugst_volume *volume,
                       struct ugds_st_error *err)
{
	const struct ugst_manifest *manifest = opts->manifest;

	for (size_t i = 0; manifest && i < manifest->volume_count; i++) {
		const struct ugst_manifest_volume *known =
			&manifest->volumes[i];

		if (ugst_uuid_equal(&known->record.uuid,
		                    &volume->label.catalog.volume.uuid) &&
		    volume->label.sequence < known->label_sequence)
			return ugst_fail(
				err, UGDS_ST_MISMATCH,
				"%s: expected label sequence %" PRIu64
				" or later, as %s has it, found "
				"%" PRIu64 ": an old copy of the volume",
				volume->dev->path, known->label_sequence,
				opts->manifest_path, volume->label.sequence);
	}
	return UGDS_ST_OK;
}

int ugst_volume_lock_readers(struct ugst_volume *volume,
                             struct ugds_st_error *err)
{
	struct ugst_blockdev *dev = volume->dev;
	struct ugst_holder holder;
	int status = ugst_blockdev_lock(dev, UGST_LOCK_READERS, true, err);

	/* A lock belongs to a device node, of which a container may have
	 * another. */
	if (status == UGDS_ST_OK && ugst_holder_of_file(dev->fd, -1, &holder))
		return ugst_fail(err, UGDS_ST_BUSY,
		                 "%s: expected a device that nobody has open, "
		                 "found process %ld (%s)",
		                 dev->path, (long)holder.pid, holder.command);
	return status;
}

static int lock_one(const struct ugst_import_env *env,
                    const struct ugst_volume_set_opts *opts,
                    struct ugst_volume *volume, struct ugds_st_error *err)
{
	int status =
		ugst_blockdev_lock(volume->dev, UGST_LOCK_WRITER, true, err);

	if (status == UGDS_ST_OK && opts->alone)
		status = ugst_volume_lock_readers(volume, err);
	if (status == UGDS_ST_OK)
		status = ugst_volume_load(volume, err);
	if (status == UGDS_ST_OK && !opts->adopt)
		status = ugst_volume_check(env, volume, err);
	if (status == UGDS_ST_OK)
		status = check_stale(opts, volume, err);
	return status;
}

int ugst_volume_set_open(const struct ugst_import_env *env,
                         const struct ugst_volume_set_opts *opts,
                         struct ugst_volume_set *set, struct ugds_st_error *err)
{
	int status = UGDS_ST_OK;

	set->members = ugst_calloc(opts->path_count, sizeof(*set->members));
	if (!set->members)
		return ugst_fail_memory(err);
	for (size_t i = 0; i < opts->path_count; i++) {
		status = open_one(env, opts->paths[i], set, err);
		if (status != UGDS_ST_OK)
			return status;
	}
	qsort(set->members, set->count, sizeof(*set->members), by_uuid);
	status = check_clones(set, err);
	for (size_t i = 0; i < set->count && status == UGDS_ST_OK; i++)
		status = lock_one(env, opts, set->members[i].volume, err);
	return status;
}

void ugst_volume_set_close(struct ugst_volume_set *set)
{
	for (size_t i = set->count; i-- > 0;) {
		ugst_volume_close(set->members[i].volume);
		free(set->members[i].path);
	}
	free(set->members);
	memset(set, 0, sizeof(*set));
}
