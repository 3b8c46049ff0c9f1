/* SPDX-License-Identifier: BSD-3-Clause */
/* volumes.c - the volumes of an import, opened and locked in order; job.h. */
#include "base/common.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "import/edit.h"
#include "import/job.h"

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

static int open_one(struct ugst_job *job, const char *path,
                    struct ugds_st_error *err)
{
	struct ugst_job_volume *volume = &job->volumes[job->volume_count];
	int status =
		ugst_volume_open(&job->env, path, true, &volume->volume, err);

	if (status != UGDS_ST_OK)
		return status;
	job->volume_count++;
	volume->path = absolute(path);
	if (!volume->path)
		return ugst_fail_memory(err);
	for (size_t i = 0; i + 1 < job->volume_count; i++) {
		const struct ugst_blockdev *a = job->volumes[i].volume->dev;
		const struct ugst_blockdev *b = volume->volume->dev;

		if (a->kind == b->kind && a->device == b->device &&
		    (a->kind == UGST_DEVICE_BLOCK || a->inode == b->inode))
			return ugst_fail(err, UGDS_ST_INVALID_ARG,
			                 "%s: expected each device once, "
			                 "found it also as %s",
			                 b->path, a->path);
	}
	/* Without the lock: only to know the order in which to lock. */
	return ugst_volume_load(volume->volume, err);
}

static const struct ugst_uuid *uuid_of(const struct ugst_job_volume *volume)
{
	return &volume->volume->label.catalog.volume.uuid;
}

static int by_uuid(const void *a, const void *b)
{
	return ugst_uuid_compare(uuid_of(a), uuid_of(b));
}

static int check_clones(const struct ugst_job *job, struct ugds_st_error *err)
{
	char text[UGST_UUID_TEXT_BYTES];

	for (size_t i = 1; i < job->volume_count; i++) {
		const struct ugst_job_volume *a = &job->volumes[i - 1];
		const struct ugst_job_volume *b = &job->volumes[i];

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
static int check_stale(const struct ugst_job *job,
                       const struct ugst_volume *volume,
                       struct ugds_st_error *err)
{
	const struct ugst_manifest *manifest = &job->publication.manifest;

	for (size_t i = 0; i < manifest->volume_count; i++) {
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
				job->publication.path, volume->label.sequence);
	}
	return UGDS_ST_OK;
}

static int lock_one(struct ugst_job *job, struct ugst_volume *volume,
                    struct ugds_st_error *err)
{
	int status =
		ugst_blockdev_lock(volume->dev, UGST_LOCK_WRITER, true, err);

	if (status == UGDS_ST_OK)
		status = ugst_volume_load(volume, err);
	if (status == UGDS_ST_OK)
		status = ugst_volume_check(&job->env, volume, err);
	if (status == UGDS_ST_OK)
		status = check_stale(job, volume, err);
	return status;
}

int ugst_job_open_volumes(struct ugst_job *job, struct ugds_st_error *err)
{
	int status = UGDS_ST_OK;

	job->volumes =
		ugst_calloc(job->opts->device_count, sizeof(*job->volumes));
	if (!job->volumes)
		return ugst_fail_memory(err);
	for (size_t i = 0; i < job->opts->device_count; i++) {
		status = open_one(job, job->opts->devices[i], err);
		if (status != UGDS_ST_OK)
			return status;
	}
	qsort(job->volumes, job->volume_count, sizeof(*job->volumes), by_uuid);
	status = check_clones(job, err);
	for (size_t i = 0; i < job->volume_count && status == UGDS_ST_OK; i++)
		status = lock_one(job, job->volumes[i].volume, err);
	return status;
}
